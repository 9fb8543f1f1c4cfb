"""Date parsing: any usual spelling to ISO 8601.

Pure; knows no format. A spelling that leaves the order of day and month open is no date.
"""

from __future__ import annotations

import datetime
import re
from email.utils import parsedate_to_datetime

_NUMBERS = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?)?(?!\d)")
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_NAMED = re.compile(
    r"(?:(?P<before>\d{1,2})(?:st|nd|rd|th)?\s+)?(?P<month>[A-Za-z]{3,9})\.?"
    r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?)?,?\s+(?P<year>\d{4})\b"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def iso_date(value: object) -> str | None:
    """Return `YYYY-MM-DD`, or `YYYY-MM-DDThh:mm:ssZ` with a time (UTC without a zone).

    A month alone is its first day. None for what is no date.
    """
    if isinstance(value, datetime.datetime):
        return _second(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not 6 <= len(text) <= 60:
        return None
    return _standard(text) or _by_numbers(text) or _by_name(text)


def _second(moment: datetime.datetime) -> str:
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(datetime.UTC)
        except OverflowError:  # the first or the last day of the calendar
            return moment.date().isoformat()
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def _standard(text: str) -> str | None:
    """ISO 8601, or the form of mails and feeds."""
    if text[:4].isdigit() and not text.isdigit():
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return _second(moment) if len(text) > 10 else moment.date().isoformat()
    if ":" in text and "," in text[:6]:
        try:
            return _second(parsedate_to_datetime(text))
        except (ValueError, TypeError, OverflowError, IndexError):
            return None  # a year or a zone that no calendar has
    return None


def _by_numbers(text: str) -> str | None:
    found = _COMPACT.match(text) or _NUMBERS.match(text)
    return _day(*(int(part or 1) for part in found.groups())) if found else None


def _by_name(text: str) -> str | None:
    for found in _NAMED.finditer(text):
        month = found["month"][:3].lower()
        if month in _MONTHS:
            day = int(found["before"] or found["after"] or 1)
            return _day(int(found["year"]), _MONTHS.index(month) + 1, day)
    return None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return None
