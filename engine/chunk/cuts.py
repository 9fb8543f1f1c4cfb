"""Progressively finer split points for oversized blocks; never inside a character.

Sentences first, then lines, clauses, and at last windows of tokens. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .blocks import Kind
from .measure import Measure

BLOCK, SENTENCE, LINE, CLAUSE, WINDOW = range(5)
"""Grains: how fine a piece is cut."""

_CLOSING = "\"'”’」』》）)\\]"
_SENTENCE_END = re.compile(
    rf"[。！？；…]+[{_CLOSING}]*"
    rf"|[.!?]++[{_CLOSING}]*+"  # an end only before white space: asked of the match, not here,
    # where a long run that is none would be tried anew from each of its characters
    r"|\n[ \t]*\r?\n\s*"
    r"|\n(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])"
)
_ABBREVIATION = re.compile(
    r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Rev|Gen|Col|Capt|Lt|No|Vol|Fig|Eq|vs|etc|al|cf|ca|e\.g|i\.e)\.$"
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_CLAUSE_END = re.compile(r"[，；：、—]+|[,;:](?=\s)")
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f\u20e3")
_MAX_CLUSTER = 32
_TOKENS_IN_A_WINDOW = 4
"""Fraction of a chunk per window (1/4), so that windows pack with preceding text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A span to be packed whole or cut finer."""

    start: int
    end: int
    kind: Kind
    grain: int = BLOCK


def finer(text: str, piece: Piece, *, measure: Measure, size_tokens: int) -> list[Piece]:
    """Split the piece at the next grain that cuts it; unchanged if it fits.

    Empty where nothing can cut it any more.
    """
    for grain in range(piece.grain + 1, WINDOW + 1):
        if grain in (SENTENCE, CLAUSE) and piece.kind in ("table", "code"):
            continue
        ends = _ends(text, piece, grain, measure, max(1, size_tokens // _TOKENS_IN_A_WINDOW))
        pieces = [
            Piece(start=start, end=end, kind=piece.kind, grain=grain)
            for start, end in stripped_spans(text, piece.start, piece.end, ends)
        ]
        fits = measure.tokens(piece.start, piece.end) <= size_tokens
        if len(pieces) > 1 or fits:
            return pieces
    return []


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Return sentence starts in `text[start:end]` except the first, in order."""
    spans = stripped_spans(text, start, end, _sentence_ends(text, start, end))
    return [begin for begin, _ in spans][1:]


def stripped_spans(
    text: str, start: int, end: int, ends: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Return trimmed spans between `ends`; empty ones are dropped."""
    for cut in (*ends, end):
        stop = cut
        while start < stop and text[start].isspace():
            start += 1
        while stop > start and text[stop - 1].isspace():
            stop -= 1
        if start < stop:
            yield start, stop
        start = max(start, cut)


def safe_cut(text: str, at: int) -> int:
    """`at`, moved back so that no combining sequence, emoji or surrogate pair is cut."""
    cut = at
    while 0 < cut < len(text) and at - cut < _MAX_CLUSTER and _binds(text[cut - 1], text[cut]):
        cut -= 1
    return cut if at - cut < _MAX_CLUSTER else at


def _binds(before: str, after: str) -> bool:
    if after in _JOINERS or before == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    return unicodedata.category(after).startswith("M") or (before, after) == ("\r", "\n")


def _ends(text: str, piece: Piece, grain: int, measure: Measure, window_tokens: int) -> list[int]:
    if grain == SENTENCE:
        return list(_sentence_ends(text, piece.start, piece.end))
    if grain == LINE:
        return [found.end() for found in _LINE_END.finditer(text, piece.start, piece.end)]
    if grain == CLAUSE:
        return [found.end() for found in _CLAUSE_END.finditer(text, piece.start, piece.end)]
    return list(_window_ends(text, piece, measure, window_tokens))


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(text, start, end):
        at = found.end()
        if found.group()[0] in ".!?" and not text[at : min(at + 1, end)].isspace():
            continue
        if found.group() == "." and _ABBREVIATION.search(text, max(start, at - 8), at):
            continue
        yield at


def _window_ends(text: str, piece: Piece, measure: Measure, window_tokens: int) -> Iterator[int]:
    """Cuts after at most `window_tokens` tokens, at white space where there is some."""
    start = piece.start
    while True:
        limit = measure.forward(start, window_tokens)
        if limit >= piece.end:
            return
        space = next((at for at in range(limit, start + 1, -1) if text[at - 1].isspace()), start)
        cut = space if space > start else safe_cut(text, limit)
        start = cut if cut > start else limit
        yield start
