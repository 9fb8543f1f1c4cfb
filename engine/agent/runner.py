"""Loop of agentic search: decide, act, record, until a stop rule or a decider ends it.

Without a model each search of the library is a whole round of local answering: the inner part of a
two-step question is read from what was found, and the answer to the question that is left comes
before the first round's. With a model searches bring passages alone, and one answer is
written from them at the end. Every run ends with an answer, an abstention or a question back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Protocol

from graph.text.cjk import in_script_of

from ..errors import BudgetExceeded, ModelError
from ..events import Listener, null_listener
from ..llm.budget import current_usage
from ..prompts import ABSTENTION, language_of
from ..retrieval.passages import Tracer
from ..storage.tokenization import tokens
from ..types import Answer, Passage, Turn
from .chain import chain_answer
from .rules import bridge_name, decide_by_rules
from .state import (
    Action,
    AskClarification,
    DirectAnswer,
    Finding,
    Limits,
    ReadFound,
    Search,
    SearchKnowledge,
    SearchMemory,
    SearchWeb,
    State,
    is_repeated,
    stop_reason,
)

Decide = Callable[[State], Action]
"""Decides the next action in a state."""
Act = Callable[[Search, State], Finding | DirectAnswer]
"""Makes a search; an end where none can be made any more."""


class Recall(Protocol):
    """Searches what the user said before; what it gives helps to understand, and is no source."""

    @property
    def preferences(self) -> Sequence[str]:
        """Return what the user said they prefer, in their own words."""

    def __call__(self, query: str) -> Sequence[Passage]:
        """Return the passages of memory nearest to a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTools:
    """The searches of one question.

    `search` brings passages of the library; `answer` reads passages for a question, or searches
    first where none are given. `reads`: each search is read, as no model writes one answer at the
    end. `memory` and `web` are None where there are none.
    """

    answer: Callable[[str, Sequence[Passage] | None], Answer]
    search: Callable[[str], Sequence[Passage]]
    reads: bool = True
    memory: Recall | None = None
    web: Callable[[str], Sequence[Passage]] | None = None

    def begin(self, question: str, turns: tuple[Turn, ...] = ()) -> State:
        """Return the state in which nothing was searched yet."""
        return State(
            question=question,
            turns=turns,
            reads=self.reads,
            preferences=tuple(self.memory.preferences) if self.memory is not None else (),
            has_memory=self.memory is not None,
            has_web=self.web is not None,
        )


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
    steps = Tracer(on_event)

    def act(action: Search, state: State) -> Finding | DirectAnswer:
        try:
            return take_action(action, tools, state)
        except BudgetExceeded:
            return DirectAnswer(reason="the budget is spent")

    state, end = run_rounds(
        tools.begin(question, turns),
        decide=decide,
        act=act,
        limits=limits or Limits(),
        record=partial(_record, steps),
    )
    answer = finish(state, end, tools)
    for failed in answer.warnings:
        steps.record("agent", f"no answer: {failed}", "", question, failed=1.0)
    return replace(answer, trace=tuple(steps.steps))


def run_rounds(
    state: State,
    *,
    decide: Decide,
    act: Act,
    limits: Limits,
    record: Callable[[State, Action, int], None] = lambda _state, _action, _found: None,
) -> tuple[State, DirectAnswer | AskClarification]:
    """Decide and act until a stop rule or the decider ends it; return the last state and the end.

    `record` is told of each round and of the end, with the number of passages found.
    """
    begun, spent = time.monotonic(), current_usage()
    while True:
        action = next_action(state, decide, limits)
        made = action if isinstance(action, DirectAnswer | AskClarification) else act(action, state)
        if not isinstance(made, Finding):
            record(state, made, 0)
            return state, made
        record(state, made.action, len(made.passages))
        used = current_usage().since(spent)
        state = state.after(
            made,
            seconds=time.monotonic() - begun,
            tokens=used.prompt_tokens + used.completion_tokens,
        )


