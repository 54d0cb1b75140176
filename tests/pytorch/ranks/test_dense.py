"""A dense hook does what Gloo's DDP does, to the bit."""
import copy

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_wrapper
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from training import gradients, hooked, layers, plain, same, samples, whole

import lacuna.torch


@pytest.mark.parametrize("wrapped", [{}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True},
                                     {"static_graph": True}], ids=str)
def test_gradients_are_those_of_gloo(wrapped):
    model = layers()
    ddp, _ = hooked(model, "dense", wrapped)
    reference = plain(model)
    for step in range(4):
        assert same(gradients(ddp, samples(step)), gradients(reference, samples(step)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_all_types(dtype):
    model = torch.nn.Linear(8, 4).to(dtype)
    ddp, _ = hooked(model)
    reference = plain(model)
    for _ in range(2):
        inputs = whole(2, 8).to(dtype)
        assert same(gradients(ddp, inputs), gradients(reference, inputs))


def test_accumulation_without_synchronisation():
    model = layers()
    ddp, hook = hooked(model, {"*.bias": "dense", "*": "skip:steps=0"})
    reference = plain(model)
    for one in (ddp, reference):
        one.zero_grad()
        for step in range(3):
            with one.no_sync():
                one(samples(step)).sum().backward()
        one(samples(3)).sum().backward()
    assert hook.step == 1
    assert same([p.grad for p in ddp.parameters()], [p.grad for p in reference.parameters()])


class Branches(torch.nn.Module):
    """Uses one of two branches; a third is never used."""

    def __init__(self):
        super().__init__()
        self.branches = torch.nn.ModuleList([torch.nn.Linear(32, 40, bias=False) for _ in range(3)])
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randint(-2, 3, parameter.shape))

    def forward(self, inputs, which):
        return self.branches[which](inputs)


@pytest.mark.parametrize("rules", ["dense", "topk:density=1"])
def test_unused_parameters(rules, rank):
    model = Branches()
    ddp, _ = hooked(model, rules, {"find_unused_parameters": True})
    reference = plain(model, find_unused_parameters=True)
    for step in range(3):
        for one in (ddp, reference):
            one.zero_grad()
            one(samples(step), (rank + step) % 2).sum().backward()
        for mine, theirs in zip(ddp.parameters(), reference.parameters()):
            assert (mine.grad is None) == (theirs.grad is None)
            assert mine.grad is None or torch.equal(mine.grad, theirs.grad)


def test_wrapped_by_compression():
    model = layers()
    ddp = DistributedDataParallel(copy.deepcopy(model))
    hook = lacuna.torch.Hook(ddp)
    ddp.register_comm_hook(hook, fp16_compress_wrapper(lacuna.torch.allreduce_hook))
    assert same(gradients(ddp, samples(0)), gradients(plain(model), samples(0)))


def test_uneven_inputs_with_join(rank, size):
    model = layers()
    ddp, _ = hooked(model)
    reference = plain(model)
    for one in (ddp, reference):
        one.zero_grad()
        with Join([one]):
            for step in range(1 + rank):
                one(samples(step)).sum().backward()
    if rank == size - 1:
        assert same([p.grad for p in ddp.parameters()], [p.grad for p in reference.parameters()])
    dist.barrier()


def test_workers_of_a_data_loader_may_be_forked():
    model = layers()
    ddp, _ = hooked(model, "topk:density=1")
    reference = plain(model)
    gradients(ddp, samples(0))
    for inputs in torch.utils.data.DataLoader(samples(1, rows=8), batch_size=4, num_workers=2,
                                              multiprocessing_context="fork"):
        assert same(gradients(ddp, inputs), gradients(reference, inputs))


def test_training_brings_the_loss_down():
    model = layers()
    ddp, _ = hooked(model, "topk:density=0.2")
    optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-5)
    first = last = None
    for step in range(30):
        loss = (ddp(samples(step % 3)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first, last = first if first is not None else loss.item(), loss.item()
    assert last < 0.5 * first
    for parameter in ddp.parameters():  # all ranks have the same weights, to the bit
        told = parameter.detach().clone()
        dist.broadcast(told, 0)
        assert torch.equal(told, parameter)
