"""The call of a bucket that is one sparse gradient, such as that of an embedding."""
from __future__ import annotations

from collections.abc import Sequence

import torch

import lacuna

from .figures import Figures
from .gradients import Gradient
from .rules import DENSE, Rule


class SparseBucket:
    """Averages a sparse COO gradient as a list of rows, by the method ``blocks``. Nothing is lost.

    Parameters
    ----------
    world
        The ranks.
    tensor
        The gradient. One dimension is sparse; rows may occur several times. If it is on a device, its rows travel
        through the memory of the host.
    gradient
        What is known of it.
    figures
        Count what the call does.
    """

    def __init__(self, world: lacuna.Communicator, tensor: torch.Tensor, gradient: Gradient, figures: Figures) -> None:
        if tensor.sparse_dim() != 1 or tensor.dense_dim() < 1:
            raise lacuna.Unsupported(f"the gradient of {gradient.name} has {tensor.sparse_dim()} sparse and "
                                     f"{tensor.dense_dim()} dense dimensions; allowed are 1 and at least 1")
        self._world = world
        self._tensor = tensor
        self._figures = figures
        self._width = tensor.shape[1:].numel()
        self._rule = self._rule_of(gradient)
        # A row that nobody has is never touched, so that it takes no memory.
        rows = tensor.shape[0]
        self._sums = lacuna.Entries(torch.empty(rows, dtype=torch.uint32),
                                    torch.empty(rows * self._width, dtype=tensor.dtype), rows * self._width)

    def _rule_of(self, gradient: Gradient) -> Rule:
        rule = gradient.rule
        if rule.method is not None and rule.method.name != "blocks":
            raise lacuna.Unsupported(f"the gradient of {gradient.name} is sparse, and its rule is {rule.text}; "
                                     f"allowed: blocks, {DENSE}")
        given = {**rule.options, "block": str(self._width)}
        text = "blocks:" + ",".join(f"{name}={value}" for name, value in given.items())
        return Rule(rule.pattern, lacuna.method(text), rule.algorithm)

    def start(self, _: bool) -> list[lacuna.Request]:
        """Start the call."""
        values = self._tensor._values().cpu().reshape(-1).contiguous()
        places = self._tensor._indices()[0].cpu().to(torch.uint32)
        mine = lacuna.Entries(places, values, self._sums.length)
        return [self._world.start_allreduce(mine, out=self._sums, op="avg", method=self._rule.method,
                                            algorithm=self._rule.algorithm)]

    def finish(self, reports: Sequence[lacuna.Report]) -> torch.Tensor:
        """Make the result when the call has ended."""
        self._figures.count(self._rule, reports[0])
        found = self._sums.found
        rows = self._sums.places[:found].to(torch.int64).unsqueeze(0)
        values = self._sums.values[:found * self._width].reshape(found, *self._tensor.shape[1:]).clone()
        device = self._tensor.device
        return torch.sparse_coo_tensor(rows.to(device), values.to(device), self._tensor.shape, is_coalesced=True,
                                       check_invariants=False)
