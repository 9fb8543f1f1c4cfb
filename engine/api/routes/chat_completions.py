"""OpenAI's chat protocol, so that any chat client can talk to the library.

The last message of the user is the question; earlier turns help to understand it ("and when was
he born?") and are no sources, since every answer rests on documents alone. Sources follow the text,
and stand in `citations` for programs. Whatever asks for another form of the answer is honoured or
refused; parameters of sampling alone are taken and mean nothing here.
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
from ...embeddings.tokenizer import load_tokeniser
from ...events import AnswerEvent, CitationsEvent, Event, PassagesEvent, TokensEvent
from ...plain_text import nearest_lines, source_lines
from ...types import Answer, Citation, Passage, Turn, Usage
from ..auth import LOCAL
from ..errors import Problem, as_openai_error
from ..jobs import Caller, ServiceHere
from ..schemas import Filters, Question
from ..text_limits import TextLimit
from .query import (
    check_question,
    event_stream,
    events,
    final_answer,
    memory_of,
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
    "loregraph-agent": "agent",
}
"""Model names of the chat protocol and the mode of each."""
_MARK = re.compile(r"\[(\d+)\]")
_SPACE = re.compile(r"\s+")
_MOST_MESSAGES = 1_000
_TEXTS = ("text", "input_text", "output_text")
_CHECKED = "— Checked against its sources, the answer reads:"


_EFFORTS = {"none": "low", "minimal": "low", "high": "medium", "xhigh": "medium"}


def effort_of(given: object) -> object:
    """Return the nearest effort of an overview for one that only OpenAI's models have."""
    return _EFFORTS.get(given, given) if isinstance(given, str) else given


Effort = Annotated[Literal["low", "medium"] | None, BeforeValidator(effort_of)]


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

    `effort`, `namespace`, `session` and `filters` are extensions.
    """

    model_config = ConfigDict(extra="ignore")
    model: str = Field("loregraph", max_length=200, examples=["loregraph"])
    messages: Annotated[list[Message], Field(min_length=1, max_length=_MOST_MESSAGES)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, description="1: there is one answer.")
    max_tokens: int | None = Field(
        None, ge=1, description="How long the text may be, its sources included."
    )
    max_completion_tokens: int | None = Field(None, ge=1, description="The same; the less counts.")
    stop: str | list[str] | None = Field(None, description="Where the text ends, before it.")
    response_format: dict[str, Any] | None = Field(None, description="Text is what there is.")
    tools: list[Any] | None = Field(None, description="Refused, unless `tool_choice` is none.")
    functions: list[Any] | None = Field(None, description="Refused.")
    tool_choice: Any = None
    modalities: list[str] | None = Field(None, description="Text is what there is.")
    logprobs: bool | None = Field(None, description="Refused: there are none.")
    logit_bias: dict[str, Any] | None = Field(None, description="Refused.")
    effort: Effort = Field(
        None,
        validation_alias=AliasChoices("effort", "reasoning_effort"),
        description="How much an overview may cost; also `reasoning_effort`, OpenAI's own name.",
    )
    namespace: str | None = Field(None, max_length=64)
    session: str | None = Field(
        None, max_length=64, description="Use and extend the memory of the token's user."
    )
    user: str | None = Field(
        None, max_length=200, description="Whose memory, where the server asks for no token."
    )
    filters: Filters = None

    @property
    def stops(self) -> list[str]:
        """The sequences before which the text ends."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return [each for each in given if each]

    @property
    def limit(self) -> TextLimit:
        """Limits that the client sets to the text."""
        given = [most for most in (self.max_tokens, self.max_completion_tokens) if most is not None]
        count = load_tokeniser().count
        return TextLimit(self.stops, max_tokens=min(given, default=None), count=count)


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
    _check_form(wanted)
    question = Question.model_construct(
        question=question_in(wanted.messages), namespace=wanted.namespace, filters=wanted.filters
    )
    check_question(question)
    within = caller.within(wanted.namespace)
    service.asking.check()
    history = turns_in(wanted.messages)
    user = wanted.user if caller is LOCAL else None  # OpenAI's own field means nothing to a token
    told = events(
        service,
        question,
        mode=mode,
        effort=wanted.effort,
        within=within,
        history=history,
        memory=memory_of(caller, wanted.session, user),
    )
    envelope = {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "created": int(time.time()),
        "model": wanted.model,
    }
    if wanted.stream:
        options = wanted.stream_options
        is_usage_told = options is not None and options.include_usage is True
        return event_stream(_chunks(told, wanted, envelope, is_usage_told=is_usage_told))
    answer = await until_disconnect(request, final_answer(told))
    limit = wanted.limit
    said = limit.take("\n\n".join((_whole(answer), *_nearest(answer)))) + limit.rest()
    message = {"role": "assistant", "content": said}
    return {
        **envelope,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": limit.finish}],
        "usage": usage_of(answer.usage, wanted.messages, said),
        "citations": _plain(answer),
    }


