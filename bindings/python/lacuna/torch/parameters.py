"""Which parameters a model has, and what they are called whatever wraps the model."""
from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.nn.parallel import DataParallel, DistributedDataParallel

import lacuna

WRAPPED = {"_orig_mod", "_checkpoint_wrapped_module"}  # of torch.compile() and of checkpoint wrappers


def plain_name(name: str) -> str:
    """The name of a module or parameter without what torch.compile() and checkpoint wrappers add to it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPED)


def unwrapped(model: torch.nn.Module) -> tuple[torch.nn.Module, dist.ProcessGroup | None]:
    """The model inside of DDP and torch.compile(), and DDP's process group if there is a DDP."""
    if isinstance(model, DistributedDataParallel):
        return unwrapped(model.module)[0], model.process_group
    if isinstance(model, DataParallel):
        return unwrapped(model.module)
    if "_orig_mod" in model._modules:
        return unwrapped(model._modules["_orig_mod"])
    return model, None


def parameters_of(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """The parameters by their plain names. A tied one has its first name only."""
    for name, parameter in model.named_parameters():
        name = plain_name(name)
        if torch.nn.parameter.is_lazy(parameter):
            raise lacuna.InvalidArgument(f"{name} has no shape yet; make the hook after a first batch has gone through "
                                         "the model")
        if parameter.is_meta:
            raise lacuna.InvalidArgument(f"{name} is on the device meta and has no elements; make the hook after the "
                                         "model has its memory, for instance by to_empty()")
        yield name, parameter


def stride_in_bucket(parameter: torch.Tensor) -> tuple[int, ...]:
    """The strides that a gradient has in a bucket of DDP: the parameter's, if these leave no gap."""
    expected = 1
    for stride, length in sorted((stride, length) for stride, length in zip(parameter.stride(), parameter.shape)):
        if length != 1 and stride != expected:
            return torch.empty(parameter.shape, device="meta").stride()
        expected *= length
    return parameter.stride()
