"""Names of persons with more or fewer given names: which may be the same person.

Works on names taken apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from .name_parts import NameParts
from .person_words import GENERATIONS, NAMED_AFTER_PERSONS


def fits(shorter: NameParts, longer: NameParts) -> bool:
    """Check whether all words of `shorter` occur in `longer` in order, initials allowed."""
    if len(shorter.words) > len(longer.words) or shorter.words[-1] != longer.words[-1]:
        return False
    if shorter.numbers != longer.numbers or shorter.words == longer.words:
        return False
    place = 0
    for word in shorter.words[:-1]:
        while place < len(longer.words) - 1 and not _same_given(word, longer.words[place]):
            place += 1
        if place == len(longer.words) - 1:
            return False
        place += 1
    return _same_given(shorter.words[0], longer.words[0])


def _same_given(short: str, full: str) -> bool:
    return short == full or (len(short) == 1 and full.startswith(short))


def one_person(candidates: Sequence[NameParts]) -> bool:
    """Check whether all candidates may be one person: each fits the longest."""
    longest = max(candidates, key=lambda p: (len(p.words), len(p.plain), p.words))
    return all(p.words == longest.words or fits(p, longest) for p in candidates)


def begins(shorter: NameParts, longer: NameParts) -> bool:
    """Check whether `longer` extends a name of two or more words without a generation or class word."""
    count = len(shorter.words)
    rest = {*longer.words[count:]}
    return (
        2 <= count < len(longer.words)
        and longer.words[:count] == shorter.words
        and shorter.numbers == longer.numbers
        and not rest & (GENERATIONS | NAMED_AFTER_PERSONS)
    )


def fit_together(one: NameParts, other: NameParts) -> bool:
    """Check whether either name fits the other, or begins it."""
    return any(fits(a, b) or begins(a, b) for a, b in ((one, other), (other, one)))
