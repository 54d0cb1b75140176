#!/usr/bin/python3
"""Trains with sparse gradients for several seeds, and writes the results into docs/.

    examples/sparse/evidence.py run [--build BUILD] [--seeds N] [--rate 1gbit] [--fresh] [EXPERIMENT ...]
    examples/sparse/evidence.py gather
    examples/sparse/evidence.py draw [--build BUILD]

`run` does what is missing of each experiment with all seeds, and leaves the results in results/sparse/. `methods`
and `time` are configs of this folder. `methods` trains on four ranks of this machine, `time` on four hosts of the lab.
`calls` measures single calls in the lab, on four and eight hosts. In the lab times count: do nothing else meanwhile.

`gather` collects the result files: means over the seeds for each method and evaluation in docs/sparse.csv, the
measurements in the lab for each seed in docs/sparse_time.csv, and single calls in docs/sparse_calls.csv. `draw` makes
from these the tables and the picture of docs/sparse_evidence.md, and by the command the table of options of
docs/sparse.md. It needs Debian's python3-h5py and python3-matplotlib.
"""
import argparse
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

CURVES = ROOT / "docs" / "sparse.csv"
TIMES = ROOT / "docs" / "sparse_time.csv"
CALLS = ROOT / "docs" / "sparse_calls.csv"
MANUAL = ROOT / "docs" / "sparse.md"
PAGE = ROOT / "docs" / "sparse_evidence.md"
TRAININGS = ["methods", "time"]
EXPERIMENTS = [*TRAININGS, "calls"]
SEEDS = 3
RANKS = 4
GOAL = 0.87  # of the test images
QUANTITIES = ["payload_bytes", "seconds"]
CALL_WORDS = ["-b", "100M", "-e", "100M", "-n", "5", "-w", "1", "--method", "topk:density=0.01", "--density", "0.01",
              "--algorithm", "sparse_allgather,sparse_split,sparse_ring,sparse_doubling,ring"]
CALLS_MADE = {(hosts, pattern): [*CALL_WORDS, "--pattern", pattern]
              for hosts in (4, 8) for pattern in ("uniform", "powerlaw:0.8")}
COLOURS = ["#333333", "#8d99ae", "#5c677d", "#3a9d5d", "#2e86ab", "#d1495b", "#e6a1a9", "#e08e1b", "#7b2d8b"]


def run(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    if "calls" in arguments.experiments:
        trials.measure_calls(lacuna, HERE, CALLS_MADE, arguments.rate, arguments.fresh)
    for experiment in (name for name in TRAININGS if name in arguments.experiments):
        begin = time.monotonic()
        config = trials.config_of(HERE, experiment, arguments.seeds)
        if experiment == "time":
            trials.train_in_lab(lacuna, RANKS, arguments.rate, config, arguments.fresh)
        else:
            trials.train(lacuna, RANKS, config, arguments.fresh)
        print(f"{experiment}: {time.monotonic() - begin:.0f} s", flush=True)


def gather(_):
    lines = []
    for experiment in TRAININGS:
        for method, rows in trials.evaluations(HERE, experiment).items():
            lines += trials.mean_curve(experiment, method, rows, QUANTITIES)
    trials.write_csv(CURVES, trials.CURVE + QUANTITIES, lines)
    trials.write_csv(TIMES, trials.TIME_COLUMNS, trials.time_rows(HERE, "time", GOAL))
    trials.write_csv(CALLS, trials.CALL_COLUMNS, trials.call_rows(HERE, CALLS_MADE))


def plot(curves):
    panels = [("methods", "epochs", 1, "epochs (784-128-64-10)"),
              ("methods", "payload_bytes", 1e-6, "MB sent by a rank"),
              ("time", "seconds", 1, "seconds at 1 Gbit/s (784-512-256-10)")]
    chart, axes = trials.pyplot().subplots(1, len(panels), figsize=(15, 4.4), layout="constrained")
    colours = dict(zip(curves["methods"], COLOURS))
    for axis, (experiment, x, unit, label) in zip(axes, panels):
        for method, curve in curves[experiment].items():
            trials.draw_curve(axis, curve, (x, unit), ("accuracy", 100), color=colours[method], label=method)
        best = 100 * max(row["accuracy"] for curve in curves[experiment].values() for row in curve)
        axis.set_ylim(best - 10, best + 0.5)
        axis.set(xlabel=label, ylabel="test accuracy, %")
        axis.grid(alpha=0.3)
    axes[1].set_xscale("log")
    axes[2].axhline(100 * GOAL, color="#999999", linewidth=0.8, linestyle="--")
    axes[0].legend(fontsize="small")
    trials.save_chart(chart, PAGE.with_name("sparse.svg"))


def draw(arguments):
    curves, times = trials.read_curves(CURVES), list(trials.read_csv(TIMES))
    plot(curves)
    trials.write_between(MANUAL, "options", trials.options_table(trials.lacuna_of(arguments.build), "topk"))
    trials.write_between(PAGE, "methods", trials.accuracy_table(curves["methods"], digits=1))
    trials.write_between(PAGE, "calls", trials.calls_table(list(trials.read_csv(CALLS)), "pattern"))
    trials.write_between(PAGE, "time", f"{trials.times_table(times, GOAL)}\n\n![accuracy](sparse.svg)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run_command, draw_command = commands.add_parser("run"), commands.add_parser("draw")
    run_command.add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=EXPERIMENTS)
    run_command.add_argument("--seeds", type=int, default=SEEDS)
    run_command.add_argument("--rate", default="1gbit", help="rate of the lab's links")
    run_command.add_argument("--fresh", action="store_true", help="ignore earlier results")
    for command in (run_command, draw_command):
        command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    run_command.set_defaults(function=run)
    commands.add_parser("gather").set_defaults(function=gather)
    draw_command.set_defaults(function=draw)
    arguments = parser.parse_args()
    if unknown := set(getattr(arguments, "experiments", EXPERIMENTS)) - set(EXPERIMENTS):
        parser.error(f"unknown experiments {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    arguments.function(arguments)


if __name__ == "__main__":
    main()
