"""What State and Request have beside their compiled parts."""

from __future__ import annotations

from typing import Any, Generator, Mapping

from lacuna._lacuna import Report, Request, State


def state_dict(self: State) -> dict[str, Any]:
    """Return the whole state for a checkpoint. Each rank saves its own.

    Returns
    -------
    dict
        "saved" has all of it, as bytes; "runs" and "sampler" are there to be read
    """
    return {"saved": self.save(), "runs": self.runs, "sampler": self.sampler}


def load_state_dict(self: State, saved: Mapping[str, Any]) -> None:
    """Make the state what it was when state_dict() was called."""
    self.restore(bytes(saved["saved"]))


def __await__(self: Request) -> Generator[Any, None, Report]:
    """Let a coroutine of asyncio wait for the request."""
    from lacuna import _await  # asyncio takes long to import

    return _await.wait(self)


for owner, function in ((State, state_dict), (State, load_state_dict), (Request, __await__)):
    function.__module__ = owner.__module__
    function.__qualname__ = f"{owner.__qualname__}.{function.__name__}"
    setattr(owner, function.__name__, function)
