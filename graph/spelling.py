"""Spelling comparison: variants of one name, or different names.

Works on name keys (see `graph.names.name_key`) and the words of `graph.name_parts`. Differences that tell things apart (numbers, directions, generations, opposites) are
looked for before anything that makes two spellings look alike.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from .name_parts import NameParts
from .spelling_words import (
    BORROWED_SOUNDS,
    LETTERS,
    OPPOSED_PREFIXES,
    ROMANISATIONS,
    TELLING_CHARACTERS,
    TELLING_WORDS,
)

_WRITTEN = re.compile("|".join(sorted(ROMANISATIONS, key=lambda some: (-len(some), some))))
_PREFIX = re.compile("|".join(sorted(OPPOSED_PREFIXES, key=lambda some: (-len(some), some))))
_SEPARATORS = re.compile(r"[.\-–—‐,/]")
_REPEATED = re.compile(r"(.)\1+")
_VOWELS = re.compile(r"[aeiou]")
_DIGIT = re.compile(r"\d")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTERS = str.maketrans(LETTERS)
BORROWED = str.maketrans(BORROWED_SOUNDS)
"""Table folding characters of one sound in foreign names."""
_H_BEHIND = re.compile(r"(?<=[bdgjklmnrtvz])h")
SHORTEST = 5
"""In letters: in shorter words one letter makes another word."""
LONG = 7


class Likeness(IntEnum):
    """Similarity levels of spellings, the surest last."""

    OTHER = 0
    SHORTENED = 1
    """All words of one stand in the other."""
    CLOSE = 2
    """Most letters are the same."""
    ONE_LETTER = 3
    """One letter more or less, or two swapped, inside a long word."""
    ROMANISED = 4
    """One sound written in two usual ways."""
    DOUBLED = 5
    """A letter doubled in one of them."""
    SAME_LETTERS = 6
    """Other apostrophes, accents or special letters only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Name for comparison: words in plain letters, and distinguishing parts.

    `telling` are numbers, directions, generations and the like, in their order.
    """

    words: tuple[str, ...]
    telling: tuple[str, ...]
    is_han: bool

    @property
    def plain(self) -> str:
        """The letters alone."""
        return "".join(self.words)


def spelling_of(key: str, parts: NameParts) -> Spelling:
    """Return a name's comparison form with titles, articles and suffixes."""
    written = _SEPARATORS.sub(" ", key).split() or [key]
    words = tuple(word for word in map(plain_letters, written) if word) or (key,)
    text = " ".join(words)
    han = bool(_HAN.search(text))
    telling = [word for word in words if len(word) == 1 or word in TELLING_WORDS]
    if han:
        telling = [character for character in text if character in TELLING_CHARACTERS]
    numbered = [word for word in words if _DIGIT.search(word)]
    return Spelling(
        words=words,
        telling=tuple(dict.fromkeys([*parts.numbers, *numbered, *telling])),
        is_han=han,
    )


def plain_letters(word: str) -> str:
    """Transliterate a word to a–z without diacritics."""
    if word.isascii() and word.isalnum():
        return word
    mapped = word.translate(_LETTERS)
    return "".join(c for c in mapped if unicodedata.category(c)[0] in "LN" and c not in "ʾʿʼ")


@lru_cache(maxsize=50_000)
def romanised(word: str) -> str:
    """Unify romanisations: "tolstoy" and "tolstoi", "zakhary" and "zachary".

    What letters stand for in many languages is meant, so two words may agree by chance.
    """
    word = _WRITTEN.sub(lambda match: ROMANISATIONS[match.group()], word)
    return _REPEATED.sub(r"\1", _H_BEHIND.sub("", word))


def consonants(word: str) -> str:
    """Return a word without inner vowels."""
    bare = romanised(word)
    return bare[:1] + _VOWELS.sub("", bare[1:])


