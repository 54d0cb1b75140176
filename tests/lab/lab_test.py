#!/usr/bin/env python3
"""Tests of the lab. Each test states one property."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

LAB = pathlib.Path(__file__).with_name("lab.py")

# Sends N bytes from host 0 to host 1 over a plain socket.
TRANSFER = """
import os, socket, sys, time
if os.environ["LACUNA_RANK"] == "1":
    connection, _ = socket.create_server(("10.83.0.2", 5000)).accept()
    while connection.recv(1 << 20):
        pass
elif os.environ["LACUNA_RANK"] == "0":
    while True:
        try:
            connection = socket.create_connection(("10.83.0.2", 5000))
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    connection.sendall(bytes(int(sys.argv[1])))
"""


def lab_command(*arguments, hosts=2):
    return [sys.executable, LAB, "--hosts", str(hosts), "--probe-seconds", "0.1", *arguments]


def lab(*arguments, hosts=2):
    return subprocess.run(lab_command(*arguments, hosts=hosts), capture_output=True, text=True, timeout=60)


def start_lab(*arguments, hosts=2):
    """Starts a lab in the background, and returns it when its first host has printed a line."""
    child = subprocess.Popen(lab_command(*arguments, hosts=hosts), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True)
    child.stdout.readline()
    return child


def namespaces_of(pid):
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.startswith(f"lacuna-lab-{pid}-")]


def processes_with(marker):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if command[:2] == [b"sleep", marker.encode()]:
                found.append(entry.name)
    return found


class LabTest(unittest.TestCase):
    def test_every_host_gets_its_rank_size_and_name(self):
        done = lab("--", "sh", "-c", "echo $LACUNA_RANK $LACUNA_SIZE $LACUNA_HOST $LACUNA_STORE $UCX_TLS", hosts=3)
        expected = [f"[{r}] {r} 3 h{r} 10.83.0.1:29400 tcp,self" for r in range(3)]
        self.assertEqual(sorted(done.stdout.splitlines()), expected)

    def test_the_ranks_of_a_host_have_its_name(self):
        done = lab("--ranks-per-host", "2", "--", "sh", "-c", "echo $LACUNA_RANK $LACUNA_SIZE $LACUNA_HOST", hosts=2)
        self.assertEqual(sorted(done.stdout.splitlines()), [f"[{r}] {r} 4 h{r // 2}" for r in range(4)])

    def test_raw_leaves_the_output_of_rank_0_alone(self):
        done = lab("--raw", "--", "sh", "-c", "echo $LACUNA_RANK")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0", "[1] 1"])

    def test_traffic_between_hosts_is_counted_on_the_links(self):
        done = lab("--", sys.executable, "-c", TRANSFER, "3000000")
        counts = done.stderr.splitlines()[1].rpartition(": ")[2].split()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(3000000 <= int(counts[0]) < 3300000, done.stderr)

    def test_a_run_that_bypasses_the_links_fails(self):
        done = lab("--", "sleep", "1")  # meanwhile the kernels of the hosts send nothing either
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not talk over the emulated network", done.stderr)

    def test_a_run_that_moves_less_than_its_payload_fails(self):
        done = lab("--expect-bytes", "4000000", "--", sys.executable, "-c", TRANSFER, "3000000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("host 0 sent", done.stderr)

    def test_no_link_is_faster_than_its_rate(self):
        done = lab("--rate", "80mbit", "--probe-seconds", "1", "--", "true")
        limit = float(done.stderr.partition("moves ")[2].split()[0])
        self.assertTrue(0 < limit < 10.5, done.stderr)

    def test_the_worst_exit_status_is_returned(self):
        self.assertEqual(lab("--", "sh", "-c", "exit $((LACUNA_RANK * 3))", hosts=3).returncode, 6)

    def test_the_others_are_ended_once_one_has_failed(self):
        marker = f"300.{os.getpid()}"
        done = lab("--grace", "0.2", "--", "sh", "-c", f"[ $LACUNA_RANK = 1 ] && exit 7; sleep {marker}")
        self.assertEqual(done.returncode, 7)
        self.assertEqual(processes_with(marker), [])

    def test_an_interrupted_lab_leaves_no_namespace_and_no_process(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            marker = f"300.{os.getpid()}{number}"
            child = start_lab("--", "sh", "-c", f"echo up; sleep {marker}")
            self.assertEqual(len(namespaces_of(child.pid)), 3)
            child.send_signal(number)
            self.assertEqual(child.wait(timeout=20), 128 + number)
            child.stdout.close()
            self.assertEqual(namespaces_of(child.pid), [])
            self.assertEqual(processes_with(marker), [])

    def test_what_a_killed_lab_leaves_is_removed_by_the_next(self):
        marker = f"300.{os.getpid()}9"
        child = start_lab("--", "sh", "-c", f"echo up; sleep {marker}")
        child.kill()
        child.wait()
        child.stdout.close()
        self.assertEqual(len(namespaces_of(child.pid)), 3)
        lab("--", "true")
        self.assertEqual(namespaces_of(child.pid), [])
        self.assertEqual(processes_with(marker), [])

    def test_two_labs_at_once_do_not_meet(self):
        first = start_lab("--", "sh", "-c", "echo up; sleep 300")
        second = lab("--", sys.executable, "-c", TRANSFER, "1000000")
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertEqual(len(namespaces_of(first.pid)), 3)
        first.terminate()
        first.wait(timeout=20)
        first.stdout.close()


if __name__ == "__main__":
    unittest.main()
