#!/usr/bin/env python3
"""Tests jobs that other launchers start on emulated hosts, without any variable of lacuna.

    tests/lab/launchers_test.py build/release/bin/lacuna
    TORCHRUN=$(command -v torchrun) tests/lab/launchers_test.py build/release/bin/lacuna
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import lab

LACUNA = None
TORCHRUN = os.environ.get("TORCHRUN")  # its package is large, so the tests do not install it
HOSTS, RANKS = 2, 4
PAYLOAD = 1 << 20  # of a call

SLURM = """ClusterName=lab
SlurmctldHost={name}({address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ReturnToService=2
NodeName={name} NodeAddr={address} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE State=UP
"""


@unittest.skipUnless(os.path.ismount("/sys/fs/cgroup"), "slurmd needs the control groups of the kernel")
class Slurm(unittest.TestCase):
    """A Slurm of one host in a network of its own."""

    def setUp(self):
        self.daemons = []
        self.network = lab.Network(1, "1gbit")
        self.addCleanup(self.stop)
        self.network.make()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key, config = self.folder / "key", self.folder / "slurm.conf"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        config.write_text(SLURM.format(name=os.uname().nodename.split(".")[0], address=lab.address(0), folder=folder.name),
                          encoding="utf-8")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LACUNA_")}
        self.environment["SLURM_CONF"] = str(config)
        with (self.folder / "log").open("w", encoding="utf-8") as self.log:
            self.start_daemon("munged", "--foreground", "--force", f"--key-file={key}",
                              f"--socket={self.folder}/munge", f"--pid-file={self.folder}/munged.pid",
                              f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/seed")
            self.start_daemon("slurmctld", "-D", "-i")
            self.start_daemon("slurmd", "-D")
        deadline = time.monotonic() + 60
        while "idle" not in self.answer_of("sinfo", "--noheader", "--format=%T"):
            self.assertLess(time.monotonic(), deadline, (self.folder / "log").read_text(encoding="utf-8"))
            time.sleep(0.2)

    def start_daemon(self, *command):
        """Starts a daemon in the host's network. Unlike other commands there, it sees the machine's /sys."""
        daemon = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.network.host(0)}", *command],
                                  env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.daemons.append(daemon)

    def stop(self):
        self.network.remove()  # and with it what runs there
        for daemon in self.daemons:
            daemon.wait()

    def answer_of(self, *command):
        child = self.network.start(0, command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        try:
            return child.communicate(timeout=120)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise

    def test_srun_starts_ranks_by_pmix_by_pmi_1_and_by_variables_alone(self):
        for mpi, by in (("pmix", "PMIx (PMIX_NAMESPACE="), ("pmi2", "PMI-1 (PMI_FD="), ("none", "Slurm (SLURM_PROCID=")):
            with self.subTest(mpi=mpi):
                srun = ("srun", f"--mpi={mpi}", "--overcommit", "-n")
                self.assertIn(by, self.answer_of(*srun, "2", LACUNA, "info"))
                output = self.answer_of(*srun, str(RANKS), LACUNA, "perf", "allreduce", "-b", "4", "-e", "64K", "-n", "2")
                self.assertIn(f"on {RANKS} ranks", output)
                self.assertIn("# Out of bounds values : 0 OK", output)


class OtherLaunchers(unittest.TestCase):
    def setUp(self):
        self.network = lab.Network(HOSTS, "1gbit")
        self.addCleanup(self.network.remove)
        self.network.make()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.agent = pathlib.Path(folder.name) / "agent"
        lab.write_agent(self.network, self.agent)
        self.addresses = [lab.address(host) for host in range(HOSTS)]

    def start(self, host, command):
        return self.network.start(host, [*command, LACUNA, "perf", "allreduce", "-b", str(PAYLOAD), "-e", str(PAYLOAD),
                                         "-n", "3"],
                                  env=lab.on_links(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
