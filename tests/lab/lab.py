#!/usr/bin/env python3
"""Runs a command on N emulated hosts joined by links of a given rate.

Each host is a network namespace with one device, eth0. A veth pair connects eth0 to a bridge, which is in a namespace
of its own, and a token bucket at both ends of the pair limits the link. Each invocation has its own namespaces, so
several labs can run at once with the same addresses. The command gets LACUNA_RANK, LACUNA_SIZE, LACUNA_STORE,
LACUNA_KEY and LACUNA_HOST. UCX is restricted to TCP, because shared memory would reach across the namespaces.

    tests/lab/lab.py --hosts 4 --rate 1gbit -- build/release/bin/lacuna perf allreduce -b 8 -e 64M
"""

import argparse
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time

PREFIX = "lacuna-lab-"
SUBNET = "10.83.0"
STORE_PORT = 29400
PROBE_PORT = 29401
PROBE_BYTES = 256 << 20


class LabError(Exception):
    """The lab could not be made, or the command did not use it."""


class Ended(Exception):
    """A signal asked the lab to end."""

    def __init__(self, number):
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def call(*command):
    """Runs a set-up command and returns its output. Raises LabError with its message if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise LabError(f"{command[0]} is not installed (Debian package iproute2)") from None
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def dies_with_lab():
    """Runs in a child before its program starts: the child will be killed when the lab is."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Network:
    """The namespaces, links and counters of one lab."""

    def __init__(self, hosts, rate):
        self.hosts = hosts
        self.rate = rate
        self.switch = f"{PREFIX}{os.getpid()}-switch"

    def host(self, rank):
        return f"{PREFIX}{os.getpid()}-h{rank}"

    def make(self):
        call("ip", "netns", "add", self.switch)
        call("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        call("ip", "-n", self.switch, "link", "set", "bridge", "up")
        for rank in range(self.hosts):
            self._add_host(rank)

    def _add_host(self, rank):
        host, port = self.host(rank), f"h{rank}"
        call("ip", "netns", "add", host)
        call("ip", "-n", host, "link", "set", "lo", "up")
        call("ip", "-n", host, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        call("ip", "-n", self.switch, "link", "set", port, "master", "bridge", "up")
        call("ip", "-n", host, "address", "add", f"{address(rank)}/24", "dev", "eth0")
        call("ip", "-n", host, "link", "set", "eth0", "addrgenmode", "none")  # IPv6 would send messages by itself
        call("ip", "-n", host, "link", "set", "eth0", "up")
        for namespace, device in ((host, "eth0"), (self.switch, port)):
            call("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst",
                 "256kb", "latency", "20ms")

    def sent(self):
        """Bytes that have left each host so far, by the counters of its veth device."""
        devices = [json.loads(call("ip", "-n", self.host(r), "-j", "-s", "link", "show", "eth0"))[0]
                   for r in range(self.hosts)]
        return [device["stats64"]["tx"]["bytes"] for device in devices]

    def settled(self):
        """sent(), once the counts no longer change."""
        counts = None
        for _ in range(20):
            earlier, counts = counts, self.sent()
            if counts == earlier:
                break
            time.sleep(0.1)
        return counts

    def start(self, rank, command, **options):
        """Starts a command on a host, as the leader of a session of its own."""
        return subprocess.Popen(["ip", "netns", "exec", self.host(rank), *command], start_new_session=True,
                                preexec_fn=dies_with_lab, **options)

    def remove(self):
        for rank in range(self.hosts):
            remove_namespace(self.host(rank))
        remove_namespace(self.switch)


def address(rank):
    return f"{SUBNET}.{rank + 1}"


AGENT = """#!/bin/bash
while [[ $1 == -* ]]; do shift; done
case $1 in {hosts} *) exit 1 ;; esac
shift
exec ip netns exec "$namespace" env UCX_TLS=$UCX_TLS UCX_NET_DEVICES=$UCX_NET_DEVICES bash -c "$*"
"""


def write_agent(network, path):
    """Writes what launchers call instead of ssh: AGENT [OPTION...] HOST WORD..."""
    cases = " ".join(f"{address(host)}) namespace={network.host(host)} ;;" for host in range(network.hosts))
    with open(path, "w", encoding="utf-8") as file:
        file.write(AGENT.format(hosts=cases))
    os.chmod(path, 0o755)


def on_links():
    """The environment of programs that must use the links, as shared memory reaches across namespaces."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("LACUNA_")}
    return outside | {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}


def remove_namespace(name):
    """Kills all processes in a namespace of the lab, and deletes it with its devices."""
    def ip(*arguments):
        return subprocess.run(["ip", "netns", *arguments, name], capture_output=True, text=True, check=False).stdout
    for process in ip("pids").split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    ip("delete")


def remove_leftovers():
    """Removes the namespaces of labs that were killed."""
    for line in call("ip", "netns", "list").splitlines():
        name = line.split()[0]
        owner = name.removeprefix(PREFIX).partition("-")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            remove_namespace(name)


def check():
    """Makes and removes a lab of one host. Raises LabError if that is not allowed here."""
    network = Network(1, "1gbit")
    try:
        network.make()
    finally:
        network.remove()


def probe_host(rank, hosts, seconds):
    """Runs on one host: sends to the next host in the ring for so long, receives from the one before, and prints how
    many bytes came and in how many seconds."""
    received = {}

    def receive(listener):
        connection, _ = listener.accept()
        buffer, total, start = bytearray(1 << 20), 0, time.monotonic()
        while count := connection.recv_into(buffer):
            total += count
        received.update(bytes=total, seconds=time.monotonic() - start)

    with socket.create_server((address(rank), PROBE_PORT)) as listener:
        receiver = threading.Thread(target=receive, args=(listener,))
        receiver.start()
        with connect(address((rank + 1) % hosts)) as connection:
            block, total, start = bytes(256 << 10), 0, time.monotonic()
            while total < PROBE_BYTES and time.monotonic() - start < seconds:
                connection.sendall(block)
                total += len(block)
            connection.shutdown(socket.SHUT_WR)
            receiver.join()
    print(json.dumps(received))


def connect(host):
    deadline = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection((host, PROBE_PORT), timeout=30)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def probe(network, seconds):
    """Bytes per second that plain TCP moves from each host to the next, all at once, on the slowest host."""
    hosts = network.hosts
    children = [network.start(r, [sys.executable, __file__, "--probe-host", str(r), "--hosts", str(hosts),
                                  "--probe-seconds", str(seconds)], stdout=subprocess.PIPE, text=True)
                for r in range(hosts)]
    rates = []
    for rank, child in enumerate(children):
        output, _ = child.communicate(timeout=60)
        if child.returncode != 0:
            raise LabError(f"the raw TCP probe failed on host {rank} with status {child.returncode}")
        figures = json.loads(output)
        rates.append(figures["bytes"] / figures["seconds"])
    return min(rates)


class Command:
    """The commands of all ranks, one or more per host, their output and their end."""

    def __init__(self, network, arguments):
        self.network = network
        self.raw = arguments.raw
        self.grace = arguments.grace
        self.printers = []
        key = secrets.token_hex(16)
        self.ranks_per_host = arguments.ranks_per_host
        ranks = network.hosts * self.ranks_per_host
        self.children = [self._start(rank, ranks, arguments.command, key) for rank in range(ranks)]

    def _start(self, rank, ranks, command, key):
        host = rank // self.ranks_per_host
        environment = os.environ | {
            "LACUNA_RANK": str(rank), "LACUNA_SIZE": str(ranks), "LACUNA_HOST": f"h{host}",
            "LACUNA_STORE": f"{address(0)}:{STORE_PORT}", "LACUNA_KEY": key,
            "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
        if self.raw and rank == 0:
            return self.network.start(host, command, env=environment, stdin=subprocess.DEVNULL)
        child = self.network.start(host, command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        for source, sink in ((child.stdout, sys.stdout.buffer), (child.stderr, sys.stderr.buffer)):
            printer = threading.Thread(target=print_lines, args=(rank, source, sink), daemon=True)
            printer.start()
            self.printers.append(printer)
        return child

    def wait(self):
        """Waits for all ranks, and after the first failure for the grace time only. Returns the worst exit status of the
        ranks that ended by themselves."""
        failed_at = None
        while self.running():
            if failed_at is None and any(child.returncode for child in self.children):
                failed_at = time.monotonic()
            if failed_at is not None and time.monotonic() - failed_at > self.grace:
                break
            time.sleep(0.02)
        result = max(status(child) for child in self.children if child not in self.running())
        self.end(signal.SIGTERM)
        for printer in self.printers:
            printer.join(timeout=5)
        return result

    def running(self):
        return [child for child in self.children if child.poll() is None]

    def end(self, number):
        """Sends a signal to the commands that still run, and kills them two seconds later."""
        def signal_all(which):
            for child in self.running():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, which)
        signal_all(number)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline and self.running():
            time.sleep(0.02)
        signal_all(signal.SIGKILL)
        for child in self.children:
            child.wait()


def print_lines(rank, source, sink):
    for line in source:
        sink.write(b"[%d] " % rank + line.rstrip(b"\n") + b"\n")
        sink.flush()


def status(child):
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def check_counters(sent, expected):
    """The links must have carried the payload. Otherwise the ranks have talked in another way."""
    floor = max(expected, 1)
    for rank, count in enumerate(sent):
        if count < floor:
            raise LabError(f"host {rank} sent {count} bytes through its link, fewer than the {floor} of its payload: "
                           "the ranks did not talk over the emulated network")


def run(arguments):
    remove_leftovers()
    network = Network(arguments.hosts, arguments.rate)
    command = None
    try:
        network.make()
        limit = probe(network, arguments.probe_seconds)
        say(f"{network.hosts} hosts, links of {network.rate}; a raw TCP ring moves {limit / 1e6:.1f} MB/s per host: "
            "that is the limit")
        before = network.settled()
        command = Command(network, arguments)
        result = command.wait()
        sent = [after - start for after, start in zip(network.sent(), before)]
        say(f"bytes through the links, per host: {' '.join(map(str, sent))}")
        if result == 0:
            check_counters(sent, arguments.expect_bytes)
        return result
    except Ended as ended:
        if command:
            command.end(ended.number)
        raise
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        network.remove()


def parse():
    parser = argparse.ArgumentParser(description="Runs a command on N emulated hosts joined by links of a given rate.")
    parser.add_argument("--hosts", type=int, default=4, help="number of hosts, 2 to 64 (default 4)")
    parser.add_argument("--rate", default="1gbit", help="rate of each link, as tc writes it (default 1gbit)")
    parser.add_argument("--ranks-per-host", type=int, default=1, metavar="K",
                        help="how many ranks of the command each host gets (default 1)")
    parser.add_argument("--expect-bytes", type=int, default=0, metavar="N",
                        help="fail unless at least N bytes have left each host")
    parser.add_argument("--raw", action="store_true", help="pass rank 0's output on as it is, without its prefix")
    parser.add_argument("--grace", type=float, default=10, metavar="SECONDS",
                        help="how long the others may still run after the first failure (default 10)")
    parser.add_argument("--probe-seconds", type=float, default=2, metavar="SECONDS",
                        help="how long the raw TCP probe lasts at most (default 2)")
    parser.add_argument("--check", action="store_true", help="only say whether a lab can be made here")
    parser.add_argument("--probe-host", type=int, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*", help="after --: what each rank runs")
    arguments = parser.parse_args()
    if not 2 <= arguments.hosts <= 64:
        parser.error(f"--hosts {arguments.hosts}: allowed are 2 to 64")
    if not 1 <= arguments.ranks_per_host <= 64:
        parser.error(f"--ranks-per-host {arguments.ranks_per_host}: allowed are 1 to 64")
    if not arguments.command and not arguments.check and arguments.probe_host is None:
        parser.error("no command given: lab.py --hosts 4 --rate 1gbit -- COMMAND ARGS")
    return arguments


def enter_user_namespace():
    """Without root, starts the lab again as root of a user namespace, if the kernel allows users to have one."""
    inside = 'mount -t tmpfs lab /run && exec "$@"'
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", "--net", "--mount", "--", "sh", "-c", inside, "sh",
                          sys.executable, *sys.argv])


def main():
    arguments = parse()
    if os.geteuid() != 0:
        enter_user_namespace()
    if arguments.probe_host is not None:
        probe_host(arguments.probe_host, arguments.hosts, arguments.probe_seconds)
        return 0

    def end(number, _):
        raise Ended(number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    try:
        if arguments.check:
            check()
            return 0
        return run(arguments)
    except LabError as error:
        say(error)
        return 1
    except Ended as ended:
        say(ended)
        return 128 + ended.number


if __name__ == "__main__":
    sys.exit(main())
