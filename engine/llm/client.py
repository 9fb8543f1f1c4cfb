"""The one way to a language model, whole or streamed.

    break control tokens → count → cache → budget → retry → rate limit → call

The caller gets an answer without reasoning text and never empty, with its cost, or one
`ModelError`. Every call is booked by day, stage and model, also when its caller fails later. A call
that may have reached the model and brought nothing (cut off, too slow) is booked at its worst case;
one that was refused costs nothing.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..concurrency import on_cancel, run_with_timeout
from ..errors import ModelError, ModelInputTooLong, ModelOutputError, ModelUnavailable
from ..prompts.control_tokens import break_control_tokens, restore_control_tokens
from ..types import Usage
from .budget import Budget, CostAccount, Counter, Price, Reservation
from .response import (
    CUT_SHORT,
    UNFINISHED,
    ProviderUsage,
    answering_identity,
    finish_reason_of,
    model_name_of,
    name_of,
    stream_without_thoughts,
    strip_reasoning,
    usage_from_response,
)
from .retry import Connections, RateLimiter, backoff_seconds, status_of, translate_errors
from .structured_output import (
    Level,
    RequestDialect,
    ServerCapabilities,
    default_context_window,
    format_arguments,
    marked_instructions,
    supports_json_schema,
    with_longest_answer,
)

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock
    from llama_index.core.llms import LLM

    from ..storage.graph_api import Prompt
    from ..storage.usage_log import UsageLog

_private: ContextVar[bool] = ContextVar("loregraph_private_replies", default=False)


@contextmanager
def private_replies() -> Iterator[None]:
    """Cache no reply in the library inside the block: prompts hold what a user said."""
    token = _private.set(True)
    try:
        yield
    finally:
        _private.reset(token)


_CHARACTERS_PER_TOKEN = 32
"""An answer with more of them is no answer of a model that keeps to its limit."""

_MOST_SIZES = 64
"""Of so many longest answers a copy of the model is held ready."""

_STREAM_TIMES = 10
"""A stream may take so many times as long as a whole answer."""

_FORMAT_STATUSES = (400, 415, 422, 500, 501)


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReply:
    """A whole answer. `kept`: it had been given before, and cost nothing now.

    `cut_short`: it ended where the longest answer that was allowed does.
    """

    text: str
    usage: Usage
    kept: bool = False
    cut_short: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMRequest:
    """LLM request: messages, booking stage, and our own token count.

    `quoted`: control tokens that stood in it, by the form in which it has them.
    """

    messages: tuple[ChatMessage, ...]
    stage: str
    max_output_tokens: int
    schema: Mapping[str, Any] | None
    counted: int
    quoted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    first: ChatResponse | None
    rest: Iterator[ChatResponse]
    reservation: Reservation

    connections: Connections
    place: ExitStack

    def close(self, *, done: bool) -> None:
        """Close the connection unless the answer ended; release the slot."""
        if done:
            self.connections.forget()
        self.connections.end()
        if isinstance(self.rest, Generator):
            self.rest.close()
        self.place.close()


@dataclass(slots=True)
class _Ending:
    """State of a finished stream; `text` includes reasoning."""

    text: str = ""
    finish: str | None = None
    usage: Usage = field(default_factory=Usage)


class LLMTransport:
    """To one model. Safe to share by threads.

    Args:
        llm: any LlamaIndex model; it is asked through copies that do not try again by themselves.
        learned: what is known of its server.
        retries: how often a call that failed and may pass is made again.
        concurrency: calls at a time.
        requests_per_minute: evenly spaced; None is no limit.
        timeout_seconds: for a whole call, whatever it drips; None leaves it to the model's client.
        seed: of the jitter between retries.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        learned: ServerCapabilities,
        retries: int,
        concurrency: int,
        requests_per_minute: float | None,
        timeout_seconds: float | None,
        seed: int,
    ) -> None:
        self._llm = llm
        self._name = name_of(llm)
        self._timeout = timeout_seconds
        self._pace = RateLimiter(concurrency=concurrency, requests_per_minute=requests_per_minute)
        self._patience = backoff_seconds(
            retries=retries,
            longest_wait_seconds=timeout_seconds,
            hold=self._pace.hold,
            sleep=self._pace.sleep,
            seed=seed,
        )
        self._learned = learned
        self._sized: dict[tuple[int, bool], LLM] = {}
        self._lock = threading.Lock()

    def context_window(self) -> int:
        """Context window in tokens, as the model reports it.

        Raises:
            ModelUnavailable: it has to ask its server for that, which does not answer.
        """
        with translate_errors(self._name):
            return self._llm.metadata.context_window

    def whole(self, request: LLMRequest, *, bill: CostAccount) -> LLMReply:
        """Return the whole answer without reasoning, never empty.

        Raises:
            ModelError: see `LLMClient.ask`.
        """
        reply: LLMReply = self._patience.copy()(self._attempt, request, bill)
        return reply

    def _attempt(self, request: LLMRequest, bill: CostAccount) -> LLMReply:
        """One call; more where the server refuses the form that was asked for."""
        while True:
            manner = self._learned.manner
            try:
                return self._call(request, manner, bill=bill)
            except ModelUnavailable as error:
                if not self._asks_differently(request, manner, error):
                    raise

    def _asks_differently(
        self, request: LLMRequest, manner: RequestDialect, error: ModelError
    ) -> bool:
        cause = error.__cause__
        if cause is None or status_of(cause) not in _FORMAT_STATUSES:
            return False
        return self._learned.refused(manner, str(cause), with_schema=request.schema is not None)

    def _call(self, request: LLMRequest, manner: RequestDialect, *, bill: CostAccount) -> LLMReply:
        llm = self._in_manner(request.max_output_tokens, manner)
        self._refuse_too_long(request)
        arguments = format_arguments(llm, request.schema, level=manner.level)
        arguments |= {"temperature": 1.0} if manner.rejects_temperature else {}
        if manner.uses_cache_control:
            arguments |= marked_instructions(llm, request.messages)
        with self._pace.slot(), _reserve(request, bill, waits=True) as reservation:
            self._pace.wait()
            with self._billed(request, reservation, bill):
                response = run_with_timeout(
                    self._timeout, lambda: llm.chat(list(request.messages), **arguments)
                )
                text = response.message.content or ""
            finish = finish_reason_of(response)
            answer = strip_reasoning(text)
            problem = self._problem(answer, request, finish=finish)
            usage = bill.usage_of_answer(
                text, counted=request.counted, reported=usage_from_response(response)
            )
            failed = int(problem is not None)
            bill.settle(reservation, usage, stage=request.stage, failed=failed)
        if problem is not None:
            raise problem
        return LLMReply(text=answer, usage=usage, cut_short=finish in CUT_SHORT)

    def _in_manner(self, max_output_tokens: int, manner: RequestDialect) -> LLM:
        key = (max_output_tokens, manner.uses_max_completion_tokens)
        with self._lock:
            if len(self._sized) > _MOST_SIZES:
                self._sized.clear()
            if key not in self._sized:
                self._sized[key] = with_longest_answer(
                    self._llm,
                    max_output_tokens,
                    uses_max_completion_tokens=manner.uses_max_completion_tokens,
                )
            return self._sized[key]

    def _refuse_too_long(self, request: LLMRequest) -> None:
        """Ollama cuts what does not fit and says nothing, so it is not asked."""
        window = default_context_window(self._llm)
        tokens = self._learned.tokens(request.counted)
        if window is not None and tokens >= window:
            raise ModelInputTooLong(
                f"{self._name} has a context window of {window:,} tokens, the request {tokens:,}:"
                " send less at a time, or raise context_window_tokens"
            )

    @contextmanager
    def _billed(
        self, request: LLMRequest, reservation: Reservation, bill: CostAccount
    ) -> Iterator[None]:
        """Errors of the call inside become our own; what may have cost is booked."""
        with (
            bill.worst_on_failure(
                reservation,
                stage=request.stage,
                counted=request.counted,
                max_output_tokens=request.max_output_tokens,
            ),
            translate_errors(self._name),
        ):
            yield

    def _problem(
        self, answer: str, request: LLMRequest, *, finish: str | None
    ) -> ModelOutputError | None:
        if not answer:
            return self._empty(finish)
        return self._without_limits(request) if len(answer) > _most_characters(request) else None

    def _without_limits(self, request: LLMRequest) -> ModelOutputError:
        return ModelOutputError(
            f"{self._name} sent more than {_most_characters(request):,} characters for"
            f" {request.max_output_tokens:,} output tokens: the server ignores token limits"
        )

    def _empty(self, finish: str | None) -> ModelOutputError:
        advice = "try again or use another model"
        if finish in CUT_SHORT:
            advice = "raise max_output_tokens"
        return ModelOutputError(f"{self._name} gave an empty answer: {advice}")

    def stream(self, request: LLMRequest, *, bill: CostAccount) -> Generator[str, None, LLMReply]:
        """Stream the answer; it is booked at its end, also when abandoned.

        It takes one of the places for calls while it goes on. Tried again only before anything
        came. What it returns is the whole answer, in which a
        thought that was only known for one at its end is left out, too.

        Raises:
            ModelError: also in the middle, after pieces were given.
        """
        ending = _Ending()
        with closing(self._pieces(request, ending, bill)) as pieces:
            yield from stream_without_thoughts(pieces)
        answer = strip_reasoning(ending.text)
        if not answer:
            bill.book(request.stage, Usage(), failed=1)
            raise self._empty(ending.finish)
        if ending.finish == UNFINISHED:
            bill.book(request.stage, Usage(), failed=1)
            raise ModelOutputError(f"{self._name} ended its answer early: try again")
        return LLMReply(text=answer, usage=ending.usage, cut_short=ending.finish in CUT_SHORT)

    def _pieces(self, request: LLMRequest, ending: _Ending, bill: CostAccount) -> Generator[str]:
        opened: _Opened = self._patience.copy()(self._open, request, bill)
        pieces: list[str] = []
        reported: ProviderUsage | None = None
        finish: str | None = None
        size, response, began, done = 0, opened.first, time.monotonic(), False
        try:
            while response is not None:
                reported = usage_from_response(response) or reported
                finish = finish_reason_of(response) or finish
                if response.delta:
                    pieces.append(response.delta)
                    yield response.delta
                    size += len(response.delta)
                if size > _most_characters(request):
                    raise self._without_limits(request)
                with translate_errors(self._name):
                    self._still_in_time(began)
                    response = next(opened.rest, None)
            done = True
        finally:
            opened.close(done=done)
            ending.text, ending.finish = "".join(pieces), finish
            ending.usage = bill.usage_of_answer(
                ending.text, counted=request.counted, reported=reported
            )
            bill.settle(opened.reservation, ending.usage, stage=request.stage)
        if finish is None and reported is None and not pieces:
            raise ModelOutputError(
                f"{self._name} returned an invalid reply: an empty stream; try again"
            )

    def _open(self, request: LLMRequest, bill: CostAccount) -> _Opened:
        while True:
            manner = self._learned.manner
            try:
                return self._open_once(request, manner, bill=bill)
            except ModelUnavailable as error:
                if not self._asks_differently(request, manner, error):
                    raise

    def _open_once(
        self, request: LLMRequest, manner: RequestDialect, *, bill: CostAccount
    ) -> _Opened:
        llm = self._in_manner(request.max_output_tokens, manner)
        self._refuse_too_long(request)
        arguments = {"temperature": 1.0} if manner.rejects_temperature else {}
        connections, place = Connections(), ExitStack()
        with ExitStack() as failing:
            failing.enter_context(place)
            place.enter_context(self._pace.slot())
            self._pace.wait()
            on_cancel(connections.end)
            reservation = failing.enter_context(_reserve(request, bill, waits=False))
            failing.callback(connections.end)
            with self._billed(request, reservation, bill), connections.noted():
                first, rest = run_with_timeout(
                    self._timeout,
                    lambda: _begun(llm.stream_chat(list(request.messages), **arguments)),
                )
            failing.pop_all()
        return _Opened(
            first=first, rest=rest, reservation=reservation, connections=connections, place=place
        )

    def _still_in_time(self, began: float) -> None:
        if self._timeout is not None and time.monotonic() - began > self._timeout * _STREAM_TIMES:
            raise TimeoutError


