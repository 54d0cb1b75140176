#!/usr/bin/python3
"""Compares ways of PyTorch and of lacuna to average gradients, where links are slow.

    examples/pytorch/evidence.py run [--seeds N] [--epochs E] [--rate 1gbit] [--hosts 4] [--only MODEL] [--fresh]
    examples/pytorch/evidence.py gather
    examples/pytorch/evidence.py draw

`run` trains by train.py on hosts of the lab, once for each model, way and seed that is missing, and leaves the results
in results/pytorch/. Times count: do nothing else meanwhile. `gather` collects them in docs/pytorch_time.csv. `draw`
writes the tables into docs/pytorch.md, and a picture beside it. `run` needs a Python that has lacuna and torch, and
Debian's dataset-fashion-mnist and bible-kjv. `draw` needs Debian's python3-matplotlib.
"""
import argparse
import collections
import json
import re
import statistics
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

TIMES = ROOT / "docs" / "pytorch_time.csv"
CURVES = ROOT / "docs" / "pytorch_curves.csv"
PAGE = ROOT / "docs" / "pytorch.md"
PICTURE = ROOT / "docs" / "pytorch.svg"
SEEDS = 3
# Epochs, samples of a rank in a step, and the accuracy whose time counts.
MODELS = {"cnn": (1.0, 16, 0.86), "transformer": (0.12, 4, 0.45)}
WAYS = {"Gloo": "gloo", "fp16 hook": "fp16", "PowerSGD 1": "powersgd:1", "PowerSGD 2": "powersgd:2",
        "PowerSGD 4": "powersgd:4", "dense": "dense", "lowrank 2": "lowrank:rank=2",
        "skip 1": "skip:steps=1,mode=random", "topk 1 %": "topk:density=0.01", "ok_topk 1 %": "ok_topk:density=0.01",
        "blocks": "blocks", "sketch": "sketch:ratio=0.25"}
# The momentum of the CNN's optimizer, inside of the method. The transformer's has none.
WAYS_OF = {"cnn": WAYS | {"ok_topk 1 %, momentum inside": "ok_topk:density=0.01,momentum=0.9"}, "transformer": WAYS}
LACUNA = {way for ways in WAYS_OF.values() for way in ways} - {"Gloo", "fp16 hook", "PowerSGD 1", "PowerSGD 2",
                                                               "PowerSGD 4"}
TIME_COLUMNS = ["model", "method", "seed", "seconds_until", "steps_until", "bytes_until", "accuracy", "loss", "step_ms",
                "step_bytes", "raw_rate", "load", "machine"]
CURVE_COLUMNS = ["model", "method", "step", "seconds", "bytes", "loss", "accuracy"]


def path_of(model, way, seed):
    return trials.results_of(HERE, model) / f"{way} {seed}.json"


def run(arguments):
    for seed in range(1, arguments.seeds + 1):
        for model, (epochs, batch, _) in MODELS.items():
            for way, comm in WAYS_OF[model].items():
                if arguments.only in (None, model):
                    run_one(arguments, path_of(model, way, seed), model, comm, seed, arguments.epochs or epochs, batch)


def run_one(arguments, path, model, comm, seed, epochs, batch):
    path.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    words = [HERE / "train.py", "--model", model, "--comm", comm, "--seed", seed, "--epochs", epochs, "--batch", batch,
             "--output", path]
    trials.in_lab(sys.executable, arguments.hosts, arguments.rate, words, f"{' '.join(map(str, words))}\n",
                  path.with_suffix(".log"), arguments.fresh)
    print(f"{path.stem}: {time.monotonic() - begin:.0f} s", flush=True)


def results():
    """Yields (model, way, seed, result, log) of all that has been measured."""
    for model, ways in WAYS_OF.items():
        for way in ways:
            for seed in range(1, SEEDS + 1):
                path = path_of(model, way, seed)
                if path.exists():
                    yield (model, way, seed, json.loads(path.read_text(encoding="utf-8")),
                           path.with_suffix(".log").read_text(encoding="utf-8"))


def time_row(model, way, seed, result, log):
    evaluations = result["evaluations"]
    last = evaluations[-1]
    needed = [trials.until(evaluations, MODELS[model][2], quantity) for quantity in ("seconds", "step", "bytes")]
    return [model, way, seed, *("" if number is None else f"{number:.5g}" for number in needed),
            f"{last['accuracy']:.5f}", f"{last['loss']:.5f}", f"{result['step_ms']:.4g}",
            f"{last['bytes'] / last['step']:.0f}", f"{trials.raw_rate(log):.4g}",
            re.search(r"load average before: ([\d.]+)", log)[1],
            f"{result['machine']}, with PyTorch {result['torch']}"]


