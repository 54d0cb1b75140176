"""What goes wrong ends with an exception or cleanly: never with a hang or a crash."""

import signal
import textwrap
import time

import pytest
from processes import free_port, outcome, ranks

import lacuna

CALL = "x = bytearray(1000)\nworld.allreduce(x, op='max')\n"
WAITS = "x = bytearray(8)\nprint('waits', flush=True)\nworld.recv(x, 1)\n"
STAYS = "time.sleep(60)\n"


def test_the_death_of_a_rank_is_an_error_that_names_it():
    survivor = """
        try:
            world.barrier()
            world.allreduce(bytearray(8))
        except lacuna.PeerFailed as error:
            print("rank 1" in str(error), isinstance(error, ConnectionError), world.status != "ok")
    """
    dies = "world.barrier()\nos.kill(os.getpid(), 9)\n"
    with ranks(survivor, dies, survivor) as (first, _, last):
        for process in (first, last):
            output, errors, status = outcome(process)
            assert (output, status) == ("True True True\n", 0), errors


def test_a_rank_that_stays_away_ends_the_wait_of_the_others():
    begin = time.monotonic()
    with pytest.raises(lacuna.TimedOut, match="rank 1"):
        lacuna.init(0, 2, store=f"127.0.0.1:{free_port()}", key="k", timeout=0.3)
    assert 0.3 <= time.monotonic() - begin < 10
    for wrong in (0, -1.5):
        with pytest.raises(lacuna.InvalidArgument, match="seconds, must be above 0, or None"):
            lacuna.init(0, 2, store="127.0.0.1:0", key="k", timeout=wrong)


def test_ranks_that_differ_learn_it():
    program = """
        import array
        try:
            world.allreduce(array.array("fd"[world.rank], [1.0] * 4))
        except lacuna.Mismatch as error:
            print("f32" in str(error) and "f64" in str(error))
    """
    with ranks(program, program) as started:
        for process in started:
            output, errors, _ = outcome(process)
            assert output == "True\n", errors


def wait_for_line(process, line):
    assert process.stdout.readline() == line + "\n"
    time.sleep(0.2)  # now it is inside the wait


def test_an_interrupt_ends_a_wait():
    with ranks(WAITS, STAYS) as (waits, _):
        wait_for_line(waits, "waits")
        begin = time.monotonic()
        waits.send_signal(signal.SIGINT)
        _, errors, status = outcome(waits)
        assert "KeyboardInterrupt" in errors and status == -signal.SIGINT
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize("wait", ["world.start_recv(x, 1).wait()", "lacuna.wait_all([world.start_recv(x, 1)])",
                                  "lacuna.wait_any([world.start_recv(x, 1)])", "world.barrier()", "world.split(0)",
                                  "world.subgroup([0, 1])"])
def test_a_program_may_go_on_after_an_interrupt(wait):
    program = f"""
        x = bytearray(8)
        try:
            print('waits', flush=True)
            {wait}
        except KeyboardInterrupt:
            print('caught', flush=True)
        del x
    """
    with ranks(program, STAYS) as (waits, _):
        wait_for_line(waits, "waits")
        waits.send_signal(signal.SIGINT)
        output, errors, status = outcome(waits)
        assert (output, status) == ("caught\n", 0), errors


@pytest.mark.parametrize("rank", [0, 1])
def test_an_interrupt_ends_the_wait_for_the_other_ranks(rank, tmp_path):
    """The program goes on, and joins the same job again."""
    joins = """
        try:
            print('joins', flush=True)
            lacuna.init()
        except KeyboardInterrupt:
            print('caught', flush=True)
        with lacuna.init() as world:
            print(world.size)
    """
    comes_later = f"""
        while not os.path.exists({str(tmp_path / 'gate')!r}):
            time.sleep(0.01)
        with lacuna.init() as world:
            print(world.size)
    """
    programs = [joins, comes_later] if rank == 0 else [comes_later, joins]
    with ranks(*programs, joined=False) as started:
        first = started[rank]
        wait_for_line(first, "joins")
        first.send_signal(signal.SIGINT)
        assert first.stdout.readline() == "caught\n"
        (tmp_path / "gate").touch()
        for process in started:
            output, errors, status = outcome(process)
            assert (output, status) == ("2\n", 0), errors


