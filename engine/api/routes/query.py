"""Question routes: answers, passages, and event streams that end when the client disconnects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json
from starlette.responses import StreamingResponse

from ...errors import EngineError, QuestionError
from ...events import AnswerEvent, Event, as_data
from ...ingest.document import sanitise_text
from ...memory.records import Memory
from ...query import validate_question
from ...storage.schema import document_filter
from ...types import Answer, Turn
from ..auth import Principal, memory_user
from ..errors import Problem, as_problem, problem_of
from ..jobs import Caller, Service, ServiceHere
from ..schemas import AskRequest, Passages, Question, RetrieveRequest

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
    memory: Memory | None = None,
) -> AsyncGenerator[Event]:
    """Yield the events of an answer; closing cancels the work.

    `effort` and `memory` are as `KnowledgeEngine.ask` takes them, `history` what was said before,
    oldest first.

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
                memory=memory,
            )
            async with aclosing(found):
                async for event in found:
                    yield event
    except TimeoutError as error:
        raise timeout_problem(seconds) from error


def timeout_problem(seconds: float) -> Problem:
    """Return the HTTP problem of a request that took too long."""
    detail = f"time limit exceeded: {seconds:g} s; ask for less, or raise the limit of the server"
    return Problem(504, "timeout", detail)


async def with_problems(source: AsyncGenerator[T]) -> AsyncGenerator[T | Problem]:
    """Yield items; an error becomes a final problem event."""
    async with aclosing(source):
        try:
            async for each in source:
                yield each
        except EngineError as error:
            _log.warning("question failed: %s", error)
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


router = APIRouter(prefix="/v1", tags=["questions"])
_SSE = "text/event-stream"
_NAMES = ["route", "step", "passages", "tokens", "citations", "usage", "answer", "error"]
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"type": "string", "enum": _NAMES},
        "data": {"type": "string", "description": "JSON: the event's fields, or a problem."},
    },
}


@router.post(
    "/ask",
    summary="Ask a question",
    response_model=Answer,
    responses={
        200: {
            "description": "The answer; or, where a stream is asked for, server-sent events: "
            "`route`, `step`, `passages`, `tokens`, `citations`, `usage`, last `answer`, "
            "or `error` with a problem.",
            "content": {_SSE: {"schema": _EVENT}},
        }
    },
)
async def ask(
    request: Request, service: ServiceHere, caller: Caller, wanted: AskRequest
) -> Answer | Response:
    """Answer a question from the documents, every claim with its source.

    With `stream`, or `Accept: text/event-stream`, as server-sent events while it is being answered.
    """
    within = caller.within(wanted.namespace)
    check_question(wanted)
    service.asking.check()
    history = [Turn(each.question, each.answer) for each in wanted.history]
    told = events(
        service,
        wanted,
        mode=wanted.mode,
        effort=wanted.effort,
        within=within,
        history=history,
        memory=memory_of(caller, wanted.session, wanted.user),
    )
    if wanted.stream or _SSE in request.headers.get("accept", ""):
        return event_stream(_told(told, path=request.url.path))
    answer = await until_disconnect(request, final_answer(told))
    return answer if wanted.explain else replace(answer, passages=(), trace=())


@router.post("/retrieve", summary="Find passages")
async def retrieve(
    request: Request, service: ServiceHere, caller: Caller, wanted: RetrieveRequest
) -> Passages:
    """Return the passages of a question, best first."""
    work = service.asking.run(
        partial(
            service.engine.retrieve,
            wanted.question,
            top_k=wanted.top_k,
            min_relevance=wanted.min_relevance,
            filters=wanted.filters,
            namespace=caller.within(wanted.namespace),
        )
    )
    seconds = service.settings.serve.request_timeout_seconds
    try:
        async with asyncio.timeout(seconds):
            return Passages(items=await until_disconnect(request, work))
    except TimeoutError as error:
        raise timeout_problem(seconds) from error


def memory_of(caller: Principal, session: str | None, user: str | None) -> Memory | None:
    """Return the memory that a request names; None without a session.

    Raises:
        Problem: 403, the token has no user or another.
        QuestionError: a name that cannot be.
    """
    return None if session is None else Memory(memory_user(caller, user), session)


def check_question(wanted: Question) -> None:
    """Validate a REST question before its stream begins; raises `QuestionError`."""
    if sanitise_text(wanted.question) != wanted.question:
        raise QuestionError("question: contains invalid characters; remove them")
    validate_question(wanted.question)
    document_filter(wanted.filters)


async def final_answer(told: AsyncGenerator[Event]) -> Answer:
    """Return the answer at the end of its events."""
    async with aclosing(told):
        async for event in told:
            if isinstance(event, AnswerEvent):
                return event.answer
    raise Problem(500, "internal", "no answer was made; the log of the server gives the reason")


async def until_disconnect(request: Request, work: Awaitable[T]) -> T:
    """Await the work; cancel it if the client disconnects.

    Raises:
        Problem: 499, nobody is there to be told.
    """
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        done, _ = await asyncio.wait({doing, gone}, return_when=asyncio.FIRST_COMPLETED)
        if doing in done:
            return doing.result()
        raise Problem(499, "gone", "client closed the connection; send the request again")
    finally:
        gone.cancel()
        if not doing.done():
            doing.cancel()


async def _told(told: AsyncGenerator[Event], *, path: str) -> AsyncGenerator[bytes]:
    async for event in with_problems(told):
        if isinstance(event, Problem):
            yield problem_event(as_problem(event, instance=path))
        else:
            yield server_sent(as_data(event), name=event.name)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
