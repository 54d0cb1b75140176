#!/usr/bin/env python3
"""What a step of the hook costs beside the same calls in C: cost.py [--ranks N] [--steps N] [RULE ...].

For each rule it prints milliseconds: those of the calls in C, those of the hook, which averages the gradients of the
CNN of examples/pytorch in one bucket, and those of a whole step of training with DistributedDataParallel. Then it
prints the share of a step that the hook adds to the calls. Run it on an idle machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

import lacuna
import lacuna.torch
from lacuna.torch.dense_bucket import DenseBucket
from lacuna.torch.gradients import pieces_of

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "pytorch"))
from models import Cnn  # noqa: E402

RULES = ["dense", "topk:density=0.01", "ok_topk:density=0.01", "cast:to=bf16"]
BATCH = 16


class Bucket:
    """All gradients of a model, as DDP gives them to a hook."""

    def __init__(self, model):
        self._parameters = list(model.parameters())[::-1]
        self._buffer = torch.randn(sum(one.numel() for one in self._parameters))

    def index(self):
        return 0

    def is_last(self):
        return True

    def buffer(self):
        return self._buffer

    def parameters(self):
        return self._parameters


def calls_of(hook, bucket):
    """(elements, method) of each call that the hook makes for the bucket."""
    known = {gradient.number: gradient for gradient in hook.gradients}
    pieces = pieces_of([known[number] for number in sorted(known, reverse=True)], False)
    calls = DenseBucket(hook.communicator, bucket.buffer(), pieces, seed=0, figures=hook.figures)
    packed = sum(piece.end - piece.begin for piece in calls._packed)
    return [(piece.end - piece.begin, piece.rule.text) for piece in calls._alone] + [(packed, "dense")] * (packed > 0)


def seconds(world, body, steps):
    body()
    best = float("inf")
    for _ in range(5):
        world.barrier()
        begin = time.perf_counter()
        for _ in range(steps):
            body()
        best = min(best, (time.perf_counter() - begin) / steps)
    return best


def measure(rule, steps):
    """Runs on each rank; rank 0 prints the numbers."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("lacuna")
    model = Cnn()
    hook = lacuna.torch.Hook(model, rule)
    bucket = Bucket(model)

    def reduce():
        hook.reduce(bucket).wait()
        hook._end_step()

    found = {"calls": calls_of(hook, bucket), "hook": seconds(hook.communicator, reduce, steps)}
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    ddp.register_comm_hook(lacuna.torch.Hook(model, rule), lacuna.torch.allreduce_hook)
    inputs = torch.randn(BATCH, 1, 28, 28)
    found["training"] = seconds(hook.communicator, lambda: ddp(inputs).square().mean().backward(), steps)
    if torch.distributed.get_rank() == 0:
        print("FOUND " + json.dumps(found), flush=True)
    torch.distributed.destroy_process_group()


def output_of(*command):
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(ended.stderr + ended.stdout)
    return ended.stdout


def by_hook(ranks, rule, steps):
    output = output_of(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks,
                       __file__, "--rank", "--steps", steps, rule)
    return json.loads(output.split("FOUND ")[1].splitlines()[0])


def by_c(program, ranks, calls, steps):
    output = output_of(lacuna.get_command(), "launch", "-n", ranks, "--", program, steps,
                       *(word for call in calls for word in call))
    return float(output.split("SECONDS ")[1].split()[0])


def compile_program(folder):
    program, library = Path(folder) / "same_calls", Path(lacuna.get_library())
    subprocess.run(["cc", "-O2", "-I", lacuna.get_include(), HERE / "same_calls.c", library,
                    f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", default=RULES)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        measure(arguments.rules[0], arguments.steps)
        return
    print(f"{'rule':22}  calls      C   hook  training  (hook - C) / training")
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(folder)
        for rule in arguments.rules:
            found = by_hook(arguments.ranks, rule, arguments.steps)
            native = by_c(program, arguments.ranks, found["calls"], arguments.steps)
            print(f"{rule:22} {len(found['calls']):6} {1e3 * native:6.3f} {1e3 * found['hook']:6.3f} "
                  f"{1e3 * found['training']:9.3f} {(found['hook'] - native) / found['training']:21.1%}")


if __name__ == "__main__":
    main()
