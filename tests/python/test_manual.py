"""The programs of the manual run as they stand there, and ranks of MPI join by mpi4py."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lacuna

MANUAL = Path(__file__).parents[2] / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", MANUAL.read_text(), re.M | re.S)
PROGRAMS = [block for block in BLOCKS if "world = lacuna.init(" in block and "MPI" not in block]


def test_the_manual_has_three_programs():
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_manual_runs(program):
    pytest.importorskip("numpy")
    ended = subprocess.run([lacuna.get_command(), "launch", "-n", "3", "--", sys.executable, "-c", program],
                           capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_ranks_of_mpi_join():
    pytest.importorskip("mpi4py")
    mpirun = shutil.which("mpirun.openmpi")
    if not mpirun:
        pytest.skip("no Open MPI")
    program = """
from mpi4py import MPI
import lacuna
world = lacuna.init(comm=MPI.COMM_WORLD)
assert (world.rank, world.size) == (MPI.COMM_WORLD.Get_rank(), 2)
x = bytearray([world.rank + 1] * 10)
world.allreduce(x)
assert x == bytearray([3] * 10)
world.free()
half = lacuna.init(comm=MPI.COMM_SELF, store="127.0.0.1:0")
assert half.size == 1
for wrong in ({"rank": 0}, {"store": "127.0.0.1:5"}):
    try:
        lacuna.init(comm=MPI.COMM_SELF, **wrong)
        assert False
    except lacuna.InvalidArgument:
        pass
print("joined")
"""
    ended = subprocess.run([mpirun, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", program],
                           capture_output=True, text=True, timeout=60)
    assert ended.stdout.count("joined") == 2, ended.stdout + ended.stderr