def test_a_handled_signal_does_not_end_a_wait():
    program = """
        import signal
        signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))
        x = bytearray(8)
        print('waits', flush=True)
        world.recv(x, 1)
        print(x[0])
    """
    sends = "time.sleep(1)\nworld.send(bytes([7] * 8), 0)\n"
    with ranks(program, sends) as (waits, _):
        wait_for_line(waits, "waits")
        waits.send_signal(signal.SIGUSR1)
        output, errors, status = outcome(waits)
        assert (output, status) == ("handled\n7\n", 0), errors


def test_calls_in_flight_at_the_exit_end_if_they_can():
    """Rank 0 starts its calls and ends. They need rank 0 to move, so its exit moves them."""
    starts = "kept = [world.start_allreduce(bytearray(100_000), op='max') for _ in range(5)]\n"
    waits = "requests = [world.start_allreduce(bytearray(100_000), op='max') for _ in range(5)]\n" \
            "lacuna.wait_all(requests)\nprint('ended')\n"
    with ranks(starts, waits) as (first, second):
        assert outcome(second) == ("ended\n", "", 0)
        assert outcome(first) == ("", "", 0)


@pytest.mark.parametrize("progress", ["caller", "thread"])
def test_the_exit_does_not_wait_for_calls_that_nobody_joins(progress):
    """Their memory stays where it is, with and without an owner."""
    program = "kept = world.start_allreduce(bytearray(100_000), op='max')\n" \
              "world.start_recv(bytearray(1000), 1)\nprint('ends')\n"
    with ranks(program, STAYS, LACUNA_PROGRESS=progress) as (ends, _):
        begin = time.monotonic()
        output, errors, status = outcome(ends)
        assert (output, status) == ("ends\n", 0), errors
        assert "2 calls in flight" in errors
        assert time.monotonic() - begin < 20


@pytest.mark.parametrize("first", ["", "if os.fork():\n    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"])
def test_an_exit_during_the_wait_of_a_daemon_thread(first):
    """Also where the process is a child made by fork() that has joined itself."""
    program = """
        import threading
        world = lacuna.init()
        for _ in range(3):
            threading.Thread(target=lambda: world.recv(bytearray(8), 1), daemon=True).start()
        time.sleep(0.3)
        print('ends')
    """
    stays = "world = lacuna.init()\n" + STAYS
    with ranks(first + textwrap.dedent(program), stays, joined=False) as (ends, _):
        output, errors, status = outcome(ends)
        assert (output, status) == ("ends\n", 0), errors


def test_a_coroutine_hears_of_a_call_that_ended_while_another_one_was_blocked():
    """Over TCP, the blocking receive takes both messages from the socket, on which the loop would sleep for ever."""
    program = """
        import asyncio
        first, second = bytearray(8), bytearray(8)

        async def waits():
            await world.start_recv(first, 1, tag=1)
            return first[0]

        async def blocks():
            await asyncio.sleep(0.1)  # now the loop has been ready to sleep
            print('blocks', flush=True)
            world.recv(second, 1, tag=2)
            return second[0]

        async def both():
            return await asyncio.wait_for(asyncio.gather(waits(), blocks()), 20)

        print(asyncio.run(both()))
    """
    sends = "time.sleep(1)\nworld.send(bytes([1] * 8), 0, tag=1)\nworld.send(bytes([2] * 8), 0, tag=2)\n"
    with ranks(program, sends, UCX_TLS="tcp,self") as (waits, _):
        output, errors, status = outcome(waits)
        assert (output, status) == ("blocks\n[1, 2]\n", 0), errors


def test_a_communicator_may_be_freed_while_a_split_that_was_interrupted_goes_on(tmp_path):
    gate = str(tmp_path / "gate")
    program = f"""
        threads = lambda: len(os.listdir("/proc/self/task"))
        before = threads()
        try:
            print('waits', flush=True)
            world.split(0)
        except KeyboardInterrupt:
            world.free()
        open({gate!r}, "w").close()
        while threads() > before:
            time.sleep(0.01)
    """
    splits = f"while not os.path.exists({gate!r}):\n    time.sleep(0.01)\nworld.split(0)\n"
    with ranks(program, splits) as (waits, other):
        wait_for_line(waits, "waits")
        waits.send_signal(signal.SIGINT)
        for process in (waits, other):
            _, errors, status = outcome(process)
            assert status == 0, errors


