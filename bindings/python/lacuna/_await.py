"""How a coroutine waits for a request: the event loop of asyncio sleeps on the descriptor of the job."""

from __future__ import annotations

import asyncio
from typing import Any, Generator
from weakref import WeakKeyDictionary

from lacuna._lacuna import Communicator, Report, Request


class Watch:
    """The requests of one job that coroutines of one event loop wait for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: list[tuple[Request, asyncio.Future[None]]] = []

    def add(self, request: Request) -> asyncio.Future[None]:
        future = self.loop.create_future()
        if not self.waiting:
            self.communicator: Communicator = request.communicator
            self.descriptor = self.communicator.event_fd
            self.loop.add_reader(self.descriptor, self.look)
            self.loop.call_soon(self.look)
        self.waiting.append((request, future))
        return future

    def look(self) -> None:
        """Make progress, wake who waits for what has ended, and sleep again."""
        if not self.waiting:
            return
        while self.communicator.progress():
            pass
        for request, future in self.waiting:
            if not future.done() and request.test():
                future.set_result(None)
        self.waiting = [(request, future) for request, future in self.waiting if not future.done()]
        if not self.waiting:
            self.loop.remove_reader(self.descriptor)
        elif not self.communicator.arm():
            self.loop.call_soon(self.look)


watches: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Watch]] = WeakKeyDictionary()


def wait(request: Request) -> Generator[Any, None, Report]:
    """What ``await request`` runs."""
    if not request.done:
        loop = asyncio.get_running_loop()
        of_loop = watches.setdefault(loop, {})
        descriptor = request.communicator.event_fd
        if descriptor not in of_loop:
            of_loop[descriptor] = Watch(loop)
        yield from of_loop[descriptor].add(request).__await__()
    return request.wait()
