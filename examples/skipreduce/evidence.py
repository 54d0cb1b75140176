#!/usr/bin/env python3
"""Trains with and without skipped steps, several times, and writes what came of it into docs/.

    examples/skipreduce/evidence.py run [--build BUILD] [--seeds N] [--epochs N] [--fresh] [EXPERIMENT ...]
    examples/skipreduce/evidence.py gather
    examples/skipreduce/evidence.py draw

`run` carries out each experiment, a config of this folder, on ranks of this machine once for each seed, into
results/skipreduce/. Interrupted, it goes on where it was. `gather` brings the result files together in
docs/skipreduce.csv, the means over seeds for each method and evaluation, and docs/skipreduce_importance.csv, what was
measured of each layer last. `draw` makes the tables of docs/skipreduce.md and docs/skipreduce_*.svg of these. Needs
Debian's python3-h5py and python3-matplotlib.
"""
import argparse
import collections
import csv
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
RESULTS = ROOT / "results" / "skipreduce"
SUMMARY = ROOT / "docs" / "skipreduce.csv"
IMPORTANCE = ROOT / "docs" / "skipreduce_importance.csv"
PAGE = ROOT / "docs" / "skipreduce.md"
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
COLUMNS = ["experiment", "method", "epochs", "seeds", "accuracy", "deviation", "payload_bytes", "gradient_norm"]
IMPORTANCE_COLUMNS = ["experiment", "method", "figure", "seeds", "mean"]
LAYER = re.compile(r"layer(\d+)\.(share|dense)")


def config_of(experiment, seed, epochs):
    """The experiment's config with another seed and folder."""
    text = (HERE / f"{experiment}.toml").read_text(encoding="utf-8")
    changes = {"seed": seed, "output": f'"results/skipreduce/{experiment}/{seed}"'}
    if epochs:
        changes["epochs"] = epochs
    for key, value in changes.items():
        text, found = re.subn(rf"^{key} = .*$", lambda _: f"{key} = {value}", text, flags=re.MULTILINE)
        assert found == 1, key
    path = RESULTS / experiment / f"{seed}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def run(arguments):
    lacuna = arguments.build.resolve() / "bin" / "lacuna"
    for seed in range(1, max(SEEDS.values()) + 1):
        for experiment in arguments.experiments:
            if seed > min(arguments.seeds or SEEDS[experiment], SEEDS[experiment]):
                continue
            begin = time.monotonic()
            config = config_of(experiment, seed, arguments.epochs)
            fresh = ["--fresh"] if arguments.fresh else []
            subprocess.run([lacuna, "launch", "-n", str(RANKS[experiment]), "--raw", "--", lacuna, "run", "--quiet", *fresh, config],
                           check=True, cwd=ROOT)
            print(f"{experiment}, seed {seed}: {time.monotonic() - begin:.0f} s", flush=True)


def evaluations(experiment):
    """{method: [{column: value} of each seed and evaluation]}, methods in the config's order."""
    import h5py

    rows = collections.defaultdict(list)
    for path in sorted(RESULTS.glob(f"{experiment}/*/{experiment}.h5")):
        with h5py.File(path) as file:
            if "summary" not in file:
                continue  # no method is finished
            order = [name.decode() if isinstance(name, bytes) else name for name in file["summary"]["method"]]
            for method in order:
                columns = {name: data[()] for name, data in file["methods"][method].items()}
                for i in range(len(columns["step"])):
                    rows[method].append({name: float(values[i]) for name, values in columns.items()})
    return rows


def gather(_):
    lines, layers = [], []
    for experiment in SEEDS:
        for method, rows in evaluations(experiment).items():
            for step in sorted({row["step"] for row in rows}):
                here = [row for row in rows if row["step"] == step]
                mean = lambda name: statistics.fmean(row[name] for row in here)
                accuracies = [row["test_accuracy"] for row in here]
                lines.append([experiment, method, f"{mean('epochs'):.4g}", len(here), f"{mean('test_accuracy'):.5f}",
                              f"{statistics.stdev(accuracies) if len(here) > 1 else 0:.5f}",
                              f"{mean('payload_bytes'):.0f}", f"{mean('gradient_norm'):.5g}"])
            last = [row for row in rows if row["step"] == max(other["step"] for other in rows)]
            for name in last[0]:
                if LAYER.fullmatch(name):
                    layers.append([experiment, method, name, len(last), f"{statistics.fmean(r[name] for r in last):.4f}"])
    for path, columns, rows in (SUMMARY, COLUMNS, lines), (IMPORTANCE, IMPORTANCE_COLUMNS, layers):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])
        print(path)


def read_summary():
    """{experiment: {method: [row]}} and {experiment: {method: {name: mean}}}."""
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    layers = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in csv.DictReader(SUMMARY.read_text(encoding="utf-8").splitlines()):
        values = {name: float(row[name]) for name in COLUMNS[2:]}
        curves[row["experiment"]][row["method"]].append(values)
    for row in csv.DictReader(IMPORTANCE.read_text(encoding="utf-8").splitlines()):
        layers[row["experiment"]][row["method"]][row["figure"]] = float(row["mean"])
    return curves, layers


