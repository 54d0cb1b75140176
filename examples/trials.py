"""Functions that the scripts of experiments share. These scripts train the configs of their folder with several seeds,
leave the results in results/<folder>/<experiment>/, collect the result files, and write tables and pictures into a page
of docs/. Needs Debian's python3-h5py, and python3-matplotlib for plots."""
import collections
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALL_COLUMNS = ["hosts", "case", "algorithm", "payload_bytes", "kernels_ms", "ms", "raw_rate", "load"]
TIME_COLUMNS = ["method", "seed", "seconds_until", "steps_until", "accuracy", "step_ms", "waiting", "kernels_ms",
                "payload_bytes", "raw_rate", "load", "machine"]
CURVE = ["experiment", "method", "epochs", "seeds", "accuracy", "deviation"]
# Further columns of a curve, and how they are written.
QUANTITIES = {"payload_bytes": ".0f", "gradient_norm": ".5g", "seconds": ".5g", "xi": ".4g"}


def lacuna_of(build):
    return build.resolve() / "bin" / "lacuna"


def results_of(folder, experiment):
    return ROOT / "results" / folder.name / experiment


def config_of(folder, experiment, seeds, epochs=None, config=None):
    """Writes the config of an experiment with its name, the seeds 1 to `seeds` and its output, and returns its path.
    `config` names another config that serves several experiments."""
    text = (folder / f"{config or experiment}.toml").read_text(encoding="utf-8")
    output = results_of(folder, experiment)
    changes = {"name": f'"{experiment}"', "seed": list(range(1, seeds + 1)), "output": f'"{output.relative_to(ROOT)}"'}
    if epochs:
        changes["epochs"] = epochs
    for key, value in changes.items():
        line = f"{'seeds' if key == 'seed' else key} = {value}"
        text, found = re.subn(rf"^{key} = .*$", lambda _: line, text, count=1, flags=re.MULTILINE)
        assert found == 1, key
    path = output.with_suffix(".toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def train(lacuna, ranks, config, fresh):
    """Trains on ranks of this machine. If it is interrupted, or if seeds or epochs are added, the next call continues."""
    again = ["--fresh"] if fresh else []
    subprocess.run([lacuna, "launch", "-n", str(ranks), "--raw", "--", lacuna, "run", "--quiet", *again, config],
                   check=True, cwd=ROOT)


def train_in_lab(lacuna, hosts, rate, config, fresh):
    """Trains on emulated hosts without interruption. Returns the log."""
    return in_lab(lacuna, hosts, rate, ["run", "--quiet", "--fresh", config], config.read_text(encoding="utf-8"),
                  config.with_suffix(".log"), fresh)


def in_lab(lacuna, hosts, rate, words, what, path, fresh):
    """Runs a command of lacuna on emulated hosts, unless the log at this path is of the same command. Returns the log."""
    asked = f"links of {rate}\n{what}"
    log = path.read_text(encoding="utf-8") if path.exists() else ""
    if fresh or not log.startswith(asked):
        command = [ROOT / "tests" / "lab" / "lab.py", "--hosts", hosts, "--rate", rate, "--raw", "--", lacuna, *words]
        busy = os.getloadavg()[0]
        done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr + done.stdout)
        log = f"{asked}{done.stderr}{done.stdout}load average before: {busy:.1f}\n"
        path.write_text(log, encoding="utf-8")
    return log


def measure_calls(lacuna, folder, cases, rate, fresh):
    """Makes calls by `lacuna perf` on emulated hosts. `cases` is {(hosts, case): arguments}."""
    results_of(folder, "calls").mkdir(parents=True, exist_ok=True)
    for (hosts, case), words in cases.items():
        path = results_of(folder, "calls") / f"{hosts} {case}.json"
        words = ["perf", "allreduce", *words, "-J", path]
        in_lab(lacuna, hosts, rate, words, f"{words}\n", path.with_suffix(".log"), fresh)
        print(path, flush=True)


