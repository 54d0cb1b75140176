"""The thread that waits for the calls of buckets and completes their futures."""
from __future__ import annotations

import atexit
import queue
import threading
import time
from collections.abc import Callable, Sequence

import torch

import lacuna


class Work:
    """The calls of one bucket.

    Parameters
    ----------
    requests
        The calls, which have been started.
    finish
        Makes the result of the bucket from the reports of the calls.
    fallback
        The value of the future if a call fails.
    keeps_errors
        Somebody asks for `error` later, so that the future gets a value in any case. Else it gets the error.
    """

    def __init__(self, requests: Sequence[lacuna.Request], finish: Callable[[list[lacuna.Report]], torch.Tensor],
                 fallback: torch.Tensor, keeps_errors: bool) -> None:
        devices = [fallback.device] if fallback.is_cuda else None
        self.future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=devices)
        self.error: Exception | None = None
        self.started = time.monotonic()
        self.ended = self.started
        self._requests = requests
        self._finish = finish
        self._fallback = fallback
        self._keeps_errors = keeps_errors
        self._over = threading.Event()

    def complete(self) -> None:
        """Wait for the calls, and complete the future."""
        result = self._fallback
        try:
            result = self._finish([request.wait() for request in self._requests])
        except Exception as error:
            self.error = error
        self.ended = time.monotonic()
        if self.error is not None and not self._keeps_errors:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(result)
        self._requests, self._finish = (), lambda _: result  # lets go of the memory of the calls
        self._over.set()

    def wait(self) -> None:
        """Wait until complete() has ended in another thread."""
        self._over.wait()


Works = queue.SimpleQueue[Work | None]  # None: there are no more
LONGEST_END = 1.0  # seconds that the end of the process waits for a thread

_running: dict[threading.Thread, Works] = {}


class Completer:
    """Completes works in the order in which they come, in a thread of its own.

    The thread waits without the interpreter's lock. While it waits it also moves messages, so that communication and
    the backward pass overlap. It ends when the completer is gone, or when the process ends.
    """

    def __init__(self) -> None:
        self._works: Works = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, work: Work) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=_run, args=(self._works,), name="lacuna.torch", daemon=True)
            _running[self._thread] = self._works
            self._thread.start()
        self._works.put(work)

    def __del__(self) -> None:
        self._works.put(None)


def _run(works: Works) -> None:
    while _complete_next(works):
        pass
    _running.pop(threading.current_thread(), None)


def _complete_next(works: Works) -> bool:
    """Returns false if there are no more works. No work lives on in the thread while it waits for the next one."""
    work = works.get()
    if work is not None:
        work.complete()
    return work is not None


@atexit.register
def _end_all() -> None:
    """Lets the threads end before the interpreter does. A thread that drops a tensor after that ends the process."""
    for works in list(_running.values()):
        works.put(None)
    for thread in list(_running):
        thread.join(LONGEST_END)
