"""Comparable dates and years of a sentence; births, deaths and foundings.

A date is (year, month, day) with 0 for what is not said. Two dates compare only as far as both are
said. English and Chinese, years of three or four digits. Knows no questions.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

Date = tuple[int, int, int]
Event = Literal["birth", "death", "made"]

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + r"|sept\.?"
_DATE = re.compile(
    rf"(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)?\s(?P<m1>{_MONTH}),?\s(?P<y1>\d{{3,4}})(?!\d)"
    rf"|(?P<m2>{_MONTH})\s(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y2>\d{{3,4}})(?!\d)"
    rf"|(?P<m3>{_MONTH}),?\s(?P<y3>\d{{3,4}})(?!\d)"
    r"|(?P<y4>\d{3,4})\s?年(?:\s?(?P<m4>\d{1,2})\s?月)?(?:\s?(?P<d4>\d{1,2})\s?[日号])?"
    r"|(?<![\d,.])(?P<y5>1\d{3}|20\d\d)(?![\d,])|(?<![\d,.])(?P<y6>[5-9]\d\d)(?=\s?[)–-]|,)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[(（]")
_CLOSING = re.compile(r"[)）]")
_SPAN = re.compile(r"[–—－~-]|\bto\b|至")
_BORN = re.compile(r"\b(?:born|b\.)(?!\w)|出生|生于|诞生", re.IGNORECASE)
_DIED = re.compile(r"\b(?:died|d\.|dies|death|killed)(?!\w)|去世|逝世|病逝|卒于", re.IGNORECASE)
_MADE = re.compile(
    r"\b(?:released?|premier(?:e|ed)|published|founded|formed|established|opened|built|started"
    r"|began|created"
    r"|launched|incorporated|debuted|first (?:issued?|aired)|since|came out)\b|发行|上映|出版"
    r"|成立|创立|创办|建立|建于|开业",
    re.IGNORECASE,
)


def dates_in(text: str) -> list[tuple[int, int, Date]]:
    """(start, end, date) in order."""
    found = []
    for match in _DATE.finditer(text):
        parts = {key[0]: value for key, value in match.groupdict().items() if value}
        month = parts.get("m", "0").lower()
        number = int(month) if month.isdigit() else _month(month)
        if number <= 12:
            day = int(parts.get("d", 0))
            found.append((match.start(), match.end(), (int(parts["y"]), number, day)))
    return found


def _month(name: str) -> int:
    return next(n for n, full in enumerate(_MONTHS, start=1) if full.startswith(name[:3]))


_SAYING = re.compile(r"\b[a-z]{3,}\b")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_DATELINE = 100


def is_dateline(text: str) -> bool:
    """Check whether a line is a mere dateline (*The Beacon, 11 October 2022*).

    Table rows are not.
    """
    if len(text) > _DATELINE or text.startswith("|"):
        return False
    dates = dates_in(text)
    rest = text
    for start, end, _ in reversed(dates):
        rest = rest[:start] + rest[end:]
    return bool(dates) and not _SAYING.search(rest) and len(_HAN.findall(rest)) <= 6


def date_of(text: str, event: Event) -> Date | None:
    """Return the birth, death or founding date that the sentence states, if any.

    Of *Name (1 May 1900 – 3 June 1950) was …* the first is the birth, the second the death. What
    was made is dated behind a word such as *released*, else by the first year of the sentence.
    """
    dates = dates_in(text)
    if not dates:
        return None
    life = _life(text, dates)
    match event:
        case "birth":
            return life[0] if life else _behind(text, dates, _BORN)
        case "death":
            return life[1] if life else _behind(text, dates, _DIED)
        case "made":
            return _behind(text, dates, _MADE) or dates[0][2]


def has_birth_and_death(text: str) -> bool:
    """Check whether leading brackets hold dates of birth and death."""
    return _life(text[:300], dates_in(text[:300])) is not None


def _life(text: str, dates: list[tuple[int, int, Date]]) -> tuple[Date, Date] | None:
    """Return the two dates of a life in the first brackets."""
    for opening in _OPENING.finditer(text, 0, 200):
        closing = _CLOSING.search(text, opening.end())
        end = closing.start() if closing else min(len(text), opening.end() + 160)
        inside = [(a, b, d) for a, b, d in dates if opening.end() <= a and b <= end]
        for (_, first_end, first), (start, _, second) in pairwise(inside):
            joined = _SPAN.search(text[first_end:start]) or not text[first_end:start].strip(" ,")
            if joined and first[0] + 10 < second[0] <= first[0] + 120:
                return first, second
    return None


def _behind(text: str, dates: list[tuple[int, int, Date]], cue: re.Pattern[str]) -> Date | None:
    for match in cue.finditer(text):
        following = [(a, d) for a, _, d in dates if 0 <= a - match.end() <= 60]
        if following and "died" not in text[match.end() : following[0][0]]:
            return following[0][1]
        before = [(b, d) for _, b, d in dates if 0 <= match.start() - b <= 4]
        if before and not match.group().isascii():
            return before[-1][1]
    return None


def is_before(first: Date, second: Date) -> bool | None:
    """Check whether the first date is earlier; None if undecidable."""
    for one, other in zip(first, second, strict=True):
        if not one or not other:
            return None
        if one != other:
            return one < other
    return None
