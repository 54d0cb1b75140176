"""Compiles the C++ part of the backend against the PyTorch that is installed, once."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Iterator

import torch

import lacuna

HERE = Path(__file__).parent
NAME = "lacuna_c10d"
OLDEST = (2, 13)  # version of PyTorch


def folder() -> Path:
    """Return the folder that has, or will have, the compiled module.

    It lies in ``TORCH_EXTENSIONS_DIR``, or else in the user's cache. Its name has the versions of PyTorch, Python and
    lacuna, and a digest of the sources and of the place where lacuna is installed.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lacuna"
    root = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or cache)
    digest = hashlib.sha256(lacuna.get_library().encode())
    for source in sorted([*HERE.glob("*.[ch]pp"), *Path(lacuna.get_include()).glob("lacuna/*.h")]):
        digest.update(source.read_bytes())
    python = f"{sys.implementation.cache_tag}"
    return root / f"torch-{torch.__version__}-{python}-lacuna-{lacuna.version}-{digest.hexdigest()[:12]}"


def build(verbose: bool = False) -> Path:
    """Compile the backend, unless that has been done.

    ``init_process_group("lacuna")`` does it on first use. A job of many ranks starts sooner if this was called before.
    Several processes may call it at a time: one compiles, and the others wait. It needs a C++20 compiler and ninja.

    Parameters
    ----------
    verbose
        Whether to show what the compiler says.

    Returns
    -------
    Path
        The compiled module.
    """
    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
        raise lacuna.Unsupported(f"this is PyTorch {torch.__version__}, and the backend needs 2.13 or later; "
                                 "lacuna.torch.Hook works with 2.5 too")
    place = folder()
    module = place / f"{NAME}.so"
    if module.exists():
        return module
    place.mkdir(parents=True, exist_ok=True)
    with _lock(place / "lock"):
        if not module.exists():
            _compile(place / "work", module, verbose)
    return module


def load() -> ModuleType:
    """Import the compiled backend; compile it first if need be."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(NAME, build())
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[NAME] = module
    return sys.modules[NAME]


def _compile(work: Path, module: Path, verbose: bool) -> None:
    from torch.utils import cpp_extension

    library = Path(lacuna.get_library())
    shutil.rmtree(work, ignore_errors=True)  # what an interrupted build has left
    work.mkdir()
    if not verbose:
        print(f"lacuna: compiling the backend for PyTorch {torch.__version__}, once", file=sys.stderr, flush=True)
    # One unit of all sources, because nearly all of the time goes into PyTorch's headers.
    unit = work / "all.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in sorted(HERE.glob("*.cpp"))))
    cpp_extension.load(
        NAME,
        [str(unit)],
        extra_cflags=["-O2", "-g0"],
        extra_ldflags=[str(library), f"-Wl,-rpath,{library.parent}"],
        extra_include_paths=[lacuna.get_include()],
        build_directory=str(work),
        with_cuda=False,
        verbose=verbose,
        is_python_module=False,
    )
    os.replace(work / f"{NAME}.so", module)
    shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Holds a lock that ends with the process."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