def test_coroutines_go_on_when_their_communicators_are_freed(tmp_path):
    """Both communicators have the descriptor of the job, and the loop sleeps on it for the first one."""
    gate = str(tmp_path / "gate")
    program = f"""
        import asyncio
        part = world.split(0)

        async def waits(communicator):
            x = bytearray(8)
            await communicator.start_recv(x, 1)
            return x[0]

        async def frees():
            await asyncio.sleep(0)  # now the others wait
            part.free()
            world.free()
            open({gate!r}, "w").close()

        async def all_of_them():
            return await asyncio.wait_for(asyncio.gather(waits(part), waits(world), frees()), 60)

        print(asyncio.run(all_of_them()))
    """
    sends = f"""
        part = world.split(0)
        while not os.path.exists({gate!r}):
            time.sleep(0.01)
        part.send(bytes([1] * 8), 0)
        world.send(bytes([2] * 8), 0)
    """
    with ranks(program, sends) as (waits, _):
        output, errors, status = outcome(waits)
        assert (output, errors, status) == ("[1, 2, None]\n", "", 0)


@pytest.mark.parametrize("ends, keeps", [("await task", "world()"), ("task.cancel()", "None")])
def test_nothing_keeps_a_loop_that_has_waited(ends, keeps):
    """A call that goes on keeps its communicator."""
    program = f"""
        import asyncio, gc, weakref

        async def one():
            await world.start_recv(bytearray(8), 1)

        async def waits():
            task = asyncio.ensure_future(one())
            await asyncio.sleep(0)
            {ends}
            return weakref.ref(asyncio.get_running_loop())

        world.barrier()
        loop = asyncio.run(waits())
        world = weakref.ref(world)
        gc.collect()
        print(loop(), {keeps})
    """
    with ranks(program, "world.barrier()\nworld.send(bytes(8), 0)\n") as (waits, _):
        output, errors, _ = outcome(waits)
        assert output == "None None\n", errors


def test_an_exception_ends_a_rank_and_its_peers():
    with ranks("world.barrier()\nraise ValueError('mine')\n", "world.barrier()\n" + CALL) as (raises, calls):
        _, errors, status = outcome(raises)
        assert "ValueError: mine" in errors and status == 1
        _, errors, status = outcome(calls)
        assert "lacuna._errors.PeerFailed" in errors and status == 1


def test_a_child_of_fork_harms_nobody():
    program = """
        import gc
        request = world.start_recv(bytearray(1000), 1 - world.rank)
        prepared = world.prepare_allreduce(bytearray(1000), op='max')
        state = lacuna.State("topk")
        for leave in (sys.exit, os._exit):
            child = os.fork()
            if child == 0:
                try:
                    world.barrier()
                except lacuna.InvalidArgument as error:
                    refused = "fork" in str(error)
                try:
                    request.wait()
                except lacuna.InvalidArgument as error:
                    refused = refused and "fork" in str(error)
                world.free()
                del request, prepared, state, world
                gc.collect()
                leave(0 if refused else 3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        world.send(bytes(1000), 1 - world.rank)
        request.wait()
        prepared.start()
        prepared.wait()
        print('goes on')
    """
    with ranks(program, program) as started:
        for process in started:
            output, errors, status = outcome(process)  # newer versions of Python warn of fork() beside threads
            assert (output, status) == ("goes on\n", 0), errors


def test_workers_of_multiprocessing():
    program = """
        import multiprocessing
        def work(number):
            return number * number
        for _ in range(3):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                squares = pool.map(work, range(10))
            world.allreduce(bytearray(100), op='max')
        print(sum(squares))
    """
    with ranks(program, program, LACUNA_PROGRESS="thread") as started:
        for process in started:
            assert outcome(process)[::2] == ("285\n", 0)


def test_workers_of_a_data_loader():
    pytest.importorskip("torch")
    program = """
        import torch
        data = torch.utils.data.TensorDataset(torch.arange(40.0))
        total = torch.zeros(1)
        for epoch in range(2):
            for (batch,) in torch.utils.data.DataLoader(data, batch_size=5, num_workers=2):
                x = batch.sum().reshape(1)
                world.allreduce(x)
                total += x
        print(total.item())
    """
    with ranks(program, program) as started:
        for process in started:
            output, errors, status = outcome(process, timeout=90)
            assert (output, status) == ("3120.0\n", 0), errors
