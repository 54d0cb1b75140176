"""The backend of torch.distributed: ``init_process_group("lacuna")``."""

from __future__ import annotations

import atexit
from dataclasses import dataclass

from torch import distributed

import lacuna
from lacuna.torch import backend
from lacuna.torch.backend import build

__all__ = ["Options", "build", "register"]


@dataclass(frozen=True)
class Options:
    """What a process group of the backend "lacuna" does beside PyTorch's defaults.

    Given as ``pg_options`` to ``init_process_group`` and ``new_group``, equal on all ranks. The text of a method alone
    works there too.

    Parameters
    ----------
    method
        What ``all_reduce`` may give up, for instance ``"ok_topk:density=0.01"``. It serves strided tensors of
        floating point with SUM and AVG. All other calls are dense. By default everything is.
    minimum
        Tensors with fewer elements are reduced densely.
    """

    method: str | lacuna.Method | None = None
    minimum: int = 1024


def register() -> None:
    """Make the name "lacuna" known to torch.distributed. ``import lacuna.torch`` does it."""
    if "LACUNA" not in distributed.Backend._plugins:
        distributed.Backend.register_backend("lacuna", _create, extended_api=True, devices=["cpu"])


def _create(group, options: Options | str | None):
    """Make the backend of one process group; torch.distributed calls it on each rank of the group."""
    module = backend.load()
    atexit.unregister(module.leave_all)
    atexit.register(module.leave_all)
    if options is None or isinstance(options, (str, lacuna.Method)):
        options = Options(options)
    method = getattr(options.method, "text", options.method) or ""
    return module.create(group.store, group.group_rank, group.group_size, group.timeout, group.group_id, method,
                         options.minimum)
