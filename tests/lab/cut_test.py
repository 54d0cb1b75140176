#!/usr/bin/env python3
"""Tests what a job says when the network between two of its hosts is cut. Each test states one property.

    tests/lab/cut_test.py build/release/bin/lacuna_worker
"""

import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
import unittest

import lab

WORKER = None
SILENCE = 4  # LACUNA_WATCH_TIMEOUT, in seconds
NOBODY = "02:00:00:00:00:01"


class Rank:
    """A rank of a job on a host of its own. A thread collects its output."""

    def __init__(self, network, rank, key):
        environment = os.environ | {
            "LACUNA_RANK": str(rank), "LACUNA_SIZE": str(network.hosts), "LACUNA_HOST": f"h{rank}",
            "LACUNA_STORE": f"{lab.address(0)}:{lab.STORE_PORT}", "LACUNA_KEY": key, "LACUNA_STALL": "0.5",
            "LACUNA_WATCH_TIMEOUT": str(SILENCE), "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
        command = [WORKER, f"size={network.hosts}", "stream=allreduce,f32,sum,200000,0,ring", "poisoned"]
        self.lines = []
        self.child = network.start(rank, command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def wait_for(self, part, within):
        """Waits for a line with this part. Returns when it came, and the line."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for moment, line in list(self.lines):
                if part in line:
                    return moment, line
            time.sleep(0.02)
        raise AssertionError(f"no '{part}' in:\n" + "\n".join(line for _, line in self.lines))


def cut(network, one, other):
    """Cuts the network between two hosts, in both directions. Both still reach the other hosts."""
    for here, there in ((one, other), (other, one)):
        lab.call("ip", "-n", network.host(here), "neigh", "replace", lab.address(there), "lladdr", NOBODY, "dev",
                 "eth0", "nud", "permanent")


class CutTest(unittest.TestCase):
    def setUp(self):
        self.network = lab.Network(4, "1gbit")
        self.network.make()
        self.addCleanup(self.network.remove)
        key = secrets.token_hex(16)
        self.ranks = [Rank(self.network, rank, key) for rank in range(4)]
        self.addCleanup(self.end)
        for rank in self.ranks:
            rank.wait_for("streaming", 60)

    def end(self):
        for rank in self.ranks:
            if rank.child.poll() is None:
                os.killpg(rank.child.pid, signal.SIGKILL)
            rank.child.wait()
            rank.reader.join(5)
            rank.child.stdout.close()

    def expect_end(self, rank, text):
        _, line = rank.wait_for("call: ", 15 * SILENCE)  # its buffers may be in use for a while
        self.assertIn(text, line)
        _, line = rank.wait_for("left after", 10)
        self.assertLessEqual(int(re.search(r"left after (\d+) ms", line).group(1)), 1000)

    def test_a_cut_link_between_ranks_that_both_answer_is_named_by_its_pair(self):
        cut(self.network, 1, 2)
        _, line = self.ranks[0].wait_for("is the network between them cut?", 10 * SILENCE)
        self.assertRegex(line, r"nothing that is sent from rank (1 .* to rank 2|2 .* to rank 1) ")
        for rank in self.ranks:
            self.expect_end(rank, "though both answer (is the network between them cut?)")
            _, line = rank.wait_for("call: ", 1)
            self.assertRegex(line, r"nothing that was sent from rank (1 .* to rank 2|2 .* to rank 1) ")

    def test_a_rank_that_is_cut_off_is_named_with_the_rank_that_does_not_hear_it(self):
        for other in (0, 1, 3):
            cut(self.network, 2, other)
        for rank in (0, 1, 3):
            self.expect_end(self.ranks[rank], "rank 2 (host h2) does not answer rank 0 for 4 s")
        self.expect_end(self.ranks[2], "rank 0 (host h0) does not answer rank 2 for 4 s")

    def test_a_rank_zero_that_is_cut_off_says_that_it_hears_nobody(self):
        for other in (1, 2, 3):
            cut(self.network, 0, other)
        self.expect_end(self.ranks[0], "none of ranks 1-3 answers rank 0 (host h0) for 4 s")
        for rank in (1, 2, 3):
            self.expect_end(self.ranks[rank], f"rank 0 (host h0) does not answer rank {rank} for 4 s")


def main():
    global WORKER
    if os.geteuid() != 0:
        lab.enter_user_namespace()
    WORKER = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()


if __name__ == "__main__":
    main()
