"""The command ``lacuna`` of this package."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from lacuna._lists import get_command


def main() -> None:
    """Become the compiled command. It finds the UCX of PyPI's package if that is installed."""
    ucx = find_spec("libucx")
    if ucx is not None and ucx.origin is not None:
        folders = [str(Path(ucx.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH")]
        os.environ["LD_LIBRARY_PATH"] = ":".join(folder for folder in folders if folder)
    os.execv(get_command(), ["lacuna", *sys.argv[1:]])
