"""Runs a function on several ranks of torch.distributed, each in a process of its own, and returns what they return."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable


LONGEST_START = 60  # seconds that a rank may take before its time begins


@dataclass
class Outcome:
    """How a rank ended: what the function returned, or the text of its exception."""

    exit_code: int
    value: Any = None
    error: str | None = None


def run(size: int, body: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
    """Return what body(rank, *args) returns on each rank. Fail if a rank raises, hangs, or does not end with 0."""
    outcomes = attempt(size, body, *args, **options)
    failures = [f"rank {rank} of {size} has ended with {outcome.exit_code}:\n{outcome.error}"
                for rank, outcome in enumerate(outcomes) if outcome.error or outcome.exit_code]
    assert not failures, "\n".join(failures)
    return [outcome.value for outcome in outcomes]


def attempt(size: int, body: Callable[..., Any], *args: Any, backend: str | None = "lacuna", pg_options: Any = None,
            group_timeout: float = 60, limit: float = 180) -> list[Outcome]:
    """Run body on each rank. The error of a rank that goes on after `limit` seconds shows where its threads are."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lacuna.torch"])  # imports PyTorch once for all ranks
    with tempfile.TemporaryDirectory() as folder:
        job = dict(size=size, folder=folder, backend=backend, pg_options=pg_options, group_timeout=group_timeout,
                   limit=limit)
        queues = [context.SimpleQueue() for _ in range(size)]
        processes = [context.Process(target=_work, args=(rank, job, queues[rank], body, args)) for rank in range(size)]
        for rank, process in enumerate(processes):
            _stacks(folder, rank).touch()
            process.start()
        until = time.monotonic() + LONGEST_START + limit
        for process in processes:
            process.join(max(0.0, until - time.monotonic()))
        for process in processes:
            if process.is_alive():
                process.kill()
                process.join()
        told = [queue.get() if not queue.empty() else (None, None) for queue in queues]
        stacks = [_stacks(folder, rank).read_text() for rank in range(size)]
        return [Outcome(process.exitcode, value, "\n".join(filter(None, (error, stack))) or None)
                for process, (value, error), stack in zip(processes, told, stacks)]


def _stacks(folder: str, rank: int) -> Path:
    """The file in which a rank that does not end shows where its threads are."""
    return Path(folder, f"stacks.{rank}")


def _work(rank: int, job: dict[str, Any], queue: Any, body: Callable[..., Any], args: tuple[Any, ...]) -> None:
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(job["size"]))
    stacks = _stacks(job["folder"], rank).open("w")  # until this process ends
    faulthandler.dump_traceback_later(job["limit"], exit=True, file=stacks)
    try:
        if job["backend"]:
            store = distributed.FileStore(os.path.join(job["folder"], "store"), job["size"])
            distributed.init_process_group(job["backend"], store=store, rank=rank, world_size=job["size"],
                                           pg_options=job["pg_options"],
                                           timeout=timedelta(seconds=job["group_timeout"]))
        queue.put((body(rank, *args), None))
        if distributed.is_initialized():
            distributed.destroy_process_group()
    except BaseException:
        queue.put((None, traceback.format_exc()))
        sys.exit(1)


def tell(what: str) -> None:
    """Tell all ranks, by the store and not by the group, that something has happened."""
    _store().set(what, "told")


def hear(what: str) -> None:
    """Wait until a rank has told that something has happened."""
    _store().wait([what], timedelta(seconds=60))


def _store() -> Any:
    from torch import distributed

    return distributed.distributed_c10d._get_default_store()


def die() -> None:
    """End this rank as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)

