"""OpenAI's chat protocol, so that any chat client can talk to the library.

The last message of the user is the question; earlier turns help to understand it ("and when was
he born?") and are no sources, since every answer rests on documents alone. Sources follow the text,
and stand in `citations` for programs. Parameters of sampling are taken and mean nothing here.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from ...conversation import pair_messages
from ...events import AnswerEvent, CitationsEvent, Event, PassagesEvent, TokensEvent
from ...plain_text import nearest_lines
from ...types import Answer, Citation, Passage, Turn, Usage
from ..errors import Problem, as_openai_error
from ..jobs import Caller, ServiceHere
from ..schemas import Filters, Question
from .query import (
    check_question,
    event_stream,
    events,
    final_answer,
    server_sent,
    until_disconnect,
    with_problems,
)

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
MODELS = {
    "loregraph": "auto",
    "loregraph-local": "local",
    "loregraph-global": "global",
    "loregraph-both": "both",
}
"""Model names of the chat protocol and the mode of each."""
_MARK = re.compile(r"\[(\d+)\]")
_SPACE = re.compile(r"\s+")
_MOST_MESSAGES = 1_000
_TEXTS = ("text", "input_text", "output_text")
_CHECKED = "— Checked against its sources, the answer reads:"


_EFFORTS = {"none": "low", "minimal": "low", "xhigh": "high"}


def effort_of(given: object) -> object:
    """Efforts that only OpenAI's models have, as the nearest of an overview's."""
    return _EFFORTS.get(given, given) if isinstance(given, str) else given


Effort = Annotated[Literal["low", "medium", "high"] | None, BeforeValidator(effort_of)]


class TextPart(BaseModel):
    """A piece of a message."""

    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class Message(BaseModel):
    """One turn of a conversation."""

    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None


class StreamOptions(BaseModel):
    """Stream options of the chat protocol."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool | None = None


