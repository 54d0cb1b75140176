#!/usr/bin/env python3
"""Trains a CNN on Fashion-MNIST, or a transformer on the characters of a text, with DistributedDataParallel.

    torchrun --nproc-per-node 4 examples/pytorch/train.py --model cnn --comm ok_topk:density=0.01
    torchrun --nproc-per-node 4 examples/pytorch/train.py --model transformer --comm powersgd:2 --output result.json

--comm says how gradients travel: gloo (DDP's own way), fp16 and powersgd:RANK (PyTorch's hooks), dense, or the text of
a method of lacuna. Loss and accuracy on the test data are written beside the time and the bytes until then. Evaluations
take no time of this clock. Bytes are those that the interfaces of a rank's host have sent, whoever sent them.
"""
import argparse
import itertools
import json
import os
import platform
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import lacuna.torch
from data import Characters, FashionMnist
from models import Cnn, Transformer

MOMENTUM = 0.9


def join(backend):
    """Joins the job of torchrun, or that of `lacuna launch` and of the lab, whose variables it translates."""
    if "RANK" not in os.environ and "LACUNA_RANK" in os.environ:
        host, port = os.environ["LACUNA_STORE"].rsplit(":", 1)
        os.environ |= {"RANK": os.environ["LACUNA_RANK"], "WORLD_SIZE": os.environ["LACUNA_SIZE"],
                       "MASTER_ADDR": host, "MASTER_PORT": str(int(port) + 1)}
        if "LACUNA_HOST" in os.environ:  # a host of the lab, whose name means nothing there
            os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
    dist.init_process_group(backend)


def interfaces():
    """{interface: bytes that have left it} of this rank's host."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]
    return {name.strip(): int(numbers.split()[8]) for name, numbers in (line.split(":") for line in lines)}


def sent_bytes():
    return sum(interfaces().values())


def connect(model, comm):
    """Gives a model its communication. Returns it with the hook of lacuna, if it has one."""
    kind, _, option = comm.partition(":")
    # PowerSGD's hook starts calls when others have ended. With several buckets their order would differ between ranks,
    # which Gloo does not survive. If a size is given, all gradients of these models are in one bucket.
    ddp = DistributedDataParallel(model, bucket_cap_mb=25 if kind == "powersgd" else None)
    hook = None
    if kind == "fp16":
        ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif kind == "powersgd":
        state = powerSGD_hook.PowerSGDState(None, int(option), start_powerSGD_iter=10)
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif kind != "gloo":
        hook = lacuna.torch.Hook(model, comm)
        ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    return ddp, hook


def optimizer_of(arguments, ddp, hook):
    """SGD with momentum for the CNN, Adam for the transformer."""
    if arguments.model == "transformer":
        return torch.optim.AdamW(ddp.parameters(), lr=arguments.learning_rate or 1e-3, weight_decay=0.01)
    groups = hook.optimizer_groups(MOMENTUM) if hook else ddp.parameters()
    return torch.optim.SGD(groups, lr=arguments.learning_rate or 0.02, momentum=MOMENTUM)


@torch.no_grad()
def evaluate(model, data):
    """Sums over this rank's share of the test data: losses, right answers, and all answers."""
    loss = right = count = 0.0
    for inputs, wanted in itertools.islice(data.test_batches(500), dist.get_rank(), None, dist.get_world_size()):
        answers = model(inputs).flatten(0, -2)
        wanted = wanted.flatten()
        loss += torch.nn.functional.cross_entropy(answers, wanted, reduction="sum").item()
        right += (answers.argmax(1) == wanted).sum().item()
        count += len(wanted)
    return loss, right, count


class Clock:
    """Counts seconds and bytes of the training only."""

    def __init__(self):
        self.seconds = self.bytes = 0

    def go(self):
        dist.barrier()
        self._begin = time.perf_counter(), sent_bytes()

    def stop(self):
        self.seconds += time.perf_counter() - self._begin[0]
        self.bytes += sent_bytes() - self._begin[1]
        dist.barrier()


def train(arguments):
    """Trains, and returns what was measured."""
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    data = FashionMnist() if arguments.model == "cnn" else Characters()
    model = Cnn() if arguments.model == "cnn" else Transformer(data.kinds, data.length)
    ddp, hook = connect(model, arguments.comm)
    optimizer = optimizer_of(arguments, ddp, hook)
    steps = round(arguments.epochs * data.steps_of_epoch(arguments.batch, dist.get_world_size()))
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    generator = torch.Generator().manual_seed(1000 * arguments.seed + dist.get_rank())
    evaluations, clock = [], Clock()
    clock.go()
    for step in range(1, steps + 1):
        inputs, wanted = data.batch(generator, arguments.batch)
        loss = torch.nn.functional.cross_entropy(ddp(inputs).flatten(0, -2), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % arguments.evaluate_every == 0 or step == steps:
            clock.stop()
            evaluations.append(evaluation(model, data, clock, step))
            clock.go()
    if dist.get_rank() == 0 and hook:
        print(hook.summary(), flush=True)
    return {"model": arguments.model, "comm": arguments.comm, "seed": arguments.seed, "ranks": dist.get_world_size(),
            "batch": arguments.batch, "steps": steps, "step_ms": 1e3 * clock.seconds / steps,
            "machine": f"{platform.machine()}, {os.cpu_count()} processors", "torch": torch.__version__,
            "lacuna": lacuna.version, "evaluations": evaluations}


def evaluation(model, data, clock, step):
    """What the ranks have found together. Bytes are the mean over the ranks."""
    sums = torch.tensor([clock.bytes, *evaluate(model, data)], dtype=torch.float64)
    dist.all_reduce(sums)
    sent, loss, right, count = sums.tolist()
    found = {"step": step, "seconds": clock.seconds, "bytes": sent / dist.get_world_size(), "loss": loss / count,
             "accuracy": right / count}
    if dist.get_rank() == 0:
        print(f"step {step}: {clock.seconds:.1f} s, {found['bytes'] / 1e6:.1f} MB, loss {found['loss']:.4f}, "
              f"accuracy {found['accuracy']:.2%}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["cnn", "transformer"], default="cnn")
    parser.add_argument("--comm", default="dense", help="gloo, fp16, powersgd:RANK, dense, or a method of lacuna")
    parser.add_argument("--backend", default="gloo", help="of the process group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch", type=int, default=16, help="samples of a rank in a step")
    parser.add_argument("--learning-rate", type=float, help="at the start; it falls to a fiftieth")
    parser.add_argument("--evaluate-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--output", type=Path, help="a JSON file with what was measured")
    arguments = parser.parse_args()
    join(arguments.backend)
    result = train(arguments)
    if dist.get_rank() == 0 and arguments.output:
        arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
