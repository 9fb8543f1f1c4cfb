"""Segments of a text for extraction: sentences grouped by language, and a copy without markup.

The *shadow* of a text has the same length and the same offsets, with control characters, Markdown
marks, formulas, addresses and half surrogates blanked, so that no language model trips over them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from .cjk import is_chinese
from .sentences import sentence_spans

_MARKUP = re.compile(
    r"""
    [\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\u200b-\u200f\u2028\u2029]  # no text at all
    | \$\$[^$]{1,2000}\$\$                         # formulas
    | \$(?=[^$]{0,400}[\\^_])(?:[^$\n]|\n(?![ \t]{0,9}\n)){1,400}\$
    | \{[a-z]{1,40}\}                             # what a transcriber marks: {vocalsound}
    | [*`~\\<>]                                   # emphasis, code, tags
    | ^[ \t]*\#{1,6}(?=[ \t])                     # headings
    | (?<!\w)_++ | (?<!_)_++(?!\w)               # emphasis again
    | \]\([^()\s]*\)                              # the target of a link
    | \b(?:https?|ftp)://\S+ | \bwww\.\S+
    """,
    re.VERBOSE | re.MULTILINE,
)
_MAIL_RUN = re.compile(r"[\w.+-]++(?=(@[\w-]++\.[\w.]++)?)")
"""Pattern of mail addresses.

Runs are taken whole, and never looked at again from their middle: text without spaces is one run.
"""
_WRAPPED_LINE = 40
"""Minimum line length for a following break to be wrapped prose."""
_NEW_LINE = re.compile(r"\s*(?:$|[\w-]{1,20}:)")
"""An empty line, or one with a label ("Date: …"), goes on from no line."""
MAX_SEGMENT_CHARACTERS = 20_000
"""Maximum characters parsed at once, which bounds memory and time."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive sentences of one language: `shadow == shadow_of_text[start:end]`."""

    start: int
    end: int
    shadow: str
    chinese: bool
    sentences: tuple[tuple[int, int], ...]
    """Spans into the whole text, not into the segment."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A text with its shadow, its sentences and its segments."""

    text: str
    shadow: str
    sentences: tuple[tuple[int, int], ...]
    segments: tuple[Segment, ...]

    def sentence_at(self, offset: int) -> int | None:
        """Return the index of the sentence at `offset`."""
        index = bisect_right(self.sentences, (offset, len(self.text) + 1)) - 1
        if index < 0 or offset >= self.sentences[index][1]:
            return None
        return index


def lay_out(text: str) -> Layout:
    """Sentences of `text` by `sentence_spans`, grouped into segments of one language."""
    shadow = strip_markup(text)
    sentences = tuple(sentence_spans(text))
    groups: list[tuple[bool, list[tuple[int, int]]]] = []
    for start, end in sentences:
        chinese = is_chinese(text[start:end])
        fits = groups and end - groups[-1][1][0][0] <= MAX_SEGMENT_CHARACTERS
        if groups and fits and groups[-1][0] == chinese:
            groups[-1][1].append((start, end))
        else:
            groups.append((chinese, [(start, end)]))
    segments = tuple(
        Segment(
            spans[0][0], spans[-1][1], shadow[spans[0][0] : spans[-1][1]], chinese, tuple(spans)
        )
        for chinese, spans in groups
    )
    return Layout(text, shadow, sentences, segments)


def strip_markup(text: str) -> str:
    """`text` with all that is no prose blanked, character for character."""
    lines = _blanked(text, _no_prose(text)).replace("|", ";").split("\n")
    parts = [lines[0]]
    for before, line in pairwise(lines):
        wrapped = len(before.rstrip()) >= _WRAPPED_LINE and not _NEW_LINE.match(line)
        parts += [" " if wrapped else "\n", line]
    return "".join(parts)


def _blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [text[done:start], " " * (end - start)]
        done = end
    return "".join([*parts, text[done:]])


def _no_prose(text: str) -> Iterator[tuple[int, int]]:
    """Markup and mail addresses, whichever comes first, without overlaps."""
    done, size = 0, len(text)
    markup = _MARKUP.search(text)
    for start, at, end in (*_addresses(text), (size, size, size)):
        while markup is not None and markup.start() <= max(start, done):
            if markup.start() >= done:
                yield markup.span()
                done = markup.end()
            markup = _MARKUP.search(text, done)
        if done < at:  # what goes before has left something of its name
            yield max(start, done), end
            done = end


def _addresses(text: str) -> Iterator[tuple[int, int, int]]:
    """Return the start, @ and end of mail addresses."""
    if "@" not in text:
        return
    for run in _MAIL_RUN.finditer(text):
        if run.group(1):
            yield run.start(), run.end(), run.end(1)
