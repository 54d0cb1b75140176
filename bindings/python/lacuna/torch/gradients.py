"""What a hook knows of the gradient of each parameter, and how a bucket of gradients is cut into calls."""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

import lacuna

from .parameters import stride_in_bucket
from .rules import Rule, first_match


@dataclass(eq=False)
class Gradient:
    """The gradient of one parameter. What a method remembers belongs to it, whatever bucket it is in.

    It travels as DDP lays it out in a bucket: in the order of the parameter's memory, and a complex number as two real
    ones.
    """

    name: str
    number: int  # among the parameters of the model; the key of its state
    shape: torch.Size
    stride: tuple[int, ...]  # in a bucket
    dtype: torch.dtype
    rule: Rule
    met: bool = False  # in a bucket
    state: lacuna.State | None = None
    carry: torch.Tensor | None = None  # is added to the next input

    @property
    def elements(self) -> int:
        return self.shape.numel()

    @property
    def length(self) -> int:
        """The real numbers that travel."""
        return 2 * self.elements if self.dtype.is_complex else self.elements

    @property
    def holds(self) -> bool:
        """Whether anything is remembered."""
        return self.state is not None or self.carry is not None

    def meet(self, parameter: torch.Tensor) -> None:
        """Take type and strides from the parameter, which may have changed since the hook was made."""
        if self.holds and self.dtype != parameter.dtype:
            raise lacuna.InvalidArgument(f"what is remembered of {self.name} is of {self.dtype}, and the parameter of "
                                         f"{parameter.dtype}; convert the model before the hook is made or loads a "
                                         "state")
        self.dtype, self.stride = parameter.dtype, stride_in_bucket(parameter)
        self.met = True

    def laid_out(self, values: torch.Tensor) -> torch.Tensor:
        """Return values of the parameter's shape as they travel."""
        memory = torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=values.device).copy_(values)
        flat = memory.as_strided((self.elements,), (1,))
        return torch.view_as_real(flat).reshape(-1) if self.dtype.is_complex else flat

    def shaped(self, flat: torch.Tensor) -> torch.Tensor:
        """Return what travels as values of the parameter's shape."""
        elements = torch.view_as_complex(flat.view(-1, 2)) if self.dtype.is_complex else flat
        return elements.as_strided(self.shape, self.stride).contiguous()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"state": self.state.save() if self.state is not None else None}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved, state=None)
        if saved["state"] is not None:
            self.state = restored_state(self, saved["state"])


@dataclass(eq=False)
class Piece:
    """A stretch of a bucket that is one call."""

    rule: Rule
    begin: int
    end: int
    gradients: list[Gradient] = field(default_factory=list)


def gradients_of(named: Iterable[tuple[str, torch.nn.Parameter]], rules: Sequence[Rule],
                 small: int) -> dict[torch.nn.Parameter, Gradient]:
    """Give each parameter that has, or may get, gradients its rule.

    With a method each parameter has a call of its own. This does not pay for parameters of fewer than `small`
    elements, so that these are dense.
    """
    all_gradients = {}
    used = set()
    for number, (name, parameter) in enumerate(named):
        if not (parameter.is_floating_point() or parameter.is_complex()):
            continue
        rule = first_match(list(rules), name)
        used.add(rule.pattern)
        if rule.method is not None and parameter.numel() < small:
            rule = Rule(f"{rule.pattern}, fewer than {small} elements")
        all_gradients[parameter] = Gradient(name, number, parameter.shape, stride_in_bucket(parameter),
                                            parameter.dtype, rule)
    for rule in rules:
        if rule.pattern not in used:
            warnings.warn(f"the rule for '{rule.pattern}' decides for no parameter", stacklevel=3)
    return all_gradients


def pieces_of(gradients: Sequence[Gradient], dense: bool) -> list[Piece]:
    """Cut a bucket into calls: one for each gradient with a method, and one for each stretch of dense ones.

    So what a method makes of a gradient never depends on its neighbours, which are others in other buckets.
    """
    pieces: list[Piece] = []
    begin = 0
    for gradient in gradients:
        rule = Rule("*") if dense else replace(gradient.rule, pattern="*")
        end = begin + gradient.length
        if pieces and pieces[-1].rule == rule and rule.method is None:
            pieces[-1].end = end
            pieces[-1].gradients.append(gradient)
        else:
            pieces.append(Piece(rule, begin, end, [gradient]))
        begin = end
    return pieces


def state_of(piece: Piece, seed: int) -> lacuna.State | None:
    """The state that serves the call of a piece; None if it is dense."""
    if piece.rule.method is None:
        return None
    gradient, = piece.gradients
    if gradient.state is None:
        gradient.state = lacuna.State(piece.rule.method, seed=seed, key=gradient.number)
    return gradient.state


def restored_state(gradient: Gradient, saved: bytes) -> lacuna.State:
    """The state that was saved of a gradient."""
    state = lacuna.State(gradient.rule.method, key=gradient.number)
    state.restore(saved)
    return state


def table(rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Columns of texts under a header, those of `right` adjusted to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    texts.insert(1, ["-" * width for width in widths])
    adjusted = lambda row: (cell.rjust(width) if i in right else cell.ljust(width)
                            for i, (cell, width) in enumerate(zip(row, widths)))
    return "\n".join("  ".join(adjusted(row)).rstrip() for row in texts)
