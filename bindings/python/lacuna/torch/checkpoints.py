"""What a hook saves, and how it is loaded by as many or by another number of ranks."""
from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

import lacuna

from .gradients import Gradient, restored_state

if TYPE_CHECKING:
    from .hook import Hook

RESIDUAL = "residual"
DTYPES = {"f": torch.float32, "d": torch.float64, "e": torch.float16, "H": torch.bfloat16}  # by formats of arrays


def own_state(hook: Hook) -> dict[str, Any]:
    """What this rank remembers, as bytes under a key that names the rank."""
    saved = {"step": hook.step,
             "rules": {gradient.name: gradient.rule.text for gradient in hook.all_gradients},
             "states": {gradient.name: torch.frombuffer(bytearray(gradient.state.save()), dtype=torch.uint8)
                        for gradient in hook.gradients if gradient.state is not None},
             "carries": {gradient.name: gradient.carry for gradient in hook.gradients if gradient.carry is not None}}
    file = io.BytesIO()
    torch.save(saved, file)
    return {_key(hook): file.getvalue()}


def merged_state(hook: Hook) -> dict[str, Any]:
    """The mean of the residuals of all ranks."""
    hook.settle()
    residuals = {}
    for gradient in hook.gradients:
        if gradient.rule.remembers:
            mine = gradient.laid_out(residual_of(gradient))
            with hook.figures.uncounted():
                hook.communicator.allreduce(mine, op="avg")
            residuals[gradient.name] = gradient.shaped(mine)
    return {"step": hook.step, "residuals": residuals}


def residual_of(gradient: Gradient) -> torch.Tensor:
    """A copy of what this rank has not contributed yet."""
    residual = torch.zeros(gradient.shape, dtype=gradient.dtype)
    array = gradient.state.arrays.get(RESIDUAL) if gradient.state is not None else None
    if array is not None and len(array) > 0:
        residual += gradient.shaped(torch.frombuffer(array, dtype=DTYPES[array.format]).to(gradient.dtype.to_real()))
    if gradient.carry is not None:
        residual += gradient.carry.cpu()
    return residual


def load(hook: Hook, given: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Restores what own_state() or merged_state() has made, or a list of what the own_state() of all ranks has made."""
    if not isinstance(given, (Mapping, list, tuple)):
        raise TypeError(f"a state is of type {type(given).__name__}; allowed: what state_dict() has returned, or a "
                        "list of what it has returned on all ranks")
    if not isinstance(given, Mapping):
        _load_merged(hook, _merge(hook, given))
    elif "residuals" in given:
        _load_merged(hook, given)
    elif _key(hook) in given:
        _load_own(hook, _read(_key(hook), given[_key(hook)]))
    else:
        raise lacuna.InvalidArgument(
            f"the state was saved by {', '.join(map(str, given)) or 'nobody'}, and this is {_key(hook)}. Each rank "
            "loads its own state. If the number of ranks has changed, give a list of the states of all ranks, or save "
            "state_dict(merged=True)")


def _key(hook: Hook) -> str:
    return f"rank {hook.communicator.rank} of {hook.communicator.size}"


def _read(key: str, saved: bytes) -> dict[str, Any]:
    try:
        read = torch.load(io.BytesIO(saved), map_location="cpu", weights_only=True)
        missing = {"step", "rules", "states", "carries"} - read.keys()
    except Exception as error:
        raise lacuna.InvalidArgument(f"the state of {key} can't be read ({type(error).__name__}: {error}); load "
                                     "another checkpoint, or begin without a state") from None
    if missing:
        raise lacuna.InvalidArgument(f"the state of {key} lacks {', '.join(sorted(missing))}; load what state_dict() "
                                     "of a hook has returned")
    return read


def _load_own(hook: Hook, saved: Mapping[str, Any]) -> None:
    _check_rules(hook, saved)
    restored = [(_restored(gradient, saved), _carried(gradient, saved["carries"])) for gradient in hook.all_gradients]
    for gradient, (state, carry) in zip(hook.all_gradients, restored):  # nothing changes if one of them is refused
        gradient.state = state
        gradient.carry = carry
    hook.step = saved["step"]


def _restored(gradient: Gradient, saved: Mapping[str, Any]) -> lacuna.State | None:
    if gradient.name not in saved["states"]:
        return None
    try:
        state = restored_state(gradient, saved["states"][gradient.name].numpy().tobytes())
    except lacuna.Error as error:
        raise type(error)(f"{gradient.name}: its state can't be restored: {error}") from None
    residual = state.arrays.get(RESIDUAL)
    if residual is not None and len(residual) != gradient.length:
        raise lacuna.InvalidArgument(f"{gradient.name}: the saved residual has {len(residual)} numbers, and the "
                                     f"gradient {gradient.length}; load the state of the same model")
    return state


def _carried(gradient: Gradient, saved: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
    carry = saved.get(gradient.name)
    if carry is None:
        return None
    if carry.shape != gradient.shape:
        raise lacuna.InvalidArgument(f"{gradient.name}: the saved residual has the shape {tuple(carry.shape)}, and the "
                                     f"parameter {tuple(gradient.shape)}; load the state of the same model")
    return carry.clone()


def _check_rules(hook: Hook, saved: Mapping[str, Any]) -> None:
    method = lambda text: text.partition("@")[0].partition(":")[0]
    for gradient in hook.gradients:
        before = saved["rules"].get(gradient.name)
        if before is None or method(before) != method(gradient.rule.text):
            raise lacuna.InvalidArgument(f"{gradient.name}: the state was saved with {before or 'no rule'}, and the "
                                         f"rule is {gradient.rule.text} now; the method must be the same")


def _merge(hook: Hook, given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The merged state of the states of all ranks that there were."""
    hook.settle()
    named = {key: value for one in given for key, value in one.items()}
    expected = [f"rank {rank} of {len(named)}" for rank in range(len(named))]
    if not named or sorted(named) != sorted(expected):
        raise lacuna.InvalidArgument(f"the list has the states of {', '.join(sorted(named)) or 'nobody'}; it must have "
                                     "those of all ranks of one job")
    means = {gradient.name: torch.zeros(gradient.shape, dtype=gradient.dtype)
             for gradient in hook.gradients if gradient.rule.remembers}
    step = 0
    for key, value in named.items():
        saved = _read(key, value)
        _check_rules(hook, saved)
        step = saved["step"]
        for gradient in hook.gradients:
            if gradient.rule.remembers:
                then = replace(gradient, state=_restored(gradient, saved), carry=_carried(gradient, saved["carries"]))
                means[gradient.name] += residual_of(then) / len(named)
    return {"step": step, "residuals": means}


def _load_merged(hook: Hook, merged: Mapping[str, Any]) -> None:
    hook.settle()
    expected = {gradient.name for gradient in hook.gradients if gradient.rule.remembers}
    if expected != set(merged["residuals"]):
        differs = sorted(expected ^ set(merged["residuals"]))
        raise lacuna.InvalidArgument(f"the saved residuals and the rules do not name the same parameters: "
                                     f"{', '.join(differs)}")
    carries = [_carried(gradient, merged["residuals"]) for gradient in hook.all_gradients]
    for gradient, carry in zip(hook.all_gradients, carries):
        gradient.state, gradient.carry = None, carry
    hook.step = merged["step"]
