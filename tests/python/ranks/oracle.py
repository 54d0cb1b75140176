"""What numpy says that each collective gives. Nothing here knows lacuna's code."""

from functools import reduce

import numpy as np

NUMBERS = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "complex64", "complex128"]
OPERATIONS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def operations_of(dtype, averages):
    """The reductions that lacuna has for a dtype."""
    kind = np.dtype(dtype).kind
    if kind == "c":
        return ["sum", "prod"]
    return ["sum", "prod", "min", "max"] + (["avg"] if averages and kind == "f" else [])


def numbers(rank, count, dtype):
    """What a rank gives: ones and twos, so that sums and products are exact in all types."""
    return ((np.arange(count) // 3 + np.arange(count) + rank) % 2 + 1).astype(dtype)


def reduced(arrays, op):
    if op == "avg":
        wide = np.float64 if arrays[0].dtype == np.float64 else np.float32
        total = sum(array.astype(wide) for array in arrays)
        return (total / wide(len(arrays))).astype(arrays[0].dtype)
    return reduce(OPERATIONS[op], arrays).astype(arrays[0].dtype)


def result(name, op, rank, size, root, count, dtype):
    """The input of this rank and its output; None: it has none. `count` is that of the smaller buffer."""
    blocks_in = name in ("reduce_scatter", "scatter", "alltoall")
    length = count * size if blocks_in else count
    all_inputs = [numbers(one, length, dtype) for one in range(size)]
    mine = slice(rank * count, (rank + 1) * count)
    given = all_inputs[rank]
    if name == "allreduce":
        return given, reduced(all_inputs, op)
    if name == "reduce_scatter":
        return given, reduced(all_inputs, op)[mine]
    if name == "allgather":
        return given, np.concatenate(all_inputs)
    if name == "broadcast":
        return given if rank == root else None, all_inputs[root]
    if name == "reduce":
        return given, reduced(all_inputs, op) if rank == root else None
    if name == "gather":
        return given, np.concatenate(all_inputs) if rank == root else None
    if name == "scatter":
        return given if rank == root else None, all_inputs[root][mine]
    if name == "alltoall":
        return given, np.concatenate([one[mine] for one in all_inputs])
    if name == "scan":
        return given, reduced(all_inputs[:rank + 1], op)
    if name == "exclusive_scan":
        return given, reduced(all_inputs[:rank], op) if rank > 0 else None
    raise AssertionError(f"the oracle does not know {name}")


def in_place(name, given, expected, rank, size, count):
    """One buffer that has the input and, after the call, the result; and where in it the result lies."""
    mine = slice(rank * count, (rank + 1) * count)
    if name == "allgather" or (name == "gather" and expected is not None):
        buffer = np.zeros(count * size, given.dtype)
        buffer[mine] = given
        return buffer, slice(None)
    if name in ("reduce_scatter", "scatter") and given is not None:
        return given.copy(), mine
    if given is None:
        return np.zeros(expected.shape, expected.dtype), slice(None)
    return given.copy(), slice(None)
