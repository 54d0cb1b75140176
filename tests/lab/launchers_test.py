#!/usr/bin/env python3
"""Tests jobs that other launchers start on several hosts, without any variable of lacuna.

    tests/lab/launchers_test.py build/release/bin/lacuna
    TORCHRUN=$(command -v torchrun) tests/lab/launchers_test.py build/release/bin/lacuna
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import lab

LACUNA = None
TORCHRUN = os.environ.get("TORCHRUN")  # its package is large, so the tests do not install it
HOSTS, RANKS = 2, 4
PAYLOAD = 1 << 20  # of a call
# What a launcher calls instead of ssh: AGENT [OPTION...] HOST WORD...
AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
case $1 in {hosts} *) exit 1 ;; esac
shift
exec ip netns exec "$namespace" env UCX_TLS=$UCX_TLS UCX_NET_DEVICES=$UCX_NET_DEVICES bash -c "$*"
"""


class OtherLaunchers(unittest.TestCase):
    def setUp(self):
        self.network = lab.Network(HOSTS, "1gbit")
        self.addCleanup(self.network.remove)
        self.network.make()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        cases = " ".join(f"{lab.address(host)}) namespace={self.network.host(host)} ;;" for host in range(HOSTS))
        self.agent = pathlib.Path(folder.name) / "agent"
        self.agent.write_text(AGENT.format(hosts=cases), encoding="utf-8")
        self.agent.chmod(0o755)
        self.addresses = [lab.address(host) for host in range(HOSTS)]

    def start(self, host, command):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LACUNA_")}
        environment |= {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}  # shared memory reaches across namespaces
        return self.network.start(host, [*command, LACUNA, "perf", "allreduce", "-b", str(PAYLOAD), "-e", str(PAYLOAD),
                                         "-n", "3"],
                                  env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)

    def expect_job(self, *commands):
        """Starts `lacuna perf` by commands on the first hosts. The data must go over the links."""
        before = self.network.settled()
        children = [self.start(host, command) for host, command in enumerate(commands)]
        output = ""
        for child in children:
            try:
                output += child.communicate(timeout=120)[0]
            except subprocess.TimeoutExpired:
                for one in children:
                    os.killpg(one.pid, signal.SIGKILL)
                raise
        for child in children:
            self.assertEqual(child.returncode, 0, output)
        self.assertIn(f"on {RANKS} ranks", output)
        self.assertIn("# Out of bounds values : 0 OK", output)
        for after, start in zip(self.network.sent(), before):
            self.assertGreater(after - start, 3 * PAYLOAD, output)

    def test_mpiexec_of_mpich_starts_ranks_on_two_hosts(self):
        self.expect_job(["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", str(self.agent), "-localhost",
                         self.addresses[0], "-hosts", ",".join(self.addresses), "-ppn", str(RANKS // HOSTS), "-n",
                         str(RANKS)])

    def test_mpirun_of_open_mpi_starts_ranks_on_two_hosts(self):
        hosts = ",".join(f"{one}:{RANKS // HOSTS}" for one in self.addresses)
        self.expect_job(["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(self.agent), "--mca",
                         "oob_tcp_if_include", "eth0", "--host", hosts, "-n", str(RANKS)])

    @unittest.skipUnless(TORCHRUN, "TORCHRUN names no torchrun of PyTorch")
    def test_torchrun_starts_ranks_on_two_hosts(self):
        self.expect_job(*([TORCHRUN, "--no-python", "--nnodes", str(HOSTS), "--nproc-per-node", str(RANKS // HOSTS),
                           "--master-addr", self.addresses[0], "--master-port", "29600", "--rdzv-id", "a-run-of-the-lab",
                           "--node-rank", str(host)] for host in range(HOSTS)))


if __name__ == "__main__":
    LACUNA = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
