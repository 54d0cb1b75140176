"""What the scripts share that show a method at work: they train the configs of their folder with several seeds, into
results/<folder>/<experiment>/<seed>/, bring the result files together, and write what came of it into a page of docs/.
Needs Debian's python3-h5py, and python3-matplotlib for plots."""
import collections
import csv
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALL_COLUMNS = ["hosts", "case", "algorithm", "payload_bytes", "kernels_ms", "ms", "raw_rate", "load"]
CURVE = ["experiment", "method", "epochs", "seeds", "accuracy", "deviation"]
QUANTITIES = {"payload_bytes": ".0f", "gradient_norm": ".5g", "seconds": ".5g"}  # further columns of a curve


def lacuna_of(build):
    return build.resolve() / "bin" / "lacuna"


def results_of(folder, experiment):
    return ROOT / "results" / folder.name / experiment


def config_of(folder, experiment, seed, epochs=None):
    """The experiment's config with another seed and folder."""
    text = (folder / f"{experiment}.toml").read_text(encoding="utf-8")
    changes = {"seed": seed, "output": f'"results/{folder.name}/{experiment}/{seed}"'}
    if epochs:
        changes["epochs"] = epochs
    for key, value in changes.items():
        text, found = re.subn(rf"^{key} = .*$", lambda _: f"{key} = {value}", text, flags=re.MULTILINE)
        assert found == 1, key
    path = results_of(folder, experiment) / f"{seed}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def train(lacuna, ranks, config, fresh):
    """On ranks of this machine. Interrupted, it goes on where it was."""
    again = ["--fresh"] if fresh else []
    subprocess.run([lacuna, "launch", "-n", str(ranks), "--raw", "--", lacuna, "run", "--quiet", *again, config],
                   check=True, cwd=ROOT)


def train_in_lab(lacuna, hosts, rate, config, fresh):
    """On emulated hosts, at one go. The log."""
    return in_lab(lacuna, hosts, rate, ["run", "--quiet", "--fresh", config], config.read_text(encoding="utf-8"),
                  config.with_suffix(".log"), fresh)


def in_lab(lacuna, hosts, rate, words, what, path, fresh):
    """A command of lacuna on emulated hosts, unless a log at this path says that just this was done. The log."""
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
    """Calls by `lacuna perf` on emulated hosts: {(hosts, case): its words}."""
    results_of(folder, "calls").mkdir(parents=True, exist_ok=True)
    for (hosts, case), words in cases.items():
        path = results_of(folder, "calls") / f"{hosts} {case}.json"
        words = ["perf", "allreduce", *words, "-J", path]
        in_lab(lacuna, hosts, rate, words, f"{words}\n", path.with_suffix(".log"), fresh)
        print(path, flush=True)


def call_rows(folder, cases):
    """The rows of CALL_COLUMNS. A call in place and one out of place count alike."""
    for hosts, case in cases:
        path = results_of(folder, "calls") / f"{hosts} {case}.json"
        log = path.with_suffix(".log").read_text(encoding="utf-8")
        load = re.search(r"load average before: ([\d.]+)", log)[1]
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]:
            both = [row["in_place"], row["out_of_place"]]
            kernels = [sum(one.get("phases", {}).get(name, 0) for name in ("select", "pack", "merge")) for one in both]
            yield [hosts, case, row["algorithm"], f"{statistics.fmean(one['payload_bytes'] for one in both):.0f}",
                   f"{statistics.fmean(kernels) / 1e3:.4g}",
                   f"{statistics.fmean(one['time'] for one in both) / 1e3:.5g}", f"{raw_rate(log):.4g}", load]


