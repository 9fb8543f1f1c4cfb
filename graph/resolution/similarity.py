"""Names that look alike: which pairs are worth a thought, how sure it is, and why.

A pure function of the set of names and of what stands beside them. Pairs above `SURE` are one
thing spelt twice; those between `DOUBTFUL` and it are left apart unless a model or a
user judges them. What speaks for a pair is its spelling, names that stand beside both,
and vectors of
the two names where there are any. Names are compared only within small blocks (the same other
words, the same rare letters, near vectors), so the work grows as the number of names does.

Blocking: candidate name pairs, linear in the number of names.

Names meet in small blocks: where they share all words but one, the consonants of that one, their
rarest letter groups, their rarest word, or a corner of vector space. Of a block with too many names
each is compared with its next ones only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from .name_parsing import COMMON_GIVEN_NAMES
from .rules import Link, Profile, Profiles, share_document
from .spelling import (
    BORROWED,
    LONG,
    SHORTEST,
    Likeness,
    Spelling,
    compare,
    consonants,
    ratio,
    romanised,
    spelling_of,
    told_apart,
)

BLOCK = 12
"""Block size for all-pairs comparison; larger blocks use a sliding window."""

_RAREST = 3
_PLANES, _TABLES, _SEED = 10, 6, 20240601
_NEAREST = 0.8

Pair = tuple[str, str]


def near_pairs(spellings: Mapping[str, Spelling]) -> Iterator[Pair]:
    """Return few candidate pairs of spelling variants; with repeats, each sorted."""
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in sorted(spellings):
        for form in _near_forms(spellings[key]):
            blocks[form].append(key)
    yield from _within(blocks)


def far_pairs(spellings: Mapping[str, Spelling]) -> Iterator[Pair]:
    """Pairs of keys that share letters or words that few names have; as `near_pairs`."""
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    grams = Counter(g for spelling in spellings.values() for g in _grams(spelling))
    words = Counter(word for spelling in spellings.values() for word in set(spelling.words))
    for key in sorted(spellings):
        for form in _far_forms(spellings[key], grams=grams, words=words):
            blocks[form].append(key)
    yield from _within(blocks)


def vector_pairs(vectors: Mapping[str, NDArray[np.float32]]) -> Iterator[Pair]:
    """Return pairs of near unit vectors by hyperplane hashing (Charikar, 2002)."""
    if not vectors:
        return
    keys = sorted(vectors)
    matrix = np.stack([vectors[key] for key in keys])
    random = np.random.default_rng(_SEED)
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for table in range(_TABLES):
        planes = np.round(random.standard_normal((matrix.shape[1], _PLANES)), 4)
        for key, row in zip(keys, matrix, strict=True):
            # One row at a time: the sums of a product of matrices depend on how many rows it has.
            side = "".join("1" if value > 0 else "0" for value in np.round(row @ planes, 4))
            blocks[f"v{table}", side].append(key)
    for one, other in _within(blocks):
        if float(vectors[one] @ vectors[other]) >= _NEAREST:
            yield one, other


def _within(blocks: Mapping[tuple[str, str], list[str]]) -> Iterator[Pair]:
    """Return pairs inside each block; large ones are sorted, most similar adjacent."""
    for form in sorted(blocks):
        block = blocks[form]
        for place, one in enumerate(block):
            for other in block[place + 1 : place + 1 + BLOCK]:
                yield one, other


def _near_forms(spelling: Spelling) -> Iterator[tuple[str, str]]:
    yield "letters", spelling.plain.translate(BORROWED) if spelling.is_han else spelling.plain
    for place, word in enumerate(spelling.words if not spelling.is_han else ()):
        rest = " ".join((*spelling.words[:place], "", *spelling.words[place + 1 :]))
        yield "sounds", f"{rest}|{romanised(word)}"
        if len(word) >= LONG - 1:
            yield "consonants", f"{rest}|{consonants(word)}|{word[-1]}"


def _far_forms(
    spelling: Spelling, *, grams: Counter[str], words: Counter[str]
) -> Iterator[tuple[str, str]]:
    for gram in _rarest(_grams(spelling), grams):
        yield "letter groups", gram
    for word in _rarest(set(spelling.words), words):
        if len(word) > 2:
            yield "words", word


def _grams(spelling: Spelling) -> set[str]:
    """Return groups by letter trigrams, or Chinese character bigrams."""
    size = 2 if spelling.is_han else 3
    plain = spelling.plain
    return {plain[at : at + size] for at in range(len(plain) - size + 1)}


def _rarest(some: Iterable[str], counts: Counter[str]) -> list[str]:
    """Those that fewest names share with one another, but at least two do."""
    shared = [gram for gram in some if counts[gram] > 1]
    return sorted(shared, key=lambda gram: (counts[gram], gram))[:_RAREST]


SURE = 0.92
DOUBTFUL = 0.6
"""Score thresholds for merging by rule and for a judgement."""

HUB = 100
"""Neighbour count above which a name is uninformative."""

Neighbours = Mapping[str, Collection[str]]
"""Keys that share a sentence with a key, both ways."""

Embed = Callable[[Sequence[str]], NDArray[np.floating]]
"""Texts to one row each."""

_SPELLING_SCORES = {
    Likeness.SAME_LETTERS: 0.99,
    Likeness.DOUBLED: 0.95,
    Likeness.ROMANISED: 0.88,
    Likeness.ONE_LETTER: 0.86,
}
_BORROWED_SCORE = 0.95
"""Score of transliterated names; their characters carry no meaning."""
_SHORT_SCORE = 0.75
_NEVER_SURE = 0.9
_REASONS = {
    Likeness.SAME_LETTERS: "the same name but for accents, apostrophes or hyphens",
    Likeness.DOUBLED: "the same name with a letter doubled",
    Likeness.ROMANISED: "one sound written in two ways",
    Likeness.ONE_LETTER: "the same long name but for one letter",
    Likeness.CLOSE: "spelt much alike",
    Likeness.SHORTENED: "one name is a part of the other",
    Likeness.OTHER: "near in meaning",
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SimilarPair:
    """Pair of sorted keys; `score` is 0–1, `reason` explains it."""

    first: str
    second: str
    score: float
    reason: str

    @property
    def is_sure(self) -> bool:
        """Check whether a rule may merge the pair."""
        return self.score >= SURE


def similar_pairs(
    profiles: Profiles, *, neighbours: Neighbours | None = None, embed: Embed | None = None
) -> list[SimilarPair]:
    """Every pair of at least `DOUBTFUL`, sorted. Depends on the set of names alone.

    Args:
        profiles: the names by key; noun phrases are compared only where their letters are the same.
        neighbours: which keys stand beside a key; None: nothing is known of it.
        embed: makes vectors of names; None: vectors say nothing.
    """
    compared = _compared(profiles)
    spellings = {key: spelling_of(key, profile.parts) for key, profile in compared.items()}
    vectors = _vectors(compared, embed)
    pairs = {*near_pairs(spellings), *far_pairs(spellings), *vector_pairs(vectors)}
    weigh = _Weighing(compared, spellings, _Beside.of(neighbours or {}), vectors)
    return weigh.all_of(pairs)


def similar_links(profiles: Profiles, *, neighbours: Neighbours | None = None) -> Iterator[Link]:
    """Return links of sure pairs. Vectors never make a pair sure."""
    compared = _compared(profiles)
    spellings = {key: spelling_of(key, profile.parts) for key, profile in compared.items()}
    weigh = _Weighing(compared, spellings, _Beside.of(neighbours or {}), {})
    for pair in weigh.all_of(set(near_pairs(spellings))):
        if pair.is_sure:
            lesser = _rarer(profiles[pair.first], profiles[pair.second])
            yield Link(key=pair.first, other=pair.second, reason=pair.reason, lesser=lesser)


def _compared(profiles: Profiles) -> dict[str, Profile]:
    return {
        key: profiles[key]
        for key in sorted(profiles)
        if not profiles[key].parts.han_title and len(key) > 2
    }


def _rarer(one: Profile, other: Profile) -> str:
    """Return the less frequent spelling; "" if equal."""
    if one.count == other.count:
        return ""
    return min(one, other, key=lambda profile: (profile.count, profile.name.key)).name.key


def _vectors(keys: Iterable[str], embed: Embed | None) -> dict[str, NDArray[np.float32]]:
    """Return a rounded unit vector for each key, independent of batches."""
    if embed is None:
        return {}
    found: dict[str, NDArray[np.float32]] = {}
    for key in sorted(keys):
        vector = np.asarray(embed([key]), dtype=np.float32).reshape(-1)
        length = float(np.linalg.norm(vector))
        if length > 0:
            found[key] = np.round(vector / length, 4)
    return found


@dataclass(frozen=True, slots=True)
class _Beside:
    """Neighbours of names, weighted by rarity."""

    near: dict[str, frozenset[str]]
    weights: dict[str, float]

    @classmethod
    def of(cls, neighbours: Neighbours) -> _Beside:
        near = {key: frozenset(some) - {key} for key, some in sorted(neighbours.items())}
        weights = {key: 1.0 / log2(2 + len(some)) for key, some in near.items() if len(some) <= HUB}
        return cls(near, weights)

    def overlap(self, one: str, other: str) -> float:
        """Return the share of the rarer name's neighbours that both have, 0–1."""
        first, second = self.near.get(one, frozenset()), self.near.get(other, frozenset())
        shared = first & second
        if not shared:
            return 0.0
        whole = min(self._weight(first - {other}), self._weight(second - {one}))
        enough = min(1.0, len(shared) / 2)  # a single one may be chance
        return enough * min(1.0, self._weight(shared) / whole) if whole > 0 else 0.0

    def together(self, one: str, other: str) -> bool:
        """Check whether one sentence names both, which variants hardly do."""
        return other in self.near.get(one, ()) or one in self.near.get(other, ())

    def _weight(self, keys: Collection[str]) -> float:
        return sum(sorted(self.weights.get(key, 0.0) for key in keys))


