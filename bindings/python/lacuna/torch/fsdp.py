"""Communication of FSDP2: reduce_scatter and allgather objects for ``fully_shard``."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

import lacuna

from .communicators import communicator as communicator_of
from .memory import empty
from .rules import Rule, rules_of


class _Started(dist.Work):
    """A call in flight, as PyTorch waits for it."""

    def __init__(self, request: lacuna.Request) -> None:
        super().__init__()
        self._request = request

    def wait(self, timeout: object = None) -> bool:
        self._request.wait()
        return True

    def is_completed(self) -> bool:
        return self._request.done


class Draws:
    """The draws of the two calls of a module, which are equal, so that both leave out the same shards.

    A step ends with the module's reduce_scatter. Until then all of its allgathers draw alike.
    """

    def __init__(self, warmup: int, seed: int, key: int) -> None:
        self.warmup = warmup
        self.step = 0
        self.dense = False
        self._seed = seed
        self._key = key
        self._sizes: dict[str, int] = {}

    @property
    def is_dense(self) -> bool:
        return self.dense or self.step < self.warmup

    def sampler(self, call: str, rule: Rule, tensor: torch.Tensor) -> lacuna.Sampler:
        """The sampler of a call. A long call is cut by its bytes into parts that draw, so that both cuts must agree."""
        self._sizes[call] = tensor.element_size()
        if len(set(self._sizes.values())) > 1 and rule.options.get("mode", "static") != "static":
            raise lacuna.Unsupported(f"elements of weights and of gradients have {sorted(self._sizes.values())} bytes; "
                                     f"with {rule.text} they must have equally many, as with reduce_dtype=param_dtype, "
                                     "or the mode must be static")
        return lacuna.Sampler(self._seed, self._key, self.step)


class _Comm:
    """What the objects of both collectives share."""

    def __init__(self, rule: Rule, draws: Draws) -> None:
        self.rule = rule
        self.draws = draws

    def _world(self, group: dist.ProcessGroup) -> lacuna.Communicator:
        return communicator_of(group)

    def _options(self, tensor: torch.Tensor) -> dict[str, Any]:
        if self.rule.method is None or self.draws.is_dense:
            return {}
        sampler = self.draws.sampler(type(self).__name__, self.rule, tensor)
        return {"method": self.rule.method, "algorithm": self.rule.algorithm, "sampler": sampler}


class ReduceScatter(_Comm):
    """Reduces the gradients of one module and gives each rank its shard, by lacuna.

    Each module has an object of its own, because methods remember its gradient.

    Parameters
    ----------
    method : str or Method, optional
        What the calls give up, such as ``"topk:density=0.01"``. None: nothing.
    warmup : int, optional
        So many steps at the beginning are dense.
    seed, key : int, optional
        Of random choices.

    Examples
    --------
    >>> module.set_custom_reduce_scatter(lacuna.torch.ReduceScatter("topk:density=0.01"))
    """

    def __init__(self, method: str | lacuna.Method | None = None, *, warmup: int = 0, seed: int = 0, key: int = 0,
                 draws: Draws | None = None) -> None:
        super().__init__(rules_of(method)[0], draws or Draws(warmup, seed, key))
        self.state = lacuna.State(self.rule.method, seed, key) if self.rule.method else None

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Return memory for the input or the output."""
        return empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup,
                 op: dist.ReduceOp, async_op: bool = False) -> dist.Work | None:
        """Carry out the call."""
        options = self._options(input_tensor)
        if options:
            options["state"] = self.state
        request = self._world(group).start_reduce_scatter(input_tensor, output_tensor, op=_name_of(op), **options)
        self.draws.step += 1
        return _ended(request, async_op)


class AllGather(_Comm):
    """Gives the shards of one module to all ranks, by lacuna.

    Parameters
    ----------
    method : str or Method, optional
        What the calls give up: ``skip``, beside a reduce_scatter with the same draws. None: nothing.
    draws : Draws, optional
        Of the module's reduce_scatter.
    """

    def __init__(self, method: str | lacuna.Method | None = None, *, draws: Draws | None = None) -> None:
        super().__init__(rules_of(method)[0], draws or Draws(0, 0, 0))
        self._memory: dict[tuple[int, torch.dtype], torch.Tensor] = {}
        self._filled: set[tuple[int, torch.dtype]] = set()

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """Return memory for the output. If the call leaves out shards, it holds their older copies."""
        if self.rule.method is None:
            return empty(*size, dtype=dtype, device=device)
        elements = torch.Size(size).numel()
        if (elements, dtype) not in self._memory:
            self._memory[elements, dtype] = empty(elements, dtype=dtype, device=device)
        return self._memory[elements, dtype].view(*size)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup,
                 async_op: bool = False) -> dist.Work | None:
        """Carry out the call."""
        held = (output_tensor.numel(), output_tensor.dtype)
        options = self._options(input_tensor) if held in self._filled else {}  # the first call has no older copies
        self._filled.add(held)
        return _ended(self._world(group).start_allgather(input_tensor, output_tensor, **options), async_op)


def _ended(request: lacuna.Request, async_op: bool) -> dist.Work | None:
    if async_op:
        return _Started(request)
    request.wait()
    return None


def _name_of(op: dist.ReduceOp) -> str:
    for name, known in {"sum": dist.ReduceOp.SUM, "avg": dist.ReduceOp.AVG, "min": dist.ReduceOp.MIN,
                        "max": dist.ReduceOp.MAX, "prod": dist.ReduceOp.PRODUCT}.items():
        if op == known:
            return name
    raise lacuna.Unsupported(f"the reduction {op} is not supported. After set_gradient_divide_factor() call "
                             "set_force_sum_reduction_for_comms(True)")
