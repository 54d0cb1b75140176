"""Communication of all modules of a model that FSDP2 has sharded."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import fsdp

import lacuna

from .fsdp import AllGather, Draws, ReduceScatter
from .gradients import table
from .parameters import plain_name
from .rules import Rule, first_match, rules_of


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
        sharded = [(plain_name(name), module) for name, module in model.named_modules()
                   if isinstance(module, _sharded_class())]
        if not sharded:
            raise lacuna.InvalidArgument("no module of the model was sharded; call fully_shard() first")
        for key, (name, module) in enumerate(sharded):
            rule = first_match(known, name)
            self._rules[name] = rule
            draws = Draws(warmup, seed, key)
            reduced, gathered = _paired(rule) if gather else (rule, Rule(rule.pattern))
            self._reduces[name] = ReduceScatter(draws=draws, seed=seed, key=key, method=reduced.text)
            module.set_custom_reduce_scatter(self._reduces[name])
            module.set_custom_all_gather(AllGather(gathered.text, draws=draws))

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


def _sharded_class() -> type:
    """The class of modules that fully_shard() has sharded."""
    found = getattr(fsdp, "FSDPModule", None)
    if not hasattr(found, "set_custom_reduce_scatter"):
        raise lacuna.Unsupported(f"this is PyTorch {torch.__version__}; ShardedHook needs one whose FSDP2 has "
                                 "set_custom_reduce_scatter()")
    return found


def _key() -> str:
    return f"rank {dist.get_rank()} of {dist.get_world_size()}"


def _paired(rule: Rule) -> tuple[Rule, Rule]:
    """The rules of a reduce_scatter and of an allgather that lack the same shards."""
    if rule.method is None:
        return rule, rule
    if rule.method.name != "skip":
        raise lacuna.InvalidArgument(f"gather is for rules with the method skip, and the rule for '{rule.pattern}' is "
                                     f"{rule.text}")
    both = {name: value for name, value in rule.options.items() if name in ("steps", "mode", "ratio")}
    gathered = replace(rule, method=_skip({**both, "incomplete": "1", "keep": "1"}))
    return replace(rule, method=_skip({**rule.options, "reversed": "1"})), gathered


def _skip(options: Mapping[str, str]) -> lacuna.Method:
    return lacuna.method("skip:" + ",".join(f"{name}={value}" for name, value in options.items()))
