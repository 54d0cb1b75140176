#!/usr/bin/env python3
"""Times the selection of 1 % of 64 Mi f32 by lacuna and by PyTorch, each on one thread; prints Markdown.

select_bench and PyTorch run in turn, several rounds of it, so that a busy machine shows in both columns. Each figure is
the median of the rounds in milliseconds, with the least and the greatest. Without PyTorch its column is empty. Nothing
is asserted.

  tests/perf/select_peer.py BUILD [--rounds N]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

try:
    import torch
except ImportError:
    torch = None

COUNT = 64 << 20
TAKEN = COUNT // 100
LIMIT = 120  # seconds for one round of select_bench


def lacuna_times(build):
    """Milliseconds by the benchmark's name."""
    command = [build / "bin" / "select_bench", "--benchmark_filter=^f32/", "--benchmark_min_time=0.2",
               "--benchmark_format=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True)
    return {run["name"].split("/")[1]: run["real_time"] for run in json.loads(done.stdout)["benchmarks"]}


def best_of(work, repeats=3):
    """Milliseconds of the fastest call."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begin))
    return min(times)


def torch_works():
    """The same work, by the names of select_bench."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    data = torch.randn(COUNT)
    bound = torch.topk(data.abs(), TAKEN, sorted=False).values.min()

    def compact():
        places = (data.abs() >= bound).nonzero(as_tuple=True)[0]
        return places, data[places]

    def largest_and_compact():
        places = torch.topk(data.abs(), TAKEN, sorted=False).indices.sort().values
        return places, data[places]

    return {"read_limit": data.sum, "compact": compact,
            "largest": lambda: torch.topk(data.abs(), TAKEN, sorted=False), "largest_and_compact": largest_and_compact}


def cell(times):
    if not times:
        return ""
    return f"{statistics.median(times):.1f} ({min(times):.1f} to {max(times):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours, theirs = {}, {}
    works = torch_works() if torch else {}
    for _ in range(options.rounds):
        for name, milliseconds in lacuna_times(options.build).items():
            ours.setdefault(name, []).append(milliseconds)
        for name, work in works.items():
            theirs.setdefault(name, []).append(best_of(work))
    print(f"| 1 % of {COUNT >> 20} Mi f32 | lacuna, ms | PyTorch {torch.__version__ if torch else '(not here)'}, ms |")
    print("| --- | ---: | ---: |")
    for name, times in ours.items():
        print(f"| {name} | {cell(times)} | {cell(theirs.get(name))} |")


if __name__ == "__main__":
    main()
