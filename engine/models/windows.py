"""Long text cut to an encoder's window. Pure; sizes come from the tokeniser handed in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bNo)(?<!\b[A-Z])[.!?]+[\"'”’)\]]*\s+"
    r"|[。！？；…]+[」』”’）》]*\s*|\n\s*\n\s*"
)
_CLAUSE_END = re.compile(r"[,;:]\s+|[，、：]\s*|\n\s*")
_WORD_END = re.compile(r"\s+")


class _Counter(Protocol):
    def count(self, text: str) -> int: ...
    def spans(self, text: str) -> list[tuple[int, int]]: ...


def windows(text: str, *, prefix: str = "", limit: int, tokeniser: _Counter) -> list[str]:
    """`text` in consecutive pieces, each with `prefix` in front, each of at most `limit` tokens.

    The pieces without their prefix join to exactly `text`. They are of about equal size, so that
    none is a mere tail, and end with a sentence where one ends within reach, else with a clause,
    a word, or anywhere. One piece where all fits. A prefix of more than half the limit is cut to
    that half, so that every window has room for text; below three tokens nothing can be promised.

    Raises:
        ValueError: `limit` is below 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1 token, got {limit}")
    if tokeniser.count(prefix + text) <= limit:
        return [prefix + text]
    prefix = _shortened(prefix, limit=limit // 2, tokeniser=tokeniser)
    room = limit - tokeniser.count(prefix)
    pieces: list[str] = []
    begin = 0
    spans = tokeniser.spans(text)
    first = 0
    while first < len(spans):
        end = _window_end(text, spans, first=first, begin=begin, room=room)
        end = _fitting(text, begin, end=end, prefix=prefix, limit=limit, tokeniser=tokeniser)
        pieces.append(text[begin:end])
        begin = end
        while first < len(spans) and spans[first][0] < begin:
            first += 1
    pieces[-1:] = [pieces[-1] + text[begin:]] if pieces else [text]
    return [prefix + piece for piece in pieces]


def windows_and_sentences(
    text: str,
    *,
    prefix: str = "",
    limit: int,
    tokeniser: _Counter,
    sentence_spans: Callable[[str], list[tuple[int, int]]],
) -> list[str]:
    """The windows of a text, and where it has several sentences the windows of each of them.

    So that a passage is found by its nearest sentence, too; none twice, in the order of the text.
    """
    found = windows(text, prefix=prefix, limit=limit, tokeniser=tokeniser)
    spans = sentence_spans(text)
    for start, end in spans if len(spans) > 1 else ():
        found += windows(text[start:end], prefix=prefix, limit=limit, tokeniser=tokeniser)
    return list(dict.fromkeys(found))


def _shortened(prefix: str, *, limit: int, tokeniser: _Counter) -> str:
    spans = tokeniser.spans(prefix)
    if len(spans) <= limit:
        return prefix
    return f"{prefix[: spans[limit - 1][1]].rstrip()} " if limit else ""


def _window_end(
    text: str, spans: list[tuple[int, int]], *, first: int, begin: int, room: int
) -> int:
    """Where the window that starts at token `first` ends, as a character offset."""
    remaining = len(spans) - first
    if remaining <= room:
        return len(text)
    share = -(-remaining // -(-remaining // room))
    latest = max(spans[first + room][0], begin + 1)
    wanted = spans[first + share][0] if first + share < len(spans) else latest
    earliest = spans[first + share // 2][0]
    for mark in (_SENTENCE_END, _CLAUSE_END, _WORD_END):
        ends = [
            match.end()
            for match in mark.finditer(text, begin, latest)
            if earliest < match.end() <= latest
        ]
        if ends:
            return min(ends, key=lambda end: (abs(end - wanted), end))
    return latest


def _fitting(
    text: str, begin: int, *, end: int, prefix: str, limit: int, tokeniser: _Counter
) -> int:
    """`end`, or the nearest offset before it with which the joined window keeps the limit.

    Cutting inside a word, or a prefix that runs into the first word, changes the word's pieces.
    """
    while end - begin > 1:
        excess = tokeniser.count(prefix + text[begin:end]) - limit
        if excess <= 0:
            break
        spans = tokeniser.spans(text[begin:end])
        cut = spans[-min(excess, len(spans))][0]
        end = begin + cut if 0 < cut < end - begin else end - 1
    return end
