"""A clause a chunk: laws, contracts, statutes and rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .clauses import ARTICLE, HEADING, LETTERED, OUTER, PARAGRAPH, ClauseMarker, clause_markers
from .measure import Measure
from .parser import ContextSource, Span, SpanNodeParser
from .units import Limits, Unit, fill, merge_short, ranges

_BARE_CHARACTERS = 160
_LINE_CHARACTERS = 160
_SENTENCE_MARKS = (".", ";", "。", "；")


class LegalNodeParser(SpanNodeParser):
    """Node parser with a chunk for each article (§, section, 条.

    Else the top numbered clause).

    One that does not fit is cut at its numbered clauses and sub-clauses, short ones of one article
    together, and its later pieces have its first line for their context. The path keeps part,
    chapter and article. Titles stand with the first clause under them. Clauses do not overlap.
    """

    def spans(self, subject: ContextSource) -> list[Span]:
        """Clause by clause."""
        limits = Limits(
            measure=Measure(subject.text, self.tokeniser),
            size_tokens=self.size_tokens,
            markdown=subject.shape == "markdown",
        )
        return fill(subject.text, clauses(subject.text), limits)


def clauses(text: str) -> list[Unit]:
    """Split a text into units: clauses stand alone, other text does not."""
    found = clause_markers(text)
    rank = clause_rank(found)
    cuts = [marker for marker in found if marker.rank <= rank]
    begun = {marker.start: marker for marker in cuts}
    stack: list[ClauseMarker] = []
    result: list[Unit] = []
    titles_from: int | None = None
    inner = [marker for marker in found if marker.rank > rank]
    at, text_end = 0, len(text.rstrip())
    for start, end in ranges(text, 0, len(text), list(begun)):
        marker = begun.get(start)
        if marker is not None:
            _push(stack, marker)
        own: list[ClauseMarker] = []
        while at < len(inner) and inner[at].start < end:
            own.append(inner[at])
            at += 1
        is_clause = marker is not None and marker.rank == rank
        if not is_clause and end < text_end and _is_bare(text, start, end, marker):
            titles_from = start if titles_from is None else titles_from
            continue
        path = tuple(each.label for each in stack if each.label)
        begin = start if titles_from is None else titles_from
        unit = Unit(
            start=begin,
            end=end,
            path=path,
            carried=_first_line(text, start, end) if is_clause else "",
            alone=is_clause,
        )
        result.append(replace(unit, parts=_parts(text, unit, inner=own)))
        titles_from = None
    if titles_from is not None:
        result.append(Unit(start=titles_from, end=text_end))
    return result


def clause_rank(found: Sequence[ClauseMarker]) -> float:
    """Return the clause rank: the innermost named division, else the outermost numbered."""
    ranks = [marker.rank for marker in found]
    named = [rank for rank in (PARAGRAPH, ARTICLE, OUTER) if ranks.count(rank) > 1]
    numbered = [rank for rank in ranks if PARAGRAPH < rank < LETTERED]
    return named[0] if named else min(numbered, default=HEADING)


def _push(stack: list[ClauseMarker], marker: ClauseMarker) -> None:
    while stack and (stack[-1].rank, stack[-1].level) >= (marker.rank, marker.level):
        stack.pop()
    if marker.rank != HEADING:
        while stack and stack[-1].rank == marker.rank:
            stack.pop()
    stack.append(marker)


def _is_bare(text: str, start: int, end: int, marker: ClauseMarker | None) -> bool:
    """Check whether a division is only a title."""
    bare = marker is not None and end - start <= _BARE_CHARACTERS
    return bare and not text[start:end].endswith(_SENTENCE_MARKS)


def _first_line(text: str, start: int, end: int) -> str:
    """Return a clause's first line, the context of its later pieces."""
    line = text[start : min(end, start + _LINE_CHARACTERS)].partition("\n")[0]
    return merge_short(line.strip(" \t\u3000#*_"))


def _parts(text: str, unit: Unit, *, inner: list[ClauseMarker]) -> tuple[Unit, ...]:
    """Return the sub-clauses of the first kind, each with its content."""
    if not inner:
        return ()
    kind = inner[0].kind
    begun = {marker.start: marker for marker in inner if marker.kind == kind}
    rest = [marker for marker in inner if marker.kind != kind]
    result: list[Unit] = []
    at = 0
    for start, end in ranges(text, unit.start, unit.end, list(begun)):
        own: list[ClauseMarker] = []
        while at < len(rest) and rest[at].start < end:
            own.append(rest[at])
            at += 1
        part = Unit(start=start, end=end, path=unit.path)
        if start in begun:
            carried = _first_line(text, start, end)
            part = replace(part, path=(*unit.path, begun[start].label), carried=carried)
        result.append(replace(part, parts=_parts(text, part, inner=own)))
    return tuple(result)
