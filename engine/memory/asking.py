"""A question with memory: recall, answer from memory or from documents, and record the exchange.

A question about the user is answered from memory where that says it; any other from documents, and
from memory only where they abstain. The two never mix in one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ..events import (
    AnswerEvent,
    CitationsEvent,
    Event,
    Listener,
    PassagesEvent,
    StepEvent,
    TokensEvent,
    UsageEvent,
    closing_events,
    compose_listeners,
)
from ..prompts import is_abstention, language_of
from ..types import Answer, Passage, TraceStep, Turn
from .facts import without_statements
from .records import Memory
from .service import MemoryService, Recollection, is_about_user


class Recalled(Protocol):
    """Search of a user's memory."""

    def __call__(self, query: str) -> Sequence[Passage]:
        """Return the passages nearest to a query."""
        ...


AskDocuments = Callable[[str, tuple[Turn, ...], Listener, Recalled], Answer]
"""Answers from documents: question, turns before, listener, and a search of memory."""


def ask_with_memory(
    service: MemoryService,
    memory: Memory,
    question: str,
    *,
    turns: tuple[Turn, ...],
    ask: AskDocuments,
    writes: bool,
    on_event: Listener,
) -> Answer:
    """Answer a question with a user's memory, and remember it.

    Args:
        service: the memory of the library.
        memory: the user and the session.
        question: what is asked.
        turns: a history given by the caller; without one working memory's is used.
        ask: answers from documents.
        writes: whether a model writes answers; it is then shown what was recalled.
        on_event: hears all events, the final answer last.
    """
    found = service.recollect(memory, question)
    asked = without_statements(question)
    answer = _noted(question) if not asked else None
    if answer is None and is_about_user(asked):
        answer = service.answer(memory, question, found)
    if answer is None:

        def recalled(query: str) -> Sequence[Passage]:
            return service.recollect(memory, query).passages

        before = (*_shown(found, writes=writes), *(turns or found.turns))
        answer = ask(asked, before, _without_ending(on_event), recalled)
        answer = replace(answer, question=question)
        if answer.abstained:
            answer = service.answer(memory, question, found) or answer
    is_spoken = bool(asked) and not answer.abstained and not _is_recalled(answer)
    is_recalled = _is_recalled(answer)
    warnings = (*found.warnings, *service.record(memory, question, answer if asked else None))
    step = TraceStep(
        stage="memory",
        detail=_detail(found, warnings, is_recalled=is_recalled),
        seconds=0.0,
        figures={
            "passages": float(len(found.passages)),
            "turns": float(len(found.turns)),
            "failed": float(bool(warnings)),
        },
    )
    answer = replace(answer, memory=found.passages, warnings=warnings, trace=(*answer.trace, step))
    on_event(StepEvent(step=step))
    if not is_spoken:
        on_event(PassagesEvent(passages=answer.passages))
        on_event(TokensEvent(text=answer.text))
    for event in closing_events(answer):
        on_event(event)
    return answer


_NOTED = {"en": "I will remember that.", "zh": "我记住了。"}


def _noted(question: str) -> Answer:
    """Return the answer to statements that ask nothing."""
    return Answer(question=question, text=_NOTED[language_of(question)], mode="local")


def _is_recalled(answer: Answer) -> bool:
    return any(citation.origin == "memory" for citation in answer.citations)


def _shown(found: Recollection, *, writes: bool) -> tuple[Turn, ...]:
    """Return what a model is shown of memory, as a turn before all others."""
    if not writes or not found.passages:
        return ()
    lines = "\n".join(passage.text for passage in found.passages)
    return (Turn(f"<recalled>\n{lines}\n</recalled>"),)


def _without_ending(on_event: Listener) -> Listener:
    """Return a listener without the closing events and abstentions, which may not be final."""

    def heard(event: Event) -> None:
        declines = isinstance(event, TokensEvent) and is_abstention(event.text)
        if not declines and not isinstance(event, CitationsEvent | UsageEvent | AnswerEvent):
            on_event(event)

    return compose_listeners(on_event, heard)


def _detail(found: Recollection, warnings: Sequence[str], *, is_recalled: bool) -> str:
    said = f"{len(found.passages)} passages and {len(found.turns)} turns recalled"
    source = "; the answer is from memory" if is_recalled else ""
    return "; ".join((f"{said}{source}", *warnings))
