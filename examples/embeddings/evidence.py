#!/usr/bin/python3
"""Trains a model with an embedding table by several methods, and measures calls of these methods, and writes the
results into docs/.

    examples/embeddings/evidence.py run [--build BUILD] [--seeds N] [--rate 1gbit] [--fresh] [EXPERIMENT ...]
    examples/embeddings/evidence.py gather
    examples/embeddings/evidence.py draw

`run` does what is missing of each experiment and leaves the results in results/embeddings/. All experiments train as
clicks.toml says, with the methods of METHODS below. `ranks_4` and `ranks_8` train on ranks of this machine, once for
each seed. `hosts_4` and `hosts_8` train on hosts of the lab, once. `calls` and `slow_calls` measure single calls on
eight hosts of the lab, with links of 1 Gbit/s and of 250 Mbit/s. In the lab times count: do nothing else meanwhile.

`gather` collects the end of each training from the result files in docs/embeddings.csv, and the calls in
docs/blocks_calls.csv. `draw` makes from these the tables of docs/embeddings.md, docs/omnireduce.md and docs/sketch.md,
and by the command the tables of options. It needs Debian's python3-h5py.
"""
import argparse
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

# What is compared: {label: METHOD:OPTION=VALUE,...@ALGORITHM}. Each method is for the table; the perceptron is dense.
METHODS = {
    "dense": "@ring",
    "topk 2 %": "topk:density=0.02",
    "topk 0.1 %": "topk:density=0.001",
    "topk 0.1 %, no feedback": "topk:density=0.001,feedback=0",
    "ok_topk 2 %": "ok_topk:density=0.02",
    "ok_topk 0.1 %": "ok_topk:density=0.001",
    "blocks": "blocks",
    "blocks of a row": "blocks:block=16",
    "blocks of a row, 2 ranks add up": "blocks:block=16,aggregators=2",
    "lists of rows": "blocks:block=16,lists=1",
    "blocks of a row, streamed": "blocks:block=16,slots=64,columns=16@streamed_blocks",
    "compaction": "sketch:block=16@compaction",
    "peel": "sketch:block=16@peel",
    "count sketch": "sketch:block=16,ratio=0.25@count_sketch",
    "count sketch, no feedback": "sketch:block=16,ratio=0.25,feedback=0@count_sketch",
}

# Single calls of 100 MB on 8 hosts, of which a share of the blocks of 256 elements is not zero:
# {form: (--method, --algorithm, densities)}.
HOSTS = 8
DENSITIES = [1, 0.6, 0.4, 0.2, 0.1, 0.04, 0.02, 0.01]
FORMS = {
    "dense": ("", "ring", [1]),
    "planned": ("blocks:block=256", "planned_blocks", DENSITIES),
    "planned, 2 hosts only add up": ("blocks:block=256,aggregators=2,dedicated=1", "planned_blocks", DENSITIES),
    "streamed": ("blocks:block=256,slots=64,columns=16", "streamed_blocks", [0.4, 0.1, 0.04, 0.01]),
    "compaction": ("sketch:block=256", "compaction", [0.4, 0.1, 0.04, 0.01]),
    "peel": ("sketch:block=256", "peel", [0.1, 0.04, 0.01]),
    "count_sketch": ("sketch:block=256", "count_sketch", [0.4, 0.1, 0.04, 0.01]),
}
SLOW_FORMS = {"dense": FORMS["dense"], "planned": (*FORMS["planned"][:2], [0.1, 0.04, 0.02, 0.01])}
CALLS = {"calls": ("1gbit", FORMS), "slow_calls": ("250mbit", SLOW_FORMS)}

FIGURES = ROOT / "docs" / "embeddings.csv"
CALL_FIGURES = ROOT / "docs" / "blocks_calls.csv"
PAGE = ROOT / "docs" / "embeddings.md"
BLOCKS_PAGE, SKETCH_PAGE = (ROOT / "docs" / name for name in ("omnireduce.md", "sketch.md"))
TRAININGS = {"ranks_4": 4, "ranks_8": 8, "hosts_4": 4, "hosts_8": 8}
EXPERIMENTS = [*TRAININGS, *CALLS]
SEEDS = 3
METRICS = ["test_auc", "test_log_loss", "test_accuracy", "row_density", "union_row_density"]
COLUMNS = ["experiment", "method", "seed", "steps", *METRICS, "payload_bytes", "step_ms", "waiting", "kernels_ms",
           "raw_rate", "load", "machine"]


