"""Event streams to clients: ordered, timed, cancelled on disconnect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import TypeVar

from pydantic_core import to_json
from starlette.responses import StreamingResponse

from ...errors import EngineError
from ...events import Event
from ...types import Turn
from .problems import Problem, problem_of
from .service import Service
from .shapes import Question

T = TypeVar("T")
_log = logging.getLogger("loregraph.serve")
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = b": still here\n\n"
_END = b""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def events(
    service: Service,
    wanted: Question,
    *,
    mode: str,
    effort: str | None = None,
    within: str | frozenset[str] | None,
    history: Sequence[Turn] = (),
) -> AsyncGenerator[Event]:
    """Yield the events of an answer; closing cancels the work.

    `effort` is as `KnowledgeEngine.ask` takes it, `history` what was said before it, oldest first.

    Raises:
        Problem: 504 when it takes too long, 503 when too many wait.
        EngineError: as `KnowledgeEngine.ask`.
    """
    seconds = service.settings.serve.request_timeout_seconds
    try:
        async with asyncio.timeout(seconds), service.asking.turn():
            found = service.engine.astream(
                wanted.question,
                mode=mode,
                effort=effort,
                filters=wanted.filters,
                namespace=within,
                history=history,
            )
            async with aclosing(found):
                async for event in found:
                    yield event
    except TimeoutError as error:
        raise took_too_long(seconds) from error


def took_too_long(seconds: float) -> Problem:
    """Return the problem of a timed-out request."""
    detail = f"this took longer than {seconds:g} s: ask for less, or raise the server's limit"
    return Problem(504, "timeout", detail)


async def with_problems(source: AsyncGenerator[T]) -> AsyncGenerator[T | Problem]:
    """Yield items; an error becomes a final problem event."""
    async with aclosing(source):
        try:
            async for each in source:
                yield each
        except EngineError as error:
            _log.warning("a question failed: %s", error)
            yield problem_of(error)
        except Problem as problem:
            yield problem


async def with_heartbeat(source: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    """Yield items, and a comment whenever the stream is idle.

    One task runs the source from its beginning to its end, as limits of time inside it need it.
    """
    come: asyncio.Queue[bytes] = asyncio.Queue()

    async def run() -> None:
        async with aclosing(source):
            async for piece in source:
                come.put_nowait(piece)

    running = asyncio.create_task(run())
    running.add_done_callback(lambda _: come.put_nowait(_END))
    try:
        while (piece := await _taken(come)) != _END:
            yield piece
        running.result()
    finally:
        running.cancel()
        await asyncio.wait({running})


async def _taken(come: asyncio.Queue[bytes]) -> bytes:
    try:
        async with asyncio.timeout(KEEP_ALIVE_SECONDS):
            return await come.get()
    except TimeoutError:
        return KEEP_ALIVE


def event_stream(source: AsyncGenerator[bytes]) -> StreamingResponse:
    """Return a response of server-sent events."""
    return StreamingResponse(
        with_heartbeat(source), media_type="text/event-stream", headers=HEADERS
    )


def server_sent(data: object, *, name: str = "") -> bytes:
    """One event, in the wire's form; JSON holds no line break."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + to_json(data, inf_nan_mode="null") + b"\n\n"


def problem_event(problem: Mapping[str, object]) -> bytes:
    """Format an error as an event."""
    return server_sent(problem, name="error")
