"""Things swapped: a figure or a name of a claim in a place where its source has another.

Claim and source are aligned word by word (of Chinese by character); and of two things that both
hold, the words beside each are compared with those beside the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from graph.text.cjk import HAN
from graph.text.patterns import lazy_regex

from ..storage.tokenization import tokens
from .entities_and_numbers import names_in, normalise_name

MAX_WORDS = 400
"""Of each text; the alignment's time grows with the product."""

_WORD = lazy_regex(rf"[{HAN}]|[^\W_{HAN}]+(?:['’.,-][^\W_]+)*")
_AGREES = 0.4
"""Minimum aligned share; below it the wording differs too much to compare positions."""
_LONGEST_PUT = 8
_FLANK = 3


@dataclass(frozen=True, slots=True)
class _Word:
    key: str
    specific: bool


def count_swapped_entities(claim: str, source: str) -> int:
    """Count figures or names of the claim at positions where the source has another."""
    said, told = _words(claim), _words(source)
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


def _words(text: str) -> list[_Word]:
    spans = []
    for name in dict.fromkeys(names_in(text)):
        place = text.find(name)
        while place != -1:
            spans.append((place, place + len(name)))
            place = text.find(name, place + len(name))
    words = []
    for match in list(_WORD.finditer(text))[:MAX_WORDS]:
        named = any(start <= match.start() < end for start, end in spans)
        words.append(_Word(_key(match.group()), named or match.group()[0].isdigit()))
    return words


def _key(word: str) -> str:
    return word.replace(",", "") if word[0].isdigit() else normalise_name(word)


_BESIDE_WORDS = 7
_LEAST_CROSSED = 3
_MOST_THINGS = 8
_BREAK = lazy_regex(r"[,，;；。:：、]|\band\b|\bwhereas\b|\bwhile\b|\bbut\b|和|与|而")


def exchanged(claim: str, source: str) -> bool:
    """Check whether two things of the claim stand each among the words of the other in the source.

    "58 % on placebo and 31 % on emberin" against "31 % on placebo and 58 % on emberin". A thing
    that stands twice says nothing.
    """
    things = [thing for thing in _things(claim) if source.count(thing) == 1 == claim.count(thing)]
    beside = {thing: (_near(thing, claim), _near(thing, source)) for thing in things[:_MOST_THINGS]}
    for one, other in combinations(beside, 2):
        if one in other or other in one:
            continue
        (ours, theirs), (our_other, their_other) = beside[one], beside[other]
        own, cross = set(ours) - set(our_other), set(our_other) - set(ours)
        told, told_cross = set(theirs) - set(their_other), set(their_other) - set(theirs)
        crossed = len(own & told_cross) + len(cross & told)
        straight = len(own & told) + len(cross & told_cross)
        if crossed >= _LEAST_CROSSED and not straight and own & told_cross and cross & told:
            return True
    return False


def _things(text: str) -> list[str]:
    figures = [match.group() for match in re.finditer(r"\d[\d,.]*\d|\d", text)]
    return list(dict.fromkeys((*figures, *names_in(text))))


def _near(thing: str, text: str) -> list[str]:
    """Return the words of the clause beside a thing, those behind it first."""
    at = text.index(thing)
    before = _BREAK.split(text[:at])[-1]
    after = _BREAK.split(text[at + len(thing) :])[0]
    return [*tokens(after)[:_BESIDE_WORDS], *tokens(before)[-_BESIDE_WORDS:]]
