"""Rules that say by the names of parameters how their gradients travel."""
from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass

import lacuna

DENSE = "dense"


@dataclass(frozen=True)
class Rule:
    """How the gradients travel whose names fit a pattern."""

    pattern: str
    method: lacuna.Method | None = None  # None: dense
    algorithm: str | None = None  # None: lacuna chooses
    remembers: bool = False  # the method keeps arrays of a tensor from call to call

    @property
    def text(self) -> str:
        """The method and the algorithm, as a rule gives them."""
        name = self.method.text if self.method else DENSE
        return f"{name}@{self.algorithm}" if self.algorithm else name

    @property
    def options(self) -> dict[str, str]:
        """The options that the method's text sets."""
        given = self.method.text.partition(":")[2] if self.method else ""
        return dict(option.split("=", 1) for option in given.split(",") if option)

    @property
    def momentum(self) -> float:
        """The momentum that the method has itself, in place of the optimizer."""
        return float(self.options.get("momentum", 0))


def rules_of(given: object) -> list[Rule]:
    """Read rules: a method for all parameters, or a mapping from patterns of names to methods.

    A method is a ``lacuna.Method``, a text ``"METHOD:OPTION=VALUE,..."``, or ``"dense"`` or None. Behind an ``@`` a
    text names the algorithm.
    """
    if isinstance(given, Mapping):
        return [_rule(pattern, method) for pattern, method in given.items()]
    return [_rule("*", given)]


def _rule(pattern: object, given: object) -> Rule:
    if not isinstance(pattern, str):
        raise TypeError(f"a rule is for {pattern!r}; it must be for a pattern of names such as '*.bias'")
    if isinstance(given, lacuna.Method):
        return Rule(pattern, given)
    if given is None:
        return Rule(pattern)
    if not isinstance(given, str):
        raise TypeError(f"the rule for '{pattern}' is of type {type(given).__name__}; allowed: a lacuna.Method, text "
                        "such as 'topk:density=0.01', 'dense', or None")
    text, _, algorithm = given.partition("@")
    method = None if text in ("", DENSE) else lacuna.method(text)
    return Rule(pattern, method, algorithm or None)


def first_match(rules: list[Rule], name: str) -> Rule:
    """The first rule whose pattern the name fits. What fits none is dense."""
    return next((rule for rule in rules if fnmatch.fnmatchcase(name, rule.pattern)), Rule("(no rule)"))
