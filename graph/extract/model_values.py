"""Normalisation of model values: strength, status, dates, predicates."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

from ..model import ALSO_KNOWN_AS, OCCURS_WITH
from .model_schema import normalised_predicate

RELATED_TO = "related to"
"""The predicate of a relation of which the model says only that it is there."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d{1,3})?", re.IGNORECASE)
_OF = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)\s*(?:/|out of|分之)\s*(\d+(?:\.\d+)?)")
_WORDS = {
    "very high": 1.0,
    "very strong": 1.0,
    "high": 0.9,
    "strong": 0.9,
    "medium": 0.5,
    "moderate": 0.5,
    "low": 0.2,
    "weak": 0.2,
    "强": 0.9,
    "高": 0.9,
    "中": 0.5,
    "弱": 0.2,
    "低": 0.2,
}


def scale_of(strengths: Iterable[str]) -> float:
    """Return the scale of a reply's strengths: 1, 10 or 100."""
    values = [value for value in map(_number, strengths) if value is not None]
    largest = max(values, default=1.0)
    return 1.0 if largest <= 1 else 10.0 if largest <= 10 else 100.0


def strength_of(said: str, *, scale: float) -> float:
    """Return a strength from 0 to 1, to two decimals; 1 by default."""
    part = _OF.search(said)
    if part and 0 < float(part[2]) < 1e9:
        return _bounded(float(part[1][:12]) / float(part[2]))
    value = _number(said)
    if value is not None:
        return _bounded(value / (100.0 if "%" in said else scale))
    return _WORDS.get(said.strip().casefold(), 1.0)


def _number(said: str) -> float | None:
    if _OF.search(said) or "%" in said:
        match = _NUMBER.search(said) if "%" in said else None
        return float(match.group()) if match and "/" not in said else None
    match = _NUMBER.fullmatch(said.strip())
    value = float(match.group()) if match else math.nan
    return value if math.isfinite(value) else None


def _bounded(value: float) -> float:
    return round(min(max(value, 0.0), 1.0), 2)


def predicate_of(said: str, *, inferred: bool) -> str:
    """Return the normalised predicate.

    That two names mean one thing is believed of a single sentence alone, and that they occur
    together is no relation of its own.
    """
    predicate = normalised_predicate(said)
    if predicate in ("", OCCURS_WITH) or (inferred and predicate == ALSO_KNOWN_AS):
        return RELATED_TO
    return predicate


_TRUE = frozenset({"true", "confirmed", "yes", "verified", "属实", "真", "是", "已证实"})
_FALSE = frozenset({"false", "denied", "no", "refuted", "disproved", "不实", "假", "否", "已否认"})


def status_of(said: str) -> str:
    """Return TRUE, FALSE or, if unclear, SUSPECTED."""
    word = said.strip().casefold()
    return "TRUE" if word in _TRUE else "FALSE" if word in _FALSE else "SUSPECTED"


_DATE = re.compile(
    r"(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?|月?)|年)?(?:[T ].*)?", re.ASCII
)
_HAN_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_of(said: str) -> str:
    """Return an ISO 8601 date of the given precision (2019, 2019-05, 2019-05-01), or empty."""
    text = unicodedata.normalize("NFKC", said).strip().translate(_HAN_DIGITS)
    match = _DATE.fullmatch(text)
    if match is None or not int(match[1]):
        return ""
    month, day = int(match[2] or 0), int(match[3] or 0)
    if not 1 <= month <= 12:
        return match[1]
    if not 1 <= day <= _DAYS[month - 1]:
        return f"{match[1]}-{month:02}"
    return f"{match[1]}-{month:02}-{day:02}"


def stands_in(date: str, text: str) -> bool:
    """Check whether a date's year occurs in a text, in either script's digits."""
    return date[:4] in unicodedata.normalize("NFKC", text).translate(_HAN_DIGITS)
