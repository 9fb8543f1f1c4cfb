"""Heading detection: Markdown marks, and unambiguous plain-text headings.

Pure; knows one line and whether its neighbours are blank.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..ingest.text.markdown import unmarked

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]++(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(={3,}|-{3,})[ \t]*$")
_CHAPTER = re.compile(
    r"(?:chapter|part|book|volume|stave|act|appendix)\s+(?:\d+|[ivxlc]+|[a-z]|one|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve)\b[^a-z]?.*"
    r"|(?:prologue|epilogue|preface|foreword|introduction|conclusions?|abstract|references|appendix)",
    re.I,
)
_CHINESE_CHAPTER = re.compile(
    r"第[〇零一二三四五六七八九十百千\d]{1,7}([卷部篇编章回节])(?:[\s　:：、].*|)$"
)
_CHINESE_LEVELS = {"卷": 1, "部": 1, "篇": 1, "编": 1, "章": 2, "回": 2, "节": 3}
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?[ \t]+[A-Z\u4e00-\u9fff“\"'《].*")
_CHINESE_NUMBERED = re.compile(
    r"(?:([一二三四五六七八九十]{1,3})、|[（(][一二三四五六七八九十]{1,3}[）)])\S.*"
)
_ENDS_LIKE_PROSE = re.compile(r"[.,;:!?。，；：！？、…]$")
_LIMIT = 70


class Heading(NamedTuple):
    """`level` 1 is the outermost; `text` is without marks."""

    level: int
    text: str


class HeadingNeighbours(NamedTuple):
    """Context of a line. `before`/`after`: the nearest non-blank lines."""

    blank_before: bool
    blank_after: bool
    before: str
    after: str


def atx_heading(line: str) -> Heading | None:
    """Match a Markdown `#` heading."""
    found = _ATX.match(line)
    if found is None:
        return None
    return Heading(len(found.group(1)), unmarked(_without_closing(found.group(2) or "")))


def _without_closing(title: str) -> str:
    """Strip closing marks after a space; `C#` keeps its own.

    By hand: a pattern that may skip spaces before and after the marks takes quadratic time.
    """
    title = title.rstrip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title


def underlined_heading(line: str, underline: str) -> Heading | None:
    """Match a Markdown heading underlined on the next line."""
    found = _UNDERLINE.match(underline)
    title = line.strip()
    if found is None or not title or 2 * len(found.group(1)) < min(len(title), 40):
        return None
    return Heading(1 if found.group(1)[0] == "=" else 2, unmarked(title))


def plain_heading(line: str, around: HeadingNeighbours) -> Heading | None:
    """Match an unmarked heading: chapters, numbered headings, capitals."""
    text = " ".join(line.split())
    if not text or len(text) > _LIMIT:
        return None
    chinese = _CHINESE_CHAPTER.fullmatch(text)
    if chinese:
        return Heading(_CHINESE_LEVELS[chinese.group(1)], text)
    if not around.blank_before or _ENDS_LIKE_PROSE.search(text):
        return None
    if around.blank_after and _CHAPTER.fullmatch(text):
        return Heading(1, text)
    if around.blank_after and _in_capitals(text):
        return Heading(2, text)
    return _numbered(text, around)


def _in_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    cased = text.upper() == text and text.lower() != text
    return cased and text[0].isalnum() and len(letters) >= 4 and len(letters) > 0.6 * len(text)


def _numbered(text: str, around: HeadingNeighbours) -> Heading | None:
    """Check whether a numbered line is not a list item, by its neighbours."""
    kind = _numbering(text)
    alike = (_numbering(" ".join(line.split())) for line in (around.before, around.after))
    if kind is None or kind in alike:
        return None
    return Heading(kind[1], text)


def _numbering(text: str) -> tuple[str, int] | None:
    found = _NUMBERED.fullmatch(text)
    if found:
        return "arabic", found.group(1).count(".") + 1
    chinese = _CHINESE_NUMBERED.fullmatch(text)
    if chinese:
        return "chinese", 2 if chinese.group(1) else 3
    return None
