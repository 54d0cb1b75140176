"""How the tests of this folder tell what has happened on their ranks."""

from __future__ import annotations

import threading

import pytest
from processes import die, run


def hangs(rank: int) -> None:
    threading.Event().wait()


def test_a_rank_that_hangs_shows_where() -> None:
    with pytest.raises(AssertionError, match="in hangs"):
        run(1, hangs, backend=None, limit=0.1)


def dies_or_raises(rank: int) -> None:
    if rank == 0:
        die()
    raise ValueError("the cause")


def test_the_error_of_a_rank_is_told_beside_the_end_of_another() -> None:
    with pytest.raises(AssertionError, match="(?s)rank 0 of 2 has ended with -9.*the cause"):
        run(2, dies_or_raises, backend=None)
