"""Actions and states of agentic search as plain values, and the rules that end it.

Nothing here searches, asks a model or reads a clock: `State` in, `State` or a reason out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..storage.tokenization import tokens
from ..types import Answer, Passage, Turn

Purpose = Literal["question", "inner", "bridge", "side", "rewrite"]
"""Part of the question that a search is for: the whole, the inner part of a question of two steps,
the one that is left with the name found, or one side of a comparison; or the whole in the words of
a model."""

REPEATED = 0.9
"""Jaccard similarity of words from which a query is a repetition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKnowledge:
    """Search the library; `query` is a question that stands alone.

    It is read from passages that hold the name `about`, where there are any.
    """

    query: str
    reason: str = ""
    purpose: Purpose = "question"
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchWeb:
    """Search outside of the library, where a tool for it was given."""

    query: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchMemory:
    """Search what the user said before."""

    query: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFound:
    """Read what was found for another question: no search, so no round."""

    query: str
    reason: str = ""
    purpose: Purpose = "inner"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskClarification:
    """Ask the user a question in place of an answer."""

    question: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectAnswer:
    """End the search: with `text` where nothing had to be looked up, else from what was found."""

    text: str = ""
    reason: str = ""


Search = SearchKnowledge | SearchWeb | SearchMemory | ReadFound
Action = Search | AskClarification | DirectAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One search or reading: its action, the passages, and the answer read from them, if any."""

    action: Search
    passages: tuple[Passage, ...] = ()
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """State of one question: what was asked, found and spent, and what the user prefers.

    `reads` is that of `AgentTools`.
    """

    question: str
    turns: tuple[Turn, ...] = ()
    findings: tuple[Finding, ...] = ()
    preferences: tuple[str, ...] = ()
    reads: bool = True
    has_memory: bool = False
    has_web: bool = False
    seconds: float = 0.0
    tokens: int = 0

    @property
    def rounds(self) -> int:
        """Return the number of searches made."""
        return sum(not isinstance(each.action, ReadFound) for each in self.findings)

    @property
    def tried(self) -> tuple[Search, ...]:
        """Return the searches that were made, oldest first."""
        return tuple(finding.action for finding in self.findings)

    def found_for(self, purpose: Purpose) -> list[Finding]:
        """Return the findings in the library for one part of the question, oldest first."""
        return [
            each
            for each in self.findings
            if isinstance(each.action, SearchKnowledge | ReadFound)
            and each.action.purpose == purpose
        ]

    def after(self, finding: Finding, *, seconds: float, tokens: int) -> State:
        """Return the state after a round."""
        findings = (*self.findings, finding)
        return replace(self, findings=findings, seconds=seconds, tokens=tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one question; None is none. `needs_new`: a round that brings nothing ends it."""

    max_rounds: int = 3
    max_seconds: float | None = None
    max_tokens: int | None = None
    needs_new: bool = True


def stop_reason(state: State, limits: Limits) -> str:
    """Return why no further round may begin; empty where one may."""
    if state.rounds >= limits.max_rounds or len(state.findings) >= 2 * limits.max_rounds:
        return "rounds are spent"
    if limits.max_seconds is not None and state.seconds >= limits.max_seconds:
        return "time is spent"
    if limits.max_tokens is not None and state.tokens >= limits.max_tokens:
        return "tokens are spent"
    if limits.needs_new and len(state.findings) > 1 and not _brought_new(state.findings):
        return "nothing new came"
    return ""


def is_repeated(action: Search, tried: Sequence[Search]) -> bool:
    """Check whether a search of its kind with the same words was made before."""
    return any(
        type(action) is type(other) and jaccard(action.query, other.query) >= REPEATED
        for other in tried
    )


def jaccard(one: str, other: str) -> float:
    """Return the Jaccard similarity of two texts' words."""
    left, right = set(tokens(one)), set(tokens(other))
    return len(left & right) / len(left | right) if left | right else 1.0


def _brought_new(findings: Sequence[Finding]) -> bool:
    before = {passage.chunk_id for each in findings[:-1] for passage in each.passages}
    last = findings[-1]
    if isinstance(last.action, ReadFound):
        return True  # it brings no passages, and no round
    # A reading of the same passages is new where it gives an answer.
    read = last.answer is not None and not last.answer.abstained
    return read or any(passage.chunk_id not in before for passage in last.passages)
