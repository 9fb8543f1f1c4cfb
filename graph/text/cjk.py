"""Segmentation for extraction: sentences by language, and a copy without markup.

The *shadow* of a text has the same length and the same offsets, with control characters, Markdown
marks, formulas, addresses and half surrogates blanked, so that no language model trips over them.

Traditional to simplified Chinese, one character for one.

So that 劉備 and 刘备 are one name, and a question in one script finds a text in the other. The
characters are OpenCC's (TSCharacters); phrases are not looked at, for offsets must stay.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from .sentences import sentence_spans

_ANY_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_BLOCKS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00))


def simplified(text: str) -> str:
    """Return the text in simplified characters, of the same length."""
    return text.translate(_table()) if _ANY_HAN.search(text) else text


@cache
def _table() -> dict[int, str]:
    import opencc

    characters = [chr(point) for first, last in _BLOCKS for point in range(first, last)]
    converted = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    pairs = zip(characters, converted, strict=True)
    return {ord(one): other for one, other in pairs if one != other and len(other) == 1}


_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_LATIN_LETTER = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LETTERS_PER_HAN = 3
"""A Han character says about as much as this many Latin letters."""

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


def is_chinese(sentence: str) -> bool:
    """Check whether Han characters outweigh Latin letters."""
    han = len(_HAN.findall(sentence))
    return han > 0 and han * _LETTERS_PER_HAN >= len(_LATIN_LETTER.findall(sentence))


def has_han(text: str) -> bool:
    """Check for any Han character in `text`."""
    return _HAN.search(text) is not None


def is_latin(text: str) -> bool:
    """Check whether all letters are Latin; modifiers such as ʿ are not."""
    letters = (c for c in text if unicodedata.category(c) in {"Lu", "Ll", "Lo"})
    return all(unicodedata.name(c, "").startswith("LATIN") for c in letters)


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
