#!/usr/bin/env python3
"""Measures what a progress thread costs and what it saves, beside the caller's own progress; prints Markdown.

Both run in turn, several rounds of it, on two ranks: over the shared memory of this machine, and between two emulated
hosts (tests/lab). Each figure is the median of the rounds, small times with the least and the greatest. Nothing is
asserted.

  tests/perf/progress.py BUILD [--rounds N] [--rate 1gbit]
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODES = ["caller", "thread"]
SMALL = [8, 1024]
LARGE = {1 << 20: 60, 16 << 20: 12}  # bytes: iterations


def output_of(command, mode):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "LACUNA_PROGRESS": mode, "LACUNA_HINTS": "off"})
    if done.returncode != 0:
        sys.exit(done.stderr + done.stdout)
    return done.stdout


def latencies(start, lacuna, mode):
    """Microseconds of small blocking allreduces, by size."""
    times = {}
    for size in SMALL:
        text = output_of([*start, lacuna, "perf", "allreduce", "-b", size, "-e", size, "-n", 5000, "-w", 500, "-c", 0,
                          "--algorithm", "recursive_doubling"], mode)
        times[size] = float(re.search(r"recursive_doubling\s+([\d.]+)\s", text)[1])
    return times


def overlaps(start, bench, mode):
    """(alone, computing, both) in microseconds, by size."""
    times = {}
    for size, iterations in LARGE.items():
        text = output_of([*start, bench, size, iterations], mode)
        figures = re.search(rf"\b{size} ([\d.]+) ([\d.]+) ([\d.]+)", text)
        times[size] = tuple(float(figure) for figure in figures.groups())
    return times


def name(size):
    return f"{size} B" if size < 1 << 20 else f"{size >> 20} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", default="1gbit")
    options = parser.parse_args()
    binaries = options.build.resolve() / "bin"
    lacuna, bench = binaries / "lacuna", binaries / "overlap_bench"
    lab = [ROOT / "tests" / "lab" / "lab.py", "--hosts", 2, "--rate", options.rate, "--raw", "--"]
    starts = {"one machine": [lacuna, "launch", "-n", 2, "--raw", "--"], f"two hosts, {options.rate}": lab}
    print(f"Load average {os.getloadavg()[0]:.1f} at the start.\n")
    small, large = {}, {}
    for number in range(options.rounds):
        for place, start in starts.items():
            for mode in MODES:
                print(f"round {number + 1} of {options.rounds}: {place}, {mode}", file=sys.stderr)
                for size, time in latencies(start, lacuna, mode).items():
                    small.setdefault((place, size, mode), []).append(time)
                for size, times in overlaps(start, bench, mode).items():
                    large.setdefault((place, size, mode), []).append(times)
    print("| blocking allreduce, us | by the caller | by a thread | ratio |\n| --- | ---: | ---: | ---: |")
    for place in starts:
        for size in SMALL:
            times = [small[place, size, mode] for mode in MODES]
            cells = [f"{statistics.median(one):.2f} ({min(one):.2f}..{max(one):.2f})" for one in times]
            ratio = statistics.median(times[1]) / statistics.median(times[0])
            print(f"| {place}, {name(size)} | {cells[0]} | {cells[1]} | {ratio:.2f} |")
    print("\n| allreduce beside a computation, ms | alone | computation | both, by the caller | by a thread | saved |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |")
    for place in starts:
        for size in LARGE:
            alone, computing, caller = (statistics.median(one) / 1e3 for one in zip(*large[place, size, "caller"]))
            thread = statistics.median(both for _, _, both in large[place, size, "thread"]) / 1e3
            print(f"| {place}, {name(size)} | {alone:.2f} | {computing:.2f} | {caller:.2f} | {thread:.2f} "
                  f"| {100 * (1 - thread / caller):.0f} % |")


if __name__ == "__main__":
    main()
