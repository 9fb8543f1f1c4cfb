"""What happens while a question is answered, as values that can be shown and sent.

A stream gives, in this order: the route (where a router chose), the passages that are found, the
answer's text as it is written, its citations, what it cost, and last the whole answer. A step comes
when its stage ends: those of searching before the passages, that of writing after the text.
Knows nothing of how they travel: a terminal, server-sent events and a callback all take the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from .types import Answer, Citation, Claim, Passage, Route, TraceStep, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteEvent:
    """Which way the question takes, and why."""

    name: ClassVar[str] = "route"
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEvent:
    """A stage is done: what it did, its figures and its time."""

    name: ClassVar[str] = "step"
    step: TraceStep


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesEvent:
    """What the answer is written from; a mark `[n]` in tokens to come is `passages[n - 1]`."""

    name: ClassVar[str] = "passages"
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensEvent:
    """A piece of the answer as it is written; all pieces together are its first wording."""

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
    """What language models cost for this answer."""

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
"""Is told what happens, in the thread in which it happens. What it raises ends the work."""


def nobody(event: Event) -> None:
    """Hears nothing: whoever is told may do without what only a listener needs."""


class WholeOnly:
    """A listener that does without pieces of text: where no other listens, none are made."""

    def __init__(self, tell: Listener) -> None:
        self._tell = tell

    def __call__(self, event: Event) -> None:
        """Hear it."""
        self._tell(event)


def wants_pieces(tell: Listener) -> bool:
    """Whether a text is to be told while it is written."""
    return tell is not nobody and not isinstance(tell, WholeOnly)


def heard_as(tell: Listener, heard: Listener, *, always: bool = False) -> Listener:
    """`heard`, which hands on to `tell` and wants as much as that does.

    Where nobody is told nobody hears, unless it is to hear `always`.
    """
    if tell is nobody and not always:
        return nobody
    return heard if wants_pieces(tell) else WholeOnly(heard)


def steps_alone(tell: Listener) -> Listener:
    """Hears of stages, not of passages and text, which may not be those of the answer."""

    def heard(event: Event) -> None:
        if isinstance(event, StepEvent):
            tell(event)

    return nobody if tell is nobody else WholeOnly(heard)


def as_data(event: Event) -> dict[str, Any]:
    """The event's fields as plain values, for JSON; its kind is `event.name`."""
    return dataclasses.asdict(event)
