#!/usr/bin/env python3
"""Storms of calls and messages on a job's communicators, over shared memory and then over TCP, each for a time; prints
what the rank that held most held after a sixth, a half and all of it. Fails where a rank's memory, descriptors or waiting
messages have grown since the first tenth, or where a result was wrong.

  tests/processes/soak.py [BUILD] [--seconds 3600] [--ranks 8] [--over shared-memory,tcp]
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WAYS = {"shared-memory": {}, "tcp": {"UCX_TLS": "tcp,self"}}
REPORT = re.compile(
    r"\[(?P<rank>\d+)\] soaking: (?P<seconds>[\d.]+) s, (?P<operations>\d+) operations, (?P<memory>\d+) KiB, "
    r"(?P<descriptors>\d+) descriptors, (?P<waiting>\d+) waiting")


def soak(build, way, seconds, ranks):
    """Runs the job; its exit code, and the reports of each rank in their order."""
    environment = {**os.environ, "LACUNA_CHUNK": "32K", "LACUNA_DEADLINE": "120", **WAYS[way]}
    command = [build / "bin" / "lacuna", "launch", "-n", str(ranks), "--",
               build / "bin" / "lacuna_worker", f"size={ranks}", f"soak={seconds}"]
    reports = {rank: [] for rank in range(ranks)}
    with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as job:
        for line in job.stdout:
            if found := REPORT.match(line):
                report = {name: float(value) for name, value in found.groupdict().items()}
                reports[int(report["rank"])].append(report)
            elif not re.match(r"\[\d+\] (join: ok|size .* right|soak: ok|left after)", line):
                print(line, end="", file=sys.stderr)
    return job.returncode, reports


def row(way, reports, until):
    """What was held at most by any rank in its last report by then."""
    last = [[report for report in of_rank if report["seconds"] <= until][-1] for of_rank in reports.values()]
    most = {name: max(report[name] for report in last) for name in last[0]}
    return (f"| {way} | {most['seconds'] / 60:.1f} | {most['operations']:.0f} | {most['memory'] / 1024:.1f} | "
            f"{most['descriptors']:.0f} | {most['waiting']:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?", default=ROOT / "build" / "release")
    parser.add_argument("--seconds", type=int, default=3600, help="for each way")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--over", type=lambda text: text.split(","), default=list(WAYS), help="ways, with commas")
    arguments = parser.parse_args()
    print("| over | minutes | operations | memory of a rank, MiB | descriptors | waiting messages |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    well = True
    for way in arguments.over:
        code, reports = soak(arguments.build, way, arguments.seconds, arguments.ranks)
        for part in (1 / 6, 1 / 2, float("inf")):
            if all(reports.values()):
                print(row(way, reports, part * arguments.seconds * 1.01), flush=True)
        if code != 0:
            print(f"over {way}: exit code {code}", file=sys.stderr)
            well = False
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
