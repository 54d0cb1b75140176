"""Collectives that only move elements, in all types, against what must arrive."""

from __future__ import annotations

import pytest
import torch
from elements import ALL, data, same
from processes import run
from torch import distributed

SIZES = [1, 2, 3, 4]
LENGTH = 11


def broadcast(rank: int) -> None:
    for root in range(distributed.get_world_size()):
        for dtype in ALL:
            got = data(rank, dtype, LENGTH)
            distributed.broadcast(got, root)
            assert same(got, data(root, dtype, LENGTH)), (root, dtype)
    strided = data(rank, torch.float32, 4, 6).t()
    distributed.broadcast(strided, 0)
    assert same(strided, data(0, torch.float32, 4, 6).t())


def allgather(rank: int) -> None:
    size = distributed.get_world_size()
    for dtype in ALL:
        expected = [data(r, dtype, 2, LENGTH) for r in range(size)]
        mine = data(rank, dtype, 2, LENGTH)
        got = [torch.zeros(2, LENGTH).to(dtype) for _ in range(size)]
        distributed.all_gather(got, mine)
        assert all(map(same, got, expected)), dtype
        whole = torch.zeros(2 * size, LENGTH).to(dtype)
        distributed.all_gather_into_tensor(whole, mine)
        assert same(whole, torch.cat([tensor.view(torch.uint8) for tensor in expected]).view(dtype)), dtype
    whole = torch.zeros(size, LENGTH)
    whole[rank] = data(rank, torch.float32, LENGTH)
    distributed.all_gather_into_tensor(whole, whole[rank])
    assert same(whole, torch.stack([data(r, torch.float32, LENGTH) for r in range(size)]))


def uneven_allgather(rank: int) -> None:
    size = distributed.get_world_size()
    got = [torch.zeros(3 * r + 1, 2) for r in range(size)]
    distributed.all_gather(got, data(rank, torch.float32, 3 * rank + 1, 2))
    assert all(same(tensor, data(r, torch.float32, 3 * r + 1, 2)) for r, tensor in enumerate(got))


def coalesced_allgather(rank: int) -> None:
    size = distributed.get_world_size()
    got = [torch.zeros(size * (i + 1)) for i in range(3)]
    with distributed._coalescing_manager():
        for i, tensor in enumerate(got):
            distributed.all_gather_into_tensor(tensor, data(rank + i, torch.float32, i + 1))
    for i, tensor in enumerate(got):
        assert same(tensor, torch.cat([data(r + i, torch.float32, i + 1) for r in range(size)]))
    lists = [[torch.zeros(2, 2), torch.zeros(5)] for _ in range(size)]
    distributed.all_gather_coalesced(lists, [data(rank, torch.float32, 2, 2), data(rank + 1, torch.float32, 5)])
    for r, (one, two) in enumerate(lists):
        assert same(one, data(r, torch.float32, 2, 2)) and same(two, data(r + 1, torch.float32, 5))


def gather_and_scatter(rank: int) -> None:
    size = distributed.get_world_size()
    for root in range(size):
        for dtype in ALL:
            expected = [data(r, dtype, LENGTH, 2) for r in range(size)]
            got = [torch.zeros(LENGTH, 2).to(dtype) for _ in range(size)] if rank == root else None
            distributed.gather(data(rank, dtype, LENGTH, 2), got, root)
            if rank == root:
                assert all(map(same, got, expected)), (root, dtype)
            mine = torch.zeros(LENGTH, 2).to(dtype)
            distributed.scatter(mine, expected if rank == root else None, root)
            assert same(mine, expected[rank]), (root, dtype)


def alltoall(rank: int) -> None:
    size = distributed.get_world_size()

    def block(sender: int, receiver: int, dtype: torch.dtype) -> torch.Tensor:
        return data(10 * sender + receiver, dtype, LENGTH)

    for dtype in ALL:
        got = [torch.zeros(LENGTH).to(dtype) for _ in range(size)]
        distributed.all_to_all(got, [block(rank, r, dtype) for r in range(size)])
        expected = [block(r, rank, dtype) for r in range(size)]
        assert all(map(same, got, expected)), dtype
        whole = torch.zeros(size * LENGTH).to(dtype)
        sent = torch.cat([block(rank, r, dtype).view(torch.uint8) for r in range(size)]).view(dtype)
        distributed.all_to_all_single(whole, sent)
        assert same(whole, torch.cat([tensor.view(torch.uint8) for tensor in expected]).view(dtype)), dtype


def uneven_alltoall(rank: int) -> None:
    """Rank s sends s + 2 r rows to rank r; rank 0 sends no row to itself."""
    size = distributed.get_world_size()
    for dtype in (torch.float32, torch.int64, torch.bool):
        sent = [rank + 2 * r for r in range(size)]
        received = [r + 2 * rank for r in range(size)]
        blocks = [data(10 * rank + r, dtype, rows, 3) for r, rows in enumerate(sent)]
        got = torch.zeros(sum(received), 3).to(dtype)
        distributed.all_to_all_single(got, torch.cat(blocks), received, sent)
        assert same(got, torch.cat([data(10 * r + rank, dtype, rows, 3) for r, rows in enumerate(received)]))
        lists = [torch.zeros(rows, 3).to(dtype) for rows in received]
        distributed.all_to_all(lists, blocks)
        assert same(torch.cat(lists), got)


def some_give_splits(rank: int) -> None:
    size = distributed.get_world_size()
    got = torch.zeros(2 * size)
    splits = [2] * size if rank % 2 == 0 else None
    distributed.all_to_all_single(got, torch.arange(2.0 * size) + 100 * rank, splits, splits)
    assert same(got, torch.cat([torch.arange(2.0 * rank, 2 * rank + 2) + 100 * r for r in range(size)]))


def objects(rank: int) -> None:
    size = distributed.get_world_size()
    got = [None] * size
    distributed.all_gather_object(got, {"rank": rank, "text": "x" * (100 * rank)})
    assert [item["rank"] for item in got] == list(range(size))
    things = [rank, "of rank 0"] if rank == 0 else [None, None]
    distributed.broadcast_object_list(things, 0)
    assert things == [0, "of rank 0"]
    distributed.barrier()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("body", [broadcast, allgather, uneven_allgather, coalesced_allgather, gather_and_scatter,
                                  alltoall, uneven_alltoall, some_give_splits, objects], ids=lambda body: body.__name__)
def test_everything_arrives(body, size: int) -> None:
    run(size, body)


def refused(rank: int) -> list[str]:
    texts = []
    for call in (lambda: distributed.all_gather_into_tensor(torch.zeros(3), torch.zeros(2)),
                 lambda: distributed.all_to_all_single(torch.zeros(4), torch.zeros(4), [1, 1], [2, 2]),
                 lambda: distributed.all_to_all_single(torch.zeros(3), torch.zeros(3)),
                 lambda: distributed.reduce_scatter_tensor(torch.zeros(3), torch.zeros(4))):
        with pytest.raises((RuntimeError, ValueError)) as caught:
            call()
        texts.append(str(caught.value))
    distributed.barrier()
    return texts


def test_wrong_lengths_are_refused_with_numbers() -> None:
    for gathered, splits, odd, scattered in run(2, refused):
        assert "3 elements" in gathered and "2" in gathered
        assert "add up to the first dimension, 4" in splits
        assert "multiple of the 2 ranks" in odd
        assert "4 elements" in scattered
