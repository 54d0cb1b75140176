"""The method skip with segments of a tensor, some of which may be too important to be skipped.

    from lacuna.typed_skip import Segment, importance, skip

    method = skip([Segment(0, 900_000, "automatic"), Segment(900_000, 100_000, "never")], steps=1)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from lacuna import _lacuna, _methods
from lacuna._lacuna import Method, State


class Segment(NamedTuple):
    """A stretch of the data of an allreduce."""

    offset: int
    """Its first element."""
    count: int
    """Its number of elements."""
    policy: str = "skip"
    """'skip': it is skipped as the options say; 'never': it is dense; 'automatic': it is dense if it is important."""


class Importance(NamedTuple):
    """What a state knows of a segment whose policy is 'automatic'."""

    segment: int
    """Its place in the list of segments."""
    count: int
    """Elements, when it was last measured."""
    share: float | None
    """The share of them that was among the largest quarter of the model; None: not known yet."""
    important: bool
    """Whether it is dense from now on."""


def skip(segments: Iterable[Segment | tuple[int, int, str]], **options: Any) -> Method:
    """Make the method skip with segments.

    Parameters
    ----------
    segments : iterable of Segment
        They ascend and cover the data of the calls.
    **options
        Those of ``lacuna.skip``.

    Returns
    -------
    Method
        for allreduces of so many elements. Each tensor with 'automatic' segments needs a state
    """
    plain = _methods.functions["skip"](**options)
    return _make(plain.text, [(one.offset, one.count, one.policy) for one in (Segment(*given) for given in segments)])


def _make(text: str, segments: list[tuple[int, int, str]]) -> Method:
    return _lacuna.make_skip(_make, text, segments)  # pickle finds this function by its name


def importance(state: State) -> list[Importance]:
    """List the 'automatic' segments that the calls of a state have measured."""
    return [Importance(*one) for one in _lacuna.skip_importance(state)]
