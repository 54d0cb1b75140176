"""Gradients and tensors on a CUDA device give the bits that they give on the host."""
import pytest
import torch
from training import gradients, hooked, layers, samples, whole

import lacuna
import lacuna.torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")

RULES = [None, "topk:density=0.05", "ok_topk:density=0.05", "blocks", "sketch", "cast:to=bf16", "quantize:bits=4",
         "lowrank:rank=2", "skip:steps=1"]


def steps_on(device, rules):
    """The gradients of three steps, on the host."""
    ddp, _ = hooked(layers().to(device), rules)
    return [gradient.cpu() for step in range(3) for gradient in gradients(ddp, samples(step).to(device))]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_hook_gives_the_bits_of_the_host(rules):
    on_host, on_device = steps_on("cpu", rules), steps_on("cuda", rules)
    assert all(torch.equal(a, b) for a, b in zip(on_host, on_device, strict=True))


@pytest.mark.parametrize("collective", ["allreduce", "broadcast"])
def test_a_call_gives_the_bits_of_the_host(collective, rank):
    world = lacuna.torch.communicator()
    on_host = whole(100_003, generator=torch.Generator().manual_seed(rank))
    on_device = on_host.cuda()
    getattr(world, collective)(on_host)
    getattr(world, collective)(on_device)
    assert torch.equal(on_host, on_device.cpu())
