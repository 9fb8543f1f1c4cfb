"""Dates in sentences, and the years that documents tell of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .sentences import Said

_YEAR = re.compile(
    r"(?:\b(?:in|since|until|from|to|by|of|during|between|and|around|about|early|late|after|before"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|spring"
    r"|summer|autumn|winter),? |\(|[–—]\s?|born |\b\d{1,2}, )(1[0-9]\d\d|20\d\d)(?![\d,.:/%-]\d|\d)"
    r"(?![ -]?(?:bits?\b|digits|bytes|packages|files|people|pages|words|k?m\b|tonnes|pounds))"
    r"|(?<!\d)(1[0-9]\d\d|20\d\d)(?=\s?年)"
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_BEFORE_YEAR = re.compile(
    rf"(?:\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? )?\b(?P<month>{'|'.join(_MONTHS)})"
    r"(?: (?P<late>\d{1,2})(?:st|nd|rd|th)?)?,? $"
)
_BEHIND_YEAR = re.compile(r"\s?年\s?(?P<month>\d{1,2})\s?月(?:\s?(?P<day>\d{1,2})\s?日)?")
_FEW_YEARS, _OUTER, _GAP, _BEFORE, _NUMBERS = 3, 0.02, 100, 0.4, 2
"""Fewer years are not told; share of the years left out at either end; years before such a gap are
numbers (*uids from 1000*) where they are at most this share of all, and so many different ones."""


def dated(found: Iterable[Said]) -> dict[Said, tuple[int, int, int]]:
    """Return the sentences that hold a year, with their first date (year, month, day)."""
    dates: dict[Said, tuple[int, int, int]] = {}
    for said in found:
        year = _YEAR.search(said.text)
        if year is None:
            continue
        which = 1 if year[1] else 2
        english = _BEFORE_YEAR.search(said.text[: year.start(which)])
        han = _BEHIND_YEAR.match(said.text, year.end(which))
        month, number = 0, 0
        if english:
            month = _MONTHS.index(english["month"]) + 1
            number = int(english["day"] or english["late"] or 0)
        elif han:
            month, number = int(han["month"]), int(han["day"] or 0)
        dates[said] = (int(year[1] or year[2]), month, number)
    return dates


def year_span(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the first and last year named, but for the outermost; none where few are."""
    found = sorted(int(match[1] or match[2]) for text in texts for match in _YEAR.finditer(text))
    if len(found) < _FEW_YEARS:
        return ()
    outer = round(_OUTER * len(found))
    found = found[outer : len(found) - outer]
    for at in range(1, len(found)):
        is_far = found[at] - found[at - 1] > _GAP and at <= _BEFORE * len(found)
        if is_far and len(set(found[:at])) <= _NUMBERS:
            found = found[at:]
            break
    return (found[0], found[-1]) if found[0] < found[-1] else (found[0],)


def told_date(when: tuple[int, int, int], *, chinese: bool) -> str:
    """Return what stands before an event: its year, and its month and day where known."""
    year, month, day = when
    if chinese:
        return f"{year}年" + (f"{month}月" if month else "") + (f"{day}日" if day else "") + "："
    return "-".join((str(year), *(f"{each:02}" for each in (month, day) if each))) + ": "
