"""Chunking of laws, contracts and statutes by clause.

Markers of parts, chapters, articles and clauses are read in English and Chinese numbering and as
paragraph signs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .merging import Limits, Unit, line_spans, merge_short, pack_units, split_at
from .span_parser import ContextSource, Measure, Span, SpanNodeParser
from .structure import atx_heading

HEADING, PART, CHAPTER, OUTER, ARTICLE, PARAGRAPH, LISTED, NUMBERED, LETTERED = range(9)
"""Ranks, outermost first. OUTER: sections or articles, whichever hold the other; a
numbered clause's further numbers (5.1.2) add a tenth each."""

_NUMBER = r"(?:\d{1,4}[A-Za-z]?(?:\.\d{1,3}){0,4}|[IVXLC]{1,7}|[ivxlc]{1,7}|[A-Z])"
_SUB = r"(?:\s?\([A-Za-z\d]{1,4}\))*"
_AFTER = r"(?=\s*$|\s*[.:：—–]|\s+-\s|\s+[(（]?[^\Wa-z])"
_CHINESE_NUMBER = r"[〇零一二三四五六七八九十百千\d]{1,8}"
_WORDS = {
    "part": PART, "title": PART, "book": PART, "schedule": PART, "annex": PART, "appendix": PART,
    "chapter": CHAPTER, "article": ARTICLE, "art.": ARTICLE, "section": OUTER, "sec.": OUTER,
    "clause": OUTER, "rule": OUTER, "regulation": OUTER,
}  # fmt: skip
_CHINESE_WORDS = {"编": PART, "分编": PART, "章": CHAPTER, "节": OUTER, "条": ARTICLE}
_ENGLISH = re.compile(
    rf"(?P<word>(?i:{'|'.join(map(re.escape, _WORDS))}))\s+(?P<number>{_NUMBER}){_SUB}{_AFTER}"
)
_CHINESE = re.compile(
    rf"第(?P<number>{_CHINESE_NUMBER})(?P<word>分编|[编章节条])"
    r"(?:之[一二三四五六七八九十]+)?(?=[\s　:：、.【（(]|$)"
)
_SIGN = re.compile(r"§{1,2}\s?(?P<number>\d{1,4}[a-z]?(?:[.-]\d{1,4})*)\.?(?=\s|$)")
_CHINESE_LISTED = re.compile(r"(?P<number>[一二三四五六七八九十]{1,3})、")
_DECIMAL = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})(?:[.、．](?=\s|\D)|(?=\s+\S)(?<=\.\d)|(?=\s+\S)(?<=\.\d\d))"
)
_BRACKETED = re.compile(
    r"[(（](?P<number>[a-z]{1,2}|[ivx]{1,5}|\d{1,3}|[A-Z]|[一二三四五六七八九十]{1,3})[)）](?!\s*[,;.])"
)
_MARKS = re.compile(r"[ \t\u3000>]*(?:#{1,6}[ \t]+)?(?:\*\*|__)?[ \t\u3000]*")
_TITLE_CHARACTERS = 80
_PROSE_END = re.compile(r"[.;,。；，:：]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseMarker:
    """Start of a division.

    Lower `rank` is further out, `kind` separates enumerations of one rank; `number` as
    written, `label` for the path; `level` is a Markdown heading's, else 0.
    """

    start: int
    rank: float
    kind: str
    number: str
    label: str
    level: int = 0


def clause_markers(text: str) -> list[ClauseMarker]:
    """Find all division markers in order; sections and articles are ranked by nesting."""
    found: list[ClauseMarker] = []
    level = 0
    for first, last in line_spans(text, 0, len(text)):
        line = text[first : min(last, first + 300)]
        marker = _marker(line, first)
        if marker is None:
            continue
        if marker.rank != HEADING:
            level = marker.level or level
        elif level and marker.level > level:
            continue  # a note's heading inside an article, not the end of it
        else:
            level = 0
        found.append(marker)
    return _ranked(found)


def _marker(line: str, offset: int) -> ClauseMarker | None:
    marks = _MARKS.match(line)
    begin = marks.end() if marks else 0
    if begin >= len(line):
        return None
    heading = atx_heading(line)
    start = offset + len(line) - len(line.lstrip())
    level = heading.level if heading else 0
    for pattern in (_ENGLISH, _CHINESE, _SIGN, _CHINESE_LISTED, _DECIMAL, _BRACKETED):
        found = pattern.match(line, begin)
        if found:
            rank, kind = _rank(pattern, found)
            label = _label(line[begin:], found.group())
            number = found.group("number")
            return ClauseMarker(
                start=start, rank=rank, kind=kind, number=number, label=label, level=level
            )
    if heading is None:
        return None
    return ClauseMarker(
        start=start, rank=HEADING, kind="heading", number="", label=heading.text, level=level
    )


def _rank(pattern: re.Pattern[str], found: re.Match[str]) -> tuple[float, str]:
    if pattern is _ENGLISH:
        word = found.group("word").lower()
        return _WORDS[word], {"art.": "article", "sec.": "section"}.get(word, word)
    if pattern is _CHINESE:
        return _CHINESE_WORDS[found.group("word")], found.group("word")
    if pattern is _SIGN:
        return PARAGRAPH, "§"
    if pattern is _CHINESE_LISTED:
        return LISTED, "一、"
    number = found.group("number")
    if pattern is _DECIMAL:
        dots = number.count(".")
        return NUMBERED + dots / 10, f"1{'.1' * dots}"
    kinds = ((r"\d+", "(1)"), (r"[ivx]{2,}", "(i)"), (r"[a-z]+", "(a)"), (r"[A-Z]", "(A)"))
    kind = next((name for form, name in kinds if re.fullmatch(form, number)), "（一）")
    return LETTERED, kind


def _label(line: str, mark: str) -> str:
    title = line.strip(" \t\u3000*_#")
    prose = len(title) > _TITLE_CHARACTERS or _PROSE_END.search(title)
    return (mark.strip() if prose else title).rstrip(".、:： ")


def _ranked(found: list[ClauseMarker]) -> list[ClauseMarker]:
    """Rank sections and articles by frequency: the more frequent is inner.

    Roman after (h) are letters.

    Laws of the Union keep articles in sections, constitutions and contracts sections in articles.
    """
    counts = Counter(marker.rank for marker in found)
    kinds = {marker.kind for marker in found if marker.rank == OUTER}
    swapped = "节" not in kinds and counts[OUTER] > counts[ARTICLE]
    swap: dict[float, float] = {OUTER: ARTICLE, ARTICLE: OUTER} if swapped else {}
    result: list[ClauseMarker] = []
    letter = ""
    for marker in found:
        ranked = replace(marker, rank=swap.get(marker.rank, marker.rank))
        if ranked.kind == "(a)" and ranked.number in ("i", "v", "x"):
            follows = chr(ord(ranked.number) - 1) == letter
            ranked = ranked if follows else replace(ranked, kind="(i)")
        if ranked.kind == "(a)" and ranked.number:
            letter = ranked.number
        result.append(ranked)
    return result


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
        return pack_units(subject.text, legal_clauses(subject.text), limits)


def legal_clauses(text: str) -> list[Unit]:
    """Split a legal text into units: clauses stand alone, other text does not."""
    found = clause_markers(text)
    rank = clause_rank(found)
    cuts = [marker for marker in found if marker.rank <= rank]
    begun = {marker.start: marker for marker in cuts}
    stack: list[ClauseMarker] = []
    result: list[Unit] = []
    titles_from: int | None = None
    inner = [marker for marker in found if marker.rank > rank]
    at, text_end = 0, len(text.rstrip())
    for start, end in split_at(text, 0, len(text), list(begun)):
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
    for start, end in split_at(text, unit.start, unit.end, list(begun)):
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
