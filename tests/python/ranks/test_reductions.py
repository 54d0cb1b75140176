"""Reductions of the program's own: compiled functions of a library."""

import ctypes
import os
import shutil
import subprocess

import numpy as np
import pytest

import lacuna

SOURCE = """
#include <stddef.h>
#include <stdint.h>
struct range { double least, largest; };
void join(void* context, const void* given, void* inout, size_t count) {
  const struct range* in = given;
  struct range* out = inout;
  for (size_t i = 0; i < count; ++i) {
    if (in[i].least < out[i].least) out[i].least = in[i].least;
    if (in[i].largest > out[i].largest) out[i].largest = in[i].largest;
  }
}
void add_modulo(void* context, const void* given, void* inout, size_t count) {
  const uint16_t* in = given;
  uint16_t* out = inout;
  for (size_t i = 0; i < count; ++i) out[i] = (uint16_t)((in[i] + out[i]) % *(const int64_t*)context);
}
"""
RANGE = np.dtype([("least", "f8"), ("largest", "f8")])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp(f"reductions{os.getpid()}")
    (folder / "own.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", folder / "own.c", "-o", folder / "own.so"], check=True)
    return ctypes.CDLL(str(folder / "own.so"))


def test_of_a_structure(world, library):
    x = np.zeros(100, RANGE)
    x["least"] = world.rank + np.arange(100)
    x["largest"] = x["least"]
    world.allreduce(x, op=lacuna.Reduction(library.join, id=1))
    assert (x["least"] == np.arange(100)).all()
    assert (x["largest"] == np.arange(100) + world.size - 1).all()


def test_of_elements_that_are_several_numbers(world, library):
    address = ctypes.cast(library.join, ctypes.c_void_p).value
    x = np.full((50, 2), float(world.rank))
    out = np.empty((50, 2))
    reduction = lacuna.Reduction(address, 2, size=16)
    for _ in range(2):
        report = world.allreduce(x, out, op=reduction)
        assert out.tolist() == [[0.0, world.size - 1.0]] * 50
    assert report.method == "" and (reduction.id, reduction.size) == (2, 16)


def test_with_a_context_in_all_forms(world, library):
    modulus = ctypes.c_int64(7)

    class Compiled:  # as numba.cfunc() makes them
        address = ctypes.cast(library.add_modulo, ctypes.c_void_p).value

    reduction = lacuna.Reduction(Compiled, 3, context=ctypes.pointer(modulus))
    total = (5 * world.size) % 7
    x = np.full(1000, 5, np.uint16)
    request = world.start_allreduce(x, op=reduction)
    del reduction
    request.wait()
    assert (x == total).all()
    out = np.zeros(10, np.uint16)
    prepared = world.prepare_reduce_scatter(np.full(10 * world.size, 5, np.uint16), out,
                                            op=lacuna.Reduction(Compiled, 3, context=ctypes.pointer(modulus)))
    for _ in range(3):
        prepared.start()
        prepared.wait()
    assert (out == total).all()
    block = np.full(10 * world.size, 5, np.uint16)  # in place: this rank's block becomes the result
    world.reduce_scatter(block, op=lacuna.Reduction(Compiled, 3, context=ctypes.pointer(modulus)))
    assert (block[10 * world.rank:10 * (world.rank + 1)] == total).all()


def test_what_does_not_fit_is_refused_with_words(world, library):
    with pytest.raises(lacuna.InvalidArgument, match="x has elements of 24 bytes; .* takes 1, 2, 4, 8, 16, 32 or 64"):
        world.allreduce(np.zeros(4, np.dtype([("a", "f8", 3)])), op=lacuna.Reduction(library.join, 1))
    with pytest.raises(lacuna.InvalidArgument, match="x has 24 bytes, which are no whole elements of 16"):
        world.allreduce(np.zeros(3), op=lacuna.Reduction(library.join, 1, size=16))
    with pytest.raises(lacuna.InvalidArgument, match="objects of Python"):
        world.allreduce(np.zeros(3, object), op=lacuna.Reduction(library.join, 1))
    with pytest.raises(lacuna.InvalidArgument, match="elements of 0 bytes"):
        world.allreduce(np.zeros(3, "V0"), op=lacuna.Reduction(library.join, 1))
    with pytest.raises(TypeError, match="function"):
        lacuna.Reduction("join", 1)
    with pytest.raises(lacuna.InvalidArgument, match="address of the function is 0"):
        lacuna.Reduction(0, 1)
    with pytest.raises(TypeError):
        lacuna.Reduction(lambda *_: None, 1)
    assert world.status == "ok"


def test_ranks_with_different_reductions_learn_it(world, library):
    if world.size == 1:
        pytest.skip("needs several ranks")
    part = world.split(0)
    with pytest.raises(lacuna.Mismatch):
        part.allreduce(np.zeros(4, RANGE), op=lacuna.Reduction(library.join, id=world.rank))
    part.free()
