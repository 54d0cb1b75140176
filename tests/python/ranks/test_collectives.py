"""Each collective gives what numpy says, for all types, in place and not, as a call, a request and a prepared call."""

import numpy as np
import pytest
from oracle import NUMBERS, in_place, numbers, operations_of, result

import lacuna

EVEN = [row for row in lacuna.collectives() if row["lengths"] == 0 and row["input"] != 0]
COUNTS = [0, 1, 5, 1000]


def carry_out(world, form, name, *args, **options):
    if form == "call":
        return getattr(world, name)(*args, **options)
    if form == "start":
        return getattr(world, f"start_{name}")(*args, **options).wait()
    request = getattr(world, f"prepare_{name}")(*args, **options)
    request.start()
    return request.wait()


def roots_of(row, size):
    return range(size) if row["input_at_root"] or row["output_at_root"] else [0]


def options_of(row, op, root):
    options = {"op": op} if row["reduces"] else {}
    return {**options, "root": root} if row["input_at_root"] or row["output_at_root"] else options


@pytest.mark.parametrize("form", ["call", "start", "prepare"])
@pytest.mark.parametrize("row", EVEN, ids=[row["name"] for row in EVEN])
def test_gives_what_numpy_says(world, row, form):
    name = row["name"]
    for dtype in NUMBERS:
        for op in operations_of(dtype, row["averages"]) if row["reduces"] else ["sum"]:
            for root in roots_of(row, world.size):
                for count in COUNTS:
                    given, expected = result(name, op, world.rank, world.size, root, count, dtype)
                    out = None if expected is None else np.zeros(expected.shape, dtype)
                    if out is None and name == "exclusive_scan":
                        out = np.zeros(count, dtype)  # rank 0 has a buffer, which stays as it is
                    options = options_of(row, op, root)
                    carry_out(world, form, name, given, out, **options)
                    if expected is not None:
                        np.testing.assert_array_equal(out, expected, err_msg=f"{name} {op} {dtype} {count}")
                    elif out is not None:
                        assert not out.any()


@pytest.mark.parametrize("row", EVEN, ids=[row["name"] for row in EVEN])
def test_works_in_place(world, row):
    name = row["name"]
    for dtype in NUMBERS:
        for root in roots_of(row, world.size):
            for count in COUNTS:
                given, expected = result(name, "sum", world.rank, world.size, root, count, dtype)
                buffer, place = in_place(name, given, expected, world.rank, world.size, count)
                getattr(world, name)(buffer, **options_of(row, "sum", root))
                if expected is not None:
                    np.testing.assert_array_equal(buffer[place], expected, err_msg=f"{name} {dtype} {count}")


def test_blocks_of_different_lengths(world):
    size, rank = world.size, world.rank
    counts = [3 * one % 5 + 1 for one in range(size)]
    starts = np.cumsum([0, *counts])
    mine = slice(starts[rank], starts[rank + 1])
    whole = numbers(0, starts[-1], "int32")

    out = np.zeros(starts[-1], np.int32)
    world.allgatherv(whole[mine].copy(), out, counts=counts)
    np.testing.assert_array_equal(out, whole)

    part = np.zeros(counts[rank], np.int32)
    world.reduce_scatterv(whole, part, counts=counts)
    np.testing.assert_array_equal(part, size * whole[mine])

    for root in range(size):
        has = rank == root
        out = np.zeros(starts[-1], np.int32) if has else None
        world.gatherv(whole[mine].copy(), out, root=root, counts=counts if has else None)
        assert not has or (out == whole).all()
        part[:] = 0
        world.scatterv(whole if has else None, part, root=root, counts=counts if has else None)
        np.testing.assert_array_equal(part, whole[mine])


def test_alltoallv_tells_what_has_come(world):
    size, rank = world.size, world.rank
    sent = [rank + to + 1 for to in range(size)]
    given = np.concatenate([np.full(count, 10 * rank + to) for to, count in enumerate(sent)])
    room = 2 * size
    out = np.zeros(room * size, given.dtype)
    received = np.zeros(size, np.uint64)
    world.alltoallv(given, out, counts=sent, out_counts=[room] * size, received=received)
    assert received.tolist() == [source + rank + 1 for source in range(size)]
    for source in range(size):
        assert (out[source * room:source * room + source + rank + 1] == 10 * source + rank).all()


def test_offsets_leave_spaces(world):
    counts = [2] * world.size
    offsets = [3 * one for one in range(world.size)]
    out = np.full(3 * world.size, -1)
    world.allgatherv(np.full(2, world.rank), out, counts=counts, offsets=offsets)
    assert out.tolist() == [number for one in range(world.size) for number in (one, one, -1)]


def test_barrier(world):
    world.barrier()
    world.start_barrier().wait()


def test_a_value_with_its_index(world):
    located = np.dtype([("value", "f8"), ("index", "i8")], align=True)
    x = np.zeros(4, located)
    x["value"] = [(world.rank + place) % world.size for place in range(4)]
    x["index"] = world.rank
    world.allreduce(x, op="max")
    assert x["value"].tolist() == [world.size - 1] * 4
    assert x["index"].tolist() == [(world.size - 1 - place) % world.size for place in range(4)]


def test_truth_values_are_combined_by_max_and_min(world):
    x = np.array([world.rank == 0, True, False])
    world.allreduce(x, op="max")
    assert x.tolist() == [True, True, False]
    with pytest.raises(lacuna.InvalidArgument, match="truth values"):
        world.allreduce(x)
