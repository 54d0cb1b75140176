"""The command ``lacuna`` of this package."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Dict


def get_command() -> str:
    """Return the path of the compiled command ``lacuna``."""
    return str(Path(__file__).parent / "bin" / "lacuna")


def environment() -> Dict[str, str]:
    """The variables with which the command finds the UCX of PyPI, if that is installed."""
    ucx = find_spec("libucx")
    if ucx is None or ucx.origin is None:
        return dict(os.environ)
    folders = [str(Path(ucx.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}


def main() -> None:
    """Become the compiled command."""
    os.execve(get_command(), ["lacuna", *sys.argv[1:]], environment())
