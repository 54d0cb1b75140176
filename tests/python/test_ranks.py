"""Runs the tests of the folder ranks/ on 1 to 4 ranks."""

import subprocess
import sys
from pathlib import Path

import pytest

import lacuna

FOLDER = Path(__file__).parent / "ranks"


@pytest.mark.parametrize("size, progress", [(1, "caller"), (2, "caller"), (3, "caller"), (4, "caller"), (3, "thread")])
def test_on_ranks(size, progress):
    command = [lacuna.get_command(), "launch", "-n", str(size), "--progress", progress, "--", sys.executable, "-m",
               "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", str(FOLDER)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-4000:]