@dataclass(frozen=True, slots=True)
class _Weighing:
    """Scoring of a pair."""

    profiles: Mapping[str, Profile]
    spellings: Mapping[str, Spelling]
    beside: _Beside
    vectors: Mapping[str, NDArray[np.float32]]

    def all_of(self, pairs: Collection[Pair]) -> list[SimilarPair]:
        """Those of at least `DOUBTFUL`, sorted."""
        found = (self.one(first, second) for first, second in sorted(pairs))
        return [pair for pair in found if pair is not None]

    def one(self, first: str, second: str) -> SimilarPair | None:
        """Return the scored pair; None if not worth considering."""
        one, other = self.profiles[first], self.profiles[second]
        if _are_different(one, other):
            return None
        likeness = compare(self.spellings[first], self.spellings[second])
        near = _cosine(self.vectors, first, second)
        if likeness == Likeness.OTHER and (near <= 0 or self._told_apart(first, second)):
            return None
        if "CONCEPT" in {one.kind, other.kind} and likeness < Likeness.SAME_LETTERS:
            return None
        overlap = self.beside.overlap(first, second)
        score = _base_score(likeness, one, other, spelling=self.spellings[first])
        score = 1 - (1 - score) * (1 - 0.5 * overlap) * (1 - 0.5 * max(0.0, 2 * near - 1))
        if not self._may_be_sure(likeness, first, second):
            score = min(score, _NEVER_SURE)
        if score < DOUBTFUL:
            return None
        reason = _REASONS[likeness]
        if overlap > 0:
            reason += ", and the same names stand beside both"
        return SimilarPair(first=first, second=second, score=round(score, 4), reason=reason)

    def _told_apart(self, first: str, second: str) -> bool:
        return told_apart(self.spellings[first], self.spellings[second])

    def _may_be_sure(self, likeness: Likeness, first: str, second: str) -> bool:
        """Check whether the pair may be sure without a judge."""
        if likeness == Likeness.SAME_LETTERS:
            return COMMON_GIVEN_NAMES.isdisjoint((first, second))
        if likeness < Likeness.ONE_LETTER:
            return False
        one, other = self.profiles[first], self.profiles[second]
        if self.beside.together(first, second) or (one.name.titles and other.name.titles):
            return False
        return not {*one.parts.words} ^ {*other.parts.words} <= COMMON_GIVEN_NAMES


