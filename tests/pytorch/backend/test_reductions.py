"""Collectives that reduce, in all types, against a plain computation and against Gloo."""

from __future__ import annotations

import pytest
import torch
from elements import ALL, COMPLEX, FLOATS, OPERATIONS, OTHERS, WHOLE, data, reduced, same, serves
from processes import run
from torch import distributed

SIZES = [1, 2, 3, 4]
CASES = [(dtype, name) for dtype in ALL if dtype not in OTHERS for name in OPERATIONS if serves(dtype, name)]
LENGTH = 37  # no multiple of any number of ranks
GLOO_TYPES = [torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8, torch.int8, torch.bfloat16]


def of_all(dtype: torch.dtype, *shape: int) -> list[torch.Tensor]:
    return [data(rank, dtype, *shape) for rank in range(distributed.get_world_size())]


def allreduce(rank: int) -> int:
    for dtype, name in CASES:
        inputs = of_all(dtype, LENGTH)
        got = inputs[rank].clone()
        group = distributed.group.WORLD
        if dtype.is_complex and name == "product":  # torch.distributed passes other complex calls as pairs of numbers
            options = distributed.AllreduceOptions()
            options.reduceOp = OPERATIONS[name]
            group.allreduce([got], options).wait()
        else:
            distributed.all_reduce(got, OPERATIONS[name])
        assert same(got, reduced(inputs, name)), (dtype, name, got, reduced(inputs, name))
    return len(CASES)


def reduce(rank: int) -> None:
    for root in range(distributed.get_world_size()):
        for dtype, name in CASES:
            if dtype.is_complex and name == "product":
                continue
            inputs = of_all(dtype, LENGTH)
            got = inputs[rank].clone()
            distributed.reduce(got, root, OPERATIONS[name])
            expected = reduced(inputs, name) if rank == root else inputs[rank]
            assert same(got, expected), (root, dtype, name)


def reduce_scatter(rank: int) -> None:
    size = distributed.get_world_size()
    for dtype, name in CASES:
        if dtype.is_complex and name == "product":
            continue
        inputs = of_all(dtype, size, LENGTH)
        expected = reduced([tensor[rank] for tensor in inputs], name)
        got = torch.zeros_like(expected)
        distributed.reduce_scatter(got, list(inputs[rank].unbind()), OPERATIONS[name])
        assert same(got, expected), (dtype, name)
        got = torch.zeros_like(expected)
        distributed.reduce_scatter_tensor(got, inputs[rank].clone(), OPERATIONS[name])
        assert same(got, expected), (dtype, name)


def reduce_scatter_in_place(rank: int) -> None:
    inputs = of_all(torch.float32, distributed.get_world_size(), LENGTH)
    whole = inputs[rank].clone()
    distributed.reduce_scatter_tensor(whole[rank], whole)
    assert same(whole[rank], reduced([tensor[rank] for tensor in inputs], "sum"))


def uneven_reduce_scatter(rank: int) -> None:
    size = distributed.get_world_size()
    inputs = [[data(r + block, torch.float32, block * 5) for block in range(size)] for r in range(size)]
    got = torch.zeros(rank * 5)
    distributed.reduce_scatter(got, inputs[rank])
    assert same(got, reduced([blocks[rank] for blocks in inputs], "sum"))


def strided(rank: int) -> None:
    inputs = of_all(torch.float32, 6, 5)
    got = inputs[rank].clone().t()
    distributed.all_reduce(got)
    assert same(got, reduced(inputs, "sum").t())
    whole = inputs[rank].long().t()
    distributed.all_reduce(whole, distributed.ReduceOp.AVG)
    assert same(whole, reduced([tensor.long() for tensor in inputs], "avg").t())
    every_other = torch.full((60,), -5.0)
    every_other[::2] = inputs[rank].flatten()
    distributed.all_reduce(every_other[::2])
    assert same(every_other[::2].contiguous(), reduced(inputs, "sum").flatten())
    assert (every_other[1::2] == -5).all()
    scalar = torch.tensor(float(rank))
    distributed.all_reduce(scalar)
    assert scalar.item() == sum(range(distributed.get_world_size()))
    empty = torch.empty(0)
    distributed.all_reduce(empty)


