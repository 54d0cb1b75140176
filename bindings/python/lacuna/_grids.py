"""Grids of ranks, whose neighbours exchange data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lacuna import _lacuna


class Neighbour(NamedTuple):
    """A rank with which this rank exchanges data. Two ranks may be neighbours several times."""

    rank: int | None
    """None: nobody is there, and nothing is exchanged."""
    send_direction: int
    """0 .. 32767, of what is sent to it."""
    receive_direction: int
    """The direction in which it sends."""


def balanced_grid(size: int, dimensions: int) -> list[int]:
    """Return the lengths of a grid of `size` ranks. They are close to each other, and descend."""
    return _lacuna.balanced_grid(size, dimensions)


def grid_neighbours(lengths: Sequence[int], rank: int, periodic: Sequence[bool] = ()) -> list[Neighbour]:
    """List the neighbours of a rank in a grid, whose last coordinate changes fastest from one rank to the next.

    Parameters
    ----------
    lengths : sequence of int
        Ranks along each dimension.
    rank : int
        Whose neighbours these are.
    periodic : sequence of bool, optional
        True for each dimension whose last rank stands next to the first. By default there is none.

    Returns
    -------
    list of Neighbour
        The rank before this one and the one behind it in the first dimension, then those in the second ...
    """
    return [Neighbour(*one) for one in _lacuna.grid_neighbours(list(lengths), rank, [int(closed) for closed in periodic])]
