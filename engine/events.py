"""Events of a question while it is answered, and the progress callback of long-running work.

A stream gives in this order: the route (where a router chose), the passages found, the answer's
text as it is written, its citations, its cost, and last the whole answer. A step is sent when its
stage ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from .types import Answer, Citation, Claim, Passage, Route, TraceStep, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEvent:
    """Chosen route of the question, and the reason."""

    name: ClassVar[str] = "route"
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """A stage is done: what it did, its figures and its time."""

    name: ClassVar[str] = "step"
    step: TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesEvent:
    """Passages used for the answer; marker `[n]` in later tokens is `passages[n - 1]`."""

    name: ClassVar[str] = "passages"
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensEvent:
    """Piece of the answer while it is generated; all pieces form the unverified text."""

    name: ClassVar[str] = "tokens"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationsEvent:
    """The text as it stands after checking, its marks `[n]` those of these citations."""

    name: ClassVar[str] = "citations"
    text: str
    citations: tuple[Citation, ...]
    abstained: bool
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """LLM usage of this answer."""

    name: ClassVar[str] = "usage"
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvent:
    """The whole answer; the last event."""

    name: ClassVar[str] = "answer"
    answer: Answer


Event = (
    RouteEvent | StepEvent | PassagesEvent | TokensEvent | CitationsEvent | UsageEvent | AnswerEvent
)


Listener = Callable[[Event], None]
"""Event handler, called in the thread that emits; an exception aborts the work."""


def null_listener(event: Event) -> None:
    """No-op listener; producers may skip listener-only work."""


class NoTokenStream:
    """Listener that opts out of token events; if all opt out, none are produced."""

    def __init__(self, on_event: Listener) -> None:
        self._tell = on_event

    def __call__(self, event: Event) -> None:
        """Hear it."""
        self._tell(event)


def wants_tokens(on_event: Listener) -> bool:
    """Check whether the listener wants token events."""
    return on_event is not null_listener and not isinstance(on_event, NoTokenStream)


def compose_listeners(on_event: Listener, heard: Listener, *, always: bool = False) -> Listener:
    """`heard`, which hands on to `on_event` and wants as much as that does.

    Where nobody is told nobody hears, unless it is to hear `always`.
    """
    if on_event is null_listener and not always:
        return null_listener
    return heard if wants_tokens(on_event) else NoTokenStream(heard)


def record_steps(on_event: Listener, steps: list[TraceStep]) -> Listener:
    """Return a listener that appends each step to `steps` before it hands on to `on_event`."""

    def record(event: Event) -> None:
        if isinstance(event, StepEvent):
            steps.append(event.step)
        on_event(event)

    return compose_listeners(on_event, record, always=True)


def closing_events(answer: Answer) -> tuple[Event, ...]:
    """Return the events that end an answer: its checked text, what it cost, the whole of it."""
    checked_text = CitationsEvent(
        text=answer.text,
        citations=answer.citations,
        abstained=answer.abstained,
        claims=answer.claims,
    )
    return checked_text, UsageEvent(usage=answer.usage), AnswerEvent(answer=answer)


def without_tokens(on_event: Listener) -> Listener:
    """Hears of stages, not of passages and text, which may not be those of the answer."""

    def heard(event: Event) -> None:
        if isinstance(event, StepEvent):
            on_event(event)

    return null_listener if on_event is null_listener else NoTokenStream(heard)


def as_data(event: Event) -> dict[str, Any]:
    """Return the event's fields as plain values for JSON; its kind is `event.name`."""
    return dataclasses.asdict(event)


Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """No-op progress callback."""
