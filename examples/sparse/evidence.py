#!/usr/bin/env python3
"""Trains with sparse gradients, several times, and writes what came of it into docs/.

    examples/sparse/evidence.py run [--build BUILD] [--seeds N] [--rate 1gbit] [--fresh] [EXPERIMENT ...]
    examples/sparse/evidence.py gather
    examples/sparse/evidence.py draw [--build BUILD]

`run` carries out what is missing of each experiment, a config of this folder, once for each seed, into results/sparse/:
`methods` on four ranks of this machine, `time` on four hosts of the lab, where times count; do nothing else meanwhile.
`calls` measures single calls there, on four and eight hosts. `gather` brings the result files together in
docs/sparse.csv, means over the seeds for each method and evaluation, docs/sparse_time.csv, what was measured in the lab
with each seed, and docs/sparse_calls.csv. `draw` makes the tables and the picture of docs/sparse.md of these, and its
table of options by the command. Needs Debian's python3-h5py and python3-matplotlib.
"""
import argparse
import collections
import pathlib
import re
import statistics
import sys
import textwrap
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT, spread

CURVES = ROOT / "docs" / "sparse.csv"
TIMES = ROOT / "docs" / "sparse_time.csv"
CALLS = ROOT / "docs" / "sparse_calls.csv"
PAGE = ROOT / "docs" / "sparse.md"
TRAININGS = ["methods", "time"]
EXPERIMENTS = [*TRAININGS, "calls"]
SEEDS = 3
RANKS = 4
GOAL = 0.87  # of the test images
QUANTITIES = ["payload_bytes", "seconds"]
TIME_COLUMNS = ["method", "seed", "seconds_until", "steps_until", "accuracy", "step_ms", "waiting", "kernels_ms",
                "payload_bytes", "raw_rate", "load", "machine"]
CALL_WORDS = ["-b", "100M", "-e", "100M", "-n", "5", "-w", "1", "--method", "topk:density=0.01", "--density", "0.01",
              "--algorithm", "sparse_allgather,sparse_split,sparse_ring,sparse_doubling,ring"]
CALLS_MADE = {(hosts, pattern): [*CALL_WORDS, "--pattern", pattern]
              for hosts in (4, 8) for pattern in ("uniform", "powerlaw:0.8")}
KERNELS = ["topk.select_s", "topk.pack_s", "topk.merge_s"]
COLOURS = ["#333333", "#8d99ae", "#5c677d", "#3a9d5d", "#2e86ab", "#d1495b", "#e6a1a9", "#e08e1b", "#7b2d8b"]


