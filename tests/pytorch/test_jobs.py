"""Starts jobs of one, two and four ranks, and says what became of them."""
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lacuna

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "pytorch"
LIMIT = 240  # seconds


def torchrun(ranks, *words):
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port",
            str(free_port()), *map(str, words)]


def launch(ranks, *words):
    return [str(lacuna.get_command()), "launch", "-n", str(ranks), "--", sys.executable, *map(str, words)]


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def run(words, seconds=LIMIT):
    """Runs a job. Returns its exit status and its output."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "LACUNA_DEADLINE": "60"}
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds,
                          check=False, env=environment)
    return done.returncode, done.stdout


def check(words):
    status, output = run(words)
    assert status == 0, output[-20000:]
    return output


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_all_ranks_pass_under_torchrun(ranks):
    output = check(torchrun(ranks, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HERE / "ranks"))
    assert output.count(" passed") == ranks


def test_all_ranks_pass_under_lacuna_launch():
    output = check(launch(2, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HERE / "ranks" / "test_methods.py"))
    assert output.count(" passed") == 2


def test_a_killed_rank_ends_the_others_with_an_error():
    begin = time.monotonic()
    status, output = run(torchrun(4, HERE / "killed.py"), seconds=120)
    assert status != 0
    assert "lacuna" in output and "rank 1" in output, output[-5000:]
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("ranks", [1, 2])
def test_another_number_of_ranks_takes_the_state(tmp_path, ranks):
    check(torchrun(4, HERE / "resized.py", tmp_path, "save"))
    check(torchrun(ranks, HERE / "resized.py", tmp_path, "load"))


def test_the_minimal_example_learns():
    output = check(torchrun(4, EXAMPLES / "minimal.py"))
    losses = [float(line.split()[-1]) for line in output.splitlines() if "loss" in line]
    assert losses[-1] < 0.5 * losses[0], output
    assert "ok_topk:density=0.01" in output


def test_the_cost_of_the_hook_can_be_measured():
    output = check([sys.executable, str(HERE / "cost.py"), "--steps", "2", "dense", "topk:density=0.01"])
    lines = [line.split() for line in output.splitlines()]
    assert lines[0][:4] == ["rule", "calls", "C", "hook"]
    assert [line[0] for line in lines[1:]] == ["dense", "topk:density=0.01"]
    assert int(lines[1][1]) < int(lines[2][1])  # one call for the bucket, and one for each large parameter


@pytest.mark.parametrize("comm", ["gloo", "fp16", "powersgd:1", "dense", "ok_topk:density=0.01,momentum=0.9"])
def test_the_training_example_writes_its_result(tmp_path, comm):
    import json

    path = tmp_path / "result.json"
    check(torchrun(2, EXAMPLES / "train.py", "--comm", comm, "--epochs", "0.02", "--evaluate-every", "20",
                   "--output", path))
    result = json.loads(path.read_text())
    assert result["ranks"] == 2 and len(result["evaluations"]) >= 2
    assert result["evaluations"][-1]["accuracy"] > 0.3
    if comm in ("gloo", "fp16", "powersgd:1"):  # on one host lacuna's ranks share memory
        assert result["evaluations"][-1]["bytes"] > 0
