"""What the calls of a hook have done: bytes, times, and errors beside dense calls."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import lacuna

from .gradients import Gradient, table
from .rules import DENSE, Rule


@dataclass(frozen=True)
class Audit:
    """A call with a method, compared with the dense call on the same data."""

    rule: str
    name: str
    error: float  # the norm of the difference over the norm of the dense result
    seconds: float
    dense_seconds: float


@dataclass
class Totals:
    """What the calls of one rule have sent on this rank, in bytes."""

    calls: int = 0
    sent: int = 0
    dense_sent: int = 0


@dataclass
class Figures:
    """Counts calls. All bytes come from the reports of calls and from the communicator's counters."""

    world: lacuna.Communicator
    steps: int = 0
    waited: float = 0.0  # seconds in which the backward pass waited for calls
    rules: dict[str, Totals] = field(default_factory=dict)
    audits: list[Audit] = field(default_factory=list)
    last: dict[str, float] = field(default_factory=dict)  # of the last step

    def __post_init__(self) -> None:
        self._apart = self._counted()
        self._before = (0, 0)

    def _counted(self) -> int:
        return self.world.counters["payload_sent"]

    @contextlib.contextmanager
    def uncounted(self) -> Iterator[None]:
        """What is sent inside does not count."""
        before = self._counted()
        yield
        self._apart += self._counted() - before

    def count(self, rule: Rule, report: lacuna.Report) -> None:
        """Count a call that has ended."""
        totals = self.rules.setdefault(rule.text if rule.method else DENSE, Totals())
        totals.calls += 1
        totals.sent += report.sent
        totals.dense_sent += report.dense_sent

    def count_dense(self) -> None:
        """Count a dense call that has ended."""
        self.rules.setdefault(DENSE, Totals()).calls += 1

    def sent(self) -> tuple[int, int]:
        """Bytes that this rank has sent, and that dense calls send in their place."""
        total = self._counted() - self._apart
        return total, total + sum(totals.dense_sent - totals.sent for totals in self.rules.values())

    def end_step(self, waited: float) -> None:
        """A step has ended, whose backward pass waited so many seconds."""
        now = self.sent()
        self.steps += 1
        self.waited += waited
        self.last = {"lacuna/sent_bytes": now[0] - self._before[0], "lacuna/dense_bytes": now[1] - self._before[1],
                     "lacuna/waited_ms": 1e3 * waited}
        self._before = now

    def scalars(self) -> dict[str, float]:
        """The figures of the last step, and the error of the last audit of each parameter."""
        return self.last | {f"lacuna/error/{audit.name}": audit.error for audit in self.audits}

    def summary(self, gradients: Sequence[Gradient]) -> str:
        """A table of all rules, and what a step takes."""
        total, dense = self.sent()
        known = {rule: totals for rule, totals in self.rules.items() if rule != DENSE}
        rest = Totals(self.rules.get(DENSE, Totals()).calls, *2 * [total - sum(one.sent for one in known.values())])
        rows = [["rule", "parameters", "elements", "calls", "MB sent", "MB dense", "sent / dense", "error", "ms",
                 "dense ms"]]
        for rule, totals in {DENSE: rest, **known}.items():
            mine = [gradient for gradient in gradients
                    if (gradient.rule.text if gradient.rule.method else DENSE) == rule]
            rows.append([rule, len(mine), sum(gradient.elements for gradient in mine), totals.calls,
                         *_share(totals.sent, totals.dense_sent), *self._audited(rule)])
        rows.append(["all", len(gradients), sum(gradient.elements for gradient in gradients),
                     sum(totals.calls for totals in self.rules.values()), *_share(total, dense), "", "", ""])
        waited = 1e3 * self.waited / self.steps if self.steps else 0.0
        return f"{table(rows, range(1, 10))}\n{self.steps} steps; in each the backward pass waited {waited:.2f} ms"

    def _audited(self, rule: str) -> list[str]:
        of_rule = [audit for audit in self.audits if audit.rule == rule]
        if not of_rule:
            return ["", "", ""]
        mean: Mapping[str, float] = {name: sum(getattr(audit, name) for audit in of_rule) / len(of_rule)
                                     for name in ("error", "seconds", "dense_seconds")}
        return [f"{mean['error']:.3f}", f"{1e3 * mean['seconds']:.2f}", f"{1e3 * mean['dense_seconds']:.2f}"]


def _share(sent: int, dense: int) -> list[str]:
    return [f"{sent / 1e6:.2f}", f"{dense / 1e6:.2f}", f"{sent / dense:.3f}" if dense else ""]