def _base_score(likeness: Likeness, one: Profile, other: Profile, *, spelling: Spelling) -> float:
    """Return the spelling score, with a bonus within one document."""
    if likeness == Likeness.DOUBLED and len(spelling.words) == 1:
        likeness = Likeness.ROMANISED  # no second word says that the same thing is meant
    if likeness == Likeness.ROMANISED and spelling.is_han:
        return _BORROWED_SCORE
    if likeness == Likeness.ROMANISED and len(spelling.plain) <= SHORTEST:
        return _SHORT_SCORE
    if likeness in _SPELLING_SCORES:
        return _SPELLING_SCORES[likeness]
    at_hand = 0.1 if share_document(one, other) else 0.0
    if likeness == Likeness.CLOSE:
        return 0.7 * ratio(one.name.key, other.name.key) + at_hand
    return 0.4 + 2 * at_hand


def _are_different(one: Profile, other: Profile) -> bool:
    """Check for evidence against a pair."""
    genders = {one.parts.gender, other.parts.gender} - {""}
    kinds = {one.kind, other.kind} - {""}
    return len(genders) > 1 or len(kinds) > 1 or one.parts.numbers != other.parts.numbers


def _cosine(vectors: Mapping[str, NDArray[np.float32]], one: str, other: str) -> float:
    if one not in vectors or other not in vectors:
        return 0.0
    return round(float(vectors[one] @ vectors[other]), 3)
