"""A function for each method of the library, with its options as parameters."""

from __future__ import annotations

import keyword
from typing import Any, Callable, Mapping

from lacuna import _lacuna
from lacuna._lacuna import Method
from lacuna._signature import Parameter, define, document

ANNOTATIONS = {"flag": "bool", "integer": "int", "number": "float", "choice": "str",
               "pairs": "Mapping[int, float] | str"}


def method(text: str) -> Method:
    """Make a method from text.

    Parameters
    ----------
    text : str
        The name of the method and its options, such as ``"ok_topk:density=0.01"``.

    Returns
    -------
    Method
        for any number of calls
    """
    return Method(text)


def initial_of(option: dict[str, Any]) -> Any:
    """The default of an option, as Python has it."""
    text = option["initial"]
    if option["type"] == "flag":
        return text not in ("0", "false")
    if option["type"] in ("integer", "number"):
        return float(text) if option["type"] == "number" and not text.lstrip("-").isdigit() else int(text)
    return text


def text_of(value: Any) -> str:
    """The value of an option as the text of a method says it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Mapping):
        return "/".join(f"{run}:{number}" for run, number in sorted(value.items()))
    return str(value)


def made(name: str, initial: Mapping[str, Any], given: Mapping[str, Any]) -> Method:
    """Make a method with the options that differ from their defaults."""
    options = [f"{option}={text_of(given[option])}" for option in initial if given[option] != initial[option]]
    return Method(f"{name}:{','.join(options)}" if options else name)


def make_function(row: dict[str, Any]) -> Callable[..., Method]:
    name = row["name"]
    options = _lacuna.list_options(name)
    initial = {option["name"]: initial_of(option) for option in options}
    wrong = [option for option in initial if keyword.iskeyword(option) or not option.isidentifier()]
    assert not wrong, f"options of {name} can't be parameters: {wrong}"
    parameters = [
        Parameter(option["name"], ANNOTATIONS[option["type"]], f"{option['help']}. Allowed: {option['allowed']}.",
                  repr(initial[option["name"]])) for option in options
    ]
    declarations = ["*", *(parameter.declaration() for parameter in parameters)] if parameters else []
    given = "{" + ", ".join(f"{option!r}: {option}" for option in initial) + "}"
    summary = f"Make the method {name}: {row['summary']}."
    return define(name, declarations, "Method", f"return _made({name!r}, _initial, {given})",
                  {"_made": made, "_initial": initial},
                  document(summary, parameters, ("Method", "for any number of calls")),
                  __name__)


functions = {row["name"]: make_function(row) for row in _lacuna.list_methods()}
globals().update(functions)
__all__ = ["method", *functions]
