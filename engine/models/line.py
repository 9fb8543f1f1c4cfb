"""LLM transport: budget → retry → rate limit → call, whole or streamed.

A call that may have reached the model and brought nothing (cut off, too slow) is booked at its
worst, since nobody knows what was computed; one that was refused costs nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..deadline import run_with_timeout
from ..errors import ModelError, ModelInputTooLong, ModelOutputError, ModelUnavailable
from ..given_up import on_cancel
from ..types import Usage
from .bill import CostAccount
from .budget import Reservation
from .connections import Connections
from .failures import status_of, translated
from .learned import RequestDialect, ServerCapabilities
from .rate import RateLimiter
from .response import CUT_SHORT, UNFINISHED, ProviderUsage, finish_of, name_of, usage_from_response
from .retrying import backoff_seconds
from .structured import (
    default_context_window,
    format_arguments,
    marked_instructions,
    with_longest_answer,
)
from .thinking import stream_without_thoughts, strip_reasoning

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import LLM

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
    """What is asked, what it is booked under, and how many tokens it has by our own count.

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
        with translated(self._name):
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
            finish = finish_of(response)
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
                f"{self._name} has a window of {window:,} tokens and the request some {tokens:,}:"
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
            translated(self._name),
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
            f"{self._name} sent more than {_most_characters(request):,} characters where"
            f" {request.max_output_tokens:,} tokens were asked for: it does not keep to limits"
        )

    def _empty(self, finish: str | None) -> ModelOutputError:
        advice = "ask again or use another model"
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
            raise ModelOutputError(f"{self._name} broke off in the middle of its answer: ask again")
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
                finish = finish_of(response) or finish
                if response.delta:
                    pieces.append(response.delta)
                    yield response.delta
                    size += len(response.delta)
                if size > _most_characters(request):
                    raise self._without_limits(request)
                with translated(self._name):
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
                f"{self._name} sent something that is not a reply of its protocol:"
                " a stream of nothing"
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
