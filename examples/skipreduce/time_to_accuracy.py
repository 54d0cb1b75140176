#!/usr/bin/python3
"""Trains time.toml on 8 emulated hosts with several seeds, and prints how long each method took to a test accuracy.

    examples/skipreduce/time_to_accuracy.py [--build BUILD] [--rate 500mbit] [--seeds N] [--accuracy A] [--fresh]

The time is that of the steps, without evaluations. Between evaluations the accuracy is interpolated. Over the seeds the
table gives the dense time divided by the method's, and the time that a step saved divided by what the formula allows.
The formula allows S of the 14 rounds of a dense allreduce, whose bytes travel at the rate of a raw TCP ring in the same
lab. It needs Debian's python3-h5py.
"""
import argparse
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import spread

HOSTS = 8


def train(options):
    """{method: {seed: its evaluations}}, and the bytes per second of a raw TCP ring in the same lab."""
    config = trials.config_of(HERE, "time", options.seeds)
    log = trials.train_in_lab(trials.lacuna_of(options.build), HOSTS, options.rate, config, options.fresh)
    return trials.read(trials.result_of(HERE, "time")), trials.raw_rate(log)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=trials.ROOT / "build" / "release")
    parser.add_argument("--rate", default="500mbit")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--accuracy", type=float, default=0.86)
    parser.add_argument("--fresh", action="store_true", help="ignore earlier results")
    options = parser.parse_args()
    figures = {name: {key: [] for key in ("until", "ratio", "step", "waiting", "saved")}
               for name in ("dense", "random 4", "random 6")}
    trained, rate = train(options)
    for seed in range(1, options.seeds + 1):
        methods = {name: seeds[seed] for name, seeds in trained.items()}
        last = {name: rows[-1] for name, rows in methods.items()}
        step = {name: row["seconds"] / row["step"] for name, row in last.items()}
        communication = last["dense"]["payload_bytes"] / last["dense"]["step"] / rate
        seconds_until = lambda name: trials.until(methods[name], options.accuracy, "seconds", "test_accuracy")
        dense = seconds_until("dense")
        for name, values in figures.items():
            until = seconds_until(name)
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
