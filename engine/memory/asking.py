"""A question with memory: recall, answer from memory or from documents, and record the exchange.

A question about the user is answered from memory where that says it; any other from documents, and
from memory only where they abstain. The two never mix in one answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..answering.synthesis import say_answer
from ..events import (
    AnswerEvent,
    CitationsEvent,
    Event,
    Listener,
    StepEvent,
    TokensEvent,
    UsageEvent,
    closing_events,
    compose_listeners,
)
from ..prompts import is_abstention, language_of
from ..storage.tokenization import tokens
from ..types import Answer, Passage, TraceStep, Turn
from .facts import without_statements
from .recall import OWN
from .records import Memory
from .service import MemoryService, Recollection


@dataclass(frozen=True, slots=True)
class Recalled:
    """Memory of the user who asks, for the agent: preferences, and a search."""

    service: MemoryService
    memory: Memory
    preferences: tuple[str, ...]

    def __call__(self, query: str) -> Sequence[Passage]:
        """Return the passages nearest to a query."""
        return self.service.recollect(self.memory, query).passages


AskDocuments = Callable[[str, tuple[Turn, ...], Listener, Recalled], Answer]
"""Answers from documents: question, turns before, listener, and the user's memory."""


def ask_with_memory(
    service: MemoryService,
    memory: Memory,
    question: str,
    *,
    turns: tuple[Turn, ...],
    ask: AskDocuments,
    known: Callable[[], Callable[[str], int]],
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
        known: gives how many passages of documents hold a token; called at most once.
        writes: whether a model writes answers; it is then shown what was recalled.
        on_event: hears all events, the final answer last.
    """
    found = service.recollect(memory, question)
    asked = without_statements(question)
    answer = _noted(question) if not asked else None
    if answer is None and (OWN.search(asked) or names_memory(asked, found.passages, known)):
        answer = service.answer(memory, question, found)
    if answer is None:
        before = (*_shown(found, writes=writes), *(turns or found.turns))
        recalled = Recalled(service, memory, found.preferences)
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
        say_answer(answer, on_event)
    for event in closing_events(answer):
        on_event(event)
    return answer


def names_memory(
    question: str, passages: Sequence[Passage], known: Callable[[], Callable[[str], int]]
) -> bool:
    """Check whether a question names a person or thing that only the user spoke of.

    That is a name which no document holds, but a recalled passage does ("How old is Biscuit?").
    """
    if not passages or not (
        names := [token for each in _NAME.findall(question) for token in tokens(each)]
    ):
        return False
    said = {token for passage in passages for token in tokens(passage.text)}
    frequency = known()
    return any(token in said and not frequency(token) for token in names)


_NAME = re.compile(r"(?<=\s)[^\W\d_a-z][^\W\d_]+")
"""Capitalised word that does not begin the question."""
_NOTED = {"en": "I will remember that.", "zh": "我记住了。"}


def _noted(question: str) -> Answer:
    """Return the answer to statements that ask nothing."""
    return Answer(question=question, text=_NOTED[language_of(question)], mode="local")


def _is_recalled(answer: Answer) -> bool:
    return any(citation.origin == "memory" for citation in answer.citations)


def _shown(found: Recollection, *, writes: bool) -> tuple[Turn, ...]:
    """Return what a model is shown of memory, as a turn before all others."""
    if not writes or not (found.passages or found.preferences):
        return ()
    lines = "\n".join((*found.preferences, *(passage.text for passage in found.passages)))
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
