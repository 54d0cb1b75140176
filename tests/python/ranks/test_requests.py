"""Requests: waits, tests, coroutines, prepared calls, and requests that nobody keeps."""

import asyncio
import gc
import threading

import numpy as np
import pytest

import lacuna


def test_many_in_flight(world):
    arrays = [np.full(100, one + world.rank, np.int64) for one in range(20)]
    requests = [world.start_allreduce(x) for x in arrays]
    reports = lacuna.wait_all(requests)
    assert len(reports) == 20 and all(request.done for request in requests)
    ranks = sum(range(world.size))
    assert [x[0] for x in arrays] == [world.size * one + ranks for one in range(20)]


def test_wait_any_names_each_once(world):
    requests = [world.start_allreduce(np.ones(10)) for _ in range(5)]
    seen = []
    while (place := lacuna.wait_any(requests)) is not None:
        seen.append(place)
        requests[place].wait()
        requests[place] = None
    assert sorted(seen) == list(range(5))
    assert lacuna.test_any(requests) is None
    assert lacuna.wait_all(requests) is not None


def test_a_timeout_ends_the_wait_only(world):
    if world.size == 1:
        pytest.skip("nobody to wait for")
    world.barrier()
    if world.rank == 0:
        x = np.zeros(1)
        request = world.start_recv(x, world.size - 1, tag=9)
        with pytest.raises(lacuna.TimedOut):
            request.wait(timeout=0.02)
        with pytest.raises(TimeoutError):
            lacuna.wait_all([request], timeout=0.02)
        with pytest.raises(TimeoutError):
            lacuna.wait_any([request], timeout=0)
        assert not request.done and not request.test()
        world.send(np.ones(1), world.size - 1, tag=10)
        assert request.wait(timeout=20).source == world.size - 1
        assert x[0] == 7
    elif world.rank == world.size - 1:
        world.recv(np.zeros(1), 0, tag=10)
        world.send(np.full(1, 7.0), 0, tag=9)


def test_wait_may_be_repeated(world):
    request = world.start_allreduce(np.ones(3))
    request.wait()
    request.wait()
    assert request.test()


def test_a_prepared_call_runs_again_and_again(world):
    x = np.zeros(50, np.float32)
    request = world.prepare_allreduce(x)
    with pytest.raises(lacuna.InvalidArgument, match="not started"):
        request.wait()
    for step in range(5):
        x[:] = step + world.rank
        request.start()
        request.wait()
        assert x[0] == sum(step + rank for rank in range(world.size))


def test_only_prepared_calls_can_be_started(world):
    request = world.start_allreduce(np.ones(3))
    request.wait()
    with pytest.raises(lacuna.InvalidArgument, match="prepared"):
        request.start()


def test_a_request_that_nobody_keeps_goes_on(world):
    for _ in range(10):
        world.start_allreduce(np.ones(100_000))  # its array has no other owner either
    gc.collect()
    x = np.ones(10)
    world.allreduce(x)
    assert x[0] == world.size


def test_coroutines_wait(world):
    async def one(value):
        x = np.full(1000, value + world.rank)
        report = await world.start_allreduce(x)
        assert isinstance(report, lacuna.Report)
        return x[0]

    async def all_of_them():
        return await asyncio.gather(*(one(value) for value in range(8)))

    for _ in range(3):
        ranks = sum(range(world.size))
        assert asyncio.run(all_of_them()) == [world.size * value + ranks for value in range(8)]


def test_a_coroutine_sleeps_while_it_waits(world):
    if world.size == 1:
        pytest.skip("nobody to wait for")

    async def first():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        ticking = asyncio.ensure_future(tick())
        x = np.zeros(1)
        await world.start_recv(x, 1, tag=11)
        ticking.cancel()
        return ticks, x[0]

    world.barrier()  # rank 0 must be in its wait long before rank 1 sends
    if world.rank == 0:
        ticks, value = asyncio.run(first())
        assert ticks >= 5 and value == 3
    elif world.rank == 1:
        threading.Event().wait(1)
        world.send(np.full(1, 3.0), 0, tag=11)


def test_a_coroutine_hears_that_another_thread_uses_its_request(world):
    x, y = np.zeros(1), np.zeros(1)
    request = world.start_recv(x, world.rank, tag=15)
    thread = threading.Thread(target=request.wait)

    async def waits():
        await request

    async def hears():
        waiting = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        thread.start()
        for _ in range(1000):  # until the thread has come to its wait, and the loop has looked
            if waiting.done():
                break
            sent = world.start_send(y, world.rank, tag=16)
            await world.start_recv(y, world.rank, tag=16)
            await sent
            await asyncio.sleep(0.01)
        with pytest.raises(lacuna.Busy, match="another thread"):
            await asyncio.wait_for(waiting, 0)

    asyncio.run(hears())
    world.send(np.ones(1), world.rank, tag=15)
    thread.join()


def test_other_threads_run_during_a_wait(world):
    """A wait lets go of the interpreter's lock: this rank sends to itself from another thread."""
    x = np.zeros(1)

    def send_later():
        threading.Event().wait(0.05)
        world.send(np.full(1, 5.0), world.rank, tag=12)

    thread = threading.Thread(target=send_later)
    thread.start()
    world.recv(x, world.rank, tag=12)
    thread.join()
    assert x[0] == 5


def test_one_thread_at_a_time_has_a_request(world):
    x = np.zeros(1)
    request = world.start_recv(x, world.rank, tag=13)
    thread = threading.Thread(target=request.wait)
    thread.start()
    with pytest.raises(lacuna.Busy, match="another thread"):
        for _ in range(200):  # until the thread has come to its wait
            threading.Event().wait(0.1)
            assert not request.test()
    world.send(np.ones(1), world.rank, tag=13)
    thread.join()
    assert request.done


def test_a_deadline_fails_the_call(world):
    """On a group of its own, because the failure ends that group."""
    if world.size == 1:
        pytest.skip("nobody to wait for")
    group = world.split(0, world.rank)
    if world.rank == 0:
        with pytest.raises(lacuna.Error):
            group.allreduce(np.ones(3), deadline=0.2)
        with pytest.raises(lacuna.Error):
            group.check()
        assert group.status != "ok"
        for rank in range(1, world.size):
            world.send(np.zeros(1), rank, tag=15)
    else:
        world.recv(np.zeros(1), 0, tag=15)  # only now rank 0 has given up
        with pytest.raises(lacuna.TimedOut, match="the deadline has passed on rank 0"):
            for _ in range(2):  # the first may still end well, because rank 0 has sent its data for it
                group.allreduce(np.ones(3), deadline=60)
    assert world.status == "ok"
    world.barrier()
