"""Thread limiter: bounded concurrency and queue for blocking work.

Whoever comes when all places to wait are taken is told to come again. A thread cannot be stopped
from outside: one whose request was given up keeps its place until it is done, so that there are
never more than were allowed.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from .problems import Problem

T = TypeVar("T")


class ThreadLimiter:
    """Runs functions in threads of its own; used from one event loop.

    Args:
        name: what its threads are called.
        at_once: how many run at a time.
        waiting: how many may wait for a turn.
    """

    def __init__(self, name: str, *, at_once: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"loregraph-{name}")
        self._turns = asyncio.Semaphore(at_once)
        self._most_waiting = waiting
        self.waiting = 0
        self.running = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold a slot during the block, for work with its own thread.

        Raises:
            Problem: 503, too many wait already.
        """
        await self._take()
        try:
            yield
        finally:
            self._give_back()

    async def run(self, function: Callable[[], T]) -> T:
        """Run the function in a thread once a slot is free.

        Raises:
            Problem: 503, too many wait already.
        """
        await self._take()
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        try:
            work: Future[T] = self._pool.submit(partial(context.run, function))
        except BaseException:
            self._give_back()
            raise
        work.add_done_callback(lambda _: _call_in(loop, self._give_back))
        return await asyncio.wrap_future(work)

    @property
    def is_busy(self) -> bool:
        """Check whether any work is running."""
        return self.running > 0

    def close(self) -> None:
        """Start nothing more; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def check(self) -> None:
        """Raise `Problem` 503 if the queue is full."""
        if self._turns.locked() and self.waiting >= self._most_waiting:
            detail = f"{self.waiting} requests wait already: try again in a moment"
            raise Problem(503, "busy", detail, headers={"Retry-After": "2"})

    async def _take(self) -> None:
        self.check()
        self.waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self.waiting -= 1
        self.running += 1

    def _give_back(self) -> None:
        self.running -= 1
        self._turns.release()


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # the loop is gone, and with it everybody who waited
        return
