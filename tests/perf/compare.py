#!/usr/bin/env python3
"""Measures lacuna beside Open MPI, UCX's own test and bare programs on two ranks of this machine; prints Markdown.

Everything runs in turn, several rounds of it, so that a busy or moved machine shows in all columns alike. Each figure is
the median of the rounds, with the least and the greatest. Nothing is asserted.

  tests/perf/compare.py BUILD [--rounds N] [--quick]
"""
import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

SMALL = {8: 20000, 1024: 20000}  # bytes: iterations of one round
LARGE = {1 << 20: 200, 16 << 20: 20, 64 << 20: 10}
PORT = 13399
LIMIT = 60  # seconds for any one program
MPI_FLAGS = {
    "shared memory": ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"],
    "loopback TCP": ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"],
}
UCX_TLS = {"shared memory": None, "loopback TCP": "tcp,self"}


def output_of(command, environment=None):
    """What the command prints, or None when it fails, does not end in time or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, **(environment or {})})
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return None
    return done.stdout if done.returncode == 0 else None


class Bench:
    """Runs one program once and returns milliseconds per operation by size."""

    def __init__(self, build):
        self.lacuna = os.path.join(build, "bin", "lacuna")
        self.bare = os.path.join(build, "bin", "bare_allreduce")
        self.mpi = os.path.join(build, "bin", "mpi_allreduce")

    def run_lacuna(self, sizes, network, algorithm):
        environment = {"UCX_TLS": UCX_TLS[network]} if UCX_TLS[network] else {}
        result = {}
        for size, iterations in sizes.items():
            text = output_of([self.lacuna, "launch", "-n", "2", "--", self.lacuna, "perf", "allreduce", "-b", str(size),
                              "-e", str(size), "-n", str(iterations), "-w", str(max(iterations // 10, 2)), "-c", "0",
                              "--algorithm", algorithm], environment)
            row = re.search(rf"\]\s+{size}\s+\d+\s+f32\s+sum\s+{algorithm}\s+([\d.]+)(ms|s|)\s", text or "")
            if row:
                result[size] = float(row[1]) * {"": 1e-3, "ms": 1, "s": 1e3}[row[2]]
        return result

    def run_mpi(self, sizes, network):
        result = {}
        for size, iterations in sizes.items():
            result |= self.lines(["mpirun", "--allow-run-as-root", "--oversubscribe", *MPI_FLAGS[network], "-n", "2",
                                  self.mpi, str(iterations), str(size)])
        return result

    def run_bare(self, sizes, way):
        result = {}
        for size, iterations in sizes.items():
            result |= self.lines([self.bare, way, str(iterations), str(size)])
        return result

    @staticmethod
    def lines(command):
        text = output_of(command) or ""
        return {int(size): float(time) for size, time in re.findall(r"^(\d+) ([\d.]+)$", text, re.M)}

    @staticmethod
    def run_ucx(sizes):
        """Half a round trip of an active message: a recursive doubling of two ranks is one exchange."""
        result = {}
        for size, iterations in sizes.items():
            command = ["ucx_perftest", "-t", "ucp_am_lat", "-s", str(size), "-n", str(iterations), "-w", "2000",
                       "-p", str(PORT)]
            try:
                server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except FileNotFoundError:
                return {}
            time.sleep(0.5)
            final = re.search(r"Final:\s+\d+\s+[\d.]+\s+([\d.]+)", output_of(command + ["localhost"]) or "")
            if final:
                result[size] = float(final[1]) / 1e3
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        return result


def collect(columns, rounds):
    """Runs all columns in turn, `rounds` times; samples by (column, size)."""
    samples = {}
    for number in range(rounds):
        for name, run in columns.items():
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            for size, milliseconds in run().items():
                samples.setdefault((name, size), []).append(milliseconds)
    return samples


def cell(values, scale):
    if not values:
        return "not measured"
    digits = 3 if statistics.median(values) * scale < 1 else 2
    return " ".join([f"{statistics.median(values) * scale:.{digits}f}",
                     f"({min(values) * scale:.{digits}f}..{max(values) * scale:.{digits}f})"])


def table(title, sizes, columns, samples, scale):
    """The first column is lacuna; each other one has its ratio beside it."""
    first, *others = columns
    print(f"\n**{title}**\n")
    header = ["size", first]
    for other in others:
        header += [other, f"lacuna / {other}"]
    print("| " + " | ".join(header) + " |")
    print("|" + " ---: |" * len(header))
    for size in sizes:
        own = samples.get((first, size), [])
        row = [f"{size} B" if size < 1 << 20 else f"{size >> 20} MiB", cell(own, scale)]
        for other in others:
            theirs = samples.get((other, size), [])
            ratio = statistics.median(own) / statistics.median(theirs) if own and theirs else None
            row += [cell(theirs, scale), f"{ratio:.2f}" if ratio else ""]
        print("| " + " | ".join(row) + " |")


def first_line(command, pattern):
    found = re.search(pattern, output_of(command) or "")
    return found[1] if found else "not installed"


def describe_machine(lacuna):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*:\s*(.+)", file.read())
    print(f"Machine: {model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
          f"{platform.system()} {platform.release()}; load average {os.getloadavg()[0]:.1f} at the start.")
    print(f"Versions: lacuna {first_line([lacuna, '--version'], r'lacuna (.+)')}, "
          f"UCX {first_line(['ucx_info', '-v'], r'([0-9]+[.][0-9]+[.][0-9]+)')}, "
          f"Open MPI {first_line(['mpirun', '--version'], r'([0-9]+[.][0-9]+[.][0-9]+)')}.")


def describe_flags():
    print("\nFlags: `lacuna launch -n 2 -- lacuna perf allreduce -c 0 --algorithm recursive_doubling` (small) or "
          "`ring` (large), out of place, over TCP with `UCX_TLS=tcp,self`; `ucx_perftest -t ucp_am_lat`; "
          + "; ".join(f"`mpirun -n 2 {' '.join(flags)}` ({network})" for network, flags in MPI_FLAGS.items())
          + "; `bare_allreduce segments`, `direct`, `tcp`.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", help="build folder with lacuna and the benchmarks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one round of few iterations: only to see that it runs")
    options = parser.parse_args()
    bench = Bench(options.build)
    small, large, rounds = SMALL, LARGE, options.rounds
    if options.quick:
        small, large, rounds = {size: 200 for size in SMALL}, {size: 2 for size in LARGE}, 1
    if not shutil.which(bench.lacuna):
        parser.error(f"{bench.lacuna} is not there; build with -DLACUNA_TESTS=ON first")

    memory, tcp = "shared memory", "loopback TCP"
    plans = [
        (f"Small allreduce over {memory}, microseconds", small, 1e3, {
            "lacuna": lambda: bench.run_lacuna(small, memory, "recursive_doubling"),
            "ucx_perftest": lambda: bench.run_ucx(small),
            "Open MPI": lambda: bench.run_mpi(small, memory)}),
        (f"Large allreduce over {memory}, milliseconds", large, 1, {
            "lacuna": lambda: bench.run_lacuna(large, memory, "ring"),
            "Open MPI": lambda: bench.run_mpi(large, memory),
            "bare, segments": lambda: bench.run_bare(large, "segments"),
            "bare, direct": lambda: bench.run_bare(large, "direct")}),
        (f"Large allreduce over {tcp}, milliseconds", large, 1, {
            "lacuna": lambda: bench.run_lacuna(large, tcp, "ring"),
            "Open MPI": lambda: bench.run_mpi(large, tcp),
            "bare, tcp": lambda: bench.run_bare(large, "tcp")}),
    ]
    describe_machine(bench.lacuna)
    describe_flags()
    for title, sizes, scale, columns in plans:
        table(title, sizes, columns, collect(columns, rounds), scale)


if __name__ == "__main__":
    main()
