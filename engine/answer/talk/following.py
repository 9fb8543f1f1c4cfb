"""Query rewriting of follow-up questions, and trimming of the history.

By a model where there is one and its reply can be taken, else by rules (see `references`). Asked
once a question, before anything is searched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...errors import ModelError
from ...events import Listener
from ...index.door import NamedPlace
from ...index.filters import DocumentFilter
from ...retrieve.stopwatch import Tracer
from ...types import Turn
from ..checks.judge import JudgeLLM
from ..checks.stage import find_mentions
from ..language import HAN
from .by_model import follow_up_prompt, read_follow_up
from .references import Name, resolve_references
from .turns import trim_history

LibraryNames = Callable[[str, DocumentFilter | None], tuple[NamedPlace, ...]]
"""Finder of entity names in a text, among visible documents."""
_SHARE = 4
"""A question may spend a quarter of a model's window on what was said before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenQuery:
    """Standalone question, and the history for the model."""

    question: str
    turns: tuple[Turn, ...] = ()


class QueryRewriter:
    """Reads questions after what was said before them, for one library.

    Args:
        budget_tokens: how much of earlier turns is read at most; 0 reads none.
        count: tokens of a text.
        names: finds the library's names in a text.
        consult: asks a model; None goes by rules.
        window: how many tokens that model reads at a time.
    """

    def __init__(
        self,
        *,
        budget_tokens: int,
        count: Callable[[str], int],
        names: LibraryNames,
        consult: JudgeLLM | None = None,
        window: Callable[[], int] | None = None,
    ) -> None:
        self._budget = budget_tokens
        self._count = count
        self._names = names
        self._consult = consult
        self._window = window

    def read(
        self,
        question: str,
        turns: tuple[Turn, ...],
        *,
        within: DocumentFilter | None,
        on_event: Listener,
    ) -> RewrittenQuery:
        """Rewrite a question to stand alone; unchanged without history."""
        if not turns or not self._budget:
            return RewrittenQuery(question=question)
        steps = Tracer(on_event)
        try:
            shown = trim_history(turns, budget_tokens=self._most(), count=self._count)
            alone, problem = self._by_model(question, shown)
        except ModelError as error:
            shown = trim_history(turns, budget_tokens=self._budget, count=self._count)
            alone, problem = "", str(error)
        by = "a model" if alone else "rules"
        if not alone:
            alone = resolve_references(
                question, shown, names=lambda text: self._named(text, within)
            )
        note = f"; by rules alone: {problem}" if problem else ""
        left_out = len(turns) - len(shown)
        steps.record(
            "understand",
            f"{'as asked' if alone == question else 'a follow-up'}, by {by}{note}",
            alone,
            question,
            turns=len(shown),
            left_out=left_out,
            failed=float(bool(problem)),
        )
        return RewrittenQuery(question=alone, turns=shown)

    def _most(self) -> int:
        if self._window is None:
            return self._budget
        return min(self._budget, self._window() // _SHARE)

    def _by_model(self, question: str, turns: tuple[Turn, ...]) -> tuple[str, str]:
        """Rewrite by a model, or return why not; nothing without a model."""
        if self._consult is None or not turns:
            return "", ""
        reply = self._consult("follow_up", follow_up_prompt(question, turns))
        return read_follow_up(reply, question, turns)

    def _named(self, text: str, within: DocumentFilter | None) -> list[Name]:
        """Find known names and name-like words in a text."""
        known = [
            Name(start=place.start, end=place.end, type=place.type)
            for place in self._names(text, within)
            if text[place.start].isupper() or HAN.match(text[place.start])
        ]
        seen = [Name(start=m.start, end=m.end, type=m.type) for m in find_mentions(text)]
        kept: list[Name] = []
        for name in sorted([*known, *seen], key=lambda n: (n.start - n.end, n.type == "NAME")):
            if not any(name.start < other.end and other.start < name.end for other in kept):
                kept.append(name)
        return sorted(kept, key=lambda name: name.start)