def in_lab(experiment):
    return experiment.startswith("hosts")


def config_of(lacuna, experiment, seeds):
    path = trials.config_of(HERE, experiment, seeds, config="clicks")
    before = path.read_text(encoding="utf-8").split("[[method]]", 1)[0]
    sections = [trials.method_section(lacuna, label, text, only="table") for label, text in METHODS.items()]
    path.write_text(before + "\n".join(sections), encoding="utf-8")
    return path


def cases_of(experiment):
    """{(hosts, case): arguments of `lacuna perf`}. A case is a form and the density in percent."""
    cases = {}
    for form, (method, algorithm, densities) in CALLS[experiment][1].items():
        for density in densities:
            words = ["-b", "100M", "-e", "100M", "-n", "3", "-w", "1", "-c", "0", "--algorithm", algorithm,
                     "--pattern", "blocks:256", "--density", f"{density:g}"]
            cases[HOSTS, f"{experiment}: {form}: {100 * density:g}"] = words + (["--method", method] if method else [])
    return cases


def run(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    for experiment in (name for name in CALLS if name in arguments.experiments):
        trials.measure_calls(lacuna, HERE, cases_of(experiment), CALLS[experiment][0], arguments.fresh)
    for experiment in (name for name in TRAININGS if name in arguments.experiments):
        ranks = TRAININGS[experiment]
        begin = time.monotonic()
        config = config_of(lacuna, experiment, 1 if in_lab(experiment) else arguments.seeds)
        if in_lab(experiment):
            trials.train_in_lab(lacuna, ranks, arguments.rate, config, arguments.fresh)
        else:
            trials.train(lacuna, ranks, config, arguments.fresh)
        print(f"{experiment}: {time.monotonic() - begin:.0f} s", flush=True)


def rows_of(experiment):
    """Yields the rows of COLUMNS for an experiment. Bytes and times are those of a step, on average over all steps and
    ranks."""
    path = trials.result_of(HERE, experiment)
    rate, load = trials.lab_of(path) if in_lab(experiment) else ("", "")
    for method, seeds in trials.read(path).items():
        for seed, evaluations in seeds.items():
            last = evaluations[-1]
            steps = last["step"]
            kernels = sum(last[name] for name in trials.times_of_kernels(path, method))
            yield [experiment, method, seed, f"{steps:.0f}", *(f"{last[name]:.5g}" for name in METRICS),
                   f"{last['payload_bytes'] / steps:.0f}", f"{1e3 * last['seconds'] / steps:.4g}",
                   f"{last['waited_seconds'] / last['seconds']:.3f}", f"{1e3 * kernels / steps:.4g}", rate, load,
                   trials.machine(path)]


def gather(_):
    trials.write_csv(FIGURES, COLUMNS, [row for experiment in TRAININGS for row in rows_of(experiment)])
    trials.write_csv(CALL_FIGURES, trials.CALL_COLUMNS,
                     [row for experiment in CALLS for row in trials.call_rows(HERE, cases_of(experiment))])


def by_method(rows):
    """{method: its rows with all seeds}, in the order of METHODS."""
    return {method: own for method in METHODS if (own := [row for row in rows if row["method"] == method])}


def numbers(rows, name, unit=1):
    return [unit * float(row[name]) for row in rows]


def accuracy_table(rows):
    methods = by_method(rows)
    mean = lambda method, name: statistics.fmean(numbers(methods[method], name))
    lines = ["| method | seeds | test AUC, % | against dense | test log-loss | KB sent, a step | bytes / dense |",
             "|---|" + "---:|" * 6]
    for method, own in methods.items():
        lines.append(f"| {method} | {len(own)} | {trials.spread(numbers(own, 'test_auc', 100))} "
                     f"| {round(100 * (mean(method, 'test_auc') - mean('dense', 'test_auc')), 2) + 0:+.2f} "
                     f"| {trials.spread(numbers(own, 'test_log_loss'), 4)} "
                     f"| {mean(method, 'payload_bytes') / 1e3:.1f} "
                     f"| {mean(method, 'payload_bytes') / mean('dense', 'payload_bytes'):.4f} |")
    own, joint = mean("dense", "row_density"), mean("dense", "union_row_density")
    return "\n".join([*lines, "", f"In the last step {100 * own:.2f} % of the table's rows are not zero on a rank, and "
                      f"{100 * joint:.2f} % on all ranks together."])


def time_table(rows):
    methods = by_method(rows)
    lines = ["| method | ms a step | dense / method | waiting | kernels, ms a step | KB sent, a step |",
             "|---|" + "---:|" * 5]
    dense = float(methods["dense"][0]["step_ms"])
    for method, (row,) in methods.items():
        lines.append(f"| {method} | {float(row['step_ms']):.1f} | {dense / float(row['step_ms']):.2f} "
                     f"| {float(row['waiting']):.0%} | {float(row['kernels_ms']):.2f} "
                     f"| {float(row['payload_bytes']) / 1e3:.1f} |")
    return "\n".join(lines) + f"\n\n{trials.lab_conditions(rows)}"


def calls_table(rows, forms):
    """A table of the calls of some forms. The dense call is the one of the same experiment."""
    lines = ["| form | density, % | MB sent | on the link, ms | measured, ms | measured / link | dense / measured "
             "| MB of dense / MB |", "|---|" + "---:|" * 7]
    time = lambda row: float(row["ms"])
    dense = next(row for row in rows if row["form"] == "dense")
    for row in (row for row in rows if row["form"] in forms):
        sent = float(row["payload_bytes"])
        link = 1e3 * sent / float(row["raw_rate"])
        lines.append(f"| {row['form']} | {row['density']} | {sent / 1e6:.1f} | {link:.0f} | {time(row):.0f} "
                     f"| {time(row) / link:.2f} | {time(dense) / time(row):.1f} "
                     f"| {float(dense['payload_bytes']) / sent:.1f} |")
    rates, loads = (sorted(float(row[name]) for row in rows) for name in ("raw_rate", "load"))
    return "\n".join(lines) + (f"\n\nA plain TCP ring reached {trials.span(rates[0] / 1e6, rates[-1] / 1e6, 0)} MB/s "
                              f"per host. Load average just before: {trials.span(loads[0], loads[-1], 1)}.")


def draw_calls(lacuna):
    calls = {experiment: [] for experiment in CALLS}
    for row in trials.read_csv(CALL_FIGURES):
        experiment, row["form"], row["density"] = row["case"].split(": ")
        calls[experiment].append(row)
    of_sketch = [form for form, (method, _, _) in FORMS.items() if method.startswith("sketch")]
    of_blocks = [form for form in FORMS if form not in of_sketch]
    trials.write_between(BLOCKS_PAGE, "options", trials.options_table(lacuna, "blocks"))
    trials.write_between(BLOCKS_PAGE, "calls", calls_table(calls["calls"], of_blocks))
    trials.write_between(BLOCKS_PAGE, "slow_calls", calls_table(calls["slow_calls"], of_blocks))
    trials.write_between(SKETCH_PAGE, "options", trials.options_table(lacuna, "sketch"))
    trials.write_between(SKETCH_PAGE, "calls", calls_table(calls["calls"], ["dense", *of_sketch]))


def draw(arguments):
    draw_calls(trials.lacuna_of(arguments.build))
    rows = list(trials.read_csv(FIGURES))
    for experiment in TRAININGS:
        own = [row for row in rows if row["experiment"] == experiment]
        trials.write_between(PAGE, experiment, time_table(own) if in_lab(experiment) else accuracy_table(own))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run_command = commands.add_parser("run")
    run_command.add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=EXPERIMENTS)
    run_command.add_argument("--seeds", type=int, default=SEEDS)
    run_command.add_argument("--rate", default="1gbit", help="rate of the lab's links in trainings")
    run_command.add_argument("--fresh", action="store_true", help="ignore earlier results")
    run_command.set_defaults(function=run)
    commands.add_parser("gather").set_defaults(function=gather)
    draw_command = commands.add_parser("draw")
    for command in (run_command, draw_command):
        command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    draw_command.set_defaults(function=draw)
    arguments = parser.parse_args()
    if unknown := set(getattr(arguments, "experiments", [])) - set(EXPERIMENTS):
        parser.error(f"unknown experiments {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    arguments.function(arguments)


if __name__ == "__main__":
    main()
