"""Dates in sentences, and the years that documents tell of."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .sentences import Said

_YEAR = re.compile(
    r"(?:\b(?:in|since|until|from|to|by|of|during|between|and|around|about|early|late|after|before"
    r"|January|February|March|April|May|June|July|August|September|October|November|December|spring"
    r"|summer|autumn|winter),? |\(|[–—]\s?|born |\b\d{1,2}, )(1[0-9]\d\d|20\d\d)(?![\d,.:/%-]\d|\d)"
    r"(?! ?(?:bytes|packages|files|people|pages|words|k?m\b|tonnes|pounds))"
    r"|(?<!\d)(1[0-9]\d\d|20\d\d)(?=\s?年)"
)
_MONTHS = "january february march april may june july august september october november december"
_DAY = re.compile(
    rf"(?P<day>\d{{1,2}})? ?(?P<month>{_MONTHS.replace(' ', '|')})(?: (?P<late>\d{{1,2}}),)?"
    r"|(?P<han>\d{1,2})月(?:(?P<tag>\d{1,2})日)?",
    re.IGNORECASE,
)
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
        near = said.text[max(0, year.start() - 18) : year.end() + 8]
        day = _DAY.search(near)
        month, number = 0, 0
        if day and day["month"]:
            month = _MONTHS.split().index(day["month"].casefold()) + 1
            number = int(day["day"] or day["late"] or 0)
        elif day:
            month, number = int(day["han"]), int(day["tag"] or 0)
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
