"""Blocking: candidate name pairs, linear in the number of names.

Names meet in small blocks: where they share all words but one, the consonants of that one, their
rarest letter groups, their rarest word, or a corner of vector space. Of a block with too many names
each is compared with its next ones only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from .spelling import BORROWED, LONG, Spelling, consonants, romanised

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
