#!/usr/bin/python3
"""Compares Ok-Topk with other ways to send few elements, and writes the results into docs/.

    examples/ok_topk/evidence.py run [--build BUILD] [--seeds N] [--rate 1gbit] [--fresh] [EXPERIMENT ...]
    examples/ok_topk/evidence.py problems [--build BUILD] [--seeds N] [--label LABEL METHOD] [PROBLEM ...]
    examples/ok_topk/evidence.py gather [--build BUILD]
    examples/ok_topk/evidence.py draw [--build BUILD]

`run` does what is missing of each experiment with all seeds, and leaves the results in results/ok_topk/. `mlp_4`
to `cnn_8` train the configs of this folder on four and eight ranks of this machine, `time_4` and `time_8` on as many
hosts of the lab. `calls` makes single calls over two windows of tau' runs, on four and eight hosts. In the lab times
count: do nothing else meanwhile.

`gather` collects the result files in docs/oktopk.csv, docs/oktopk_time.csv and docs/oktopk_calls.csv, and writes what
`lacuna explain` expects of many ranks to docs/oktopk_ranks.csv. `draw` makes from these the tables and the picture of
docs/oktopk_evidence.md, and by the command the table of options of docs/oktopk.md. It needs Debian's python3-h5py and
python3-matplotlib.

`problems` measures what error feedback does to selections, and what results from it. It has 8 ranks, 40,000 elements of
f32, a density of 1 %, 1000 steps at a learning rate of 0.01, and three seeds. Each rank's gradient has noise of
deviation 1.

  convex    The loss of a rank is the mean of h (w - c)^2 / 2 over the elements. h is within 0.5 .. 1.5. The centres c of
            the ranks lie around a common centre of deviation 3, at a deviation of 1/3.
  drifting  The same, but in each step each element of the common centre moves by 1 % of a normally distributed number,
            which is drawn anew every 200 steps.
  noise     Gradients with a fixed common part of deviation 0.3, and no loss.

Over the runs that select by thresholds it measures the least, 5 %, median, 95 % and most of three figures: the elements
that a rank selects and the entries of the result, both divided by k, and the words of 4 bytes that the rank receives
which receives most, headers and everything else included, divided by k(P-1)/P. The loss is the mean of the last 200
steps, and for `drifting` that of all steps from 200 on. The results go to docs/oktopk_problems.csv, one line for each
problem and label. --label adds those of one method under that name, with the library of --build, which may be an
earlier one.
"""
import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import trials
from trials import ROOT

CURVES = ROOT / "docs" / "oktopk.csv"
TIMES = ROOT / "docs" / "oktopk_time.csv"
CALLS = ROOT / "docs" / "oktopk_calls.csv"
MANY = ROOT / "docs" / "oktopk_ranks.csv"
FEEDBACK = ROOT / "docs" / "oktopk_problems.csv"
MANUAL = ROOT / "docs" / "oktopk.md"
PAGE = ROOT / "docs" / "oktopk_evidence.md"
TRAININGS = {f"{config}_{ranks}": (config, ranks) for config in ("mlp", "cnn", "time") for ranks in (4, 8)}
EXPERIMENTS = [*TRAININGS, "calls"]
SEEDS = 3
PLOTTED = ["mlp_4", "cnn_8", "time_4"]
GOALS = {"time_4": 0.87, "time_8": 0.86}  # of the test images
QUANTITIES = ["payload_bytes", "seconds", "xi"]
DENSITIES = ["0.01", "0.05"]
WINDOW = ["-b", "100M", "-e", "100M", "-n", "64", "-w", "2", "--density", "1", "--pattern", "gradient"]
CALLS_MADE = {(hosts, case): words for hosts in (4, 8) for case, words in {
    "dense": ["-b", "100M", "-e", "100M", "-n", "5", "-w", "1", "--algorithm", "ring"],
    **{f"{float(density):.0%}": [*WINDOW, "--method", f"ok_topk:density={density},feedback=0"]
       for density in DENSITIES},
    "1%, fed back": [*WINDOW, "--method", "ok_topk:density=0.01"],
}.items()}
RANKS = [16, 64, 256]
MANY_COLUMNS = ["ranks", "density", "fill_in", "rounds", "bytes", "dense_bytes"]
PLACES = 25 << 20  # of the calls and of what is expected of many ranks, f32
PROBLEMS = {"convex": (800, 1000), "drifting": (200, 1000), "noise": None}  # which steps the loss is the mean of
PROBLEM_RANKS, PROBLEM_STEPS, PROBLEM_K = 8, 1000, 400
LABELS = {"dense": "", "exact in each run": "ok_topk:tau_prime=1,format=coordinates",
          "ok_topk": "ok_topk:format=coordinates"}
