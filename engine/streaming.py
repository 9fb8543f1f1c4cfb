"""Event streams of a question that is answered in a thread of its own.

The work may be ahead of whoever reads by so many events and then waits. Whoever stops reading gives
the work up: its next event, and whatever it waits for, raises `WorkCancelled` in its thread. Knows
nothing of what the work is.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TypeVar

from .events import Event, Listener
from .given_up import CancelScope, WorkCancelled

Result = TypeVar("Result")
AHEAD = 2_048
"""Maximum buffered events; enough for one answer, so a slow reader blocks no model."""


class Channel:
    """Events from one thread to one reader, in their order.

    Args:
        arrived: called in the work's thread whenever there is something new to take.
        ahead: how many events wait for the reader at most.
    """

    def __init__(self, arrived: Callable[[], None] | None = None, *, ahead: int = AHEAD) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Event] = deque()
        self._ahead = ahead
        self._arrived = arrived
        self._abandoned = False
        self._ended = False
        self._error: BaseException | None = None

    def put(self, event: Event) -> None:
        """Hand over an event, once there is room for it.

        Raises:
            WorkGivenUp: nobody reads any more.
        """
        with self._changed:
            while len(self._waiting) >= self._ahead and not self._abandoned:
                self._changed.wait()
            if self._abandoned:
                raise WorkCancelled
            self._waiting.append(event)
            self._changed.notify_all()
        self._wake()

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more comes; an error is raised for the reader after what is waiting."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()
        self._wake()

    def abandon(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._abandoned = True
            self._waiting.clear()
            self._changed.notify_all()

    def take(self, *, wait: bool) -> tuple[list[Event], bool]:
        """Return buffered events and whether the stream ended.

        `wait` blocks until there is either.
        """
        with self._changed:
            while wait and not self._waiting and not self._ended:
                self._changed.wait()
            events = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
            return events, self._ended

    def check(self) -> None:
        """Raise what ended the work, if anything did."""
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        if self._arrived is not None:
            self._arrived()


def streamed(work: Callable[[Listener], object], *, ahead: int = AHEAD) -> Generator[Event]:
    """Yield the events of `work` as they happen; its error is raised last.

    The work begins when the first event is asked for. Closing the iterator gives it up.
    """
    channel = Channel(ahead=ahead)
    shared = _started(work, channel)
    try:
        done = False
        while not done:
            events, done = channel.take(wait=True)
            yield from events
        channel.check()
    finally:
        shared.give_up()
        channel.abandon()


async def astreamed(
    work: Callable[[Listener], object], *, ahead: int = AHEAD
) -> AsyncGenerator[Event]:
    """Stream like `streamed` without blocking the event loop; cancelling stops the work."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def arrived() -> None:
        try:
            loop.call_soon_threadsafe(news.set)
        except RuntimeError:  # the loop is closed: nobody reads any more
            channel.abandon()

    channel = Channel(arrived, ahead=ahead)
    shared = _started(work, channel)
    try:
        done = False
        while not done:
            await news.wait()
            news.clear()
            events, done = channel.take(wait=False)
            for event in events:
                yield event
        channel.check()
    finally:
        shared.give_up()
        channel.abandon()


async def awaited(work: Callable[[], Result]) -> Result:
    """Return the result of `work` without blocking the event loop; cancelling stops it."""
    results: list[Result] = []
    async for _ in astreamed(lambda _tell: results.append(work())):
        pass  # it tells nothing
    return results[0]


def _started(work: Callable[[Listener], object], channel: Channel) -> CancelScope:
    """Start the work in a daemon thread."""
    shared = CancelScope()

    def run() -> None:
        try:
            work(channel.put)
        except BaseException as error:  # noqa: BLE001  # raised again for whoever reads
            channel.end(error)
        else:
            channel.end()

    threading.Thread(target=shared.bound(run), name="question", daemon=True).start()
    return shared