def next_action(state: State, decide: Decide, limits: Limits) -> Action:
    """Return the decided action, or the end where a stop rule holds or a search is repeated."""
    if reason := stop_reason(state, limits):
        return DirectAnswer(reason=reason)
    action = decide(state)
    if isinstance(action, DirectAnswer | AskClarification):
        return action
    return DirectAnswer(reason="the state repeats") if is_repeated(action, state.tried) else action


def _record(steps: Tracer, state: State, action: Action, found: int) -> None:
    is_end = isinstance(action, DirectAnswer | AskClarification)
    figures = {} if is_end else {"found": float(found)}
    steps.record(
        "agent",
        f"{type(action).__name__}: {action.reason}",
        "" if isinstance(action, DirectAnswer | AskClarification) else action.query,
        state.question,
        round=state.rounds + 1,
        **figures,
    )


def take_action(action: Search, tools: AgentTools, state: State) -> Finding:
    """Make a search, or read what was found."""
    earlier = [list(each.passages) for each in state.findings]
    match action:
        case ReadFound():
            answer = tools.answer(action.query, in_turn(earlier))
            return Finding(action=action, answer=answer)
        case SearchKnowledge():
            if tools.reads and not earlier:
                answer = tools.answer(action.query, None)
                return Finding(action=action, passages=answer.passages, answer=answer)
            found = tuple(tools.search(action.query))
            if not tools.reads:
                return Finding(action=action, passages=found)
            read = about(action.about, in_turn([found, *earlier]))
            return Finding(action=action, passages=found, answer=tools.answer(action.query, read))
        case SearchMemory() | SearchWeb():
            tool = tools.memory if isinstance(action, SearchMemory) else tools.web
            return Finding(action=action, passages=tuple(tool(action.query)) if tool else ())


def finish(state: State, action: DirectAnswer | AskClarification, tools: AgentTools) -> Answer:
    """Return the answer that a run ends with; where a model fails at it, an abstention says so."""
    question = state.question
    if isinstance(action, AskClarification):
        said = action.question
        return Answer(question=question, text=said, mode="agent", clarification=said)
    if action.text:
        return Answer(question=question, text=action.text, mode="agent")
    try:
        answer = _answer(state, tools)
    except ModelError as error:
        said = in_script_of(question, ABSTENTION[language_of(question)])
        failed = (str(error),)
        return Answer(question=question, text=said, mode="agent", abstained=True, warnings=failed)
    return replace(answer, question=question, mode="agent")


def _answer(state: State, tools: AgentTools) -> Answer:
    read = [each.answer for each in state.findings if each.answer is not None]
    documents = [
        list(each.passages) for each in state.findings if not isinstance(each.action, SearchMemory)
    ]
    web = any(passage.origin == "web" for found in documents for passage in found)
    if not read or (web and read[0].abstained):
        return tools.answer(state.question, in_turn(documents) if documents else None)
    if state.found_for("side"):
        return tools.answer(state.question, in_turn(documents))
    bridges = state.found_for("bridge")
    if not bridges or bridges[-1].answer is None:
        return read[0]
    inner = [each.answer for each in state.found_for("inner") if each.answer is not None]
    chain = {name: each for each in inner if (name := bridge_name(each))}
    steps = [*chain.values()][::-1]
    joined = chain_answer(read[0], steps, bridges[-1].answer, names=chain)
    return replace(joined, passages=tuple(in_turn(documents)))


def about(name: str, passages: Sequence[Passage]) -> Sequence[Passage]:
    """Return the passages that hold the words of a name; all where none does."""
    words = frozenset(tokens(name))
    return [p for p in passages if words <= frozenset(tokens(f"{p.title}\n{p.text}"))] or passages


def in_turn(lists: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Return the passages of several searches, one of each in turn, each once."""
    known: dict[str, Passage] = {}
    for row in zip_longest(*lists):
        for passage in row:
            if passage is not None:
                known.setdefault(passage.chunk_id, passage)
    return list(known.values())
