"""One call of a tool, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..progress import Progress, no_progress
from .rights import ALL_RIGHTS, Access

LONGEST_ANSWER = 60_000
"""Maximum characters of readable text per call; values are complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Tool call: access, requested namespace, and allowed folders."""

    rights: Access = ALL_RIGHTS
    namespace: str | None = None
    folders: Sequence[Path] = ()
    progress: Progress = no_progress


@dataclass(frozen=True, slots=True)
class Result:
    """Tool result: readable lines, and the same as a value (a frozen dataclass)."""

    text: str
    value: object

    @classmethod
    def of(cls, lines: Sequence[str], value: object) -> Result:
        """Build a result; lines beyond `LONGEST_ANSWER` are dropped with a note."""
        text = "\n".join(lines)
        if len(text) > LONGEST_ANSWER:
            text = f"{text[:LONGEST_ANSWER]}…\n(cut here: ask for less, or go on from there)"
        return cls(text, value)
