"""Transcripts: lines that begin with who speaks, "Project Manager: Well, …"."""

from __future__ import annotations

import re
from functools import lru_cache

_LABEL = re.compile(
    r"^(?P<name>[A-Z][\w.'’-]{0,30}(?: [A-Z][\w.'’-]{0,30}){0,3}):(?=[ \t])", re.MULTILINE
)
_FEWEST_LINES = 3


@lru_cache(maxsize=8)
def speaker_labels(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the labels that begin lines; empty where none comes again."""
    spans = tuple(label.span("name") for label in _LABEL.finditer(text))
    comes_again = len({text[start:end] for start, end in spans}) < len(spans)
    return spans if len(spans) >= _FEWEST_LINES and comes_again else ()


def speakers_of(text: str) -> frozenset[str]:
    """Return those who speak in a transcript."""
    return frozenset(text[start:end] for start, end in speaker_labels(text))
