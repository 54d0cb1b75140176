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


@contextlib.contextmanager
def reserved_port():
    """A port that nobody else gets by chance meanwhile. Rank 0 can listen at it all the same."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def hear_interrupts():
    """A shell's job in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def ranks(*programs, joined=True, **variables):
    """One process for each program, which has joined already. What is left of them at the end is killed."""
    started = []
    with reserved_port() as port:
        environment = {**os.environ, "LACUNA_SIZE": str(len(programs)), "LACUNA_STORE": f"127.0.0.1:{port}",
                       "LACUNA_KEY": "secret", "PYTHONUNBUFFERED": "1", **variables}
        try:
            for rank, program in enumerate(programs):
                text = "import lacuna, os, sys, time\n" + ("world = lacuna.init()\n" if joined else "")
                text += textwrap.dedent(program)
                started.append(subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts,
                                                env={**environment, "LACUNA_RANK": str(rank)}))
            yield started
        finally:
            for process in started:
                process.kill()
                process.communicate()


def outcome(process, timeout=90):
    """What a process has printed, its errors, and its exit status."""
    output, errors = process.communicate(timeout=timeout)
    return output, errors, process.returncode