def call_rows(folder, cases):
    """Yields the rows of CALL_COLUMNS. Calls in place and out of place count alike."""
    for hosts, case in cases:
        path = results_of(folder, "calls") / f"{hosts} {case}.json"
        log = path.with_suffix(".log").read_text(encoding="utf-8")
        load = re.search(r"load average before: ([\d.]+)", log)[1]
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]:
            both = [row["in_place"], row["out_of_place"]]
            kernels = [sum(time for phase, time in one.get("phases_us", {}).items() if phase != "wire") for one in both]
            yield [hosts, case, row["algorithm"], f"{statistics.fmean(one['payload_bytes'] for one in both):.0f}",
                   f"{statistics.fmean(kernels) / 1e3:.4g}",
                   f"{statistics.fmean(one['time_us'] for one in both) / 1e3:.5g}", f"{raw_rate(log):.4g}", load]


def calls_table(rows, case):
    """A table that compares the measured time of calls with the predicted one: the time of the bytes at the rate of the
    links plus the time of the kernels."""
    dense = {key: row for row in rows if row["algorithm"] == "ring"
             for key in (row["hosts"], (row["hosts"], row["case"]))}
    lines = [f"| hosts | {case} | algorithm | MB sent | on the wire, ms | kernels, ms | predicted, ms | measured, ms "
             "| measured / predicted | dense / measured | dense / measured, on the wire |",
             "|---:|---|---|" + "---:|" * 8]
    wire = lambda row: 1e3 * float(row["payload_bytes"]) / float(row["raw_rate"])
    for row in rows:
        sent, measured, kernels = (float(row[name]) for name in ("payload_bytes", "ms", "kernels_ms"))
        beside = dense.get((row["hosts"], row["case"]), dense[row["hosts"]])
        name = "dense `ring`" if row["algorithm"] == "ring" else f"`{row['algorithm']}`"
        lines.append(f"| {row['hosts']} | {row['case']} | {name} | {sent / 1e6:.2f} | {wire(row):.0f} | {kernels:.0f} "
                     f"| {wire(row) + kernels:.0f} | {measured:.0f} | {measured / (wire(row) + kernels):.2f} "
                     f"| {float(beside['ms']) / measured:.1f} | {wire(beside) / wire(row):.1f} |")
    loads = sorted(float(row["load"]) for row in rows)
    return "\n".join(lines) + f"\n\nLoad average just before: {span(loads[0], loads[-1], 1)}."


