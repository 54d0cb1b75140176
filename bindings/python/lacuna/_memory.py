"""Memory that the other ranks of a host can map."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lacuna import _lacuna

if TYPE_CHECKING:
    import numpy


def allocate(nbytes: int) -> ctypes.Array[ctypes.c_ubyte]:
    """Take memory that the other ranks of this host can map, so that they read messages where they lie.

    Parameters
    ----------
    nbytes : int
        How many bytes.

    Returns
    -------
    ctypes.Array
        The bytes, with any content, as a buffer that can be written: ``memoryview``, ``numpy.frombuffer`` and
        ``torch.frombuffer`` take it. The memory is given back when nothing refers to it any more.
    """
    address = _lacuna.allocate(nbytes)
    memory = (ctypes.c_ubyte * nbytes).from_address(address)
    weakref.finalize(memory, _lacuna.free, address).atexit = False  # calls may use it until the process ends
    return memory


def empty(shape: int | Sequence[int], dtype: Any = "f4") -> numpy.ndarray[Any, Any]:
    """Return an array of numpy in memory that the other ranks of this host can map (see ``allocate``).

    Parameters
    ----------
    shape : int or sequence of int
        The lengths of its dimensions.
    dtype : numpy.dtype, optional
        The type of its elements, f4 unless given.
    """
    import numpy

    kind = numpy.dtype(dtype)
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    count = int(numpy.prod(lengths, dtype=numpy.int64))
    if count == 0:
        return numpy.empty(lengths, kind)
    return numpy.frombuffer(allocate(count * kind.itemsize), dtype=kind).reshape(lengths)
