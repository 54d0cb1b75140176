"""What a hook knows of the gradient of each parameter, and how a bucket of gradients is cut into calls."""
from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import torch

import lacuna

from .rules import Rule, first_match


@dataclass(eq=False)
class Gradient:
    """The gradient of one parameter. What a method remembers belongs to it, whatever bucket it is in."""

    name: str
    number: int  # among the parameters of the model; the key of its state
    shape: torch.Size
    dtype: torch.dtype
    rule: Rule
    state: lacuna.State | None = None
    carry: torch.Tensor | None = None  # is added to the next input

    @property
    def elements(self) -> int:
        return self.shape.numel()


@dataclass(eq=False)
class Piece:
    """A stretch of a bucket that is one call."""

    rule: Rule
    begin: int
    end: int
    gradients: list[Gradient] = field(default_factory=list)


def gradients_of(named: Iterable[tuple[str, torch.nn.Parameter]], rules: Sequence[Rule],
                 small: int) -> dict[torch.nn.Parameter, Gradient]:
    """Give each parameter that has gradients its rule.

    If a method remembers something of each tensor, each parameter needs a call of its own. This does not pay for
    parameters of fewer than `small` elements, so that these are dense.
    """
    all_gradients = {}
    used = set()
    for number, (name, parameter) in enumerate(named):
        if not parameter.requires_grad:
            continue
        rule = first_match(list(rules), name)
        used.add(rule.pattern)
        if rule.remembers and parameter.numel() < small:
            rule = Rule(f"{rule.pattern}, fewer than {small} elements")
        all_gradients[parameter] = Gradient(name, number, parameter.shape, parameter.dtype, rule)
    for rule in rules:
        if rule.pattern not in used:
            warnings.warn(f"the rule for '{rule.pattern}' decides for no parameter", stacklevel=3)
    return all_gradients


def pieces_of(gradients: Sequence[Gradient], dense: bool) -> list[Piece]:
    """Cut a bucket into the fewest stretches that can be calls. If `dense`, all of it is."""
    pieces: list[Piece] = []
    begin = 0
    for gradient in gradients:
        rule = Rule("*") if dense else replace(gradient.rule, pattern="*")
        end = begin + gradient.elements
        if pieces and pieces[-1].rule == rule and not rule.remembers:
            pieces[-1].end = end
            pieces[-1].gradients.append(gradient)
        else:
            pieces.append(Piece(rule, begin, end, [gradient]))
        begin = end
    return pieces


def state_of(piece: Piece, seed: int) -> lacuna.State | None:
    """The state that serves the call of a piece; None if it is dense.

    If several gradients share a call, nothing is remembered but the number of runs. Then the state with most runs
    serves, so that schedules go on where another division into buckets has left them.
    """
    if piece.rule.method is None:
        return None
    leader = max(piece.gradients, key=lambda gradient: gradient.state.runs if gradient.state else -1)
    if leader.state is None:
        leader.state = lacuna.State(piece.rule.method, seed=seed, key=leader.number)
    return leader.state


def table(rows: Sequence[Sequence[object]], right: Sequence[int] = ()) -> str:
    """Columns of texts under a header, those of `right` adjusted to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    texts.insert(1, ["-" * width for width in widths])
    adjusted = lambda row: (cell.rjust(width) if i in right else cell.ljust(width)
                            for i, (cell, width) in enumerate(zip(row, widths)))
    return "\n".join("  ".join(adjusted(row)).rstrip() for row in texts)
