"""The calls of a bucket of dense gradients."""
from __future__ import annotations

import time
from collections.abc import Sequence

import torch

import lacuna

from .figures import Audit, Figures
from .gradients import Piece, state_of
from .rules import Rule

PACKED_BYTES = 1 << 16  # shorter dense stretches share a call, for which they are copied


class DenseBucket:
    """Averages the gradients of a bucket in place.

    Parameters
    ----------
    world
        The ranks.
    buffer
        All elements of the bucket.
    pieces
        Cut it into calls.
    seed
        Of the states that are made.
    figures
        Count what the calls do.
    scale
        What a GradScaler has multiplied the gradients by. If it is given, methods that remember something get the
        gradients without it, and never an infinity or a NaN.
    """

    def __init__(self, world: lacuna.Communicator, buffer: torch.Tensor, pieces: Sequence[Piece], *, seed: int,
                 figures: Figures, scale: float | None = None) -> None:
        self._world = world
        self._buffer = buffer
        self._seed = seed
        self._figures = figures
        self._remembering = [piece for piece in pieces if piece.rule.remembers]
        self._scale = scale if self._remembering else None
        short = [piece for piece in pieces if piece.rule == Rule("*")
                 and (piece.end - piece.begin) * buffer.element_size() < PACKED_BYTES]
        self._packed = short if len(short) > 1 or self._scale else []
        self._alone = [piece for piece in pieces if piece not in self._packed]
        self._staging: torch.Tensor | None = None

    def start(self, audits: bool) -> list[lacuna.Request]:
        """Start the calls. If `audits`, each call with a method is compared with the dense one at once."""
        overflow = self._prepare()
        requests = [self._audit(piece) if audits and piece.rule.method else self._start(piece)
                    for piece in self._alone]
        packed = [self._view(piece) for piece in self._packed]
        if overflow is not None:
            packed.append(overflow)
        if packed:
            self._staging = torch.cat(packed)
            requests.append(self._world.start_allreduce(self._staging, op="avg"))
        return requests

    def finish(self, reports: Sequence[lacuna.Report]) -> torch.Tensor:
        """Complete the result when the calls have ended."""
        for piece, report in zip(self._alone, reports):
            self._figures.count(piece.rule, report)
        if self._staging is not None:
            self._figures.count_dense()
            places = [self._view(piece) for piece in self._packed]
            for place, values in zip(places, self._staging.split([len(place) for place in places] + self._rest())):
                place.copy_(values)
        if self._scale is not None:
            overflows = bool(self._staging[-1].isnan())
            for piece in self._remembering:
                self._view(piece).fill_(torch.nan) if overflows else self._view(piece).mul_(self._scale)
        return self._buffer

    def _rest(self) -> list[int]:
        return [] if self._scale is None else [1]

    def _view(self, piece: Piece) -> torch.Tensor:
        return self._buffer[piece.begin:piece.end]

    def _prepare(self) -> torch.Tensor | None:
        """Makes the inputs of methods that remember. Returns an element that is NaN if a gradient has overflowed."""
        overflows = False
        for piece in self._remembering:
            view = self._view(piece)
            if self._scale is not None:
                finite = bool(torch.isfinite(view.sum()))
                overflows |= not finite
                view.mul_(1 / self._scale) if finite else view.zero_()
            for gradient in piece.gradients:  # it is one
                if gradient.carry is not None:
                    view.add_(gradient.laid_out(gradient.carry.to(view.device)))
                    gradient.carry = None
        return None if self._scale is None else self._buffer.new_tensor([torch.nan if overflows else 0.0])

    def _start(self, piece: Piece) -> lacuna.Request:
        try:
            return self._world.start_allreduce(self._view(piece), op="avg", method=piece.rule.method,
                                               algorithm=piece.rule.algorithm, state=state_of(piece, self._seed))
        except lacuna.Error as error:
            names = ", ".join(gradient.name for gradient in piece.gradients)
            raise type(error)(f"{names}, by {piece.rule.text}: {error}") from None

    def _audit(self, piece: Piece) -> lacuna.Request:
        dense = self._view(piece).clone()
        times = [time.monotonic()]
        request = self._start(piece)
        request.wait()
        times.append(time.monotonic())
        with self._figures.uncounted():
            self._world.allreduce(dense, op="avg")
        times.append(time.monotonic())
        norm = float(dense.norm())
        error = float((self._view(piece) - dense).norm()) / norm if norm else 0.0
        self._figures.audits.append(Audit(piece.rule.text, piece.gradients[0].name, error, times[1] - times[0],
                                          times[2] - times[1]))
        return request
