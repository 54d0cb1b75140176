#!/usr/bin/python3
"""Trains with and without skipping for several seeds, and writes the results into docs/.

    examples/skipreduce/evidence.py run [--build BUILD] [--seeds N] [--epochs N] [--fresh] [EXPERIMENT ...]
    examples/skipreduce/evidence.py gather
    examples/skipreduce/evidence.py draw

An experiment is a config of this folder. `run` does what is missing of each with all seeds, on ranks of this
machine, and leaves the results in results/skipreduce/. If it is interrupted, the next `run` continues. `gather`
collects the result files: means over seeds for each method and evaluation in docs/skipreduce.csv, and the last
measurement of each layer in docs/skipreduce_importance.csv. `draw` makes from these the tables of
docs/skipreduce_evidence.md and the pictures docs/skipreduce_*.svg. It needs Debian's python3-h5py and
python3-matplotlib.
"""
import argparse
import collections
import pathlib
import re
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

SUMMARY = ROOT / "docs" / "skipreduce.csv"
IMPORTANCE = ROOT / "docs" / "skipreduce_importance.csv"
PAGE = ROOT / "docs" / "skipreduce_evidence.md"
SEEDS = {"mlp": 5, "cnn": 3, "by_class": 3, "cnn_4": 3}
RANKS = {"mlp": 8, "cnn": 8, "by_class": 8, "cnn_4": 4}
TITLES = {
    "mlp": "Perceptron 784-128-64-10, 60,000 images, {epochs:.0f} epochs",
    "cnn": "Convolutional network (8 and 16 filters, 64 hidden), 10,000 images, {epochs:.0f} epochs",
    "by_class": "The perceptron where each rank has one or two classes, {epochs:.0f} epochs",
    "cnn_4": "The convolutional network on 4 ranks, {epochs:.0f} epochs",
}
KINDS = ["dense", "static", "random", "selective", "feedback"]
COLOURS = dict(zip(KINDS, ["#333333", "#d1495b", "#2e86ab", "#3a9d5d", "#e08e1b"]))
QUANTITIES = ["payload_bytes", "gradient_norm"]
IMPORTANCE_COLUMNS = ["experiment", "method", "figure", "seeds", "mean"]
LAYER = re.compile(r"layer(\d+)\.(share|dense)")


def run(arguments):
    for experiment in arguments.experiments:
        begin = time.monotonic()
        seeds = min(arguments.seeds or SEEDS[experiment], SEEDS[experiment])
        config = trials.config_of(HERE, experiment, seeds, arguments.epochs)
        trials.train(trials.lacuna_of(arguments.build), RANKS[experiment], config, arguments.fresh)
        print(f"{experiment}: {time.monotonic() - begin:.0f} s", flush=True)


def gather(_):
    lines, layers = [], []
    for experiment in SEEDS:
        for method, rows in trials.evaluations(HERE, experiment).items():
            lines += trials.mean_curve(experiment, method, rows, QUANTITIES)
            last = [row for row in rows if row["step"] == max(other["step"] for other in rows)]
            for name in last[0]:
                if LAYER.fullmatch(name):
                    layers.append([experiment, method, name, len(last), f"{statistics.fmean(r[name] for r in last):.4f}"])
    trials.write_csv(SUMMARY, trials.CURVE + QUANTITIES, lines)
    trials.write_csv(IMPORTANCE, IMPORTANCE_COLUMNS, layers)


def read_importance():
    """{experiment: {method: {name: mean}}}"""
    layers = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in trials.read_csv(IMPORTANCE):
        layers[row["experiment"]][row["method"]][row["figure"]] = float(row["mean"])
    return layers


def importance_table(layers):
    lines = ["| method | layer | share of the largest quarter | dense |", "|---|---:|---:|---:|"]
    for method, figures in layers.items():
        for name in figures:
            number, what = LAYER.fullmatch(name).groups()
            if what == "share":
                lines.append(f"| {method} | {number} | {figures[name]:.2f} | {figures[f'layer{number}.dense']:.0%} |")
    return "\n".join(lines)


def plot(experiment, curves):
    steps = sorted({method.split()[1] for method in curves if " " in method})
    panels = [("epochs", 1, "epochs", "accuracy", 100, "test accuracy, %"),
              ("payload_bytes", 1e-6, "MB sent by a rank", "accuracy", 100, "test accuracy, %"),
              ("epochs", 1, "epochs", "gradient_norm", 1, "norm of the averaged gradient")]
    chart, axes = trials.pyplot().subplots(len(steps), len(panels), figsize=(13, 3.6 * len(steps)), squeeze=False,
                                           layout="constrained")
    for row, skipped in zip(axes, steps):
        for axis, (x, x_unit, x_label, y, y_unit, y_label) in zip(row, panels):
            names = {kind: "dense" if kind == "dense" else f"{kind} {skipped}" for kind in KINDS}
            shown = {kind: curves[name] for kind, name in names.items() if name in curves}
            for kind, curve in shown.items():
                trials.draw_curve(axis, curve, (x, x_unit), (y, y_unit), color=COLOURS[kind], label=kind)
            if y == "accuracy":
                best = 100 * max(r["accuracy"] for curve in shown.values() for r in curve)
                axis.set_ylim(max(axis.get_ylim()[0], best - 15), best + 1)
            axis.set(title=f"S = {skipped} of {RANKS[experiment] - 1}", xlabel=x_label, ylabel=y_label)
            axis.grid(alpha=0.3)
        row[0].legend(fontsize="small")
    trials.save_chart(chart, PAGE.with_name(f"skipreduce_{experiment}.svg"))


def draw(_):
    curves, layers = trials.read_curves(SUMMARY), read_importance()
    parts = []
    for experiment, methods in curves.items():
        plot(experiment, methods)
        title = TITLES[experiment].format(epochs=methods["dense"][-1]["epochs"])
        parts.append(f"**{title}**\n\n{trials.accuracy_table(methods)}\n\n![accuracy and gradient](skipreduce_{experiment}.svg)")
        if layers[experiment]:
            parts.append("The last measurement of `selective`, and the share of the runs in which the layer was dense then:"
                         "\n\n" + importance_table(layers[experiment]))
    trials.write_between(PAGE, "evidence", "\n\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run")
    command.add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=list(SEEDS))
    command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    command.add_argument("--seeds", type=int, help="at most so many seeds of each experiment")
    command.add_argument("--epochs", type=int, help="replaces the number in the configs")
    command.add_argument("--fresh", action="store_true", help="ignore earlier results")
    command.set_defaults(function=run)
    commands.add_parser("gather").set_defaults(function=gather)
    commands.add_parser("draw").set_defaults(function=draw)
    arguments = parser.parse_args()
    if unknown := set(getattr(arguments, "experiments", SEEDS)) - set(SEEDS):
        parser.error(f"unknown experiments {', '.join(sorted(unknown))}; there are {', '.join(SEEDS)}")
    arguments.function(arguments)


if __name__ == "__main__":
    main()