def calls_table(rows, case):
    """What a call should take, its bytes at the rate of the links and then its kernels, beside what it takes."""
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
    """Two numbers, or one where they read alike."""
    texts = [f"{number:.{digits}f}" for number in (low, high)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def options_table(lacuna, method):
    """Of `lacuna list METHOD`: its first table, whose columns stand at least two spaces apart."""
    lines = subprocess.run([lacuna, "list", method], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [re.split(r"  +", line.strip()) for line in lines[lines.index("") + 1:]]
    rows = rows[:rows.index([""])]
    return "\n".join(["| option | default | allowed | |", "|---|---|---|---|",
                      *(f"| `{name}` | {default} | {allowed} | {what} |" for name, default, allowed, what in rows[1:])])


def raw_rate(log):
    """Bytes a second of the plain TCP ring that the lab has tried first."""
    return float(re.search(r"([\d.]+) MB/s", log)[1]) * 1e6


def read(path):
    """{method: [{column: value} of each evaluation]} of the methods that are finished, in the config's order."""
    import h5py

    with h5py.File(path) as file:
        names = file["summary"]["method"] if "summary" in file else []
        methods = {}
        for name in (name.decode() if isinstance(name, bytes) else name for name in names):
            columns = {key: data[()] for key, data in file["methods"][name].items()}
            methods[name] = [{key: float(values[i]) for key, values in columns.items()}
                             for i in range(len(columns["step"]))]
        return methods


def machine(path):
    """Where the results were measured, and with which versions."""
    import h5py

    with h5py.File(path) as file:
        about = {name: value.decode() if isinstance(value, bytes) else value for name, value in file.attrs.items()}
    return f"{about['machine']}, with {about['libraries']} and GCC {about['compiler']}"


def result_files(folder, experiment):
    return sorted(results_of(folder, experiment).glob(f"*/{experiment}.h5"))


def evaluations(folder, experiment):
    """{method: its evaluations with all seeds}."""
    rows = collections.defaultdict(list)
    for path in result_files(folder, experiment):
        for method, own in read(path).items():
            rows[method] += own
    return rows


def mean_curve(experiment, method, rows, quantities):
    """A line of CURVE and the quantities for each step, means over the seeds."""
    lines = []
    for step in sorted({row["step"] for row in rows}):
        here = [row for row in rows if row["step"] == step]
        mean = lambda name: statistics.fmean(row[name] for row in here)
        accuracies = [row["test_accuracy"] for row in here]
        lines.append([experiment, method, f"{mean('epochs'):.4g}", len(here), f"{mean('test_accuracy'):.5f}",
                      f"{statistics.stdev(accuracies) if len(here) > 1 else 0:.5f}",
                      *(f"{mean(name):{QUANTITIES[name]}}" for name in quantities)])
    return lines


def write_csv(path, columns, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    print(path)


def read_csv(path):
    return csv.DictReader(path.read_text(encoding="utf-8").splitlines())


def read_curves(path):
    """{experiment: {method: [{column: value}]}}."""
    curves = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in read_csv(path):
        values = {name: float(value) for name, value in row.items() if name not in ("experiment", "method")}
        curves[row["experiment"]][row["method"]].append(values)
    return curves


def until(rows, accuracy, quantity, reached="accuracy"):
    """The quantity when the accuracy is reached, between evaluations by a straight line; None if it never is."""
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
    """Mean and deviation."""
    if not values:
        return "never"
    deviation = statistics.stdev(values) if len(values) > 1 else 0
    return f"{statistics.fmean(values):.{digits}f} ± {deviation:.{digits}f}"


def accuracy_table(curves, digits=0):
    """What each method sends and reaches beside dense; bytes with so many more digits."""
    dense = curves["dense"][-1]
    goal = dense["accuracy"] - 0.02
    lines = [f"| method | seeds | bytes / dense | test accuracy, % | to dense | MB until {100 * goal:.1f} % |",
             "|---|---:|---:|---:|---:|---:|"]
    for method, curve in curves.items():
        last, needed = curve[-1], until(curve, goal, "payload_bytes")
        lines.append(f"| {method} | {last['seeds']:.0f} "
                     f"| {last['payload_bytes'] / dense['payload_bytes']:.{2 + digits}f} "
                     f"| {100 * last['accuracy']:.2f} ± {100 * last['deviation']:.2f} "
                     f"| {100 * (last['accuracy'] - dense['accuracy']):+.2f} "
                     f"| {'never' if needed is None else f'{needed / 1e6:.{digits}f}'} |")
    return "\n".join(lines)


def pyplot():
    """Matplotlib for SVG files, of which equal figures give equal ones."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lacuna"
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot

    return matplotlib.pyplot


def draw_curve(axis, rows, x, y, **look):
    """Of two columns, (name, unit); accuracies with their deviation as a shade."""
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
    """Replaces what stands in a page between '<!-- name -->' and '<!-- end of name -->'."""
    whole, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)",
                           lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}", page.read_text(encoding="utf-8"),
                           flags=re.DOTALL)
    if found != 1:
        sys.exit(f"{page}: the marks '<!-- {name} -->' and '<!-- end of {name} -->' must stand there once")
    page.write_text(whole, encoding="utf-8")
    print(page)
