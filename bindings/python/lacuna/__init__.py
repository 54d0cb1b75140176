"""Collectives that send only what matters.

    import lacuna
    import numpy as np

    world = lacuna.init()
    x = np.ones(1000, np.float32)
    world.allreduce(x, op="avg")                                # in place
    report = world.allreduce(x, method="topk:density=0.01", state=lacuna.State())

The manual is docs/python.md of lacuna's sources.
"""

from __future__ import annotations

import atexit
from importlib.util import find_spec

if find_spec("libucx") is not None:  # the UCX of lacuna[ucx]; else the system has one
    from libucx import load_library  # type: ignore[import-not-found, import-untyped, unused-ignore]

    load_library()
    del load_library

from lacuna import _lacuna
from lacuna._errors import (IO, Busy, Error, Internal, InvalidArgument, Mismatch, PeerFailed, Poisoned, TimedOut,
                            Transport, Unsupported)
from lacuna._join import init
from lacuna._lacuna import (Communicator, Entries, Method, Reduction, Report, Request, Sampler, State, UniqueId,
                            make_unique_id, test_any, wait_all, wait_any)
from lacuna._command import get_command
from lacuna._grids import Neighbour, balanced_grid, grid_neighbours
from lacuna._memory import allocate, empty
from lacuna._lists import algorithms, collectives, dtypes, get_include, get_library, info, methods
from lacuna import _calls, _states
from lacuna._methods import *  # a function for each method
from lacuna._methods import __all__ as _names_of_methods

version: str = _lacuna.version()
__version__ = version

atexit.register(_lacuna.leave)

__all__ = [
    "Busy", "Communicator", "Entries", "Error", "IO", "Internal", "InvalidArgument", "Method", "Mismatch", "Neighbour",
    "PeerFailed", "Poisoned", "Reduction", "Report", "Request", "Sampler", "State", "TimedOut", "Transport", "UniqueId",
    "Unsupported", "algorithms", "allocate", "balanced_grid", "collectives", "dtypes", "empty", "get_command", "get_include", "get_library",
    "grid_neighbours", "info", "init", "make_unique_id", "methods", "test_any", "version", "wait_all", "wait_any",
    *_names_of_methods
]