def span(low, high, digits):
    """A text of two numbers, or of one if both give the same text."""
    texts = [f"{number:.{digits}f}" for number in (low, high)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def options_of(lacuna, method):
    """The rows of the first table of `lacuna list METHOD`, whose columns are at least two spaces apart."""
    lines = subprocess.run([lacuna, "list", method], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [re.split(r"  +", line.strip()) for line in lines[lines.index("") + 1:]]
    return rows[1:rows.index([""])]


def options_table(lacuna, method):
    return "\n".join(["| option | default | allowed | |", "|---|---|---|---|",
                      *(f"| `{name}` | {default} | {allowed} | {what} |"
                        for name, default, allowed, what in options_of(lacuna, method))])


def method_section(lacuna, label, text, only=None):
    """The section [[method]] of a config for a text METHOD:OPTION=VALUE,...@ALGORITHM, as `lacuna replay` takes it. A
    text without METHOD is dense. `only` names the tensor that the method is for. With lists=1 the workload hands over
    lists of entries."""
    text, _, algorithm = text.partition("@")
    name, _, given = text.partition(":")
    keys = {"label": f'"{label}"'}
    for key, value in (("name", name), ("algorithm", algorithm), ("only", only)):
        if value:
            keys[key] = f'"{value}"'
    flags = {"lists"} | {option for option, _, allowed, _ in options_of(lacuna, name) if allowed == "0 or 1"} if name else set()
    for option, value in (one.split("=", 1) for one in given.split(",") if one):
        if option in flags:
            value = "true" if value == "1" else "false"
        elif not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", value):
            value = f'"{value}"'
        keys[option] = value
    return "[[method]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


def raw_rate(log):
    """Bytes per second of the plain TCP ring that the lab has measured first."""
    return float(re.search(r"([\d.]+) MB/s", log)[1]) * 1e6


def result_of(folder, experiment):
    return results_of(folder, experiment) / f"{experiment}.h5"


def read(path):
    """{method: {seed: [{column: value} of each evaluation]}} for all that has finished."""
    import h5py

    methods = collections.defaultdict(dict)
    with h5py.File(path) as file:
        for method, seeds in file["methods"].items():
            for name, group in seeds.items():
                if not group.attrs["finished"]:
                    continue
                columns = {key: data[()] for key, data in group.items() if isinstance(data, h5py.Dataset)}
                methods[method][int(name.removeprefix("seed-"))] = [
                    {key: float(values[i]) for key, values in columns.items()} for i in range(len(columns["step"]))]
    return methods


def times_of_kernels(path, method):
    """The names of the columns that hold the seconds of a method's kernels, as their attributes say."""
    import h5py

    text = lambda value: value.decode() if isinstance(value, bytes) else value
    wanted = {"unit": "seconds", "adds_up": "sum", "counted_by": "kernels"}
    with h5py.File(path) as file:
        return [name for name, column in next(iter(file["methods"][method].values())).items()
                if {key: text(column.attrs.get(key)) for key in wanted} == wanted]


def machine(path):
    """A text that says where the results were measured, and with which versions."""
    import h5py

    with h5py.File(path) as file:
        about = {name: value.decode() if isinstance(value, bytes) else value for name, value in file.attrs.items()}
    return f"{about['machine']}, with {about['libraries']} and GCC {about['compiler']}"


def lab_of(path):
    """Texts of the rate of the plain TCP ring, and of the load before, when these results were measured in the lab."""
    log = path.parent.with_suffix(".log").read_text(encoding="utf-8")
    return f"{raw_rate(log):.4g}", re.search(r"load average before: ([\d.]+)", log)[1]


def evaluations(folder, experiment):
    """{method: its evaluations with all seeds}"""
    return {method: [row for rows in seeds.values() for row in rows]
            for method, seeds in read(result_of(folder, experiment)).items()}


def mean_curve(experiment, method, rows, quantities):
    """A row for each step, with the columns of CURVE and the quantities, as means over the seeds."""
    lines = []
    for step in sorted({row["step"] for row in rows}):
        here = [row for row in rows if row["step"] == step]
        mean = lambda name: statistics.fmean(row[name] for row in here)
        accuracies = [row["test_accuracy"] for row in here]
        lines.append([experiment, method, f"{mean('epochs'):.4g}", len(here), f"{mean('test_accuracy'):.5f}",
                      f"{statistics.stdev(accuracies) if len(here) > 1 else 0:.5f}",
                      *(f"{mean(name):{QUANTITIES[name]}}" for name in quantities)])
    return lines


def time_rows(folder, experiment, goal):
    """Yields the rows of TIME_COLUMNS for an experiment in the lab: what each seed needed to reach an accuracy."""
    path = result_of(folder, experiment)
    rate, load = lab_of(path)
    for method, seeds in read(path).items():
        for seed, evaluations in seeds.items():
            last = evaluations[-1]
            needed = [until(evaluations, goal, quantity, "test_accuracy") for quantity in ("seconds", "step")]
            kernels = sum(last[name] for name in times_of_kernels(path, method))
            yield [method, seed, *("" if number is None else f"{number:.5g}" for number in needed),
                   f"{last['test_accuracy']:.5f}", f"{1e3 * last['seconds'] / last['step']:.4g}",
                   f"{last['waited_seconds'] / last['seconds']:.3f}", f"{1e3 * kernels / last['step']:.4g}",
                   f"{last['payload_bytes'] / last['step']:.0f}", rate, load, machine(path)]


def write_csv(path, columns, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    print(path)


def read_csv(path):
    return csv.DictReader(path.read_text(encoding="utf-8").splitlines())


def read_curves(path):
    """{experiment: {method: [{column: value}]}}"""
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in read_csv(path):
        values = {name: float(value) for name, value in row.items() if name not in ("experiment", "method")}
        curves[row["experiment"]][row["method"]].append(values)
    return curves


def until(rows, accuracy, quantity, reached="accuracy"):
    """The quantity when the accuracy is reached, interpolated between evaluations; None if it is never reached."""
    earlier = None
    for row in rows:
        if row[reached] >= accuracy:
            if earlier is None:
                return row[quantity]
            part = (accuracy - earlier[reached]) / (row[reached] - earlier[reached])
            return earlier[quantity] + part * (row[quantity] - earlier[quantity])
        earlier = row
    return None


def spread(values, digits=2):
    """A text of mean and deviation. A single value has no deviation."""
    if not values:
        return "never"
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{deviation}"


def accuracy_table(curves, digits=0):
    """A table of what each method sends and its accuracy, compared with dense. Bytes have so many more digits."""
    dense = curves["dense"][-1]
    goal = dense["accuracy"] - 0.02
    lines = [f"| method | seeds | bytes / dense | test accuracy, % | against dense | MB until {100 * goal:.1f} % |",
             "|---|---:|---:|---:|---:|---:|"]
    for method, curve in curves.items():
        last, needed = curve[-1], until(curve, goal, "payload_bytes")
        lines.append(f"| {method} | {last['seeds']:.0f} "
                     f"| {last['payload_bytes'] / dense['payload_bytes']:.{2 + digits}f} "
                     f"| {100 * last['accuracy']:.2f} ± {100 * last['deviation']:.2f} "
                     f"| {100 * (last['accuracy'] - dense['accuracy']):+.2f} "
                     f"| {'never' if needed is None else f'{needed / 1e6:.{digits}f}'} |")
    return "\n".join(lines)


def times_table(rows, goal):
    """A table with one line for each method, over the seeds, and a text that says how it was measured."""
    methods = collections.defaultdict(list)
    for row in rows:
        methods[row["method"]].append(row)
    dense = {row["seed"]: row for row in methods["dense"]}
    lines = [f"| method | seeds that reach {goal:.0%} | steps until then | seconds until then | dense / method "
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
    return "\n".join(lines) + f"\n\n{lab_conditions(rows)}"


def lab_conditions(times):
    """A text that says where and how the figures of the lab were measured."""
    machines, seeds = (sorted({row[name] for row in times}) for name in ("machine", "seed"))
    rates, loads = (sorted(float(row[name]) for row in times) for name in ("raw_rate", "load"))
    text = (f"Lab, seeds {', '.join(seeds)}: {'; '.join(machines)}. A plain TCP ring reached "
            f"{span(rates[0] / 1e6, rates[-1] / 1e6, 0)} MB/s per host there. Load average just before: "
            f"{span(loads[0], loads[-1], 1)}.")
    return textwrap.fill(text, 120)


def pyplot():
    """Matplotlib, set up so that equal figures give equal SVG files."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lacuna"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot

    return matplotlib.pyplot


def draw_curve(axis, rows, x, y, **look):
    """Draws a curve of two columns, each given as (name, unit). Accuracies have their deviation as a shade."""
    xs, ys = ([unit * row[name] for row in rows] for name, unit in (x, y))
    axis.plot(xs, ys, marker="o", markersize=3, **look)
    if y[0] == "accuracy":
        spread_of = [y[1] * row["deviation"] for row in rows]
        axis.fill_between(xs, [v - s for v, s in zip(ys, spread_of)], [v + s for v, s in zip(ys, spread_of)],
                          color=look["color"], alpha=0.15, linewidth=0)


def save_chart(chart, path):
    chart.savefig(path, metadata={"Date": None})
    print(path)


def write_between(page, name, text):
    """Replaces the text between '<!-- name -->' and '<!-- end of name -->' in a page."""
    whole, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
                           lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}", page.read_text(encoding="utf-8"),
                           flags=re.DOTALL)
    if found != 1:
        sys.exit(f"{page}: the marks '<!-- {name} -->' and '<!-- end of {name} -->' must occur once")
    page.write_text(whole, encoding="utf-8")
    print(page)
