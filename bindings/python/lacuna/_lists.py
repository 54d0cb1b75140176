"""What this installation has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lacuna import _lacuna

HERE = Path(__file__).parent


def dtypes() -> list[dict[str, Any]]:
    """List the types of elements that the library knows, with the bytes of an element."""
    return _lacuna.list_dtypes()


def collectives() -> list[dict[str, Any]]:
    """List the collectives, and what the call of each needs."""
    return _lacuna.list_collectives()


def algorithms() -> list[dict[str, Any]]:
    """List the algorithms, with the name of their collective and the method that they serve, or None."""
    names = {row["collective"]: row["name"] for row in collectives()}
    return [{**row, "collective": names[row["collective"]]} for row in _lacuna.list_algorithms()]


def methods() -> list[dict[str, Any]]:
    """List the methods, with their options and the measures of their reports."""
    return [{**row, "options": _lacuna.list_options(row["name"]), "measures": _lacuna.list_measures(row["name"])}
            for row in _lacuna.list_methods()]


def get_library() -> str:
    """Return the path of the C library that this package uses."""
    return str(HERE / "lib" / "liblacuna_c.so.0")


def get_include() -> str:
    """Return the folder in which a compiler finds ``<lacuna/lacuna.h>``."""
    return str(HERE / "include")


def info() -> dict[str, Any]:
    """Tell versions, kernels, transports and the variables in effect, as ``lacuna info`` does."""
    import json
    import subprocess

    from lacuna import _command

    shown = subprocess.run([_command.get_command(), "info", "-J"], check=True, capture_output=True, text=True,
                           env=_command.environment())
    return dict(json.loads(shown.stdout))
