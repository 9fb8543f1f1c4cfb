"""Limits on requests: size, speed and duration of bodies, and the number of blocking threads.

A body that is too large is refused while it comes; slow bodies, unread answers and work that has
not begun to answer in time are given up. A caller who finds all waiting places taken is told to
come again. A thread cannot be stopped from outside: one whose request was given up holds its place
until it is done, so that there are never more than allowed.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import Problem, response_of

LARGE_BODIES = ("/v1/documents", "/v1/texts", "/mcp")
FORMS = "/v1/documents"
_JSON = "application/json"
_FORM = "multipart/form-data"
_SLOWEST_BYTES_A_SECOND = 1_000


class RequestLimits:
    """ASGI middleware.

    Args:
        app: what lies behind.
        max_body_bytes: of a request's body.
        max_upload_bytes: of one that brings documents.
        stall_timeout_seconds: how long a piece may take to come or to be taken.
        answer_timeout_seconds: how long after its body a request may wait for its answer's begin.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body_bytes: int,
        max_upload_bytes: int,
        stall_timeout_seconds: float,
        answer_timeout_seconds: float,
    ) -> None:
        self._app = app
        self._max_body = max_body_bytes
        self._max_upload = max_upload_bytes
        self._stall = stall_timeout_seconds
        self._answer = answer_timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what flows as it should."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._max_upload if scope["path"] in LARGE_BODIES else self._max_body
        try:
            headers = Headers(scope=scope)
            check_length(headers.get("content-length"), limit=limit)
            check_type(headers, wanted=_FORM if scope["path"] == FORMS else _JSON)
        except Problem as problem:
            await response_of(problem, path=scope["path"])(scope, receive, send)
            return
        await self._timed(scope, receive, send, limit=limit)

    async def _timed(self, scope: Scope, receive: Receive, send: Send, *, limit: int) -> None:
        """Let the request be answered, as long as its answer begins in time."""
        answer = _Answer(send, stall=self._stall, seconds=self._answer)
        body = _Body(receive, limit=limit, stall=self._stall, done=answer.wait_for)
        try:
            async with asyncio.timeout(None) as answer.limit:
                if not has_body(Headers(scope=scope)):
                    answer.wait_for()
                await self._app(scope, body.receive, answer.send)
        except TimeoutError:
            if answer.has_begun or not answer.limit.expired():
                raise
            late = Problem(
                504,
                "timeout",
                (
                    f"time limit exceeded: {self._answer:g} s; ask for less, or raise the "
                    "limit of the server"
                ),
            )
            await response_of(late, path=scope["path"])(scope, receive, send)


class _Answer:
    """Sends an answer: it must begin in time, and each piece must be taken in time."""

    limit: asyncio.Timeout

    def __init__(self, send: Send, *, stall: float, seconds: float) -> None:
        self._send = send
        self._stall = stall
        self._seconds = seconds
        self.has_begun = False

    def wait_for(self) -> None:
        """From now on the answer is waited for."""
        if not self.has_begun:
            self.limit.reschedule(asyncio.get_running_loop().time() + self._seconds)

    async def send(self, message: Message) -> None:
        """Send a piece.

        Raises:
            OSError: nobody takes it.
        """
        if not self.has_begun:
            self.has_begun = True
            self.limit.reschedule(None)
        try:
            async with asyncio.timeout(self._stall):
                await self._send(message)
        except TimeoutError as error:
            raise OSError("client does not read the response") from error


def check_length(told: str | None, *, limit: int) -> None:
    """Validate a request's `Content-Length` against the size limit.

    Raises `Problem` 400 for a non-number, 413 over the limit.
    """
    if told is None:
        return
    if not told.isascii() or not told.isdigit():
        raise Problem(
            400, "content-length", "Content-Length is not a number; send its value in digits"
        )
    if len(told) > len(str(limit)) or int(told) > limit:
        raise body_too_large(limit)


def has_body(headers: Headers) -> bool:
    """Check whether a request body follows these headers."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def check_type(headers: Headers, *, wanted: str) -> None:
    """Validate the content type; raises `Problem` 415, so forms cannot pass as JSON."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if (kind or has_body(headers)) and kind != wanted:
        detail = f"unsupported Content-Type: {kind[:100] or 'none'!r}; send {wanted}"
        raise Problem(415, "media-type", detail, headers={"Accept": wanted})


def body_too_large(limit: int) -> Problem:
    """Return the HTTP problem of a request body above the size limit."""
    return Problem(
        413,
        "too-large",
        f"request body too large: more than {limit:,} bytes; send less at a time",
        headers={"Connection": "close"},
    )


class _Body:
    """Request body with a size limit and a minimum speed of about 1 kB a second."""

    def __init__(
        self, receive: Receive, *, limit: int, stall: float, done: Callable[[], None]
    ) -> None:
        self._receive = receive
        self._tell_done = done
        self._limit = limit
        self._stall = stall
        self._count = 0
        self._spent = 0.0
        self._done = False

    async def receive(self) -> Message:
        """Receive the next piece; after the last one, wait for any message."""
        if self._done:
            return await self._receive()
        clock = asyncio.get_running_loop().time
        began = clock()
        patience = self._stall + self._count / _SLOWEST_BYTES_A_SECOND - self._spent
        try:
            async with asyncio.timeout(min(self._stall, max(patience, 0.0))):
                message = await self._receive()
        except TimeoutError as error:
            detail = "request body arrived too slowly; send it again"
            raise Problem(408, "slow", detail, headers={"Connection": "close"}) from error
        self._spent += clock() - began
        self._done = not message.get("more_body", False)
        if self._done:
            self._tell_done()
        self._count += len(message.get("body", b""))
        if self._count > self._limit:
            raise body_too_large(self._limit)
        return message


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
            detail = f"server busy: {self.waiting} requests are waiting; try again in a moment"
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
