#!/usr/bin/python3
"""Compares cast, quantize and lowrank with dense calls and with the other methods, where links are slow.

    examples/compression/evidence.py run [--build BUILD] [--seeds N] [--epochs E] [--rate 1gbit] [--hosts 4] [--fresh]
    examples/compression/evidence.py gather [--build BUILD]
    examples/compression/evidence.py draw [--build BUILD]

`run` trains time.toml on hosts of the lab with all seeds, unless it has done so, and leaves the results in
results/compression/. Times count: do nothing else meanwhile. `gather` collects the result files in
docs/compression.csv. `draw` writes into docs/compression.md the table of time to 87 % of the test images, bytes and
accuracy, and by the command the tables of options. It needs Debian's python3-h5py.
"""
import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

TIMES = ROOT / "docs" / "compression.csv"
PAGE = ROOT / "docs" / "compression.md"
METHODS = ["cast", "quantize", "lowrank"]
SEEDS = 3
GOAL = 0.87  # of the test images


def run(arguments):
    begin = time.monotonic()
    config = trials.config_of(HERE, "time", arguments.seeds, arguments.epochs)
    trials.train_in_lab(trials.lacuna_of(arguments.build), arguments.hosts, arguments.rate, config, arguments.fresh)
    print(f"{arguments.seeds} seeds: {time.monotonic() - begin:.0f} s", flush=True)


def gather(_):
    trials.write_csv(TIMES, trials.TIME_COLUMNS, trials.time_rows(HERE, "time", GOAL))


def draw(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    for method in METHODS:
        trials.write_between(PAGE, f"options of {method}", trials.options_table(lacuna, method))
    if TIMES.exists():
        trials.write_between(PAGE, "time", trials.times_table(list(trials.read_csv(TIMES)), GOAL))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for function in (run, gather, draw):
        command = commands.add_parser(function.__name__)
        command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
        command.set_defaults(function=function)
        if function is run:
            command.add_argument("--seeds", type=int, default=SEEDS)
            command.add_argument("--epochs", type=int, help="in place of those of the config")
            command.add_argument("--rate", default="1gbit", help="rate of the lab's links")
            command.add_argument("--hosts", type=int, default=4)
            command.add_argument("--fresh", action="store_true", help="ignore earlier results")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
