"""Communication of FSDP2: reduce_scatter and allgather objects for ``fully_shard``."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard import _fsdp_api as api

import lacuna

from .communicators import communicator as communicator_of
from .gradients import table
from .rules import Rule, first_match, rules_of


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

    @property
    def is_dense(self) -> bool:
        return self.dense or self.step < self.warmup

    def sampler(self) -> lacuna.Sampler:
        return lacuna.Sampler(self._seed, self._key, self.step)


class _Comm:
    """What the objects of both collectives share."""

    def __init__(self, rule: Rule, draws: Draws) -> None:
        self.rule = rule
        self.draws = draws

    def _world(self, group: dist.ProcessGroup) -> lacuna.Communicator:
        return communicator_of(group)

    def _options(self) -> dict[str, Any]:
        if self.rule.method is None or self.draws.is_dense:
            return {}
        return {"method": self.rule.method, "algorithm": self.rule.algorithm, "sampler": self.draws.sampler()}


class ReduceScatter(_Comm, api.ReduceScatter):
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
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup,
                 op: dist.ReduceOp, async_op: bool = False) -> dist.Work | None:
        """Carry out the call."""
        options = self._options()
        if options:
            options["state"] = self.state
        request = self._world(group).start_reduce_scatter(input_tensor, output_tensor, op=_name_of(op), **options)
        self.draws.step += 1
        return _ended(request, async_op)


class AllGather(_Comm, api.AllGather):
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
            return torch.empty(*size, dtype=dtype, device=device)
        elements = torch.Size(size).numel()
        if (elements, dtype) not in self._memory:
            self._memory[elements, dtype] = torch.empty(elements, dtype=dtype, device=device)
        return self._memory[elements, dtype].view(*size)

    def __call__(self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: dist.ProcessGroup,
                 async_op: bool = False) -> dist.Work | None:
        """Carry out the call."""
        held = (output_tensor.numel(), output_tensor.dtype)
        options = self._options() if held in self._filled else {}  # the first call has no older copies
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


class ShardedHook:
    """Gives all modules of a model that ``fully_shard`` has sharded their communication by lacuna.

    Parameters
    ----------
    model : Module
        Modules of it, or the model itself, were sharded.
    rules : str, Method or mapping, optional
        How gradients travel in reduce_scatters: a method for all, or a mapping from patterns of modules' names to
        methods. The name of the model itself is empty.
    gather : bool, optional
        The allgathers leave out shards, too. It is for rules with ``skip``: each rank then lacks exactly the weights
        whose gradients it leaves out, and keeps their older copies.
    warmup : int, optional
        So many steps at the beginning are dense.
    seed : int, optional
        Of random choices.

    Examples
    --------
    >>> fully_shard(model)
    >>> hook = lacuna.torch.ShardedHook(model, "topk:density=0.01")
    >>> hook = lacuna.torch.ShardedHook(model, "skip:steps=1,mode=shuffled", gather=True, warmup=100)
    """

    def __init__(self, model: torch.nn.Module, rules: str | lacuna.Method | Mapping[str, Any] | None = None, *,
                 gather: bool = False, warmup: int = 0, seed: int = 0) -> None:
        known = rules_of(rules)
        self._reduces: dict[str, ReduceScatter] = {}
        self._rules: dict[str, Rule] = {}
        sharded = [(name, module) for name, module in model.named_modules() if isinstance(module, FSDPModule)]
        if not sharded:
            raise lacuna.InvalidArgument("no module of the model was sharded; call fully_shard() first")
        for key, (name, module) in enumerate(sharded):
            rule = first_match(known, name)
            self._rules[name] = rule
            draws = Draws(warmup, seed, key)
            reduced, gathered = _paired(rule) if gather else (rule, Rule(rule.pattern))
            self._reduces[name] = ReduceScatter(draws=draws, seed=seed, key=key, method=_text(reduced))
            module.set_custom_reduce_scatter(self._reduces[name])
            module.set_custom_all_gather(AllGather(_text(gathered), draws=draws))

    @contextlib.contextmanager
    def dense(self) -> Iterator[None]:
        """Leave out nothing inside of the block, for instance in an evaluation."""
        for reduce in self._reduces.values():
            reduce.draws.dense = True
        try:
            yield
        finally:
            for reduce in self._reduces.values():
                reduce.draws.dense = False

    def state_dict(self) -> dict[str, Any]:
        """Return what this rank remembers, to the bit. Each rank saves and loads its own."""
        saved = {name: {"step": reduce.draws.step, "state": reduce.state.save() if reduce.state else b""}
                 for name, reduce in self._reduces.items()}
        return {_key(): saved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore what ``state_dict()`` has returned on the same rank of as many ranks."""
        if _key() not in state_dict:
            raise lacuna.InvalidArgument(
                f"the state was saved by {', '.join(state_dict) or 'nobody'}, and this is {_key()}. Shards have other "
                "residuals if the number of ranks has changed: begin without a state")
        for name, saved in state_dict[_key()].items():
            reduce = self._reduces[name]
            reduce.draws.step = saved["step"]
            if reduce.state is not None:
                reduce.state.restore(saved["state"])

    def __str__(self) -> str:
        rows = [["module", "rule", "travels by"]]
        rows += [[name or "(the model)", rule.pattern, rule.text] for name, rule in self._rules.items()]
        return table(rows)


def _key() -> str:
    return f"rank {dist.get_rank()} of {dist.get_world_size()}"


def _text(rule: Rule) -> str:
    return rule.text


def _paired(rule: Rule) -> tuple[Rule, Rule]:
    """The rules of a reduce_scatter and of an allgather that lack the same shards."""
    if rule.method is None or rule.method.name != "skip":
        raise lacuna.InvalidArgument(f"gather is for rules with the method skip, and the rule for '{rule.pattern}' is "
                                     f"{rule.text}")
    both = {name: value for name, value in rule.options.items() if name in ("steps", "mode", "ratio")}
    gathered = replace(rule, method=_skip({**both, "incomplete": "1", "keep": "1"}))
    return replace(rule, method=_skip({**rule.options, "reversed": "1"})), gathered


def _skip(options: Mapping[str, str]) -> lacuna.Method:
    return lacuna.method("skip:" + ",".join(f"{name}={value}" for name, value in options.items()))
