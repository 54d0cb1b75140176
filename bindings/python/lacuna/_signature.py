"""Functions that are made from the lists of the library, with signatures and help texts as functions written by hand."""

from __future__ import annotations

import textwrap
from typing import Any, Callable, NamedTuple


class Parameter(NamedTuple):
    """A parameter of such a function. Without a default it must be given."""

    name: str
    annotation: str
    help: str
    default: str | None = None

    def declaration(self) -> str:
        default = "" if self.default is None else f" = {self.default}"
        return f"{self.name}: {self.annotation}{default}"

    def section(self) -> str:
        suffix = "" if self.default is None else f", default {self.default}"
        return f"{self.name} : {self.annotation}{suffix}\n{textwrap.indent(textwrap.fill(self.help, 100), '    ')}"


def document(summary: str, parameters: list[Parameter], returns: tuple[str, str]) -> str:
    """Lay out a help text as numpy does."""
    sections = [textwrap.fill(summary, 104)]
    if parameters:
        sections.append("Parameters\n----------\n" + "\n".join(parameter.section() for parameter in parameters))
    sections.append(f"Returns\n-------\n{returns[0]}\n    {returns[1]}")
    return "\n\n".join(sections) + "\n"


def define(name: str, declarations: list[str], returns: str, body: str, names: dict[str, Any], help: str,
           module: str) -> Callable[..., Any]:
    """Compile a function whose parameters are only known now.

    A function that takes ``*args`` and ``**kwargs`` would hide its parameters, and would cost more at each call.
    """
    source = f"def {name}({', '.join(declarations)}) -> {returns}:\n    {body}\n"
    code = compile("from __future__ import annotations\n" + source, f"<lacuna {name}>", "exec")
    exec(code, names)
    function: Callable[..., Any] = names.pop(name)
    function.__doc__ = help
    function.__module__ = module
    return function
