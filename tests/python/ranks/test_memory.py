"""Memory that the other ranks of a host can map."""

import gc

import numpy as np
import pytest

import lacuna


def test_calls_take_it(world):
    x, y = lacuna.empty((100, 1000)), lacuna.empty(100_000, np.float32)
    x[:] = world.rank + 1
    for _ in range(20):
        world.allreduce(x, y)
        assert (y == world.size * (world.size + 1) // 2).all()


def test_arrays_have_the_shape_and_the_type_that_is_asked_for():
    x = lacuna.empty((2, 3), "i8")
    assert (x.shape, x.dtype, x.flags.writeable) == ((2, 3), np.int64, True)
    assert lacuna.empty(4).dtype == np.float32
    assert lacuna.empty((0, 3)).shape == (0, 3)


def test_a_view_keeps_the_memory():
    view = lacuna.empty(1000)[500:]
    view[:] = 7
    gc.collect()
    others = [lacuna.empty(1000) for _ in range(10)]
    for other in others:
        other[:] = 1
    assert (view == 7).all()


def test_bytes_are_a_buffer():
    memory = memoryview(lacuna.allocate(10)).cast("B")
    memory[:] = b"0123456789"
    assert bytes(memory) == b"0123456789"


def test_too_much_is_an_error():
    with pytest.raises(lacuna.Error, match="there is no memory for"):
        lacuna.allocate(2**62)


def test_tensors(world):
    torch = pytest.importorskip("torch")
    import lacuna.torch

    x = lacuna.torch.empty(3, 20_000, dtype=torch.float64)
    assert (tuple(x.shape), x.dtype) == ((3, 20_000), torch.float64)
    assert lacuna.torch.empty(0).shape == (0,)
    for _ in range(20):
        x.fill_(world.rank + 1)
        world.allreduce(x)
        assert (x == world.size * (world.size + 1) // 2).all()
