"""Question routes: answers, event streams and passages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fastapi import APIRouter, Request, Response

from ...errors import QuestionError
from ...events import AnswerEvent, Event, as_data
from ...index.filters import document_filter
from ...ingest.content import sanitise_text
from ...questions import validate_question
from ...types import Answer, Turn
from .problems import Problem, as_problem
from .service import Caller, ServiceHere
from .shapes import AskRequest, Passages, Question, RetrieveRequest
from .streams import (
    event_stream,
    events,
    problem_event,
    server_sent,
    took_too_long,
    with_problems,
)

router = APIRouter(prefix="/v1", tags=["questions"])
T = TypeVar("T")
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
    check(wanted)
    service.asking.check()
    history = [Turn(each.question, each.answer) for each in wanted.history]
    told = events(
        service, wanted, mode=wanted.mode, effort=wanted.effort, within=within, history=history
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
        raise took_too_long(seconds) from error


def check(wanted: Question) -> None:
    """Validate a question before its stream begins; raises `QuestionError`."""
    if sanitise_text(wanted.question) != wanted.question:
        raise QuestionError("the question holds what is no character")
    validate_question(wanted.question)
    document_filter(wanted.filters)


async def final_answer(told: AsyncGenerator[Event]) -> Answer:
    """Return the answer at the end of its events."""
    async with aclosing(told):
        async for event in told:
            if isinstance(event, AnswerEvent):
                return event.answer
    raise Problem(500, "internal", "the answer did not come")


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
        raise Problem(499, "gone", "nobody waits for this any more")
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
