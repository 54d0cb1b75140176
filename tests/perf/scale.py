#!/usr/bin/python3
"""Runs scale_bench and draws what a rank costs by the number of ranks into docs/scale.svg; prints the table of
docs/performance.md. Nothing is asserted.

  tests/perf/scale.py BUILD [--output FILE]
"""
import argparse
import collections
import csv
import pathlib
import subprocess

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "lacuna"  # equal figures give equal files
import matplotlib.pyplot as plt  # noqa: E402: after the choice of the backend

ROOT = pathlib.Path(__file__).resolve().parents[2]


def measure(build):
    """Figures by name: {detail: {ranks: value}}."""
    output = subprocess.run([build / "bin" / "scale_bench"], check=True, capture_output=True, text=True).stdout
    figures = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in csv.DictReader(output.splitlines()):
        figures[row["figure"]][row["detail"]][int(row["ranks"])] = float(row["value"])
    return figures


def draw(figures, file):
    panels = [
        ("memory of a rank, KiB", {name: {p: value / 1024 for p, value in figures[key][""].items()}
                                   for name, key in (("executor", "executor_bytes"),
                                                     ("communicator", "communicator_bytes"))}),
        ("building an allreduce graph, us", figures["graph_us"]),
        ("8-byte allreduce, us of processor time a rank", {
            f"{detail} in flight": values for detail, values in figures["call_us"].items()
            if detail.startswith("recursive_doubling")}),
    ]
    chart, axes = plt.subplots(1, len(panels), figsize=(15, 4.5), layout="constrained")
    for axis, (title, lines) in zip(axes, panels):
        for name, values in lines.items():
            axis.plot(list(values), list(values.values()), marker="o", label=name)
        axis.set(title=title, xlabel="ranks", xscale="log", yscale="log", xticks=[8, 64, 512, 1024],
                 xticklabels=["8", "64", "512", "1024"])
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small")
    chart.savefig(file, metadata={"Date": None})


def table(figures):
    sizes = sorted(next(iter(figures["executor_bytes"].values())))
    rows = [("memory of an executor, KiB", {p: v / 1024 for p, v in figures["executor_bytes"][""].items()}),
            ("memory of a communicator, KiB", {p: v / 1024 for p, v in figures["communicator_bytes"][""].items()})]
    rows += [(f"graph of allreduce {name}, us", values) for name, values in figures["graph_us"].items()]
    rows += [("allreduce {}, {} in flight, us".format(*name.split()), values)
             for name, values in figures["call_us"].items()]
    lines = ["| figure | " + " | ".join(f"P = {size}" for size in sizes) + " |",
             "| --- |" + " ---: |" * len(sizes)]
    for name, values in rows:
        cells = [f"{values[size]:.3g}" if size in values else "" for size in sizes]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs" / "scale.svg")
    arguments = parser.parse_args()
    figures = measure(arguments.build)
    draw(figures, arguments.output)
    print(table(figures))


if __name__ == "__main__":
    main()
