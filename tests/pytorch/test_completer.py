"""The thread that completes works of buckets, at the end of a process."""
import subprocess
import sys

PROGRAM = """
import time
import torch
from lacuna.torch.completer import Completer, Work

def finish(reports):
    time.sleep(0.3)
    print("finished", flush=True)
    return torch.ones(1000)

completer = Completer()
completer.add(Work([], finish, torch.zeros(1000), True))
"""


def outcome(program):
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    return ended.stdout, ended.returncode, ended.stderr


def test_a_process_ends_after_its_works():
    for rest in ("", "del completer\n"):
        output, status, errors = outcome(PROGRAM + rest)
        assert (output, status) == ("finished\n", 0), errors


def test_a_process_does_not_wait_for_works_that_never_end():
    output, status, errors = outcome(PROGRAM.replace("sleep(0.3)", "sleep(60)"))
    assert (output, status) == ("", 0), errors
