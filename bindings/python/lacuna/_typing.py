"""What calls take as memory."""

from __future__ import annotations

from array import array
from typing import Any, Protocol, Union

from lacuna._lacuna import Entries


class SupportsDLPack(Protocol):
    """What gives its memory by DLPack: arrays of numpy, tensors of torch, and many others."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        ...


BufferLike = Union[SupportsDLPack, bytes, bytearray, memoryview, "array[Any]", Entries]
