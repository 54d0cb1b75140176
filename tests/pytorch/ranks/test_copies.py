"""Copies of a model with a hook, what wraps a model, and other ranks than those of the hook."""
import copy
import io

import pytest
import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel
from training import gradients, hooked, layers, own_gradients, same, samples

import lacuna
import lacuna.torch

TOPK = "topk:density=0.05"


def through_torch_save(ddp):
    file = io.BytesIO()
    torch.save(ddp, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, through_torch_save, lambda ddp: AveragedModel(ddp).module],
                         ids=["deepcopy", "torch.save", "AveragedModel"])
def test_a_copy_of_a_ddp_goes_on_as_the_original(copied):
    ddp, hook = hooked(layers(), {"*.bias": "skip:steps=1,mode=random", "*": TOPK})
    for step in range(2):
        gradients(ddp, samples(step))
    other = copied(ddp)
    (_, second), = other._comm_hooks
    assert second is not hook and second.step == 2
    other.register_comm_hook(second, lacuna.torch.allreduce_hook)
    for step in range(2, 5):
        assert same(gradients(other, samples(step)), gradients(ddp, samples(step)))


def test_what_wraps_a_model_changes_no_rule():
    model = layers()
    rules = {"0.weight": TOPK, "2.*": "cast:to=bf16"}
    expected = {gradient.name: gradient.rule.text for gradient in lacuna.torch.Hook(model, rules).gradients}
    assert expected["0.weight"] == TOPK
    inner = torch.nn.Sequential(checkpoint_wrapper(model[0]), *model[1:])
    for wrapped in (inner, DistributedDataParallel(inner), torch.compile(inner),
                    DistributedDataParallel(torch.compile(inner)), torch.compile(DistributedDataParallel(inner))):
        hook = lacuna.torch.Hook(wrapped, rules)
        assert {gradient.name: gradient.rule.text for gradient in hook.gradients} == expected


def test_a_ddp_that_could_not_be_made_disturbs_no_hook():
    unmade = DistributedDataParallel.__new__(DistributedDataParallel)
    ddp, _ = hooked(layers())
    assert all(gradient is not None for gradient in gradients(ddp, samples(0)))
    del unmade


def test_a_ddp_of_some_ranks_needs_a_hook_of_these_ranks(rank, several):
    model = layers()
    alone = dist.new_subgroups(1)[0]
    ddp = DistributedDataParallel(model, process_group=alone)
    ddp.register_comm_hook(lacuna.torch.Hook(model), lacuna.torch.allreduce_hook)
    with pytest.raises(lacuna.InvalidArgument, match=fr"DDP has the ranks \[{rank}\], and its hook has others; make the "
                                                     r"hook with the DDP, Hook\(ddp\)"):
        gradients(ddp, samples(0))
    ddp = DistributedDataParallel(model, process_group=alone)
    ddp.register_comm_hook(lacuna.torch.Hook(ddp), lacuna.torch.allreduce_hook)
    assert same(gradients(ddp, samples(0)), own_gradients(model, samples(0)))
