"""Threads: event streams of a question, cancellation, timeouts and a bounded parallel map.

A question is answered in a thread of its own, at most a bounded number of events ahead of its
reader. A thread cannot be interrupted, but its waiting can: once the reader stops, the next event
and every wait (for a server, a turn, a retry) raises `WorkCancelled` in it. Other work is left in
peace.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from .events import Event, Listener

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class WorkCancelled(Exception):
    """Raised in worker threads of a cancelled scope."""


_signal: ContextVar[Future[None] | None] = ContextVar("loregraph_given_up", default=None)
"""Future of the current context, done once the work is cancelled."""


class CancelScope:
    """Cancellation scope shared by threads through `contextvars`.

    What is part of other work ends with that, and can be given up alone.
    """

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._given_up: Future[None] = Future()
        on_cancel(self.give_up)
        self._context.run(_signal.set, self._given_up)

    def bound(self, part: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """Bind a callable to this scope, to be called once in any thread."""
        context = self._context.copy()

        def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return context.run(part, *args, **kwargs)

        return run

    def give_up(self) -> None:
        """Let everything that waits for this work raise `WorkCancelled`; not only now."""
        with suppress(InvalidStateError):  # it was before
            self._given_up.set_result(None)


def raise_if_cancelled() -> None:
    """Nothing, while the work in whose context this is called goes on.

    Raises:
        WorkGivenUp: it does not.
    """
    signal = _signal.get()
    if signal is not None and signal.done():
        raise WorkCancelled


def on_cancel(call: Callable[[], object]) -> None:
    """Call this once when the current scope is cancelled, now or later."""
    signal = _signal.get()
    if signal is not None:
        signal.add_done_callback(lambda _: call())


def wait_cancellable(seconds: float | None, *, until: Future[Result] | None = None) -> None:
    """Wait so many seconds, or until something is done; None waits for that alone.

    Raises:
        WorkGivenUp: the work in whose context this is called is given up before.
    """
    signal = _signal.get()
    awaited: list[Future[Any]] = [future for future in (signal, until) if future is not None]
    if awaited:
        wait(awaited, timeout=seconds, return_when=FIRST_COMPLETED)
    elif seconds is not None:
        time.sleep(seconds)
    if until is None or not until.done():
        raise_if_cancelled()


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


def stream_from_thread(
    work: Callable[[Listener], object], *, ahead: int = AHEAD
) -> Generator[Event]:
    """Yield the events of `work`, done in a thread, as they happen; its error is raised last.

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


async def astream_from_thread(
    work: Callable[[Listener], object], *, ahead: int = AHEAD
) -> AsyncGenerator[Event]:
    """Stream like `stream_from_thread` for an event loop; cancelling stops the work."""
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


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Return the result of blocking `work` without blocking the event loop; cancelling stops it."""
    results: list[Result] = []
    async for _ in astream_from_thread(lambda _tell: results.append(work())):
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


def run_with_timeout(seconds: float | None, call: Callable[[], Result]) -> Result:
    """Return the result of `call`, or raise its error.

    It runs on a thread of its own, which is left behind when the time is over and keeps no process
    from ending. None sets no limit and needs no thread: what is computed in this process ends when
    it is done.

    Raises:
        TimeoutError: it took longer.
        WorkGivenUp: nobody waits for it any more.
    """
    if seconds is None:
        return call()
    future: Future[Result] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001  # raised again by whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="call-with-deadline", daemon=True).start()
    wait_cancellable(seconds, until=future)
    if not future.done():
        raise TimeoutError
    return future.result()


Item = TypeVar("Item")


def parallel_map(
    items: Iterable[Item], work: Callable[[Item], Result], *, workers: int
) -> Iterator[Result]:
    """Yield results in order of arrival; items are taken as workers become free.

    So whoever stops taking results stops the taking of items. What `work` raises comes out here;
    then, and where the caller goes away or is interrupted, what is in flight is given up: it is
    waited for, but nothing in it waits any more. The work is done in the caller's context
    (`contextvars`).
    """
    shared = CancelScope()
    waiting = iter(items)
    running: set[Future[Result]] = set()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            while True:
                for item in waiting:
                    running.add(pool.submit(shared.bound(work), item))
                    if len(running) >= workers:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            shared.give_up()
            raise
