"""What a hook saves, and how it is loaded by as many or by another number of ranks."""
from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

import lacuna

from .gradients import Gradient

if TYPE_CHECKING:
    from .hook import Hook

RESIDUAL = "residual"


def own_state(hook: Hook) -> dict[str, Any]:
    """What this rank remembers, as bytes under a key that names the rank."""
    saved = {"step": hook.step,
             "rules": {gradient.name: gradient.rule.text for gradient in hook.gradients},
             "states": {gradient.name: torch.frombuffer(bytearray(gradient.state.save()), dtype=torch.uint8)
                        for gradient in hook.gradients if gradient.state is not None},
             "carries": {gradient.name: gradient.carry for gradient in hook.gradients if gradient.carry is not None}}
    file = io.BytesIO()
    torch.save(saved, file)
    return {_key(hook): file.getvalue()}


def merged_state(hook: Hook) -> dict[str, Any]:
    """The mean of the residuals of all ranks."""
    residuals = {}
    for gradient in hook.gradients:
        if gradient.rule.remembers:
            residuals[gradient.name] = mine = residual_of(gradient)
            with hook.figures.uncounted():
                hook.communicator.allreduce(mine, op="avg")
    return {"step": hook.step, "residuals": residuals}


def residual_of(gradient: Gradient) -> torch.Tensor:
    """A copy of what this rank has not contributed yet."""
    residual = torch.zeros(gradient.shape, dtype=gradient.dtype)
    array = gradient.state.arrays.get(RESIDUAL) if gradient.state is not None else None
    if array is not None:
        residual += torch.frombuffer(array, dtype=torch.uint8).view(residual.dtype).view(gradient.shape)
    if gradient.carry is not None:
        residual += gradient.carry.cpu()
    return residual


def load(hook: Hook, given: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Restores what own_state() or merged_state() has made, or a list of what the own_state() of all ranks has made."""
    if not isinstance(given, Mapping):
        _load_merged(hook, _merge(hook, given))
    elif "residuals" in given:
        _load_merged(hook, given)
    elif _key(hook) in given:
        _load_own(hook, _read(given[_key(hook)]))
    else:
        raise lacuna.InvalidArgument(
            f"the state was saved by {', '.join(map(str, given)) or 'nobody'}, and this is {_key(hook)}. Each rank "
            "loads its own state. If the number of ranks has changed, give a list of the states of all ranks, or save "
            "state_dict(merged=True)")


def _key(hook: Hook) -> str:
    return f"rank {hook.communicator.rank} of {hook.communicator.size}"


def _read(saved: bytes) -> dict[str, Any]:
    if not saved:
        raise lacuna.InvalidArgument("the state is empty")
    return torch.load(io.BytesIO(saved), map_location="cpu", weights_only=True)


def _load_own(hook: Hook, saved: Mapping[str, Any]) -> None:
    _check_rules(hook, saved)
    for gradient in hook.gradients:
        gradient.state = _restored(gradient, saved)
        gradient.carry = saved["carries"].get(gradient.name)
    hook.step = saved["step"]


def _restored(gradient: Gradient, saved: Mapping[str, Any]) -> lacuna.State | None:
    if gradient.name not in saved["states"]:
        return None
    state = lacuna.State(gradient.rule.method, key=gradient.number)
    state.restore(saved["states"][gradient.name].numpy().tobytes())
    return state


def _check_rules(hook: Hook, saved: Mapping[str, Any]) -> None:
    method = lambda text: text.partition("@")[0].partition(":")[0]
    for gradient in hook.gradients:
        before = saved["rules"].get(gradient.name)
        if before is None or method(before) != method(gradient.rule.text):
            raise lacuna.InvalidArgument(f"{gradient.name}: the state was saved with {before or 'no rule'}, and the "
                                         f"rule is {gradient.rule.text} now; the method must be the same")


def _merge(hook: Hook, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The merged state of the states of all ranks that there were."""
    named = {key: value for one in given for key, value in one.items()}
    expected = [f"rank {rank} of {len(named)}" for rank in range(len(named))]
    if not named or sorted(named) != sorted(expected):
        raise lacuna.InvalidArgument(f"the list has the states of {', '.join(sorted(named)) or 'nobody'}; it must have "
                                     "those of all ranks of one job")
    means = {gradient.name: torch.zeros(gradient.shape, dtype=gradient.dtype)
             for gradient in hook.gradients if gradient.rule.remembers}
    step = 0
    for value in named.values():
        saved = _read(value)
        _check_rules(hook, saved)
        step = saved["step"]
        for gradient in hook.gradients:
            if gradient.rule.remembers:
                then = Gradient(gradient.name, gradient.number, gradient.shape, gradient.dtype, gradient.rule,
                                _restored(gradient, saved), saved["carries"].get(gradient.name))
                means[gradient.name] += residual_of(then) / len(named)
    return {"step": step, "residuals": means}


def _load_merged(hook: Hook, merged: Mapping[str, Any]) -> None:
    expected = {gradient.name for gradient in hook.gradients if gradient.rule.remembers}
    if expected != set(merged["residuals"]):
        differs = sorted(expected ^ set(merged["residuals"]))
        raise lacuna.InvalidArgument(f"the saved residuals and the rules do not name the same parameters: "
                                     f"{', '.join(differs)}")
    for gradient in hook.gradients:
        gradient.state = None
        carry = merged["residuals"].get(gradient.name)
        gradient.carry = None if carry is None else carry.clone()
    hook.step = merged["step"]
