"""Messages between two ranks."""

from __future__ import annotations

import pytest
import torch
from elements import ALL, data, same
from processes import run
from torch import distributed


def ring(rank: int) -> None:
    """Each rank sends to the next one, in all types."""
    size = distributed.get_world_size()
    following, before = (rank + 1) % size, (rank - 1) % size
    for tag, dtype in enumerate(ALL):
        got = torch.zeros(23).to(dtype)
        sending = distributed.isend(data(rank, dtype, 23), following, tag=tag)
        receiving = distributed.irecv(got, before, tag=tag)
        receiving.wait()
        sending.wait()
        assert same(got, data(before, dtype, 23)), dtype


def order(rank: int) -> None:
    """Messages of one tag come in their order, and those of another tag overtake them."""
    if rank == 0:
        for i in range(20):
            distributed.send(torch.tensor([i]), 1, tag=1)
        distributed.send(torch.tensor([99]), 1, tag=2)
    elif rank == 1:
        got = torch.tensor([0])
        distributed.recv(got, 0, tag=2)
        assert got.item() == 99
        for i in range(20):
            distributed.recv(got, 0, tag=1)
            assert got.item() == i


def any_source(rank: int) -> None:
    size = distributed.get_world_size()
    if rank:
        distributed.send(torch.full((5,), float(rank)), 0)
        return
    got = torch.zeros(5)
    seen = set()
    for _ in range(size - 1):
        source = distributed.recv(got)
        assert (got == source).all()
        seen.add(source)
    assert seen == set(range(1, size))


def large(rank: int) -> None:
    count = 3_000_000
    if rank == 0:
        distributed.send(torch.arange(count, dtype=torch.float32), 1)
    else:
        got = torch.zeros(count)
        distributed.recv(got, 0)
        assert torch.equal(got, torch.arange(count, dtype=torch.float32))


def batch(rank: int) -> None:
    size = distributed.get_world_size()
    got = torch.zeros(4)
    operations = [distributed.P2POp(distributed.isend, torch.full((4,), float(rank)), (rank + 1) % size),
                  distributed.P2POp(distributed.irecv, got, (rank - 1) % size)]
    for request in distributed.batch_isend_irecv(operations):
        request.wait()
    assert (got == (rank - 1) % size).all()


def strided(rank: int) -> None:
    if rank == 0:
        distributed.send(torch.arange(6.0).reshape(2, 3).t(), 1)
    else:
        room = torch.zeros(2, 3).t()
        distributed.recv(room, 0)
        assert torch.equal(room, torch.arange(6.0).reshape(2, 3).t())


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("body", [ring, order, any_source, batch], ids=lambda body: body.__name__)
def test_messages_arrive(body, size: int) -> None:
    run(size, body)


@pytest.mark.parametrize("body", [large, strided], ids=lambda body: body.__name__)
def test_messages_of_two_ranks_arrive(body) -> None:
    run(2, body)


def wrong_lengths(rank: int) -> list[str]:
    texts = []
    for room in (2, 9):
        if rank == 0:
            distributed.send(torch.zeros(4), 1)
        else:
            with pytest.raises(RuntimeError) as caught:
                distributed.recv(torch.zeros(room), 0)
            texts.append(str(caught.value))
    distributed.barrier()  # the group still works
    return texts


def test_a_message_of_another_length_is_an_error_of_its_receiver() -> None:
    _, (long, short) = run(2, wrong_lengths)
    assert "4" in long and "2" in long
    assert "16 bytes" in short and "36" in short


def other_type(rank: int) -> str | None:
    if rank == 0:
        distributed.send(torch.zeros(4, dtype=torch.float64), 1)
        return None
    with pytest.raises(RuntimeError) as caught:
        distributed.recv(torch.zeros(4), 0)
    return str(caught.value)


def test_a_message_of_another_type_is_an_error_of_its_receiver() -> None:
    text = run(2, other_type)[1]
    assert "f64" in text and "f32" in text, text
