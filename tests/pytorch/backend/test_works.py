"""Works: asynchronous calls, futures, timeouts and errors."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest
import torch
from processes import attempt, die, hear, run, tell
from torch import distributed


def many_in_flight(rank: int) -> None:
    tensors = [torch.full((1000 + i,), float(i)) for i in range(200)]
    works = [distributed.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        assert work.wait()
    size = distributed.get_world_size()
    assert all((tensor == i * size).all() for i, tensor in enumerate(tensors))


def nobody_waits(rank: int) -> None:
    """A call goes on and completes while Python does something else."""
    tensor = torch.ones(1_000_000)
    work = distributed.all_reduce(tensor, async_op=True)
    until = time.monotonic() + 20
    while not work.is_completed():
        assert time.monotonic() < until
        time.sleep(0.001)
    assert (tensor == distributed.get_world_size()).all()
    assert work.wait() and work.result()[0] is not None


def futures(rank: int) -> None:
    tensor = torch.ones(1000)
    future = distributed.all_reduce(tensor, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    assert (doubled.wait() == 2 * distributed.get_world_size()).all()
    ended = []
    for _ in range(50):  # completed by the thread, without anybody who waits
        work = distributed.all_reduce(torch.ones(10), async_op=True)
        work.get_future().then(lambda done: ended.append(done.value()[0][0].item()))
    until = time.monotonic() + 20
    while len(ended) < 50 and time.monotonic() < until:
        time.sleep(0.001)
    assert ended == [distributed.get_world_size()] * 50


def callbacks_call(rank: int) -> None:
    """A callback starts the next call, and waits for it."""
    size = distributed.get_world_size()

    def again(done: torch.futures.Future) -> torch.Tensor:
        tensor = done.value()[0]
        distributed.all_reduce(tensor)
        return tensor

    future = distributed.all_reduce(torch.ones(10), async_op=True).get_future().then(again)
    assert (future.wait() == size * size).all()


def copies_at_the_end(rank: int) -> None:
    base = torch.zeros(4, 6)
    base[:, ::2] = 1
    work = distributed.all_reduce(base[:, ::2], async_op=True)
    work.wait()
    assert (base[:, ::2] == distributed.get_world_size()).all() and (base[:, 1::2] == 0).all()


def needs_no_gradient(rank: int) -> None:
    parameter = torch.nn.Parameter(torch.full((3, 2), float(rank)))
    with torch.no_grad():
        distributed.broadcast(parameter, 1, async_op=True).wait()
    assert (parameter == 1).all()
    with torch.inference_mode():
        tensor = torch.ones(3)
        distributed.all_reduce(tensor[::2], async_op=True).wait()
        assert tensor[0] == distributed.get_world_size()


def numbers(rank: int) -> None:
    group = distributed.group.WORLD
    before = group._get_sequence_number_for_group()
    distributed.barrier()
    distributed.all_reduce(torch.ones(1))
    assert group._get_sequence_number_for_group() == before + 2


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("body", [many_in_flight, nobody_waits, futures, callbacks_call, copies_at_the_end,
                                  needs_no_gradient, numbers], ids=lambda body: body.__name__)
def test_works(body, size: int) -> None:
    run(size, body)


def late_rank(rank: int) -> float | None:
    """Rank 1 comes too late for the wait of rank 0, but not for the call."""
    distributed.barrier()
    if rank == 1:
        hear("the wait is over")
    work = distributed.all_reduce(torch.ones(3), async_op=True)
    begin = time.monotonic()
    if rank == 0:
        with pytest.raises(RuntimeError, match="0.3 s"):
            work.wait(timedelta(seconds=0.3))
        tell("the wait is over")
    waited = time.monotonic() - begin
    assert work.wait()
    return waited


def test_a_wait_ends_at_its_timeout_and_the_call_goes_on() -> None:
    assert 0.29 < run(2, late_rank)[0] < 20


def missing_rank(rank: int) -> str | None:
    distributed.barrier()
    if rank == 1:
        hear("both calls have failed")
        return None
    begin = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        distributed.all_reduce(torch.ones(3))
    assert time.monotonic() - begin < 25
    with pytest.raises(RuntimeError):
        distributed.all_reduce(torch.ones(3))
    tell("both calls have failed")
    return str(caught.value)


def test_a_call_ends_at_the_timeout_of_its_group_and_names_who_is_late() -> None:
    outcomes = attempt(2, missing_rank, group_timeout=5)
    assert outcomes[0].error is None, outcomes[0].error
    assert "rank 1" in outcomes[0].value, outcomes[0].value


def different_calls(rank: int) -> str:
    with pytest.raises(RuntimeError) as caught:
        distributed.all_reduce(torch.ones(3 + rank))
    return str(caught.value)


def test_ranks_that_disagree_get_an_error_that_names_both_sides() -> None:
    for outcome in attempt(2, different_calls):
        assert outcome.error is None, outcome.error
        assert "3" in outcome.value and "4" in outcome.value, outcome.value


def killed_rank(rank: int, asynchronous: bool) -> tuple[str, float]:
    distributed.barrier()
    if rank == 1:
        for other in (0, 2):  # a barrier that is not over on the others would fail there
            hear(f"the barrier is over on rank {other}")
        die()
    tell(f"the barrier is over on rank {rank}")
    begin = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        for _ in range(1000):
            work = distributed.all_reduce(torch.ones(100_000), async_op=asynchronous)
            if work:
                work.get_future().wait()
    return str(caught.value), time.monotonic() - begin


@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "future"])
def test_a_killed_rank_is_an_error_of_the_others(asynchronous: bool) -> None:
    outcomes = attempt(3, killed_rank, asynchronous)
    for rank in (0, 2):
        assert outcomes[rank].error is None, outcomes[rank].error
        text, seconds = outcomes[rank].value
        assert "rank 1" in text and seconds < 20, text
        assert outcomes[rank].exit_code == 0


def aborted(rank: int) -> str | None:
    from threading import Timer

    distributed.barrier()
    if rank == 1:
        hear("aborted")
        os._exit(0)
    group = distributed.group.WORLD
    Timer(0.3, group.abort).start()
    with pytest.raises(RuntimeError) as caught:
        distributed.all_reduce(torch.ones(3))
    pending = str(caught.value)
    with pytest.raises(RuntimeError, match="abort"):
        distributed.all_reduce(torch.ones(3))
    tell("aborted")
    return pending


def test_abort_ends_a_wait() -> None:
    outcome = attempt(2, aborted)[0]
    assert outcome.error is None, outcome.error
    assert "aborted" in outcome.value and outcome.exit_code == 0


def interrupted(rank: int) -> None:
    import signal
    from threading import Timer

    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    distributed.barrier()
    if rank == 1:
        hear("interrupted")
        return
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        distributed.all_reduce(torch.ones(3))
    assert time.monotonic() - begin < 20
    tell("interrupted")


def test_ctrl_c_ends_a_wait() -> None:
    outcome = attempt(2, interrupted)[0]
    assert outcome.error is None and outcome.exit_code == 0, outcome
