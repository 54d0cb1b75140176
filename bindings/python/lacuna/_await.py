"""How a coroutine waits for a request: the event loop of asyncio sleeps on the descriptor of the job."""

from __future__ import annotations

import asyncio
from typing import Any, Generator
from weakref import WeakKeyDictionary

from lacuna._errors import Error
from lacuna._lacuna import Communicator, Report, Request, share


class Watch:
    """The requests of one job that coroutines of one event loop wait for. It ends when there are none."""

    def __init__(self, loop: asyncio.AbstractEventLoop, communicator: Communicator) -> None:
        self.loop = loop
        self.communicator = share(communicator)  # the program may free its own while the requests go on
        self.descriptor = communicator.event_fd
        self.waiting: dict[asyncio.Future[None], Request] = {}
        loop.add_reader(self.descriptor, self.look)
        loop.call_soon(self.look)

    def add(self, request: Request) -> asyncio.Future[None]:
        future = self.loop.create_future()
        self.waiting[future] = request
        return future

    def remove(self, future: asyncio.Future[None]) -> None:
        """Forget who waits no longer, because the request has ended or the coroutine was cancelled."""
        del self.waiting[future]
        if not self.waiting:
            del watches[self.loop][self.descriptor]
            if not self.loop.is_closed():
                self.loop.remove_reader(self.descriptor)

    def look(self) -> None:
        """Make progress, wake who waits for what has ended, and sleep again."""
        if not self.waiting:
            return
        while self.communicator.progress():
            pass
        for future, request in self.waiting.items():
            if not future.done():
                wake(future, request)
        if not all(future.done() for future in self.waiting) and not self.communicator.arm():
            self.loop.call_soon(self.look)


watches: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, Watch]] = WeakKeyDictionary()


def wake(future: asyncio.Future[None], request: Request) -> None:
    """Wake who waits for a request, if it has ended or another thread uses it."""
    try:
        if request.test():
            future.set_result(None)
    except Error as error:
        future.set_exception(error)


def wait(request: Request) -> Generator[Any, None, Report]:
    """What ``await request`` runs."""
    if not request.done:
        loop = asyncio.get_running_loop()
        of_loop = watches.setdefault(loop, {})
        descriptor = request.communicator.event_fd
        if descriptor not in of_loop:
            of_loop[descriptor] = Watch(loop, request.communicator)
        watch = of_loop[descriptor]
        future = watch.add(request)
        try:
            yield from future.__await__()
        finally:
            watch.remove(future)
    return request.wait()
