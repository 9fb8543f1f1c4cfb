"""Tolerant parsing of model replies about reports.

Points, ratings and further questions come as JSON, wrapped in prose, cut off or half wrong; what
cannot be used is dropped and counted. The schemas are for endpoints that can be held to one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

_POINTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "score": {"type": "integer"},
            "sources": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["text", "score", "sources"],
        "additionalProperties": False,
    },
}
_RATINGS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"report": {"type": "integer"}, "rating": {"type": "integer"}},
        "required": ["report", "rating"],
        "additionalProperties": False,
    },
}


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties),
        "additionalProperties": False,
    }


POINTS_SCHEMA = _object(points=_POINTS)
RATINGS_SCHEMA = _object(ratings=_RATINGS)
EXPLORE_SCHEMA = _object(points=_POINTS, questions={"type": "array", "items": {"type": "string"}})

MAX_QUESTION_CHARACTERS = 300


def read_rows(reply: str, key: str) -> list[object] | None:
    """Return the list under `key`, however wrapped; complete objects of a truncated one."""
    for opening, closing in (("{", "}"), ("[", "]")):
        begin, end = reply.find(opening), reply.rfind(closing)
        if begin < 0 or end <= begin:
            continue
        try:
            data = json.loads(reply[begin : end + 1])
        except (json.JSONDecodeError, RecursionError):
            continue
        rows = data.get(key) if isinstance(data, dict) else data
        if isinstance(rows, list):
            return rows
    rows = []
    for match in re.finditer(r"\{[^{}]*\}", reply):
        try:
            rows.append(json.loads(match.group()))
        except json.JSONDecodeError:
            rows.append(None)
    return rows or None


def read_ratings(reply: str, *, count: int) -> dict[int, float] | None:
    """Map report numbers (1 to `count`) to ratings, 0–1; None if unreadable.

    An empty list is a rating: nothing helps.
    """
    rows = read_rows(reply, "ratings")
    if rows is None:
        return None
    found: dict[int, float] = {}
    for row in rows:
        if not isinstance(row, dict):
            continue
        number = re.search(r"\d+", str(row.get("report")))
        if number is not None and 1 <= int(number.group()) <= count:
            found[int(number.group())] = score_of(row.get("rating")) / 100
    return found if found or not rows else None


def read_questions(reply: str, *, limit: int, known: Collection[str] = ()) -> list[str]:
    """Return distinct follow-up questions, at most `limit`, bounded in length."""
    match = re.search(r'"questions"\s*:\s*(\[.*?\])', reply, re.DOTALL)
    if match is None:
        return []
    try:
        rows = json.loads(match.group(1))
    except json.JSONDecodeError:
        return []
    seen = {question.casefold() for question in known}
    found: list[str] = []
    for row in rows:
        text = " ".join(row.split()) if isinstance(row, str) else ""
        if re.search(r"\w", text) and len(text) <= MAX_QUESTION_CHARACTERS:
            if text.casefold() not in seen and len(found) < limit:
                found.append(text)
            seen.add(text.casefold())
    return found


def score_of(value: object) -> float:
    """Parse a score (number, text or percentage), 0–100; 0 if invalid."""
    try:
        score = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.0
    return 0.0 if math.isnan(score) else min(100.0, max(0.0, score))
