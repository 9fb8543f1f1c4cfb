"""One question that is two: about a thing, and about the whole.

“Who founded the station, and what runs through its papers?” goes both ways, because its halves do.
Each half must be a question of its own, and surely of its kind. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ...types import Route
from ..language import HAN

SURE = 0.85
"""Confidence required for each half."""
MOST_WORDS = 25
"""A longer question states conditions, and its clauses are no questions."""
_ASKS = (
    r"(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|can"
    r"|summari[sz]e|outline|describe|tell|give|list|explain|compare)\b"
)
_CUT = re.compile(
    rf"[,;?]\s*(?:and\s+|but\s+|also\s+|plus\s+|then\s+)*(?={_ASKS})|\s+and\s+(?:also\s+)?(?={_ASKS})"
    r"|[，；。？]\s*(?:以及|另外|还有|并且|同时|再)?",
    re.IGNORECASE,
)
_ASKS_ZH = re.compile(r"谁|什么|哪|何|多少|几|吗|怎|为什么|是否|请|概括|总结|介绍|说说|列出|归纳")
_FEWEST_WORDS = 3
_FEWEST_HAN = 6


def goes_both_ways(question: str, rule: Callable[[str], Route]) -> tuple[str, str] | None:
    """Split into a local and a global part; None if there are no such two.

    `rule` says where a question goes. It is asked for each part of a question that has several.
    """
    if len(question.split()) > MOST_WORDS:
        return None
    parts = [part.strip() for part in _CUT.split(question) if part and _is_question(part.strip())]
    if len(parts) < 2:
        return None
    found = [(part, rule(part)) for part in parts]
    sure = {route.mode: part for part, route in found if route.confidence >= SURE}
    if "local" in sure and "global" in sure:
        return sure["local"], sure["global"]
    return None


def _is_question(part: str) -> bool:
    if HAN.search(part):
        return len(HAN.findall(part)) >= _FEWEST_HAN and _ASKS_ZH.search(part) is not None
    return len(part.split()) >= _FEWEST_WORDS and re.match(_ASKS, part, re.IGNORECASE) is not None
