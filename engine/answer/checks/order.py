"""Detection of swapped values: a claim aligned with its source.

A claim may hold only names that the source has too and still be wrong, because they changed
places. Both are aligned word by word (of Chinese, character by character); where both say the same
to the left and to the right and name two different things between, one was put for the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .names import Names, fold

MAX_WORDS = 400
"""Of each text; the alignment's time grows with the product."""

_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff]|[^\W_\u3400-\u4dbf\u4e00-\u9fff]+(?:['’.,-][^\W_]+)*"
)
_AGREES = 0.4
"""Minimum aligned share; below it the wording differs too much to compare positions."""
_LONGEST_PUT = 8
_FLANK = 3


@dataclass(frozen=True, slots=True)
class _Word:
    key: str
    specific: bool


def count_swapped_entities(claim: str, source: str, *, names: Names) -> int:
    """Count figures or names of the claim at positions where the source has another."""
    said, told = _words(claim, names), _words(source, names)
    if not said or not told:
        return 0
    matcher = SequenceMatcher(
        None, [word.key for word in said], [word.key for word in told], autojunk=False
    )
    codes = matcher.get_opcodes()
    agreeing = sum(i2 - i1 for tag, i1, i2, _, _ in codes if tag == "equal")
    if agreeing < _AGREES * len(said):
        return 0
    own = {word.key for word in said}
    return sum(
        1
        for place, (tag, i1, i2, j1, j2) in enumerate(codes)
        if tag == "replace"
        and i2 - i1 <= _LONGEST_PUT
        and j2 - j1 <= _LONGEST_PUT
        and _flanked(codes, place)
        and _differ(said[i1:i2], told[j1:j2], own)
    )


def _flanked(codes: Sequence[tuple[str, int, int, int, int]], place: int) -> bool:
    """Check whether both texts agree on both sides, or on the only side there is."""
    before = codes[place - 1] if place else None
    after = codes[place + 1] if place + 1 < len(codes) else None
    sides = [code for code in (before, after) if code is not None]
    agreed = [code[2] - code[1] if code[0] == "equal" else 0 for code in sides]
    return bool(agreed) and min(agreed) > 0 and sum(agreed) >= _FLANK


def _differ(said: Sequence[_Word], told: Sequence[_Word], own: set[str]) -> bool:
    ours = {word.key for word in said if word.specific}
    theirs = {word.key for word in told if word.specific}
    return bool(ours and theirs) and not ours & theirs and not theirs & own


def _words(text: str, names: Names) -> list[_Word]:
    spans = []
    for name in dict.fromkeys(names(text)):
        place = text.find(name)
        while place != -1:
            spans.append((place, place + len(name)))
            place = text.find(name, place + len(name))
    words = []
    for match in list(_WORD.finditer(text))[:MAX_WORDS]:
        named = any(start <= match.start() < end for start, end in spans)
        words.append(_Word(fold(match.group()), named or match.group()[0].isdigit()))
    return words
