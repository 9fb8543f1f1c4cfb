"""One call of a tool, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..progress import Progress, silent
from .rights import ALL_RIGHTS, Rights

LONGEST_ANSWER = 60_000
"""Characters of readable text that one call gives back at most; the values are whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who calls: rights, the namespace that was asked for, where files may be added from."""

    rights: Rights = ALL_RIGHTS
    namespace: str | None = None
    folders: Sequence[Path] = ()
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gives: lines to read, and the same as a value (a frozen dataclass)."""

    text: str
    value: object

    @classmethod
    def of(cls, lines: Sequence[str], value: object) -> Result:
        """A result; lines beyond `LONGEST_ANSWER` are left out, and it says so."""
        text = "\n".join(lines)
        if len(text) > LONGEST_ANSWER:
            text = f"{text[:LONGEST_ANSWER]}…\n(cut here: ask for less, or go on from there)"
        return cls(text, value)