def _begun(
    replies: Iterator[ChatResponse],
) -> tuple[ChatResponse | None, Iterator[ChatResponse]]:
    """Split a stream into its first piece and the rest."""
    rest = iter(replies)
    return next(rest, None), rest


def _most_characters(request: LLMRequest) -> int:
    return (request.max_output_tokens + 32) * _CHARACTERS_PER_TOKEN


def _reserve(request: LLMRequest, bill: CostAccount, *, waits: bool) -> Reservation:
    return bill.reserve(request.counted, max_output_tokens=request.max_output_tokens, waits=waits)


_MESSAGE_TOKENS = 8
"""Maximum tokens that a chat template adds to a message."""


class LLMClient:
    """One per engine and model. Safe to share by threads.

    Args:
        llm: any LlamaIndex model; it is asked through copies that do not try again by themselves.
        budget: shared by all gateways of an engine.
        ledger: where calls are booked and answers kept; None does neither.
        tokeniser: counts where the server does not, and before a call.
        price: what the model costs; None is not known.
        retries: how often a call that failed and may pass is made again.
        concurrency: calls at a time.
        requests_per_minute: evenly spaced; None is no limit.
        structured: how answers are held to a schema.
        max_output_tokens: bounds what `chat` and `stream` answer.
        timeout_seconds: for a whole call, whatever it drips; None leaves it to the model's client.
        seed: of the jitter between retries.

    Raises:
        SettingsError: cost is limited and the model's price is not known.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        budget: Budget,
        ledger: UsageLog | None = None,
        tokeniser: Counter | None = None,
        price: Price | None = None,
        retries: int = 4,
        concurrency: int = 4,
        requests_per_minute: float | None = None,
        structured: Literal["auto", "schema", "json", "none"] = "auto",
        max_output_tokens: int = 1_024,
        timeout_seconds: float | None = None,
        seed: int = 0,
    ) -> None:
        self.model = model_name_of(llm)
        self.identity = answering_identity(llm)
        self.concurrency = concurrency
        self.price = price
        self._ledger = ledger
        self._max_output_tokens = max_output_tokens
        level: Level = "schema" if structured == "auto" else structured
        learned = ServerCapabilities(
            level if supports_json_schema(llm) else "none", goes_down=structured == "auto"
        )
        self._learned = learned
        self._line = LLMTransport(
            llm,
            learned=learned,
            retries=retries,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            timeout_seconds=timeout_seconds,
            seed=seed,
        )
        self._bill = CostAccount(
            self.model,
            budget=budget,
            ledger=ledger,
            tokeniser=tokeniser,
            price=price,
            learned=learned,
        )
        # Instructions and schemas are the same in many requests.
        self._count_again = lru_cache(maxsize=16)(self._bill.count)

    @property
    def context_window(self) -> int:
        """Context window in tokens, as the model reports it.

        Raises:
            ModelUnavailable: it has to ask its server for that, which does not answer.
        """
        return self._line.context_window()

    @property
    def sends_schema(self) -> bool:
        """Check whether requests carry the answer's schema."""
        return self._learned.manner.level == "schema"

    @property
    def max_output_tokens(self) -> int:
        """The longest answer to `chat`."""
        return self._max_output_tokens

    @property
    def total(self) -> Usage:
        """All calls so far; those that were refused cost nothing and are left out."""
        return self._bill.total

    def apart(self) -> LLMClient:
        """Return the same client with a scoped usage total.

        What it spends counts for this one too.
        """
        part = copy.copy(self)
        part._bill = self._bill.apart()
        return part

    # --- asking -----------------------------------------------------------------------------

    def ask(
        self,
        prompt: Prompt,
        *,
        stage: str,
        keep: bool = False,
        on_event: Callable[[str], None] | None = None,
    ) -> LLMReply:
        """Answer a prompt.

        Args:
            prompt: what is asked, the longest answer, and the schema that it is held to.
            stage: what it is booked under.
            keep: whether the answer is kept in the library for the next time, and taken from there.
            on_event: hears the answer's pieces as the model speaks; what it raises ends the call.

        Raises:
            BudgetExceeded: before the call, which could have exceeded the budget.
            ModelInputTooLong: the prompt does not fit into the model's window.
            ModelUnavailable: no connection, no answer in time, or refused, after all retries.
            ModelOutputError: not a reply of the protocol, or nothing in it.
        """
        from llama_index.core.base.llms.types import ChatMessage

        messages = [ChatMessage(role="user", content=prompt.user)]
        if prompt.system:
            messages.insert(0, ChatMessage(role="system", content=prompt.system))
        request = self._request(
            messages,
            stage=stage,
            max_output_tokens=prompt.max_output_tokens,
            schema=prompt.schema,
        )
        return self._answer(request, keep=keep, on_event=on_event)

    def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        stage: str,
        keep: bool = False,
        on_event: Callable[[str], None] | None = None,
    ) -> LLMReply:
        """Answer LlamaIndex chat messages; otherwise like `ask`."""
        return self._answer(self._request(messages, stage=stage), keep=keep, on_event=on_event)

    def stream(
        self, messages: Sequence[ChatMessage], *, stage: str, keep: bool = False
    ) -> Generator[str, None, LLMReply]:
        """Stream an answer; it is booked at its end, also when abandoned.

        Tried again only before anything came. A kept answer comes as one piece. What the generator
        returns is what `chat` would.

        Raises:
            ModelError: as `ask`; also in the middle, after pieces were given.
        """
        return self._streamed(self._request(messages, stage=stage), keep=keep)

    def unusable(self, stage: str) -> None:
        """Book a reply that could not be used as failed."""
        self._bill.book(stage, Usage(), failed=1)

    def _request(
        self,
        messages: Sequence[ChatMessage],
        *,
        stage: str,
        max_output_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> LLMRequest:
        quoted: dict[str, str] = {}
        messages = [_without_control_tokens(message, quoted) for message in messages]
        counted = sum(self._counted(message) for message in messages)
        if schema is not None:
            counted += self._count_again(json.dumps(schema, ensure_ascii=False)) + _MESSAGE_TOKENS
        return LLMRequest(
            messages=tuple(messages),
            stage=stage,
            max_output_tokens=max_output_tokens or self._max_output_tokens,
            schema=schema,
            counted=counted,
            quoted=quoted,
        )

    def _counted(self, message: ChatMessage) -> int:
        count = self._count_again if message.role == "system" else self._bill.count
        return count(message.content or "") + _MESSAGE_TOKENS

    # --- kept answers -----------------------------------------------------------------------

    def _answer(
        self, request: LLMRequest, *, keep: bool, on_event: Callable[[str], None] | None
    ) -> LLMReply:
        pieces = self._streamed(request, keep=keep, whole=on_event is None)
        with closing(pieces):
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    reply: LLMReply = end.value
                    return replace(reply, text=restore_control_tokens(reply.text, request.quoted))
                if on_event is not None:
                    on_event(piece)

    def _streamed(
        self, request: LLMRequest, *, keep: bool, whole: bool = False
    ) -> Generator[str, None, LLMReply]:
        """Stream an answer in pieces, or in one with `whole`, which may be retried."""
        ledger = self._ledger if keep and not _private.get() else None
        key, asked_in = "", 0
        if ledger is not None:
            key, asked_in = self._key(request), ledger.generation()
            kept = ledger.cached_reply(key)
            if kept is not None:
                self._bill.add(Usage(cached_calls=1))
                yield kept
                return LLMReply(text=kept, usage=Usage(cached_calls=1), kept=True)
        if whole:
            reply = self._line.whole(request, bill=self._bill)
        else:
            reply = yield from self._line.stream(request, bill=self._bill)
        if ledger is not None and not reply.cut_short:
            ledger.cache_reply(key, reply.text, usage=reply.usage, asked_in=asked_in)
        return reply

    def _key(self, request: LLMRequest) -> str:
        said = [[str(message.role), message.content or ""] for message in request.messages]
        parts = [self.identity, request.max_output_tokens, request.schema, said]
        text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode("utf8", "surrogatepass")).hexdigest()


def _without_control_tokens(message: ChatMessage, quoted: dict[str, str]) -> ChatMessage:
    """Return the message with control tokens broken; records them in `quoted`."""
    text, originals = break_control_tokens(message.content or "")
    if not originals:
        return message
    quoted |= originals
    return message.model_copy(update={"blocks": [_text_block(text)]})


def _text_block(text: str) -> TextBlock:
    from llama_index.core.base.llms.types import TextBlock

    return TextBlock(text=text)
