"""The exceptions of lacuna: one class for each status of the C API."""

from __future__ import annotations

from lacuna import _lacuna


class Error(Exception):
    """What all exceptions of lacuna are. Their texts are those of the C API."""


class InvalidArgument(Error, ValueError):
    """The call can never work as given."""


class Unsupported(Error, NotImplementedError):
    """The call is well-formed, but not supported."""


class Mismatch(Error):
    """Ranks asked for different things."""


class TimedOut(Error, TimeoutError):
    """A wait or a deadline ran out."""


class Busy(Error):
    """Too many calls are in flight, or one still uses the state, the buffers or the request; nothing was sent."""


class PeerFailed(Error, ConnectionError):
    """A rank died, stopped or left."""


class Poisoned(Error):
    """An earlier failure ended this communicator."""


class Transport(Error, ConnectionError):
    """The network layer reported an error."""


class IO(Error, OSError):
    """A file could not be read or written."""


class Internal(Error, RuntimeError):
    """A defect of lacuna itself, or the system lacks memory, threads or descriptors."""


# The classes stand in the order of lacuna_status. Its first value, LACUNA_OK, is no error.
_lacuna.set_errors([Error, InvalidArgument, Unsupported, Mismatch, TimedOut, Busy, PeerFailed, Poisoned, Transport, IO,
                    Internal])
