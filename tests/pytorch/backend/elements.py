"""Data of the tests: small whole numbers, so that sums are exact in every type."""

from __future__ import annotations

import torch
from torch.distributed import ReduceOp

FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
WHOLE = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
COMPLEX = [torch.complex64, torch.complex128]
OTHERS = [torch.float8_e4m3fn]  # lacuna moves them only
ALL = [*FLOATS, *WHOLE, *COMPLEX, torch.bool, *OTHERS]
OPERATIONS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "min": ReduceOp.MIN, "max": ReduceOp.MAX,
              "product": ReduceOp.PRODUCT}


def data(rank: int, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """The tensor of this rank, made of 0, 1, 2 and, where there are signs, -1."""
    count = int(torch.Size(shape).numel())
    numbers = (torch.arange(count) * 7 + rank * 3) % 4
    if dtype.is_floating_point or dtype.is_complex or dtype.is_signed:
        numbers = numbers - 1
    if dtype == torch.bool:
        numbers = numbers % 3 == 0
    tensor = numbers.to(torch.int8).to(dtype)
    if dtype.is_complex:
        tensor = tensor * (1 + 1j) + rank * 1j
    return tensor.reshape(shape)


def reduced(tensors: list[torch.Tensor], operation: str) -> torch.Tensor:
    """What all ranks must have: computed in wide types, one rank after the other."""
    dtype = tensors[0].dtype
    wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else torch.int64
    stack = torch.stack([tensor.to(wide) for tensor in tensors])
    if operation in ("sum", "avg"):
        result = stack.sum(0)
    elif operation == "product":
        result = stack.prod(0)
    else:
        result = stack.amin(0) if operation == "min" else stack.amax(0)
    if operation == "avg":
        result = torch.view_as_complex(torch.view_as_real(result) / len(tensors)) if dtype.is_complex else (
            result / len(tensors) if dtype.is_floating_point else result.div(len(tensors), rounding_mode="trunc"))
    return (result != 0) if dtype == torch.bool else result.to(dtype)


def serves(dtype: torch.dtype, operation: str) -> bool:
    """Whether lacuna reduces this type by this operation."""
    if dtype.is_complex:
        return operation in ("sum", "avg", "product")
    return operation != "avg" or dtype != torch.bool


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor, to compare types that PyTorch cannot compare."""
    return tensor.contiguous().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have one type, one shape and equal bits; of complex numbers, equal values."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return torch.equal(one, other) if one.dtype.is_complex else torch.equal(bits(one), bits(other))
