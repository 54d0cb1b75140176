"""Sparse tensors, and methods of all_reduce."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

import pytest
import torch
from elements import same
from processes import attempt, run
from torch import distributed

import lacuna.torch


def sparse_of(rank: int, dtype: torch.dtype, rows: int, *row: int, coalesced: bool = True) -> torch.Tensor:
    """Some rows of a table; rank 3 has none. Without coalesced one row is there twice."""
    places = torch.arange(rank, rows, 5) if rank < 3 else torch.empty(0, dtype=torch.int64)
    if not coalesced and rank < 3:
        places = torch.cat([places, places[:1]])
    values = ((torch.arange(len(places) * torch.Size(row).numel()) + rank) % 7).to(dtype).reshape(len(places), *row)
    return torch.sparse_coo_tensor(places.unsqueeze(0), values, (rows, *row), is_coalesced=coalesced,
                                   check_invariants=False)


def tables(rank: int) -> None:
    size = distributed.get_world_size()
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int64):
        for row in ((), (4,), (3, 2)):
            for coalesced in (True, False):
                got = sparse_of(rank, dtype, 23, *row, coalesced=coalesced)
                all_ranks = [sparse_of(r, dtype, 23, *row, coalesced=coalesced).to_dense() for r in range(size)]
                distributed.all_reduce(got)
                assert got.is_coalesced() and got.shape == (23, *row)
                expected = sum(all_ranks[1:], all_ranks[0])
                assert same(got.to_dense(), expected), (dtype, row, coalesced)
    average = sparse_of(rank, torch.float32, 23, 4)
    distributed.all_reduce(average, distributed.ReduceOp.AVG)
    expected = sum(sparse_of(r, torch.float32, 23, 4).to_dense() for r in range(size)) / size
    assert torch.allclose(average.to_dense(), expected)
    whole = sparse_of(rank, torch.int64, 23, 4)
    distributed.all_reduce(whole, distributed.ReduceOp.AVG)
    assert same(whole.to_dense(), sum(sparse_of(r, torch.int64, 23, 4).to_dense() for r in range(size)) // size)


def matrices(rank: int) -> None:
    """Two sparse dimensions, and as the last call one without any entry."""
    size = distributed.get_world_size()
    places = torch.tensor([[0, 3, 3], [rank, rank, 4]])
    got = torch.sparse_coo_tensor(places, torch.tensor([1.0, 2.0, 3.0]), (5, 6))
    expected = sum(torch.sparse_coo_tensor(torch.tensor([[0, 3, 3], [r, r, 4]]), torch.tensor([1.0, 2.0, 3.0]),
                                           (5, 6)).to_dense() for r in range(size))
    work = distributed.all_reduce(got, async_op=True)
    work.wait()
    assert same(got.to_dense(), expected)
    nothing = torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.int64), torch.empty(0, 2), (8, 2))
    distributed.all_reduce(nothing)
    assert nothing._nnz() == 0


def beside_gloo(rank: int) -> None:
    gloo = distributed.new_group(backend="gloo")
    ours, theirs = sparse_of(rank, torch.float32, 23, 4), sparse_of(rank, torch.float32, 23, 4)
    distributed.all_reduce(ours)
    distributed.all_reduce(theirs, group=gloo)
    assert same(ours.to_dense(), theirs.to_dense())
    assert torch.equal(ours.indices(), theirs.coalesce().indices())


def refused(rank: int) -> str:
    with pytest.raises(RuntimeError) as caught:
        distributed.all_reduce(sparse_of(rank, torch.float32, 23), distributed.ReduceOp.MAX)
    return str(caught.value)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("body", [tables, matrices, beside_gloo], ids=lambda body: body.__name__)
def test_sparse_tensors(body, size: int) -> None:
    run(size, body)


def test_sparse_tensors_are_only_added() -> None:
    assert all("SUM and AVG" in text for text in run(2, refused))


def only_rows_travel(rank: int) -> float:
    """Reduces a table of 64 MB with ten rows of each rank in far less time than the dense table takes. The shortest of
    several times counts, because others use the machine too.
    """
    import time

    def shortest(make: Callable[[], torch.Tensor]) -> float:
        times = []
        for _ in range(5):
            table = make()
            distributed.barrier()
            begin = time.perf_counter()
            distributed.all_reduce(table)
            times.append(time.perf_counter() - begin)
        return min(times)

    places = torch.arange(10).unsqueeze(0) * (rank + 2)
    sparse = shortest(lambda: torch.sparse_coo_tensor(places, torch.ones(10, 64), (250_000, 64)))
    return shortest(lambda: torch.zeros(250_000, 64)) / sparse


def test_only_the_rows_of_a_sparse_tensor_travel() -> None:
    assert min(run(2, only_rows_travel)) > 2


def largest_tenth(rank: int) -> None:
    """With topk a rank sends the largest tenth, and what it has kept comes next time."""
    size = distributed.get_world_size()
    gradient = torch.zeros(2000)
    total = torch.zeros(2000)
    for step in range(30):
        gradient.copy_(torch.arange(2000.0) if step == 0 else torch.zeros(2000))
        distributed.all_reduce(gradient)
        if step == 0:
            assert 0 < (gradient != 0).sum() <= 200 * size
        total += gradient
    assert torch.equal(total, torch.arange(2000.0) * size)  # nothing is lost


def test_a_method_serves_all_reduce_and_remembers_per_tensor() -> None:
    run(2, largest_tenth, pg_options=lacuna.torch.Options(method="topk:density=0.1"))
    run(2, largest_tenth, pg_options="topk:density=0.1")


def dense_where_it_must_be(rank: int) -> None:
    size = distributed.get_world_size()
    for tensor, operation in ((torch.arange(100.0), distributed.ReduceOp.SUM),  # less than the minimum
                              (torch.arange(5000), distributed.ReduceOp.SUM),
                              (torch.arange(5000.0), distributed.ReduceOp.MAX)):
        expected = tensor * (size if operation == distributed.ReduceOp.SUM else 1)
        distributed.all_reduce(tensor, operation)
        assert torch.equal(tensor, expected)


def states_end_with_their_tensors(rank: int) -> None:
    """A new tensor in the memory of an old one has no residual of it."""
    for _ in range(20):
        gradient = torch.ones(5000)
        distributed.all_reduce(gradient)
        assert gradient.max() == distributed.get_world_size()


@pytest.mark.parametrize("body", [dense_where_it_must_be, states_end_with_their_tensors],
                         ids=lambda body: body.__name__)
def test_a_method(body) -> None:
    run(2, body, pg_options=lacuna.torch.Options(method="topk:density=0.01"))


def test_ranks_with_different_methods_get_an_error(tmp_path: Path) -> None:
    outcomes = attempt(2, differing, str(tmp_path / "store"), backend=None)
    assert all(outcome.error is None for outcome in outcomes), outcomes


def differing(rank: int, path: str) -> None:
    distributed.init_process_group("lacuna", store=distributed.FileStore(path, 2), rank=rank, world_size=2,
                                   pg_options=f"topk:density=0.{rank + 1}")
    with pytest.raises(RuntimeError, match="density"):
        distributed.all_reduce(torch.ones(5000))
