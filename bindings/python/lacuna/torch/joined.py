"""What a hook has once it has joined its ranks."""
from __future__ import annotations

import gc
from dataclasses import replace

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lacuna

from .figures import Figures
from .gradients import Gradient
from .rules import Rule


class Joined:
    """The ranks of a hook, what its calls have done, and which rules these ranks can use.

    Parameters
    ----------
    communicator
        The ranks.
    """

    def __init__(self, communicator: lacuna.Communicator) -> None:
        self.communicator = communicator
        self.figures = Figures(communicator)
        self._remembers: dict[tuple[Rule, torch.dtype, torch.device], bool] = {}

    def settle(self, gradient: Gradient, device: torch.device) -> None:
        """Find out whether these ranks can use the gradient's rule, and whether its method remembers anything.

        The first gradient of each rule and type makes a small call for that, so that all ranks come here alike.
        """
        kind = replace(gradient.rule, pattern="*", remembers=False), gradient.dtype, device
        if kind not in self._remembers:
            with self.figures.uncounted():
                self._remembers[kind] = self._probe(gradient, device)
        gradient.rule = replace(gradient.rule, remembers=self._remembers[kind])

    def _probe(self, gradient: Gradient, device: torch.device) -> bool:
        rule = gradient.rule
        state = lacuna.State(rule.method) if rule.method is not None else None
        zeros = torch.zeros(64, dtype=gradient.dtype.to_real(), device=device)
        try:
            self.communicator.allreduce(zeros, op="avg", method=rule.method, algorithm=rule.algorithm, state=state)
        except (lacuna.Error, BufferError, RuntimeError) as error:  # the latter two are those of DLPack
            kind = type(error) if isinstance(error, lacuna.Error) else lacuna.Unsupported
            raise kind(f"{gradient.name} of {gradient.dtype}: the rule for '{rule.pattern}', {rule.text}: "
                       f"{error}") from None
        return state is not None and bool(state.arrays)


def groups_of(hook: object) -> list[dist.ProcessGroup]:
    """The process groups of the DDPs with which a hook is registered. DDP does not tell its hook.

    A DDP that could not be made has no list of hooks.
    """
    return [one.process_group for one in gc.get_objects() if issubclass(type(one), DistributedDataParallel)
            and any(state is hook for _, state in getattr(one, "_comm_hooks", ()))]
