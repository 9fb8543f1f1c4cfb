"""Where sentences begin and end, in English, Chinese and both in one text.

Spans are half-open character offsets, in order, without overlap, stripped of white space at both
ends; what lies between two spans is white space only. Knows nothing of models: marks decide.
"""

from __future__ import annotations

import re

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
"""Longer runs without a mark are cut at white space, so that no sentence is a whole file."""


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of `text` as `(start, end)`."""
    ends = sorted(_boundaries(text))
    spans: list[tuple[int, int]] = []
    begin = 0
    for end in (*ends, len(text)):
        spans.extend(_pieces(text, begin, end))
        begin = end
    return spans


def _boundaries(text: str) -> set[int]:
    ends = {match.end() for match in _HEADING.finditer(text)}
    for match in _BOUNDARY.finditer(text):
        if match.lastgroup == "break":
            ends.add(match.start())
        elif match.lastgroup == "cjk" or _ends_sentence(text, match):
            ends.add(match.end())
    return ends


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