def run(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    if "calls" in arguments.experiments:
        trials.measure_calls(lacuna, HERE, CALLS_MADE, arguments.rate, arguments.fresh)
    for experiment in (name for name in TRAININGS if name in arguments.experiments):
        for seed in range(1, arguments.seeds + 1):
            begin = time.monotonic()
            config = trials.config_of(HERE, experiment, seed)
            if experiment == "time":
                trials.train_in_lab(lacuna, RANKS, arguments.rate, config, arguments.fresh)
            else:
                trials.train(lacuna, RANKS, config, arguments.fresh)
            print(f"{experiment}, seed {seed}: {time.monotonic() - begin:.0f} s", flush=True)


def gather(_):
    lines = []
    for experiment in TRAININGS:
        for method, rows in trials.evaluations(HERE, experiment).items():
            lines += trials.mean_curve(experiment, method, rows, QUANTITIES)
    trials.write_csv(CURVES, trials.CURVE + QUANTITIES, lines)
    times = [row for path in trials.result_files(HERE, "time") for row in measured(path)]
    trials.write_csv(TIMES, TIME_COLUMNS, times)
    trials.write_csv(CALLS, trials.CALL_COLUMNS, trials.call_rows(HERE, CALLS_MADE))


def measured(path):
    """The rows of TIME_COLUMNS of one seed."""
    log = path.parent.with_suffix(".log").read_text(encoding="utf-8")
    load = re.search(r"load average before: ([\d.]+)", log)[1]
    rows = []
    for method, evaluations in trials.read(path).items():
        last = evaluations[-1]
        until = [trials.until(evaluations, GOAL, quantity, "test_accuracy") for quantity in ("seconds", "step")]
        kernels = sum(last.get(name, 0) for name in KERNELS)
        rows.append([method, path.parent.name, *("" if number is None else f"{number:.5g}" for number in until),
                     f"{last['test_accuracy']:.5f}", f"{1e3 * last['seconds'] / last['step']:.4g}",
                     f"{last['waited_seconds'] / last['seconds']:.3f}", f"{1e3 * kernels / last['step']:.4g}",
                     f"{last['payload_bytes'] / last['step']:.0f}", f"{trials.raw_rate(log):.4g}", load,
                     trials.machine(path)])
    return rows


def times_table(rows):
    """One line for each method, over the seeds."""
    methods = collections.defaultdict(list)
    for row in rows:
        methods[row["method"]].append(row)
    dense = {row["seed"]: row for row in methods["dense"]}
    lines = [f"| method | seeds that reach {GOAL:.0%} | steps until then | seconds until then | dense / method "
             "| ms a step | waiting | kernels, ms a step | bytes / dense | accuracy at the end, % |",
             "|---|" + "---:|" * 9]
    for method, all_seeds in methods.items():
        there = [row for row in all_seeds if row["seconds_until"]]
        numbers = lambda name, of: [float(row[name]) for row in of]
        pairs = [(row, dense[row["seed"]]) for row in there if dense[row["seed"]]["seconds_until"]]
        ratios = [float(other["seconds_until"]) / float(row["seconds_until"]) for row, other in pairs]
        sent = statistics.fmean(float(row["payload_bytes"]) / float(dense[row["seed"]]["payload_bytes"])
                                for row in all_seeds)
        lines.append(f"| {method} | {len(there)} of {len(all_seeds)} | {spread(numbers('steps_until', there), 0)} "
                     f"| {spread(numbers('seconds_until', there), 1)} | {spread(ratios)} "
                     f"| {spread(numbers('step_ms', all_seeds), 1)} "
                     f"| {statistics.fmean(numbers('waiting', all_seeds)):.0%} "
                     f"| {statistics.fmean(numbers('kernels_ms', all_seeds)):.1f} | {sent:.3f} "
                     f"| {spread([100 * number for number in numbers('accuracy', all_seeds)])} |")
    return "\n".join(lines)


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


def conditions(times):
    """Where and how the lab's figures came about, in a sentence."""
    machines, seeds = (sorted({row[name] for row in times}) for name in ("machine", "seed"))
    rates, loads = (sorted(float(row[name]) for row in times) for name in ("raw_rate", "load"))
    text = (f"Lab, seeds {', '.join(seeds)}: {'; '.join(machines)}. A plain TCP ring reached "
            f"{trials.span(rates[0] / 1e6, rates[-1] / 1e6, 0)} MB/s per host there. Load average just before: "
            f"{trials.span(loads[0], loads[-1], 1)}.")
    return textwrap.fill(text, 120)


def draw(arguments):
    curves, times = trials.read_curves(CURVES), list(trials.read_csv(TIMES))
    plot(curves)
    trials.write_between(PAGE, "options", trials.options_table(trials.lacuna_of(arguments.build), "topk"))
    trials.write_between(PAGE, "methods", trials.accuracy_table(curves["methods"], digits=1))
    trials.write_between(PAGE, "calls", trials.calls_table(list(trials.read_csv(CALLS)), "pattern"))
    trials.write_between(PAGE, "time", f"{times_table(times)}\n\n{conditions(times)}\n\n![accuracy](sparse.svg)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run_command, draw_command = commands.add_parser("run"), commands.add_parser("draw")
    run_command.add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=EXPERIMENTS)
    run_command.add_argument("--seeds", type=int, default=SEEDS)
    run_command.add_argument("--rate", default="1gbit", help="of the lab's links")
    run_command.add_argument("--fresh", action="store_true", help="anew, whatever is there")
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
