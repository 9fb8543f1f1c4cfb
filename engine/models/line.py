"""One language model on the line: budget → retry → rate limit → call, whole or in a stream.

A call that may have reached the model and brought nothing (cut off, too slow) is booked at its
worst, since nobody knows what was computed; one that was refused costs nothing. Knows nothing of
prompts, kept answers, or of who asks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..deadline import within
from ..errors import ModelError, ModelInputTooLong, ModelOutputError, ModelUnavailable
from ..given_up import when_given_up
from ..types import Usage
from .bill import Bill
from .budget import Reservation
from .connections import Connections
from .failures import status_of, translated
from .learned import Learned, Manner
from .rate import Pace
from .response import CUT_SHORT, UNFINISHED, Reported, finish_of, name_of, reported_usage
from .retrying import patience
from .structured import (
    format_arguments,
    marked_instructions,
    silent_window,
    with_longest_answer,
)
from .thinking import stream_without_thoughts, without_thoughts

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
class Reply:
    """A whole answer. `kept`: it had been given before, and cost nothing now.

    `cut_short`: it ended where the longest answer that was allowed does.
    """

    text: str
    usage: Usage
    kept: bool = False
    cut_short: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
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
        """Hang up, unless the answer came to its end; either way others may have the place."""
        if done:
            self.connections.forget()
        self.connections.end()
        if isinstance(self.rest, Generator):
            self.rest.close()
        self.place.close()


@dataclass(slots=True)
class _Ending:
    """What is known of a stream when it is over; `text` has the thoughts, too."""

    text: str = ""
    finish: str | None = None
    usage: Usage = field(default_factory=Usage)


class Line:
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
        learned: Learned,
        retries: int,
        concurrency: int,
        requests_per_minute: float | None,
        timeout_seconds: float | None,
        seed: int,
    ) -> None:
        self._llm = llm
        self._name = name_of(llm)
        self._timeout = timeout_seconds
        self._pace = Pace(concurrency=concurrency, requests_per_minute=requests_per_minute)
        self._patience = patience(
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
        """How many tokens the model reads at a time, by its own account.

        Raises:
            ModelUnavailable: it has to ask its server for that, which does not answer.
        """
        with translated(self._name):
            return self._llm.metadata.context_window

    def whole(self, request: Request, *, bill: Bill) -> Reply:
        """The whole answer, without thoughts and never empty.

        Raises:
            ModelError: see `Gateway.ask`.
        """
        reply: Reply = self._patience.copy()(self._attempt, request, bill)
        return reply

    def _attempt(self, request: Request, bill: Bill) -> Reply:
        """One call; more where the server refuses the form that was asked for."""
        while True:
            manner = self._learned.manner
            try:
                return self._call(request, manner, bill=bill)
            except ModelUnavailable as error:
                if not self._asks_differently(request, manner, error):
                    raise

    def _asks_differently(self, request: Request, manner: Manner, error: ModelError) -> bool:
        cause = error.__cause__
        if cause is None or status_of(cause) not in _FORMAT_STATUSES:
            return False
        return self._learned.refused(manner, str(cause), with_schema=request.schema is not None)

    def _call(self, request: Request, manner: Manner, *, bill: Bill) -> Reply:
        llm = self._in_manner(request.max_output_tokens, manner)
        self._refuse_too_long(request)
        arguments = format_arguments(llm, request.schema, level=manner.level)
        arguments |= {"temperature": 1.0} if manner.own_temperature else {}
        if manner.marks_instructions:
            arguments |= marked_instructions(llm, request.messages)
        with self._pace.slot(), _reserve(request, bill, waits=True) as reservation:
            self._pace.wait()
            with self._billed(request, reservation, bill):
                response = within(
                    self._timeout, lambda: llm.chat(list(request.messages), **arguments)
                )
                text = response.message.content or ""
            finish = finish_of(response)
            answer = without_thoughts(text)
            problem = self._problem(answer, request, finish=finish)
            usage = bill.usage_of_answer(
                text, counted=request.counted, reported=reported_usage(response)
            )
            failed = int(problem is not None)
            bill.settle(reservation, usage, stage=request.stage, failed=failed)
        if problem is not None:
            raise problem
        return Reply(text=answer, usage=usage, cut_short=finish in CUT_SHORT)

    def _in_manner(self, max_output_tokens: int, manner: Manner) -> LLM:
        key = (max_output_tokens, manner.newer_limit)
        with self._lock:
            if len(self._sized) > _MOST_SIZES:
                self._sized.clear()
            if key not in self._sized:
                self._sized[key] = with_longest_answer(
                    self._llm, max_output_tokens, newer_limit=manner.newer_limit
                )
            return self._sized[key]

    def _refuse_too_long(self, request: Request) -> None:
        """Ollama cuts what does not fit and says nothing, so it is not asked."""
        window = silent_window(self._llm)
        tokens = self._learned.tokens(request.counted)
        if window is not None and tokens >= window:
            raise ModelInputTooLong(
                f"{self._name} has a window of {window:,} tokens and the request some {tokens:,}:"
                " send less at a time, or raise context_window_tokens"
            )

    @contextmanager
    def _billed(self, request: Request, reservation: Reservation, bill: Bill) -> Iterator[None]:
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
        self, answer: str, request: Request, *, finish: str | None
    ) -> ModelOutputError | None:
        if not answer:
            return self._empty(finish)
        return self._without_limits(request) if len(answer) > _most_characters(request) else None

    def _without_limits(self, request: Request) -> ModelOutputError:
        return ModelOutputError(
            f"{self._name} sent more than {_most_characters(request):,} characters where"
            f" {request.max_output_tokens:,} tokens were asked for: it does not keep to limits"
        )

    def _empty(self, finish: str | None) -> ModelOutputError:
        advice = "ask again or use another model"
        if finish in CUT_SHORT:
            advice = "raise max_output_tokens"
        return ModelOutputError(f"{self._name} gave an empty answer: {advice}")

    def stream(self, request: Request, *, bill: Bill) -> Generator[str, None, Reply]:
        """The answer piece by piece; counted when it ends, also when it is abandoned.

        It takes one of the places for calls while it goes on. Tried again only before anything
        came. What it returns is the whole answer, in which a
        thought that was only known for one at its end is left out, too.

        Raises:
            ModelError: also in the middle, after pieces were given.
        """
        ending = _Ending()
        with closing(self._pieces(request, ending, bill)) as pieces:
            yield from stream_without_thoughts(pieces)
        answer = without_thoughts(ending.text)
        if not answer:
            bill.book(request.stage, Usage(), failed=1)
            raise self._empty(ending.finish)
        if ending.finish == UNFINISHED:
            bill.book(request.stage, Usage(), failed=1)
            raise ModelOutputError(f"{self._name} broke off in the middle of its answer: ask again")
        return Reply(text=answer, usage=ending.usage, cut_short=ending.finish in CUT_SHORT)

    def _pieces(self, request: Request, ending: _Ending, bill: Bill) -> Generator[str]:
        opened: _Opened = self._patience.copy()(self._open, request, bill)
        pieces: list[str] = []
        reported: Reported | None = None
        finish: str | None = None
        size, response, began, done = 0, opened.first, time.monotonic(), False
        try:
            while response is not None:
                reported = reported_usage(response) or reported
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

    def _open(self, request: Request, bill: Bill) -> _Opened:
        while True:
            manner = self._learned.manner
            try:
                return self._open_once(request, manner, bill=bill)
            except ModelUnavailable as error:
                if not self._asks_differently(request, manner, error):
                    raise

    def _open_once(self, request: Request, manner: Manner, *, bill: Bill) -> _Opened:
        llm = self._in_manner(request.max_output_tokens, manner)
        self._refuse_too_long(request)
        arguments = {"temperature": 1.0} if manner.own_temperature else {}
        connections, place = Connections(), ExitStack()
        with ExitStack() as failing:
            failing.enter_context(place)
            place.enter_context(self._pace.slot())
            self._pace.wait()
            when_given_up(connections.end)
            reservation = failing.enter_context(_reserve(request, bill, waits=False))
            failing.callback(connections.end)
            with self._billed(request, reservation, bill), connections.noted():
                first, rest = within(
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
    """The first piece of a stream, and those to come."""
    rest = iter(replies)
    return next(rest, None), rest


def _most_characters(request: Request) -> int:
    return (request.max_output_tokens + 32) * _CHARACTERS_PER_TOKEN


def _reserve(request: Request, bill: Bill, *, waits: bool) -> Reservation:
    return bill.reserve(request.counted, max_output_tokens=request.max_output_tokens, waits=waits)
