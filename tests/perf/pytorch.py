#!/usr/bin/env python3
"""Measures all_reduce of torch.distributed over lacuna and over Gloo, in turn. Prints a table for docs/pytorch_backend.md.

    torchrun --nproc-per-node 2 tests/perf/pytorch.py [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch import distributed

import lacuna.torch

SIZES = {"8 B": 2, "64 KiB": 1 << 14, "16 MiB": 1 << 22}  # in elements of 4 bytes


def median(group: distributed.ProcessGroup, count: int, asynchronous: bool) -> float:
    """The median time of a call, in microseconds."""
    tensor = torch.zeros(count)
    times = []
    for _ in range(max(10, min(2000, 20_000_000 // max(count, 1000)))):
        begin = time.perf_counter()
        work = distributed.all_reduce(tensor, group=group, async_op=asynchronous)
        if asynchronous:
            work.wait()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    groups = {"Gloo": distributed.group.WORLD, "lacuna": distributed.new_group(backend="lacuna")}
    told = distributed.get_rank() == 0
    if told:
        print(f"median (least..greatest) of {rounds} rounds, us; PyTorch {torch.__version__}, "
              f"{distributed.get_world_size()} ranks\n\n| all_reduce | Gloo | lacuna | Gloo / lacuna |\n"
              "| --- | ---: | ---: | ---: |")
    for asynchronous in (False, True):
        for name, count in SIZES.items():
            times: dict[str, list[float]] = {"Gloo": [], "lacuna": []}
            for _ in range(rounds):
                for backend, group in groups.items():
                    distributed.barrier()
                    times[backend].append(median(group, count, asynchronous))
            cells = [f"{statistics.median(each):.1f} ({min(each):.1f}..{max(each):.1f})" for each in times.values()]
            ratio = statistics.median(times["Gloo"]) / statistics.median(times["lacuna"])
            if told:
                label = name + ", async_op and wait" * asynchronous
                print(f"| {label} | {' | '.join(cells)} | {ratio:.1f} |", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