class ChatRequest(BaseModel):
    """Chat request as OpenAI's clients send it.

    `effort`, `namespace` and `filters` are extensions.
    """

    model_config = ConfigDict(extra="ignore")
    model: str = Field("loregraph", max_length=200, examples=["loregraph"])
    messages: Annotated[list[Message], Field(min_length=1, max_length=_MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    effort: Effort = Field(
        None,
        validation_alias=AliasChoices("effort", "reasoning_effort"),
        description="How much an overview may cost; also `reasoning_effort`, OpenAI's own name.",
    )
    namespace: str | None = Field(None, max_length=64)
    filters: Filters = None


class Model(BaseModel):
    """A model in the list."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "loregraph"


class Models(BaseModel):
    """Available models."""

    object: Literal["list"] = "list"
    data: list[Model]


@router.get("/models", summary="List models")
async def list_models() -> Models:
    """List the answer modes as models."""
    return Models(data=[Model(id=name) for name in MODELS])


@router.get("/models/{id}", summary="One model")
async def get_model(id: str) -> Model:  # noqa: A002  # the parameter's public name
    """Return one answer mode as a model of the chat protocol."""
    _mode_of(id)
    return Model(id=id)


_CHUNK = {"type": "string", "description": "`data:` lines: JSON chunks, last `[DONE]`."}


@router.post(
    "/chat/completions",
    summary="Chat",
    response_model=None,
    responses={
        200: {
            "description": "The answer; or, with `stream`, its pieces as server-sent events.",
            "content": {"text/event-stream": {"schema": _CHUNK}},
        }
    },
)
async def complete(
    request: Request, service: ServiceHere, caller: Caller, wanted: ChatRequest
) -> dict[str, Any] | Response:
    """Answer the user's last message of the chat protocol from the documents."""
    mode = _mode_of(wanted.model)
    if wanted.n not in (None, 1):
        raise Problem(400, "unsupported", "n: only one answer is supported; send 1")
    question = Question.model_construct(
        question=question_in(wanted.messages), namespace=wanted.namespace, filters=wanted.filters
    )
    check_question(question)
    within = caller.within(wanted.namespace)
    service.asking.check()
    history = turns_in(wanted.messages)
    told = events(
        service, question, mode=mode, effort=wanted.effort, within=within, history=history
    )
    envelope = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": wanted.model,
    }
    if wanted.stream:
        options = wanted.stream_options
        is_usage_told = options is not None and options.include_usage is True
        return event_stream(_chunks(told, envelope, is_usage_told=is_usage_told))
    answer = await until_disconnect(request, final_answer(told))
    said = "\n\n".join((with_sources(answer.text, answer.citations), *_nearest(answer)))
    message = {"role": "assistant", "content": said}
    return {
        **envelope,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage_of(answer.usage),
        "citations": _plain(answer),
    }


def question_in(messages: Sequence[Message]) -> str:
    """Return the user's last message as text.

    Raises:
        Problem: 400, there is none, or it is more than text.
    """
    for message in reversed(messages):
        if message.role != "user":
            continue
        parts = message.content if isinstance(message.content, list) else []
        if any(part.type not in _TEXTS for part in parts):
            raise Problem(
                400, "unsupported", "messages: only text is supported; send content as text"
            )
        return _text_of(message)
    raise Problem(
        400, "no-question", "messages: no message of the user; send one with the role 'user'"
    )


def turns_in(messages: Sequence[Message]) -> list[Turn]:
    """Return earlier questions of a chat request with their answers, oldest first.

    An answer that was sent again after it was checked counts as it was then.
    """
    last = max((n for n, each in enumerate(messages) if each.role == "user"), default=0)
    return pair_messages(
        (message.role, _text_of(message).rpartition(_CHECKED)[2]) for message in messages[:last]
    )


def _text_of(message: Message) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    return "\n".join(part.text for part in message.content if part.type in _TEXTS)


def with_sources(text: str, citations: Sequence[Citation]) -> str:
    """Append sources to an answer, for chat clients."""
    lines = [
        f"[{each.number}] {each.title} ({each.document_id}:{each.start}-{each.end}"
        f"{f', page {each.page}' if each.page else ''})"
        for each in citations
    ]
    return "\n".join([text, "", "Sources", *lines]) if lines else text


def _nearest(answer: Answer) -> list[str]:
    """Return the list of the nearest passages, if the answer has any."""
    lines = nearest_lines(answer)
    return ["\n".join(lines)] if lines else []


def usage_of(usage: Usage) -> dict[str, object]:
    """Token counts by OpenAI's names."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }


def stream_ending(said: str, passages: Sequence[Passage], event: CitationsEvent) -> str:
    """Return what follows a streamed chat completion: its sources, or the verified text.

    Marks in `said` are numbers of passages. A text that came out otherwise when it was checked is
    sent again as it stands: nothing that was sent can be taken back.
    """
    if _words(said) != _words(event.text):
        checked = with_sources(event.text, event.citations)
        return f"\n\n{_CHECKED}\n\n{checked}"
    numbers = sorted({int(each) for each in _MARK.findall(said)})
    lines = [
        f"[{number}] {passage.title} ({passage.document_id}:{passage.start}-{passage.end}"
        f"{f', page {passage.page}' if passage.page else ''})"
        for number in numbers
        if 0 < number <= len(passages)
        for passage in [passages[number - 1]]
    ]
    return "\n".join(["", "", "Sources", *lines]) if lines else ""


async def _chunks(
    told: AsyncGenerator[Event], envelope: dict[str, Any], *, is_usage_told: bool
) -> AsyncGenerator[bytes]:
    said, passages = "", tuple[Passage, ...]()
    yield _chunk(envelope, {"role": "assistant", "content": ""})
    async for event in with_problems(told):
        match event:
            case Problem():
                yield server_sent(as_openai_error(event))
                return
            case PassagesEvent():
                passages = event.passages
            case TokensEvent():
                said += event.text
                yield _chunk(envelope, {"content": event.text})
            case CitationsEvent():
                rest = stream_ending(said, passages, event) if said else _whole(event)
                if rest:
                    yield _chunk(envelope, {"content": rest})
            case AnswerEvent():
                for lines in _nearest(event.answer):
                    yield _chunk(envelope, {"content": f"\n\n{lines}"})
                yield _chunk(envelope, {}, finish="stop", citations=_plain(event.answer))
                if is_usage_told:
                    yield _usage_chunk(envelope, event.answer.usage)
            case _:
                continue
    yield b"data: [DONE]\n\n"


def _whole(event: CitationsEvent) -> str:
    return with_sources(event.text, event.citations)


def _chunk(
    envelope: dict[str, Any], delta: dict[str, str], *, finish: str | None = None, **more: object
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return server_sent({**envelope, "object": "chat.completion.chunk", "choices": [choice], **more})


def _usage_chunk(envelope: dict[str, Any], usage: Usage) -> bytes:
    figures = {"choices": [], "usage": usage_of(usage)}
    return server_sent({**envelope, "object": "chat.completion.chunk", **figures})


def _plain(answer: Answer) -> list[dict[str, object]]:
    return [
        {
            "number": each.number,
            "document_id": each.document_id,
            "title": each.title,
            "quote": each.quote,
            "start": each.start,
            "end": each.end,
            "page": each.page,
        }
        for each in answer.citations
    ]


def _words(text: str) -> str:
    return _SPACE.sub("", _MARK.sub("", text))


def _mode_of(model: str) -> str:
    mode = MODELS.get(model)
    if mode is None:
        known = ", ".join(MODELS)
        raise Problem(404, "model_not_found", f"unknown model: {model[:100]!r}; choose {known}")
    return mode
