"""Numbering of Word headings, clauses and list items, as Word counts.

A document stores only which list and level a paragraph belongs to (ECMA-376 part 1, 17.9): "3.2"
or "第二条" are nowhere in it, and are what people cite.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .package import whole

if TYPE_CHECKING:
    from lxml.etree import _Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
          (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_CHINESE_DIGITS = "〇一二三四五六七八九"
_CHINESE_FORMAT = re.compile(
    "(?:chinese|taiwanese|japanese)Counting(?:Thousand)?|ideographDigital|chineseLegalSimplified"
).fullmatch


class Level(NamedTuple):
    """One level of a list: `text` has %1 … %9 where the levels' numbers go."""

    format: str
    text: str
    start: int


class Numbering:
    """Counters of one document's lists, advanced in text order."""

    def __init__(self, root: _Element | None) -> None:
        self._abstract: dict[str, str] = {}
        self._levels: dict[str, dict[int, Level]] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._by_style: dict[tuple[str, str], int] = {}
        self._counters: dict[str, dict[int, int]] = {}
        if root is not None:
            self._load(root)

    def level_of_style(self, list_id: str, style: str) -> int:
        """Return the list level of a paragraph style; 0 if none."""
        return self._by_style.get((self._abstract.get(list_id, ""), style), 0)

    def label(self, list_id: str, level: int) -> str | None:
        """Return the next label at this level; empty for a bullet, None outside lists."""
        abstract = self._abstract.get(list_id)
        shape = self._levels.get(abstract or "", {}).get(level)
        if abstract is None or shape is None or shape.format == "none":
            return None
        if shape.format == "bullet":
            return ""
        counters = self._counters.setdefault(abstract, {})
        restart = self._restarts.get(list_id, {}).pop(level, None)
        if restart is not None:
            counters[level] = restart
        else:
            counters[level] = counters.get(level, shape.start - 1) + 1
        for deeper in [other for other in counters if other > level]:
            del counters[deeper]
        levels = self._levels[abstract]

        def number(found: re.Match[str]) -> str:
            place = int(found.group(1)) - 1
            other = levels.get(place, shape)
            return _written(counters.get(place, other.start), other.format)

        return _PLACE.sub(number, shape.text).strip()

    def _load(self, root: _Element) -> None:
        for abstract in root.iterfind(f"{W}abstractNum"):
            id_ = abstract.get(f"{W}abstractNumId", "")
            self._levels[id_] = {}
            for level in abstract.iterfind(f"{W}lvl"):
                self._load_level(level, id_)
        for number in root.iterfind(f"{W}num"):
            id_ = number.get(f"{W}numId", "")
            self._abstract[id_] = value_of(number, "abstractNumId")
            for override in number.iterfind(f"{W}lvlOverride"):
                place = whole(override.get(f"{W}ilvl"))
                start = override.find(f"{W}startOverride")
                if start is not None:
                    self._restarts.setdefault(id_, {})[place] = whole(start.get(f"{W}val"), 1)

    def _load_level(self, level: _Element, abstract: str) -> None:
        place = whole(level.get(f"{W}ilvl"))
        self._levels[abstract][place] = Level(
            format=value_of(level, "numFmt") or "decimal",
            text=value_of(level, "lvlText"),
            start=whole(value_of(level, "start"), 1),
        )
        style = value_of(level, "pStyle")
        if style:
            self._by_style[(abstract, style)] = place


def _written(number: int, format_: str) -> str:
    if format_ in ("lowerLetter", "upperLetter"):
        letters = chr(ord("a") + (number - 1) % 26) * min(1 + (number - 1) // 26, 9)
        return letters if format_ == "lowerLetter" else letters.upper()
    if format_ in ("lowerRoman", "upperRoman"):
        roman = _roman(number)
        return roman if format_ == "lowerRoman" else roman.upper()
    if _CHINESE_FORMAT(format_) and 0 <= number < 100:
        return _chinese(number)
    return f"{number:02d}" if format_ == "decimalZero" else str(number)


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _chinese(number: int) -> str:
    tens, ones = divmod(number, 10)
    if not tens:
        return _CHINESE_DIGITS[ones]
    head = "十" if tens == 1 else f"{_CHINESE_DIGITS[tens]}十"
    return head + (_CHINESE_DIGITS[ones] if ones else "")


def value_of(element: _Element, name: str) -> str:
    """Return a setting's value; empty if absent."""
    child = element.find(f"{W}{name}")
    return "" if child is None else child.get(f"{W}val", "")
