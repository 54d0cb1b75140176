#!/usr/bin/env python3
"""What a small allreduce costs through Python, beside the same call in C++: cost.py [CALLS].

For one and two ranks and for 8 and 1024 bytes it prints microseconds for each call: those of `lacuna perf`, those of
Python in three ways, and the difference of the first of these to C++. Run it on an idle machine.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lacuna

SIZES = (8, 1024)


def measure(calls):
    """Runs on each rank; rank 0 prints the numbers."""
    import numpy as np

    world = lacuna.init()

    def seconds(call):
        best = float("inf")
        for _ in range(5):
            world.barrier()
            begin = time.perf_counter()
            for _ in range(calls):
                call()
            best = min(best, time.perf_counter() - begin)
        return best / calls

    times = {}
    for size in SIZES:
        x = np.zeros(size // 4, np.float32)
        prepared = world.prepare_allreduce(x)

        def again():
            prepared.start()
            prepared.wait()

        times[size] = [seconds(lambda: world.allreduce(x)), seconds(lambda: world.start_allreduce(x).wait()),
                       seconds(again)]
    if world.rank == 0:
        print("TIMES " + json.dumps(times))


def launched(ranks, *command):
    return subprocess.run([lacuna.get_command(), "launch", "-n", str(ranks), "--", *command], check=True,
                          capture_output=True, text=True).stdout


def by_python(ranks, calls):
    output = launched(ranks, sys.executable, __file__, "--rank", str(calls))
    return json.loads(output.split("TIMES ")[1].splitlines()[0])


def by_perf(ranks, calls):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "perf.json"
        launched(ranks, lacuna.get_command(), "perf", "allreduce", "-b", str(SIZES[0]), "-e", str(SIZES[1]), "-f",
                 str(SIZES[1] // SIZES[0]), "-n", str(calls), "-w", "100", "-J", str(file))
        rows = json.loads(file.read_text())["results"]
        return {row["size_bytes"]: row["in_place"]["time_us"] for row in rows}


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    print("ranks  bytes    C++   call  start + wait  prepared  call - C++")
    for ranks in (1, 2):
        python, perf = by_python(ranks, calls), by_perf(ranks, calls)
        for size in SIZES:
            native = perf[size]
            call, start, prepared = (1e6 * seconds for seconds in python[str(size)])
            print(f"{ranks:5} {size:6} {native:6.2f} {call:6.2f} {start:13.2f} {prepared:9.2f} {call - native:11.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        measure(int(sys.argv[2]))
    else:
        main()
