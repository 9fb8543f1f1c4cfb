"""Sides of a comparison, each searched by itself where the first search brought nothing of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..answering.extractive.intent import compared_sides
from ..storage.tokenization import tokens
from ..types import Passage

_ENGLISH = (
    re.compile(r"[,:] (?P<one>[^,:?]{2,80}) or (?P<other>[^?]{2,80}?)\s*\?+\s*$"),
    re.compile(
        r"^(?:Are|Is|Was|Were|Do|Does|Did|Have|Has)(?: both)? (?P<one>[A-Z\"“][^?]{1,80}?)"
        r" (?:and|or) (?P<other>[A-Z\"“][^?]{1,80}?)(?= (?:both|have|has|from|in|located|share|born"
        r"|the same|of the same|founded|older|younger|first)\b)"
    ),
)
_CHINESE = re.compile(
    r"^(?P<one>[^，。？?]{2,30}?)(?:和|与|跟|还是)(?P<other>[^，。？?]{2,30}?)"
    r"(?:相比|，|谁|哪一?[个位部座家本]|都|是否|是不是|的[^，。？?]{1,10}(?:相同|一样))"
)


def sides_of(question: str) -> tuple[str, ...]:
    """Return the things that a question compares, as it names them; none where it compares none."""
    if sides := compared_sides(question):
        return sides
    for pattern in (*_ENGLISH, _CHINESE):
        found = pattern.search(question)
        if found is not None:
            return found["one"].strip('"“”《》 '), found["other"].strip('"“”《》 ')
    return ()


def open_side(question: str, passages: Sequence[Passage], tried: Sequence[str]) -> str:
    """Return the search for a side of which nothing was found yet; empty where none is open."""
    sides = sides_of(question)
    texts = [frozenset(tokens(f"{each.title}\n{each.text}")) for each in passages]
    for side in sides:
        words = frozenset(tokens(_BRACKETS.sub("", side)))
        query = _without(question, [other for other in sides if other != side])
        if not any(words <= text for text in texts) and query not in tried:
            return query
    return ""


_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_JOINED = r"(?:\bor\b|\band\b|和|与|跟|还是|、)"


def _without(question: str, names: Sequence[str]) -> str:
    """Return the question without some names, for the words beside the side that is left."""
    for name in map(re.escape, names):
        question = re.sub(rf"{name}\s*{_JOINED}|{_JOINED}?\s*{name}", " ", question)
    return " ".join(question.split())