def _check_form(wanted: ChatRequest) -> None:
    """Refuse what asks for another answer than one text.

    Raises:
        Problem: 400; it names the parameter and what to do.
    """
    other_format = (wanted.response_format or {}).get("type", "text") != "text"
    reasons = {
        "n: only one answer is supported; send 1": wanted.n not in (None, 1),
        "tools: not supported; leave them out, or use the library's own tools at /mcp": bool(
            wanted.tools and wanted.tool_choice != "none"
        ),
        "functions: not supported; leave them out": bool(wanted.functions),
        "response_format: only text is supported; POST /v1/ask for an answer as JSON": other_format,
        "modalities: only text is supported; send ['text']": bool(
            set(wanted.modalities or ()) - {"text"}
        ),
        "logprobs: not supported; leave it out": bool(wanted.logprobs),
        "logit_bias: not supported; leave it out": bool(wanted.logit_bias),
    }
    for reason, is_asked in reasons.items():
        if is_asked:
            raise Problem(400, "unsupported", reason)


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
    return "\n".join([text, "", "Sources", *source_lines(citations)]) if citations else text


def _nearest(answer: Answer) -> list[str]:
    """Return the list of the nearest passages, if the answer has any."""
    lines = nearest_lines(answer)
    return ["\n".join(lines)] if lines else []


def usage_of(usage: Usage, messages: Sequence[Message], said: str) -> dict[str, object]:
    """Return token counts by OpenAI's names: those of language models, else of the chat itself."""
    asked, written = usage.prompt_tokens, usage.completion_tokens
    if not asked + written:
        count = load_tokeniser().count
        asked, written = sum(count(_text_of(message)) for message in messages), count(said)
    return {
        "prompt_tokens": asked,
        "completion_tokens": written,
        "total_tokens": asked + written,
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
    told: AsyncGenerator[Event],
    wanted: ChatRequest,
    envelope: dict[str, Any],
    *,
    is_usage_told: bool,
) -> AsyncGenerator[bytes]:
    limit, sent = wanted.limit, ""
    yield _chunk(envelope, {"role": "assistant", "content": ""})
    async for piece in chat_pieces(told):
        match piece:
            case Problem():
                yield server_sent(as_openai_error(piece))
                return
            case str():
                passed = limit.take(piece)
            case Answer():
                passed = limit.rest()
        sent += passed
        if passed:
            yield _chunk(envelope, {"content": passed})
        if isinstance(piece, Answer):
            yield _chunk(envelope, {}, finish=limit.finish, citations=_plain(piece))
            if is_usage_told:
                yield _usage_chunk(envelope, usage_of(piece.usage, wanted.messages, sent))
    yield b"data: [DONE]\n\n"


async def chat_pieces(told: AsyncGenerator[Event]) -> AsyncGenerator[str | Answer | Problem]:
    """Yield the pieces of an answer's text, and last the answer, or a problem.

    A text that comes in one piece waits for the whole answer, so that a short answer stands first.
    """
    first, said, passages = "", "", tuple[Passage, ...]()
    async for event in with_problems(told):
        match event:
            case Problem():
                yield event
            case PassagesEvent():
                passages = event.passages
            case TokensEvent(text=text) if not first:
                first = text
            case TokensEvent(text=text):
                yield text if said else first + text
                said = (said or first) + text
            case CitationsEvent() if said:
                yield stream_ending(said, passages, event)
            case AnswerEvent(answer=answer):
                if not said:
                    yield _whole(answer)
                for lines in _nearest(answer):
                    yield f"\n\n{lines}"
                yield answer
            case _:
                continue


def _whole(answer: Answer) -> str:
    """Return the short answer where there is one, the answer, and its sources."""
    text = with_sources(answer.text, answer.citations)
    short = answer.short
    return f"{short.text}\n\n{text}" if short and short.is_confident else text


def _chunk(
    envelope: dict[str, Any], delta: dict[str, str], *, finish: str | None = None, **more: object
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return server_sent({**envelope, "object": "chat.completion.chunk", "choices": [choice], **more})


def _usage_chunk(envelope: dict[str, Any], usage: dict[str, object]) -> bytes:
    figures = {"choices": [], "usage": usage}
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
