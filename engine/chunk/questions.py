"""Question starts of FAQs: `Q:`, an asking heading, a bold or numbered question.

Pure; knows one text and the headings in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .blocks import Section
from .headings import atx_heading
from .units import line_spans

Style = Literal["label", "heading", "bold", "number"]

_LEAD = r"[ \t]*(?:[-*+>][ \t]+)?(?:\*\*|__)?"
_LABEL = re.compile(
    _LEAD
    + r"(?:Q(?:uestion)?[ \t]?\d{0,3}|问(?:题)?[ \t]?[\d一二三四五六七八九十]{0,3}|Pregunta|Frage)"
    r"[ \t]*(?:[:：]|[.)、](?=[ \t]|\D))",
    re.I,
)
_ANSWER = re.compile(
    _LEAD + r"(?:A(?:nswer)?|答(?:案)?|Respuesta|Antwort)[ \t]?\d{0,3}[ \t]*[:：.]", re.I
)
_BOLD = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)、][ \t]*)?(?:\*\*|__)(.+[?？])(?:\*\*|__)[ \t]*$"
)
_NUMBER = re.compile(r"[ \t]*(?:\d{1,3}[.)、．]|[（(]\d{1,3}[）)])[ \t]*\S.*[?？][ \t]*$")
_ASKS = re.compile(r"[?？][\"'”’」』）)\]*_ ]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question begins at `start`; `asked` is its first line without marks."""

    start: int
    asked: str
    style: Style


def questions(text: str, found: Sequence[Section]) -> list[Question]:
    """Find the questions of the most frequent style, in order; `found` are the sections."""
    by_style: dict[Style, list[Question]] = {
        "label": [],
        "heading": _asking_headings(found),
        "bold": [],
        "number": [],
    }
    for first, last in line_spans(text, 0, len(text)):
        line = text[first : min(last, first + 400)]
        style = _style_of(line)
        if style is not None:
            begin = first + len(line) - len(line.lstrip())
            by_style[style].append(Question(start=begin, asked=line.strip(" \t*_-+>"), style=style))
    return max(by_style.values(), key=len)


def answers(text: str) -> int:
    """Count lines that begin with an answer mark (`A:`, 答：)."""
    return sum(
        _ANSWER.match(text, first, last) is not None
        for first, last in line_spans(text, 0, len(text))
    )


def _asking_headings(found: Sequence[Section]) -> list[Question]:
    return [
        Question(start=block.start, asked=block.heading.text, style="heading")
        for section in found
        for block in section.blocks
        if block.heading is not None and _ASKS.search(block.heading.text)
    ]


def _style_of(line: str) -> Style | None:
    if not line.strip() or atx_heading(line) is not None:
        return None
    if _LABEL.match(line):
        return "label"
    if _BOLD.match(line):
        return "bold"
    return "number" if _NUMBER.match(line) else None