def curve_rows():
    """Means over the seeds, for each evaluation."""
    together = collections.defaultdict(list)
    for model, way, _, result, _ in results():
        for found in result["evaluations"]:
            together[model, way, found["step"]].append(found)
    for (model, way, step), all_found in together.items():
        means = [statistics.fmean(found[name] for found in all_found) for name in CURVE_COLUMNS[3:]]
        yield [model, way, step, *(f"{mean:.5g}" for mean in means)]


def gather(_):
    trials.write_csv(TIMES, TIME_COLUMNS, [time_row(*one) for one in results()])
    trials.write_csv(CURVES, CURVE_COLUMNS, curve_rows())


def times_table(rows, goal):
    """A table with one line for each way, over the seeds."""
    ways = collections.defaultdict(list)
    for row in rows:
        ways[row["method"]].append(row)
    mean = lambda name, of: statistics.fmean(float(row[name]) for row in of)
    numbers = lambda name, of: [float(row[name]) for row in of if row[name]]
    base = mean("step_ms", ways["Gloo"]), mean("step_bytes", ways["Gloo"]), numbers("seconds_until", ways["Gloo"])
    lines = [f"| | seeds that reach {goal:.0%} | seconds until then | Gloo / this | MB until then | ms a step "
             "| Gloo / this | bytes / Gloo's | loss at the end | accuracy at the end, % |", "|---|" + "---:|" * 9]
    for way, there in ways.items():
        until = numbers("seconds_until", there)
        ratio = f"{statistics.fmean(base[2]) / statistics.fmean(until):.2f}" if until and base[2] else ""
        megabytes = [number / 1e6 for number in numbers("bytes_until", there)]
        lines.append(f"| {'`' + way + '`' if way in LACUNA else way} | {len(until)} of {len(there)} "
                     f"| {trials.spread(until, 1)} | {ratio} | {trials.spread(megabytes, 0)} "
                     f"| {mean('step_ms', there):.1f} | {base[0] / mean('step_ms', there):.2f} "
                     f"| {mean('step_bytes', there) / base[1]:.3f} | {trials.spread(numbers('loss', there), 3)} "
                     f"| {trials.spread([100 * number for number in numbers('accuracy', there)])} |")
    return "\n".join(lines)


def draw_picture():
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in trials.read_csv(CURVES):
        curves[row["model"]][row["method"]].append({name: float(row[name]) for name in CURVE_COLUMNS[2:]})
    chart, axes = trials.pyplot().subplots(len(curves), 2, figsize=(10, 4 * len(curves)), squeeze=False)
    for pair, (model, ways) in zip(axes, curves.items()):
        for axis, (name, unit, label) in zip(pair, [("seconds", 1, "seconds"), ("bytes", 1e-6, "MB sent by a host")]):
            for way, rows in ways.items():
                axis.plot([unit * row[name] for row in rows], [100 * row["accuracy"] for row in rows], label=way,
                          linestyle="-" if way in LACUNA else "--")
            axis.set(xlabel=label, ylabel="test accuracy, %", title=model)
            axis.set_xscale("log")
        pair[0].legend(fontsize=7)
    chart.tight_layout()
    trials.save_chart(chart, PICTURE)


def draw(_):
    rows = list(trials.read_csv(TIMES))
    tables = [f"The {model}:\n\n{times_table(mine, MODELS[model][2])}" for model in MODELS
              if (mine := [row for row in rows if row["model"] == model])]
    picture = f"![Accuracy against time, and against bytes]({PICTURE.name})"
    trials.write_between(PAGE, "time", "\n\n".join([*tables, picture, trials.lab_conditions(rows)]))
    draw_picture()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for function in (run, gather, draw):
        command = commands.add_parser(function.__name__)
        command.set_defaults(function=function)
        if function is run:
            command.add_argument("--seeds", type=int, default=SEEDS)
            command.add_argument("--epochs", type=float, help="in place of those of the model")
            command.add_argument("--rate", default="1gbit", help="rate of the lab's links")
            command.add_argument("--hosts", type=int, default=4)
            command.add_argument("--only", choices=list(MODELS), help="only this model")
            command.add_argument("--fresh", action="store_true", help="ignore earlier results")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
