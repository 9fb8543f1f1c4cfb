"""Questions that follow on: what they mean after what was said, and how much of that is shown.

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
from ...retrieve.stopwatch import Stopwatch
from ...types import Turn
from ..checks.judge import Consult
from ..checks.stage import mentions_in
from ..language import HAN
from .by_model import follow_up_prompt, read_follow_up
from .references import Name, stands_alone
from .turns import recent

LibraryNames = Callable[[str, DocumentFilter | None], tuple[NamedPlace, ...]]
"""Where names of entities, of those documents that may be seen, stand in a text."""
_SHARE = 4
"""A question may spend a quarter of a model's window on what was said before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """A question as it stands alone, and the turns before it that a model may be shown."""

    question: str
    turns: tuple[Turn, ...] = ()


class FollowUps:
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
        consult: Consult | None = None,
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
        tell: Listener,
    ) -> Following:
        """The question as it stands alone; without turns as it is, and nothing is told."""
        if not turns or not self._budget:
            return Following(question=question)
        steps = Stopwatch(tell)
        try:
            shown = recent(turns, budget_tokens=self._most(), count=self._count)
            alone, problem = self._by_model(question, shown)
        except ModelError as error:
            shown = recent(turns, budget_tokens=self._budget, count=self._count)
            alone, problem = "", str(error)
        by = "a model" if alone else "rules"
        if not alone:
            alone = stands_alone(question, shown, names=lambda text: self._named(text, within))
        note = f"; by rules alone: {problem}" if problem else ""
        left_out = len(turns) - len(shown)
        steps.lap(
            "understand",
            f"{'as asked' if alone == question else 'a follow-up'}, by {by}{note}",
            alone,
            question,
            turns=len(shown),
            left_out=left_out,
            failed=float(bool(problem)),
        )
        return Following(question=alone, turns=shown)

    def _most(self) -> int:
        if self._window is None:
            return self._budget
        return min(self._budget, self._window() // _SHARE)

    def _by_model(self, question: str, turns: tuple[Turn, ...]) -> tuple[str, str]:
        """The question as a model reads it, or nothing and why; nothing at all without a model."""
        if self._consult is None or not turns:
            return "", ""
        reply = self._consult("follow_up", follow_up_prompt(question, turns))
        return read_follow_up(reply, question, turns)

    def _named(self, text: str, within: DocumentFilter | None) -> list[Name]:
        """The names in a text: those that the library knows, and others that look like one."""
        known = [
            Name(start=place.start, end=place.end, type=place.type)
            for place in self._names(text, within)
            if text[place.start].isupper() or HAN.match(text[place.start])
        ]
        seen = [Name(start=m.start, end=m.end, type=m.type) for m in mentions_in(text)]
        kept: list[Name] = []
        for name in sorted([*known, *seen], key=lambda n: (n.start - n.end, n.type == "NAME")):
            if not any(name.start < other.end and other.start < name.end for other in kept):
                kept.append(name)
        return sorted(kept, key=lambda name: name.start)
