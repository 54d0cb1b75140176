#!/usr/bin/env python3
"""The results of tests/cuda/session.sh.

results.py join FOLDER prints results.json: what the stages have written into the folder, in one object.
results.py tables FILE prints such a file as the tables of docs/performance.md."""
import csv
import json
import sys
from pathlib import Path


def rows(path):
    """The rows of a table with a header; none if there is no such file."""
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def join(folder):
    stages = csv.reader((folder / "stages.csv").read_text().splitlines())
    tail = lambda name: (folder / f"{name}.log").read_text(errors="replace").splitlines()[-20:]
    return {"stages": [{"name": name, "result": result, "seconds": int(seconds),
                        "output": [] if result == "ok" else tail(name)} for name, result, seconds in stages],
            "info": (folder / "info.log").read_text().splitlines(),
            "rates": rows(folder / "rates.csv"),
            "peers": rows(folder / "peers.csv"),
            "calls": {path.stem.removeprefix("perf-"): json.loads(path.read_text())
                      for path in sorted(folder.glob("perf-*.json"))}}


def table(head, body):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"
    for line in body:
        yield "| " + " | ".join(line) + " |"
    yield ""


def tables(results):
    device = [line for line in results["info"] if "(device 0)" in line]
    yield from (device or ["no device"]) + [""]
    yield from table(["stage", "result", "s"],
                     [[one["name"], one["result"], str(one["seconds"])] for one in results["stages"]])
    for title, key in (("kernel", "rates"), ("PyTorch's function", "peers")):
        if results[key]:
            yield from table([title, "us", "GB/s", "of copy"],
                             [[row["name"], row["us"], row["GB/s"], row["of copy"]] for row in results[key]])
    calls = [[name, f"{row['size_bytes'] / 2**20:g}", f"{row['out_of_place']['time_us'] / 1e3:.2f}",
              f"{row['out_of_place'].get('copied_bytes', 0) / 2**20:.1f}"]
             for name, call in results["calls"].items() for row in call["results"]]
    if calls:
        yield from table(["allreduce of two processes", "MiB", "ms", "MiB copied"], calls)


def main(words):
    if len(words) != 2 or words[0] not in ("join", "tables"):
        sys.exit(__doc__)
    if words[0] == "join":
        print(json.dumps(join(Path(words[1])), indent=1))
    else:
        print("\n".join(tables(json.loads(Path(words[1]).read_text()))))


main(sys.argv[1:])
