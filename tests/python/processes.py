"""Starts ranks as processes of their own, without the launcher, which would end all of them when one fails."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def hear_interrupts():
    """A shell's job in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def ranks(*programs, **variables):
    """One process for each program. What is left of them at the end is killed."""
    store = f"127.0.0.1:{free_port()}"
    environment = {**os.environ, "LACUNA_SIZE": str(len(programs)), "LACUNA_STORE": store, "LACUNA_KEY": "secret",
                   "PYTHONUNBUFFERED": "1", **variables}
    started = []
    try:
        for rank, program in enumerate(programs):
            text = "import lacuna, os, sys, time\nworld = lacuna.init()\n" + textwrap.dedent(program)
            started.append(subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts,
                                            env={**environment, "LACUNA_RANK": str(rank)}))
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def outcome(process, timeout=30):
    """What a process has printed, its errors, and its exit status."""
    output, errors = process.communicate(timeout=timeout)
    return output, errors, process.returncode
