"""Small models whose gradients are whole numbers. So sums, and means over 1, 2 or 4 ranks, are exact in any order."""
import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lacuna.torch


def whole(*shape, generator=None):
    return torch.randint(-4, 5, shape, generator=generator).float()


def layers():
    """Three layers, of which two have more than 1024 weights. They are always the same."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 48), torch.nn.ReLU(), torch.nn.Linear(48, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 4))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-1, 2, parameter.shape, generator=generator))
    return model


def samples(step, rows=4):
    """A batch that differs between ranks and steps."""
    return whole(rows, 32, generator=torch.Generator().manual_seed(100 * step + dist.get_rank()))


def hooked(model, rules=None, wrapped=None, **options):
    """A DDP of a copy of the model, with a hook."""
    model = copy.deepcopy(model)
    ddp = DistributedDataParallel(model, **(wrapped or {}))
    hook = lacuna.torch.Hook(model, rules, **options)
    ddp.register_comm_hook(hook, lacuna.torch.allreduce_hook)
    return ddp, hook


def plain(model, **wrapped):
    """A DDP of a copy of the model, with Gloo's own way."""
    return DistributedDataParallel(copy.deepcopy(model), **wrapped)


def gradients(ddp, inputs):
    """The gradients of one backward pass."""
    ddp.zero_grad()
    ddp(inputs).sum().backward()
    return [None if parameter.grad is None else parameter.grad.clone() for parameter in ddp.parameters()]


def own_gradients(model, inputs):
    """What this rank alone has."""
    model = copy.deepcopy(model)
    model(inputs).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def same(left, right):
    return len(left) == len(right) and all(torch.equal(a, b) for a, b in zip(left, right))


def summed(tensor):
    """The sum over the ranks, by Gloo."""
    total = tensor.clone()
    dist.all_reduce(total)
    return total