PROBLEM_COLUMNS = ["problem", "label", "remade", "selected", "result", "outside", "words", "beyond", "loss", "deviation"]
LIKE_SPLIT = ("allgather", "ring")  # up to rounding the same sums
COLOURS = {"dense": "#333333", "skip": "#8d99ae", "split": "#3a9d5d", "capped": "#7b2d8b", "gtopk": "#e08e1b",
           "gaussian": "#2e86ab", "ok_topk": "#d1495b"}


def run(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    if "calls" in arguments.experiments:
        trials.measure_calls(lacuna, HERE, CALLS_MADE, arguments.rate, arguments.fresh)
    for experiment in (name for name in TRAININGS if name in arguments.experiments):
        begin = time.monotonic()
        name, ranks = TRAININGS[experiment]
        config = trials.config_of(HERE, experiment, arguments.seeds, config=name)
        if experiment in GOALS:
            trials.train_in_lab(lacuna, ranks, arguments.rate, config, arguments.fresh)
        else:
            trials.train(lacuna, ranks, config, arguments.fresh)
        print(f"{experiment}: {time.monotonic() - begin:.0f} s", flush=True)


def problem_calls(lacuna, problem, method, seed):
    """Yields of each call: entries of the result, what each rank selected, the most bytes that a rank received, loss."""
    program = lacuna.with_name("example_ok_topk_feedback")
    words = [lacuna, "launch", "-n", PROBLEM_RANKS, "--raw", "--", program, "--problem", problem, "--seed", seed, "--steps",
             PROBLEM_STEPS, *(["--method", method] if method else [])]
    text = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        _, result, selected, received, loss = line.split(",")
        yield float(result), [int(one) for one in selected.split()], float(received), float(loss)


def problem_row(problem, label, runs):
    """The columns of PROBLEM_COLUMNS for the calls of all seeds."""
    losses = [statistics.fmean(call[3] for call in calls[slice(*PROBLEMS[problem])]) if PROBLEMS[problem] else 0
              for calls in runs]
    deviation = statistics.stdev(losses) if len(losses) > 1 else 0
    unit = PROBLEM_K * (PROBLEM_RANKS - 1) / PROBLEM_RANKS
    by_threshold, remade, between = [], 0, 0
    for calls in runs:
        for step, call in enumerate(calls):
            exact = all(count == PROBLEM_K for count in call[1])
            if step % 32:
                between += 1
                remade += exact
            if not exact:
                by_threshold.append(call)
    if label in ("dense", "exact in each run") or not by_threshold:
        return [problem, label, "", "", "", "", "", "", f"{statistics.fmean(losses):.4f}", f"{deviation:.4f}"]
    result = [call[0] / PROBLEM_K for call in by_threshold]
    words = [call[2] / 4 / unit for call in by_threshold]
    share = lambda these: f"{100 * sum(these) / len(by_threshold):.1f}"
    return [problem, label, f"{100 * remade / between:.1f}",
            distribution([count / PROBLEM_K for call in by_threshold for count in call[1]]), distribution(result),
            share(not 2 / 3 <= one <= 4 / 3 for one in result), distribution(words), share(one > 6 for one in words),
            f"{statistics.fmean(losses):.4f}", f"{deviation:.4f}"]


def distribution(values):
    ordered = sorted(values)
    return " ".join(f"{ordered[round(part * (len(ordered) - 1))]:.2f}" for part in (0, 0.05, 0.5, 0.95, 1))


def problems(arguments):
    lacuna = trials.lacuna_of(arguments.build)
    rows = {(row["problem"], row["label"]): list(row.values()) for row in trials.read_csv(FEEDBACK)} \
        if FEEDBACK.exists() else {}
    labels = {arguments.label[0]: arguments.label[1]} if arguments.label else LABELS
    for problem in arguments.problems:
        for label, method in labels.items():
            runs = [list(problem_calls(lacuna, problem, method, seed)) for seed in range(1, arguments.seeds + 1)]
            rows[problem, label] = problem_row(problem, label, runs)
            print(*rows[problem, label], sep=", ", flush=True)
            trials.write_csv(FEEDBACK, PROBLEM_COLUMNS, rows.values())


def problems_table(rows):
    """The rows by problem, in the order of PROBLEMS."""
    lines = ["| problem | | runs in which all ranks select exactly out of turn, % | selected / k | result / k | outside of 2/3 .. 4/3, % "
             "| words / (k(P-1)/P) | above 6, % | loss |", "|---|---|---:|---|---|---:|---|---:|---:|"]
    for row in sorted(rows, key=lambda row: list(PROBLEMS).index(row["problem"])):
        loss = f"{float(row['loss']):.3f} ± {float(row['deviation']):.3f}" if PROBLEMS[row["problem"]] else ""
        spreads = [row[name].replace(" ", " / ") for name in ("selected", "result", "words")]
        lines.append(f"| {row['problem']} | {row['label']} | {row['remade']} | {spreads[0]} | {spreads[1]} "
                     f"| {row['outside']} | {spreads[2]} | {row['beyond']} | {loss} |")
    return "\n".join(lines)


def expected(lacuna):
    """Yields the rows of MANY_COLUMNS."""
    for ranks in RANKS:
        for density in DENSITIES:
            for fill_in in ("", "0.8"):
                words = ["explain", "allreduce", "-b", f"{4 * PLACES}", "-p", ranks, "--density", "1", "--method",
                         f"ok_topk:density={density},format=coordinates", *(["--fill-in", fill_in] if fill_in else [])]
                text = subprocess.run([lacuna, *(str(word) for word in words)], check=True, capture_output=True,
                                      text=True).stdout
                number = r"([\d.]+ [KMG]?i?B)"
                found = re.search(rf"^> ok_topk +(\d+) +-?\d+ +{number} +{number} ", text, re.MULTILINE)
                yield [ranks, density, fill_in or "drawn", found[1], f"{bytes_of(found[2]):.0f}",
                       f"{bytes_of(found[3]):.0f}"]


def bytes_of(text):
    number, unit = text.split()
    return float(number) * 1024 ** " KMG".index(unit[0].replace("B", " "))


def gather(arguments):
    lines = []
    for experiment in TRAININGS:
        for method, rows in trials.evaluations(HERE, experiment).items():
            lines += trials.mean_curve(experiment, method, [{"xi": 0, **row} for row in rows], QUANTITIES)
    trials.write_csv(CURVES, trials.CURVE + QUANTITIES, lines)
    trials.write_csv(TIMES, ["experiment", *trials.TIME_COLUMNS],
                     ([experiment, *row] for experiment, goal in GOALS.items()
                      for row in trials.time_rows(HERE, experiment, goal)))
    trials.write_csv(CALLS, trials.CALL_COLUMNS, trials.call_rows(HERE, CALLS_MADE))
    trials.write_csv(MANY, MANY_COLUMNS, expected(trials.lacuna_of(arguments.build)))


def many_table(rows):
    """A table of the words of 4 bytes that a rank sends, the paper's bound, and the words of an allgather."""
    lines = ["| P | density | entries of s ranks | rounds of most runs | words a rank, mean over tau | 4k(P-1)/P "
             "| 6k(P-1)/P | allgather, 2k(P-1) | dense / words |", "|---:|---:|---|" + "---:|" * 6]
    for row in rows:
        ranks, k = int(row["ranks"]), float(row["density"]) * PLACES
        share, words = (ranks - 1) / ranks, float(row["bytes"]) / 4
        drawn = "drawn by each" if row["fill_in"] == "drawn" else f"s^{row['fill_in']} k"
        lines.append(f"| {ranks} | {float(row['density']):.0%} | {drawn} | {row['rounds']} | {words:,.0f} "
                     f"| {4 * k * share:,.0f} | {6 * k * share:,.0f} | {2 * k * (ranks - 1):,.0f} "
                     f"| {float(row['dense_bytes']) / 4 / words:.1f} |")
    return "\n".join(lines)


def xi_table(curves):
    """A table of the least and the most xi at evaluations, for each method that has it, as means over the seeds."""
    measured = collections.defaultdict(dict)
    for experiment, methods in curves.items():
        for method, rows in methods.items():
            values = [row["xi"] for row in rows if row["xi"] > 0]
            if values and method not in ("dense", "skip 1"):
                measured[method][experiment] = trials.span(min(values), max(values), 2)
    shown = [experiment for experiment in TRAININGS if any(experiment in own for own in measured.values())]
    lines = [f"| method | {' | '.join(named(experiment) for experiment in shown)} |", "|---" * (1 + len(shown)) + "|"]
    return "\n".join(lines + [f"| {method} | {' | '.join(own.get(experiment, '') for experiment in shown)} |"
                              for method, own in measured.items()])


def named(experiment):
    name, ranks = TRAININGS[experiment]
    return f"{name}, {ranks} {'hosts' if name == 'time' else 'ranks'}"


def plot(curves):
    """Draws a row for each experiment: over epochs, and over bytes or, in the lab, over seconds."""
    chart, axes = trials.pyplot().subplots(len(PLOTTED), 2, figsize=(15, 4.4 * len(PLOTTED)), layout="constrained")
    for row, experiment in zip(axes, PLOTTED):
        methods = {name: curve for name, curve in curves[experiment].items()
                   if name in ("dense", "skip 1") or "1 %" in name and not name.startswith(LIKE_SPLIT)}
        best = 100 * max(point["accuracy"] for curve in methods.values() for point in curve)
        over = [("epochs", 1, "epochs"), ("seconds", 1, "seconds at 1 Gbit/s") if experiment in GOALS
                else ("payload_bytes", 1e-6, "MB sent by a rank")]
        for axis, (x, unit, label) in zip(row, over):
            for method, curve in methods.items():
                trials.draw_curve(axis, curve, (x, unit), ("accuracy", 100), color=COLOURS[method.split()[0]],
                                  label=method, linestyle="--" if "inside" in method else "-")
            axis.set_ylim(best - 12, best + 0.5)
            axis.set(xlabel=f"{label}, {named(experiment)}", ylabel="test accuracy, %")
            axis.grid(alpha=0.3)
        row[1].set_xscale("log")
    axes[0][0].legend(fontsize="small")
    trials.save_chart(chart, PAGE.with_name("oktopk.svg"))


def draw(arguments):
    curves, times = trials.read_curves(CURVES), list(trials.read_csv(TIMES))
    plot(curves)
    trials.write_between(MANUAL, "options", trials.options_table(trials.lacuna_of(arguments.build), "ok_topk"))
    trials.write_between(PAGE, "calls", trials.calls_table(list(trials.read_csv(CALLS)), "elements"))
    trials.write_between(PAGE, "ranks", many_table(trials.read_csv(MANY)))
    trials.write_between(PAGE, "problems", problems_table(trials.read_csv(FEEDBACK)))
    for experiment, methods in curves.items():
        if experiment in GOALS:
            rows = [row for row in times if row["experiment"] == experiment]
            trials.write_between(PAGE, experiment, trials.times_table(rows, GOALS[experiment]))
        else:
            trials.write_between(PAGE, experiment, trials.accuracy_table(methods, digits=1))
    trials.write_between(PAGE, "xi", f"{xi_table(curves)}\n\n![accuracy](oktopk.svg)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    all_commands = [commands.add_parser(name) for name in ("run", "gather", "draw", "problems")]
    for command, function in zip(all_commands, (run, gather, draw, problems)):
        command.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
        command.set_defaults(function=function)
    all_commands[0].add_argument("experiments", nargs="*", metavar="EXPERIMENT", default=EXPERIMENTS)
    all_commands[0].add_argument("--seeds", type=int, default=SEEDS)
    all_commands[0].add_argument("--rate", default="1gbit", help="rate of the lab's links")
    all_commands[0].add_argument("--fresh", action="store_true", help="ignore earlier results")
    all_commands[3].add_argument("problems", nargs="*", metavar="PROBLEM", default=list(PROBLEMS))
    all_commands[3].add_argument("--seeds", type=int, default=SEEDS)
    all_commands[3].add_argument("--label", nargs=2, metavar=("LABEL", "METHOD"), help="run only this method")
    arguments = parser.parse_args()
    if unknown := set(getattr(arguments, "experiments", EXPERIMENTS)) - set(EXPERIMENTS):
        parser.error(f"unknown experiments {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    if unknown := set(getattr(arguments, "problems", PROBLEMS)) - set(PROBLEMS):
        parser.error(f"unknown problems {', '.join(sorted(unknown))}; there are {', '.join(PROBLEMS)}")
    arguments.function(arguments)


if __name__ == "__main__":
    main()
