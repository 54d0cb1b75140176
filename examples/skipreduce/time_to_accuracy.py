#!/usr/bin/env python3
"""Trains time.toml on 8 emulated hosts, once for each seed, and prints how long each method took to a test accuracy.

    examples/skipreduce/time_to_accuracy.py [--build BUILD] [--rate 500mbit] [--seeds N] [--accuracy A] [--fresh]

Time is that of the steps, without evaluations; between evaluations the accuracy is taken to grow along a straight line.
The table gives, over the seeds, the ratio of the dense time to the method's, and what the step's time lost against what
the formula allows: S of 14 steps of a dense allreduce, which take as long as their bytes at the rate of a raw TCP ring
beside it. Needs Debian's python3-h5py.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys

import evidence
import h5py

HOSTS = 8


def train(options, seed):
    """The result file of one seed, and the bytes a second that a raw ring reached there."""
    config = evidence.config_of("time", seed, None)
    log = config.with_suffix(".log")
    asked = f"links of {options.rate}\n{config.read_text(encoding='utf-8')}"
    if options.fresh or not log.exists() or not log.read_text(encoding="utf-8").startswith(asked):
        lacuna = options.build.resolve() / "bin" / "lacuna"
        command = [evidence.ROOT / "tests" / "lab" / "lab.py", "--hosts", HOSTS, "--rate", options.rate, "--raw", "--",
                   lacuna, "run", "--quiet", "--fresh", config]
        done = subprocess.run([str(word) for word in command], cwd=evidence.ROOT, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(done.stderr + done.stdout)
        log.write_text(asked + done.stderr + done.stdout, encoding="utf-8")
    probe = re.search(r"([\d.]+) MB/s", log.read_text(encoding="utf-8"))
    return evidence.RESULTS / "time" / str(seed) / "time.h5", float(probe[1]) * 1e6


def seconds_until(rows, accuracy):
    """None if it never is reached."""
    earlier = {"test_accuracy": 0.0, "seconds": 0.0}
    for row in rows:
        if row["test_accuracy"] >= accuracy:
            part = (accuracy - earlier["test_accuracy"]) / (row["test_accuracy"] - earlier["test_accuracy"])
            return earlier["seconds"] + part * (row["seconds"] - earlier["seconds"])
        earlier = row
    return None


def read(path):
    """{method: its evaluations}."""
    with h5py.File(path) as file:
        methods = {}
        for name, group in file["methods"].items():
            columns = {key: data[()] for key, data in group.items()}
            methods[name] = [{key: float(values[i]) for key, values in columns.items()}
                             for i in range(len(columns["step"]))]
        return methods


def spread(values):
    if not values:
        return "never"
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.fmean(values):.2f} ± {deviation:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=evidence.ROOT / "build" / "release")
    parser.add_argument("--rate", default="500mbit")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--accuracy", type=float, default=0.86)
    parser.add_argument("--fresh", action="store_true", help="anew, whatever is there")
    options = parser.parse_args()
    figures = {name: {key: [] for key in ("until", "ratio", "step", "waiting", "saved")}
               for name in ("dense", "random 4", "random 6")}
    for seed in range(1, options.seeds + 1):
        path, rate = train(options, seed)
        methods = read(path)
        last = {name: rows[-1] for name, rows in methods.items()}
        step = {name: row["seconds"] / row["step"] for name, row in last.items()}
        communication = last["dense"]["payload_bytes"] / last["dense"]["step"] / rate
        dense = seconds_until(methods["dense"], options.accuracy)
        for name, values in figures.items():
            until = seconds_until(methods[name], options.accuracy)
            if until is not None:
                values["until"].append(until)
            if until is not None and dense is not None:
                values["ratio"].append(dense / until)
            values["step"].append(1e3 * step[name])
            values["waiting"].append(last[name]["waited_seconds"] / last[name]["seconds"])
            if name != "dense":
                allowed = int(name.split()[1]) / 14 * communication
                values["saved"].append((step["dense"] - step[name]) / allowed)
    print(f"| method | seeds that reach {options.accuracy:.0%} | seconds until then | dense / method | ms a step | waiting | saved / allowed |")
    print("| --- |" + " ---: |" * 6)
    for name, values in figures.items():
        print(f"| {name} | {len(values['until'])} | {spread(values['until'])} | {spread(values['ratio'])} | {spread(values['step'])} "
              f"| {statistics.fmean(values['waiting']):.0%} | {'' if name == 'dense' else spread(values['saved'])} |")


if __name__ == "__main__":
    main()