def compare(one: Spelling, other: Spelling) -> Likeness:
    """Compare two spellings; OTHER where the difference separates two things."""
    if told_apart(one, other):
        return Likeness.OTHER
    if one.plain == other.plain:
        return Likeness.SAME_LETTERS if len(one.plain) > 3 else Likeness.OTHER
    if one.is_han:
        return _compare_han(one, other)
    if len(one.words) != len(other.words):
        return _compare_lengths(one, other)
    different = _different(one, other)
    found = min(_compare_words(a, b) for a, b in different)
    if found <= Likeness.CLOSE:
        return Likeness.CLOSE if ratio(one.plain, other.plain) >= 0.8 else Likeness.OTHER
    return found if len(different) == 1 else min(found, Likeness.ROMANISED)


def told_apart(one: Spelling, other: Spelling) -> bool:
    """Check whether numbers, directions, opposites or script separate two names."""
    if one.telling != other.telling or one.is_han != other.is_han:
        return True
    return any(_are_opposed(a, b) for a, b in _different(one, other))


def _different(one: Spelling, other: Spelling) -> list[tuple[str, str]]:
    """Return differing words by position; empty if lengths differ."""
    if len(one.words) != len(other.words):
        return []
    return [(a, b) for a, b in zip(one.words, other.words, strict=True) if a != b]


def ratio(one: str, other: str) -> float:
    """0–1: how much of two texts is the same, by insertions and deletions (rapidfuzz)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100.0


def _compare_words(one: str, other: str) -> Likeness:
    """Two different words in the same place of two names."""
    if one[0] != other[0]:
        return Likeness.CLOSE
    if min(len(one), len(other)) < SHORTEST:
        same_sounds = min(len(one), len(other)) > 3 and romanised(one) == romanised(other)
        return Likeness.ROMANISED if same_sounds else Likeness.CLOSE
    one_more = abs(len(one) - len(other)) == 1
    if one_more and _REPEATED.sub(r"\1", one) == _REPEATED.sub(r"\1", other):
        return Likeness.DOUBLED
    if romanised(one) == romanised(other):
        return Likeness.ROMANISED
    if max(len(one), len(other)) >= LONG and _is_one_slip(one, other):
        return Likeness.ONE_LETTER
    return Likeness.CLOSE


def _is_one_slip(one: str, other: str) -> bool:
    """Check for one missing letter or a swap of neighbours, inside the word."""
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    if len(long) - len(short) == 1:
        return any(short == long[:at] + long[at + 1 :] for at in range(1, len(long) - 1))
    if len(long) != len(short) or one[0] != other[0] or one[-1] != other[-1]:
        return False
    places = [at for at in range(len(one)) if one[at] != other[at]]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    first, second = places
    return one[first] == other[second] and one[second] == other[first]


def _are_opposed(one: str, other: str) -> bool:
    """Check whether words differ by an opposing prefix."""
    rests = [word[match.end() :] for word in (one, other) if (match := _PREFIX.match(word))]
    if one in rests or other in rests:
        return True
    return len(rests) == 2 and rests[0] == rests[1] and len(rests[0]) > 2


def _compare_lengths(one: Spelling, other: Spelling) -> Likeness:
    short, long = sorted((one.words, other.words), key=len)
    if set(short) <= set(long):
        return Likeness.SHORTENED
    return Likeness.CLOSE if ratio(one.plain, other.plain) >= 0.85 else Likeness.OTHER


def _compare_han(one: Spelling, other: Spelling) -> Likeness:
    """Compare Han names: foreign ones by sound, others by meaning."""
    short, long = sorted((one.plain, other.plain), key=len)
    if len(short) == len(long):
        foreign = len(short) >= 4 and short.translate(BORROWED) == long.translate(BORROWED)
        return Likeness.ROMANISED if foreign else Likeness.OTHER
    return Likeness.SHORTENED if len(short) > 1 and short in long else Likeness.OTHER