def bytes_until(curve, accuracy):
    """Payload until the mean accuracy is reached, between evaluations by a straight line; None if it never is."""
    earlier = None
    for row in curve:
        if row["accuracy"] >= accuracy:
            if earlier is None:
                return row["payload_bytes"]
            part = (accuracy - earlier["accuracy"]) / (row["accuracy"] - earlier["accuracy"])
            return earlier["payload_bytes"] + part * (row["payload_bytes"] - earlier["payload_bytes"])
        earlier = row
    return None


def table(curves):
    dense = curves["dense"][-1]
    goal = dense["accuracy"] - 0.02
    lines = [f"| method | seeds | bytes / dense | test accuracy, % | to dense | MB until {100 * goal:.1f} % |",
             "|---|---:|---:|---:|---:|---:|"]
    for method, curve in curves.items():
        last, needed = curve[-1], bytes_until(curve, goal)
        lines.append(f"| {method} | {last['seeds']:.0f} | {last['payload_bytes'] / dense['payload_bytes']:.2f} "
                     f"| {100 * last['accuracy']:.2f} ± {100 * last['deviation']:.2f} "
                     f"| {100 * (last['accuracy'] - dense['accuracy']):+.2f} "
                     f"| {'never' if needed is None else f'{needed / 1e6:.0f}'} |")
    return "\n".join(lines)


def importance_table(layers):
    lines = ["| method | layer | share of the largest quarter | dense |", "|---|---:|---:|---:|"]
    for method, figures in layers.items():
        for name in figures:
            number, what = LAYER.fullmatch(name).groups()
            if what == "share":
                lines.append(f"| {method} | {number} | {figures[name]:.2f} | {figures[f'layer{number}.dense']:.0%} |")
    return "\n".join(lines)


def plot(experiment, curves):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lacuna"  # equal figures give equal files
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    steps = sorted({method.split()[1] for method in curves if " " in method})
    panels = [("epochs", 1, "epochs", "accuracy", 100, "test accuracy, %"),
              ("payload_bytes", 1e-6, "MB sent by a rank", "accuracy", 100, "test accuracy, %"),
              ("epochs", 1, "epochs", "gradient_norm", 1, "norm of the averaged gradient")]
    chart, axes = plt.subplots(len(steps), len(panels), figsize=(13, 3.6 * len(steps)), squeeze=False,
                               layout="constrained")
    for row, skipped in zip(axes, steps):
        for axis, (x, x_unit, x_label, y, y_unit, y_label) in zip(row, panels):
            names = {kind: "dense" if kind == "dense" else f"{kind} {skipped}" for kind in KINDS}
            shown = {kind: curves[name] for kind, name in names.items() if name in curves}
            for kind, curve in shown.items():
                xs, ys = [x_unit * r[x] for r in curve], [y_unit * r[y] for r in curve]
                axis.plot(xs, ys, marker="o", markersize=3, color=COLOURS[kind], label=kind)
                if y == "accuracy":
                    spread = [y_unit * r["deviation"] for r in curve]
                    axis.fill_between(xs, [v - s for v, s in zip(ys, spread)], [v + s for v, s in zip(ys, spread)],
                                      color=COLOURS[kind], alpha=0.15, linewidth=0)
            if y == "accuracy":
                best = 100 * max(r["accuracy"] for curve in shown.values() for r in curve)
                axis.set_ylim(max(axis.get_ylim()[0], best - 15), best + 1)
            axis.set(title=f"S = {skipped} of {RANKS[experiment] - 1}", xlabel=x_label, ylabel=y_label)
            axis.grid(alpha=0.3)
        row[0].legend(fontsize="small")
    file = PAGE.with_name(f"skipreduce_{experiment}.svg")
    chart.savefig(file, metadata={"Date": None})
    print(file)


def draw(_):
    curves, layers = read_summary()
    parts = []
    for experiment, methods in curves.items():
        plot(experiment, methods)
        title = TITLES[experiment].format(epochs=methods["dense"][-1]["epochs"])
        parts.append(f"**{title}**\n\n{table(methods)}\n\n![accuracy and gradient](skipreduce_{experiment}.svg)")
        if layers[experiment]:
            parts.append("What `selective` measured last, and in what part of the runs the layer was dense then:\n\n"
                         + importance_table(layers[experiment]))
    text = "\n\n".join(parts)
    page = PAGE.read_text(encoding="utf-8")
    page, found = re.subn(r"(<!-- evidence -->\n).*?(<!-- end of evidence -->)",
                          lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}", page, flags=re.DOTALL)
    if found != 1:
        sys.exit(f"{PAGE}: the marks '<!-- evidence -->' and '<!-- end of evidence -->' must stand there once")
    PAGE.write_text(page, encoding="utf-8")
    print(PAGE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("run")
    command.add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=list(SEEDS))
    command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    command.add_argument("--seeds", type=int, help="at most so many of each")
    command.add_argument("--epochs", type=int, help="instead of the configs'")
    command.add_argument("--fresh", action="store_true", help="anew, whatever is there")
    command.set_defaults(function=run)
    commands.add_parser("gather").set_defaults(function=gather)
    commands.add_parser("draw").set_defaults(function=draw)
    arguments = parser.parse_args()
    if unknown := set(getattr(arguments, "experiments", SEEDS)) - set(SEEDS):
        parser.error(f"unknown experiments {', '.join(sorted(unknown))}; there are {', '.join(SEEDS)}")
    arguments.function(arguments)


if __name__ == "__main__":
    main()
