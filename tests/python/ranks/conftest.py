"""These tests run on all ranks of a job at the same time: lacuna launch -n 4 -- python3 -m pytest tests/python/ranks."""

import os

import pytest

os.environ.setdefault("LACUNA_DEADLINE", "30")

import lacuna  # noqa: E402, because the deadline must be set before


@pytest.fixture(scope="session")
def world():
    with lacuna.init() as joined:
        expected = os.environ.get("LACUNA_SIZE")
        assert expected is None or joined.size == int(expected)
        yield joined