def coalesced(rank: int) -> None:
    size = distributed.get_world_size()
    shapes = [(3,), (2, 4), (), (5, 1, 2)]
    inputs = [[data(r + i, torch.float64, *shape) for i, shape in enumerate(shapes)] for r in range(size)]
    got = [tensor.clone() for tensor in inputs[rank]]
    with distributed._coalescing_manager():
        for tensor in got:
            distributed.all_reduce(tensor)
    for i, tensor in enumerate(got):
        assert same(tensor, reduced([mine[i] for mine in inputs], "sum"))
    whole = [[tensor.long() for tensor in mine] for mine in inputs]
    got = [tensor.clone() for tensor in whole[rank]]
    with distributed._coalescing_manager():
        for tensor in got:
            distributed.all_reduce(tensor, distributed.ReduceOp.AVG)
    for i, tensor in enumerate(got):
        assert same(tensor, reduced([mine[i] for mine in whole], "avg"))
    parts = [[data(r + i, torch.int32, size * (i + 1)) for i in range(3)] for r in range(size)]
    got = [torch.zeros(i + 1, dtype=torch.int32) for i in range(3)]
    with distributed._coalescing_manager():
        for tensor, mine in zip(got, parts[rank]):
            distributed.reduce_scatter_tensor(tensor, mine)
    for i, tensor in enumerate(got):
        whole = reduced([mine[i] for mine in parts], "sum")
        assert same(tensor, whole[rank * (i + 1):(rank + 1) * (i + 1)])


def beside_gloo(rank: int) -> int:
    gloo = distributed.new_group(backend="gloo")
    compared = 0
    for dtype in GLOO_TYPES:
        for name in ("sum", "min", "max", "product"):
            ours, theirs = data(rank, dtype, LENGTH), data(rank, dtype, LENGTH)
            distributed.all_reduce(ours, OPERATIONS[name])
            distributed.all_reduce(theirs, OPERATIONS[name], group=gloo)
            assert same(ours, theirs), (dtype, name)
            compared += 1
    return compared


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("body", [allreduce, reduce, reduce_scatter, reduce_scatter_in_place, uneven_reduce_scatter,
                                  strided, coalesced, beside_gloo], ids=lambda body: body.__name__)
def test_equals_the_plain_computation(body, size: int) -> None:
    run(size, body)


def refused_operations(rank: int) -> list[str]:
    texts = []
    for operation in (distributed.ReduceOp.BAND, distributed.ReduceOp.BXOR):
        with pytest.raises(RuntimeError) as caught:
            distributed.all_reduce(torch.ones(3, dtype=torch.int32), operation)
        texts.append(str(caught.value))
    return texts


def test_names_the_reductions_that_are_allowed() -> None:
    for texts in run(2, refused_operations):
        for text in texts:
            assert "SUM, AVG, MIN, MAX, PRODUCT" in text, text


def refused_types(rank: int) -> list[str]:
    texts = []
    for dtype, operation in ((torch.float8_e4m3fn, "sum"), (torch.bool, "avg")):
        with pytest.raises(RuntimeError) as caught:
            distributed.all_reduce(torch.ones(3).to(dtype), OPERATIONS[operation])
        texts.append(str(caught.value))
    distributed.all_reduce(torch.ones(3))  # the group still works
    return texts


def test_names_the_types_that_are_allowed() -> None:
    for float8, bools in run(2, refused_types):
        assert "BFloat16" in float8 and "Float8" in float8
        assert "AVG" in bools


def test_covers_the_types() -> None:
    dtypes = {dtype for dtype, _ in CASES}
    assert dtypes == {*FLOATS, *WHOLE, *COMPLEX, torch.bool}
