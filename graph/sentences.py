"""Sentence segmentation: English, Chinese and mixed text.

Spans are half-open character offsets, in order, without overlap, stripped of white space at both
ends; what lies between two spans is white space only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator

_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Rev|Hon|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|No|Nos|Vol|Fig|Figs"
    r"|Eq|Ch|Sec|Inc|Ltd|Co|Corp|vs|etc|al|approx|ca|cf|e\.g|i\.e|a\.m|p\.m|Jan|Feb|Mar|Apr|Jun|Jul"
    r"|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z](?:\.[A-Z])*)\.$"
)
_BOUNDARY = re.compile(
    r"""
    (?P<cjk>[。！？；…]+[」』”’）》"'\)]*)          # Chinese marks end a sentence with no space
    | (?P<latin>[.!?]+["'”’\)\]]*)(?=\s+|$)        # Latin marks need white space behind them
    | (?P<break>\n[ \t]*\n\s*|\n(?=[ \t]*(?:[-*+#>|]|\d+[.)])[ \t]))  # blank line, list
    """,
    re.VERBOSE,
)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t].*$", re.MULTILINE)
_LOWER_START = re.compile(r"\s*[a-z,;]")
MAX_SENTENCE_CHARACTERS = 1000
"""Maximum sentence length; longer runs are cut at white space."""
LOOK_BACK = 120
"""Characters searched backwards for a boundary at first."""
FEW = 300
"""Fewer offsets than one in so many characters are looked up one by one."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of `text` as `(start, end)`."""
    ends = sorted(_boundaries(text))
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in (*ends, len(text)):
        spans.extend(_pieces(text, begin, end))
        begin = end
    return spans


def sentences_at(text: str, offsets: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return for each offset its sentence of `sentence_spans`, or the last before.

    What lies before all sentences has the first; a text without sentences gives nothing. For few
    offsets in a long text only what lies around them is read.
    """
    if len(offsets) * FEW > len(text):
        return _of_all(sentence_spans(text), offsets)
    found: dict[int, tuple[int, int]] = {}
    begin = end = 0
    pieces: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if not begin <= offset < end:
            begin, end = _region(text, offset)
            pieces = _pieces(text, begin, end)
        before = [piece for piece in pieces if piece[0] <= offset]
        if not before:  # between two sentences, or before all
            return _of_all(sentence_spans(text), offsets)
        found[offset] = before[-1]
    return found


def _of_all(spans: list[tuple[int, int]], offsets: Collection[int]) -> dict[int, tuple[int, int]]:
    starts = [start for start, _ in spans]
    return {one: spans[max(0, bisect_right(starts, one) - 1)] for one in offsets if spans}


def _region(text: str, offset: int) -> tuple[int, int]:
    """Return the region between the boundaries around `offset`."""
    reach = LOOK_BACK
    while True:
        here = _not_within_a_mark(text, offset - reach)
        begin, end = 0, len(text)
        for mark in _marks(text, here):
            if mark > offset:
                end = mark
                break
            begin = mark
        for heading in _headings(text, here, end):
            if heading > offset:
                end = min(end, heading)
            else:
                begin = max(begin, heading)
        if begin or here == 0:
            return begin, end
        reach *= 4


def _not_within_a_mark(text: str, offset: int) -> int:
    """Return the nearest earlier place from which scanning finds the same marks."""
    while offset > 0 and not text[offset - 1].isalnum():
        offset -= 1
    return max(0, offset)


def _boundaries(text: str) -> set[int]:
    return {match.end() for match in _HEADING.finditer(text)} | {*_marks(text, 0)}


def _marks(text: str, begin: int) -> Iterator[int]:
    """Return sentence ends by marks and breaks, in order, from `begin`."""
    for match in _BOUNDARY.finditer(text, begin):
        if match.lastgroup == "break":
            yield match.start()
        elif match.lastgroup == "cjk" or _ends_sentence(text, match):
            yield match.end()


def _headings(text: str, begin: int, end: int) -> Iterator[int]:
    """Return the ends of headings among lines touching `text[begin:end]`."""
    line = text.rfind("\n", 0, begin) + 1
    while line <= end:
        if match := _HEADING.match(text, line):
            yield match.end()
        line = text.find("\n", line) + 1 or len(text) + 1


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if not match.group().startswith(".") or match.group().startswith(".."):
        return not _LOWER_START.match(text, match.end())
    before = text[max(0, match.start() - 12) : match.start() + 1]
    return not (_ABBREVIATION.search(before) or _LOWER_START.match(text, match.end()))


def _pieces(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    pieces: list[tuple[int, int]] = []
    while end - begin > MAX_SENTENCE_CHARACTERS:
        limit = begin + MAX_SENTENCE_CHARACTERS
        cut = max(text.rfind(mark, begin + 1, limit) for mark in (" ", "\n", "，"))
        cut = limit if cut <= begin else cut + 1
        pieces.append((begin, len(text[begin:cut].rstrip()) + begin))
        begin = cut
        while begin < end and text[begin].isspace():
            begin += 1
    if begin < end:
        pieces.append((begin, end))
    return pieces
