"""Loop of agentic search: decide, act, record, until a stop rule or a decider ends it.

Without a model each search of the library is a whole round of local answering: the inner part of a
two-step question is read first, and the answer to the question that is left replaces the first
round's only where it is better. With a model searches bring passages alone, and one answer is
written from them at the end. Every run ends with an answer, an abstention or a question back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Protocol

from ..errors import BudgetExceeded
from ..events import Listener, null_listener
from ..llm.budget import current_usage
from ..prompts import ABSTENTION, language_of
from ..retrieval.passages import Tracer
from ..types import Answer, Passage, Turn
from .model import Decide
from .rules import bridge_name, decide_by_rules, is_better
from .state import (
    Action,
    AskClarification,
    DirectAnswer,
    Finding,
    Limits,
    Search,
    SearchKnowledge,
    SearchMemory,
    State,
    is_repeated,
    stop_reason,
)


class Recall(Protocol):
    """Searches what the user said before; what it gives helps to understand, and is no source."""

    @property
    def preferences(self) -> Sequence[str]:
        """Return what the user said they prefer, in their own words."""
        ...

    def __call__(self, query: str) -> Sequence[Passage]:
        """Return the passages of memory nearest to a query."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTools:
    """The searches of one question.

    `answer` reads the library for a question, or given passages in place of a search; `search`
    brings passages alone, and is given where a model writes the answer. `memory` and `web` are None
    where there are none.
    """

    answer: Callable[[str, Sequence[Passage] | None], Answer]
    search: Callable[[str], Sequence[Passage]] | None = None
    memory: Recall | None = None
    web: Callable[[str], Sequence[Passage]] | None = None


def run_agent(
    question: str,
    tools: AgentTools,
    *,
    turns: tuple[Turn, ...] = (),
    decide: Decide = decide_by_rules,
    limits: Limits | None = None,
    on_event: Listener = null_listener,
) -> Answer:
    """Answer a question in rounds; each is a trace step `agent` and an event."""
    steps, begun, spent = Tracer(on_event), time.monotonic(), current_usage()
    limits = limits or Limits()
    state = State(
        question=question,
        turns=turns,
        preferences=tuple(tools.memory.preferences) if tools.memory is not None else (),
        has_memory=tools.memory is not None,
        has_web=tools.web is not None,
    )
    while True:
        reason = stop_reason(state, limits)
        action: Action = DirectAnswer(reason=reason) if reason else decide(state)
        if not isinstance(action, DirectAnswer | AskClarification) and is_repeated(
            action, state.tried
        ):
            action = DirectAnswer(reason="the state repeats")
        if isinstance(action, DirectAnswer | AskClarification):
            _record(steps, state, action)
            return replace(_end(state, action, tools), trace=tuple(steps.steps))
        try:
            finding = _search(action, tools)
        except BudgetExceeded:
            if not state.findings:
                raise
            stopped = DirectAnswer(reason="the budget is spent")
            _record(steps, state, stopped)
            return replace(_end(state, stopped, tools), trace=tuple(steps.steps))
        _record(steps, state, action, found=len(finding.passages))
        used = current_usage().since(spent)
        state = state.after(
            finding,
            seconds=time.monotonic() - begun,
            tokens=used.prompt_tokens + used.completion_tokens,
        )


def _record(steps: Tracer, state: State, action: Action, **figures: float) -> None:
    said = action.query if not isinstance(action, DirectAnswer | AskClarification) else ""
    name = type(action).__name__
    steps.record(
        "agent",
        f"{name}: {action.reason}",
        said,
        state.question,
        round=len(state.findings) + 1,
        **figures,
    )


def _search(action: Search, tools: AgentTools) -> Finding:
    if isinstance(action, SearchKnowledge):
        if tools.search is not None:
            return Finding(action=action, passages=tuple(tools.search(action.query)))
        answer = tools.answer(action.query, None)
        return Finding(action=action, passages=answer.passages, answer=answer)
    tool = tools.memory if isinstance(action, SearchMemory) else tools.web
    found = tool(action.query) if tool is not None else ()
    return Finding(action=action, passages=tuple(found))


def _end(state: State, action: DirectAnswer | AskClarification, tools: AgentTools) -> Answer:
    """Return the answer that a run ends with."""
    if isinstance(action, AskClarification):
        said = action.question
        return Answer(question=state.question, text=said, mode="agent", clarification=said)
    if action.text:
        return Answer(question=state.question, text=action.text, mode="agent")
    try:
        return replace(_answer(state, tools), question=state.question, mode="agent")
    except BudgetExceeded:
        said = ABSTENTION[language_of(state.question)]
        return Answer(question=state.question, text=said, mode="agent", abstained=True)


def _answer(state: State, tools: AgentTools) -> Answer:
    read = [each.answer for each in state.findings if each.answer is not None]
    documents = [
        list(each.passages) for each in state.findings if not isinstance(each.action, SearchMemory)
    ]
    web = any(passage.origin == "web" for found in documents for passage in found)
    if not read or (web and read[0].abstained):
        return tools.answer(state.question, in_turn(documents) if documents else None)
    first = read[0]
    if len(read) == 3 and replaces(read[2], bridge=read[1], first=first):
        return read[2]
    return first


def replaces(new: Answer, *, bridge: Answer, first: Answer) -> bool:
    """Check whether the answer to the second question replaces that of the first round.

    It does where it is surer, or where the first round's answer is but the name in between.
    """
    if is_better(new, first):
        return True
    short, name = first.short, bridge_name(bridge)
    return not new.abstained and short is not None and short.text.casefold() == name.casefold()


def in_turn(lists: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Return the passages of several searches, one of each in turn, each once."""
    known: dict[str, Passage] = {}
    for row in zip_longest(*lists):
        for passage in row:
            if passage is not None:
                known.setdefault(passage.chunk_id, passage)
    return list(known.values())
