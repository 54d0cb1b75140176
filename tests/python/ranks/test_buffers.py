"""Which memory a call takes, without a copy, and which it refuses with words."""

import ctypes
from array import array

import numpy as np
import pytest

import lacuna


def total(size):
    return size * (size + 1) // 2


@pytest.mark.parametrize("make", [
    lambda value: np.full(3, value, np.float32),
    lambda value: np.full((3, 1), value, np.float32),
    lambda value: array("f", [value] * 3),
    lambda value: memoryview(array("f", [value] * 3)),
    lambda value: bytearray([value] * 3),
], ids=["numpy", "matrix", "array", "memoryview", "bytearray"])
def test_takes_what_has_the_buffer_protocol(world, make):
    x = make(world.rank + 1)
    world.allreduce(x)
    assert np.ravel(x).tolist() == [total(world.size)] * 3


class OnlyDLPack:
    """What has DLPack but no buffer protocol."""

    def __init__(self, values):
        self.values = values
        self.__dlpack__ = values.__dlpack__


class OldDLPack(OnlyDLPack):
    """Before version 1 of DLPack."""

    def __init__(self, values):
        super().__init__(values)
        self.__dlpack__ = lambda: values.__dlpack__()


@pytest.mark.parametrize("kind", [OnlyDLPack, OldDLPack])
def test_takes_dlpack(world, kind):
    values = np.full(5, world.rank + 1.0)
    world.allreduce(kind(values))
    assert values.tolist() == [total(world.size)] * 5


class SaidToLieOn(OnlyDLPack):
    """Says that its values lie on a kind of device, by that number of DLPack. They do not."""

    def __init__(self, device):
        values = np.ones(5)
        super().__init__(values)
        self.__dlpack__ = lambda: self._moved(values.__dlpack__(), device)

    @staticmethod
    def _moved(capsule, device):
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        of_device = pointer_of(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        ctypes.c_int32.from_address(of_device).value = device
        return capsule


def test_tells_lacuna_what_lies_on_a_device(world):
    with pytest.raises(lacuna.Error, match="cuda memory"):  # there is no device, or it does not lie there
        world.allreduce(SaidToLieOn(2))
    with pytest.raises(lacuna.Error, match="cuda_managed memory"):
        world.allreduce(SaidToLieOn(13))
    with pytest.raises(lacuna.Unsupported, match="DLPack's device type 10; allowed: that of the host and of CUDA"):
        world.allreduce(SaidToLieOn(10))


def test_all_buffers_of_a_call_lie_in_one_memory(world):
    alone = [lacuna.Neighbour(world.rank, 0, 0)]
    with pytest.raises(lacuna.Error, match="cuda memory"):
        world.exchange(alone, [SaidToLieOn(2)], [SaidToLieOn(2)])
    words = r"receives\[0\] lies in memory of the host, and other buffers of the call lie on device 0; they must lie in one"
    with pytest.raises(lacuna.InvalidArgument, match=words):
        world.exchange(alone, [SaidToLieOn(2)], [np.zeros(5)])
    entries = lacuna.Entries(np.arange(5, dtype=np.uint32), SaidToLieOn(2), 5)
    with pytest.raises(lacuna.InvalidArgument, match="places lies in memory of the host, and other buffers"):
        world.allreduce(entries, out=np.zeros(5), method="topk:density=1,feedback=0")


def test_takes_bfloat16_of_ml_dtypes(world):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    x = np.full(5, world.rank + 1, bfloat16)
    world.allreduce(x)
    assert x.astype(float).tolist() == [total(world.size)] * 5


def test_a_bytearray_keeps_its_length_during_a_call(world):
    x = bytearray(8)
    request = world.prepare_allreduce(x)
    with pytest.raises(BufferError):
        x.append(0)
    del request
    x.append(0)


def test_input_may_be_read_only(world):
    x = np.ones(3)
    x.flags.writeable = False
    out = np.zeros(3)
    world.allreduce(x, out)
    assert out.tolist() == [world.size] * 3
    with pytest.raises(lacuna.InvalidArgument, match="x is read-only"):
        world.allreduce(x)
    with pytest.raises(lacuna.InvalidArgument, match="out is read-only"):
        world.allreduce(out, x)
    with pytest.raises(lacuna.InvalidArgument, match="x is read-only"):
        world.allreduce(b"12345678")


def test_the_root_may_broadcast_what_is_read_only(world):
    x = b"12345678" if world.rank == 0 else bytearray(8)
    world.broadcast(x)
    assert x == b"12345678"
    if world.rank > 0:
        with pytest.raises(lacuna.InvalidArgument, match="read-only"):
            world.broadcast(b"12345678")


def test_refuses_what_is_not_contiguous(world):
    for x in (np.zeros((4, 4))[:, 0], np.zeros((4, 4)).T, np.zeros(4)[::-1], OnlyDLPack(np.zeros((4, 4)).T)):
        with pytest.raises(lacuna.InvalidArgument, match="contiguous"):
            world.allreduce(x)


def test_refuses_wrong_shapes(world):
    with pytest.raises(lacuna.InvalidArgument):
        world.allreduce(np.zeros(4), np.zeros(5))
    if world.size > 1:
        with pytest.raises(lacuna.InvalidArgument):
            world.allgather(np.zeros(4), np.zeros(4))
        with pytest.raises(lacuna.InvalidArgument):
            world.reduce_scatter(np.zeros(4 * world.size + 1), np.zeros(4))
    with pytest.raises(lacuna.InvalidArgument, match="counts has 1 numbers|counts has 2 numbers"):
        world.allgatherv(np.zeros(4), np.zeros(4), counts=[1] if world.size > 1 else [1, 2])


def test_refuses_mixed_types(world):
    with pytest.raises(lacuna.InvalidArgument, match="f32.*f64"):
        world.allreduce(np.zeros(4, np.float32), np.zeros(4))


@pytest.mark.parametrize("x", [np.zeros(3, "S5"), np.zeros(3, np.longdouble), np.zeros(3, ">f4"), np.zeros(3, object),
                               np.zeros(3, "M8[s]")], ids=["text", "longdouble", "big endian", "object", "time"])
def test_refuses_other_elements(world, x):
    with pytest.raises(lacuna.InvalidArgument):
        world.allreduce(x)


def test_refuses_what_is_no_buffer(world):
    for x in (None, 3, "text", [1.0]):
        with pytest.raises(TypeError, match="buffer protocol"):
            world.allreduce(x)


def test_refuses_unknown_names(world):
    x = np.zeros(3)
    for options, words in [({"op": "mean"}, "sum, avg, min, max, prod"), ({"priority": "urgent"}, "high, normal, low"),
                           ({"algorithm": "square"}, "square"), ({"method": "topp"}, "topk"),
                           ({"method": "topk:densty=1"}, "density")]:
        with pytest.raises(lacuna.InvalidArgument, match=words):
            world.allreduce(x, **options)
    with pytest.raises(TypeError, match="algorithm is of type int; allowed: text"):
        world.allreduce(x, algorithm=3)
    with pytest.raises(TypeError):
        world.allreduce(x, method=3)
