"""Token counts of passages for BM25: a base block, a tail of newer passages, and what is gone.

BM25 is computed from counts when a question is asked (Lucene's variant; Robertson and Zaragoza,
2009, section 3), so a passage that comes or goes alters no stored number of another one, and the
scores are those of an index built afresh. Tokens are stored as keyed hashes of 64 bits: the files
hold no word of any text.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .graph_api import load_array

Rows = NDArray[np.int64]
Occurrences = NDArray[np.float64]
"""Counts in units of k1 × the length factor: x in idf × x / (1 + x)."""

K1, B = 1.2, 0.75
_ARRAYS = ("tokens", "starts", "rows", "counts", "lengths")
_NO_ROWS = np.zeros(0, dtype=np.int64)
_NO_COUNTS = np.zeros(0, dtype=np.uint32)


def idf(held: int, count: int) -> float:
    """Return ln(1 + (n − df + ½) / (df + ½)) of a token that `held` of `count` passages have."""
    return math.log(1 + (count - held + 0.5) / (held + 0.5))


def token_hash(token: str, key: bytes) -> int:
    """Return the keyed 64-bit hash that stands for a token in files."""
    digest = hashlib.blake2b(token.encode("utf8", "surrogatepass"), digest_size=8, key=key)
    return int.from_bytes(digest.digest(), "little")


def places_among(marks: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> Rows:
    """Return where each wanted mark stands among `marks`, -1 for none."""
    if np.array_equal(marks, wanted):
        return np.arange(len(marks))
    if not len(marks):
        return np.full(len(wanted), -1)
    order = np.argsort(marks, kind="stable")
    found = order[np.minimum(np.searchsorted(marks, wanted, sorter=order), len(marks) - 1)]
    return np.where(marks[found] == wanted, found, -1)


@dataclass(frozen=True, slots=True)
class PostingBlock:
    """Counts of every token in the passages of one block, by token.

    `tokens` (t,) are hashes in ascending order; those of token i stand in `rows` and `counts` at
    `starts[i]:starts[i + 1]`, rows ascending; `lengths` (n,) are tokens per passage.
    """

    tokens: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    lengths: NDArray[np.int64]

    @classmethod
    def build(cls, texts: Sequence[str], *, key: bytes) -> PostingBlock:
        """Count the tokens of these texts, one row each; tokens stand between spaces."""
        builder = PostingBuilder(key)
        builder.add(texts)
        return builder.block()

    def of(self, token: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the rows that hold a token, and how often each does."""
        place = int(np.searchsorted(self.tokens, np.uint64(token)))
        if place == len(self.tokens) or int(self.tokens[place]) != token:
            return self.rows[:0], self.counts[:0]
        first, last = self.starts[place : place + 2]
        return self.rows[first:last], self.counts[first:last]

    def save(self, folder: Path) -> None:
        """Write one array a file."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> PostingBlock:
        """Map the arrays into memory.

        Raises:
            OSError: a file is missing.
        """
        return cls(*(load_array(folder / f"{name}.npy") for name in _ARRAYS))


class PostingBuilder:
    """Counts tokens of texts that come some at a time."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number: dict[str, int] = {}
        self._lengths: list[NDArray[np.int64]] = []
        self._parts: list[tuple[NDArray[np.uint32], ...]] = []
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """Count further rows."""
        number, numbers = self._number, list[int]()
        lengths = np.zeros(len(texts), dtype=np.int64)
        for row, text in enumerate(texts):
            words = text.split()
            lengths[row] = len(words)
            numbers.extend([number.setdefault(word, len(number)) for word in words])
        size = max(1, len(texts))
        pairs = np.array(numbers, dtype=np.int64) * size + np.repeat(np.arange(len(texts)), lengths)
        unique, counts = np.unique(pairs, return_counts=True)
        held, rows = np.divmod(unique, size)
        parts = (held, rows + self._count, counts)
        self._parts.append(tuple(part.astype(np.uint32) for part in parts))
        self._lengths.append(lengths)
        self._count += len(texts)

    def block(self) -> PostingBlock:
        """Return the counts of all rows."""
        none = np.zeros(0, dtype=np.uint32)
        held, rows, counts = (
            np.concatenate([none, *(part[place] for part in self._parts)]) for place in range(3)
        )
        self._parts.clear()
        hashes = np.array([token_hash(word, self._key) for word in self._number], dtype=np.uint64)
        order = np.argsort(hashes, kind="stable")
        rank = np.empty(order.size, dtype=np.uint32)
        rank[order] = np.arange(order.size)
        held = rank[held]
        starts = np.zeros(order.size + 1, dtype=np.int64)
        np.cumsum(np.bincount(held, minlength=order.size), out=starts[1:])
        by_token = np.argsort(held, kind="stable")  # rows came in ascending order
        lengths = np.concatenate([none.astype(np.int64), *self._lengths])
        return PostingBlock(hashes[order], starts, rows[by_token], counts[by_token], lengths)


@dataclass(frozen=True)
class FieldPostings:
    """Counts of one field over the library's passages, from several blocks.

    `places` gives for every row of each block its row in the library, and -1 where it is gone;
    `count` is the number of the library's rows.
    """

    blocks: tuple[PostingBlock, ...]
    places: tuple[Rows, ...]
    count: int
    key: bytes

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each row of the library, `(count,)`."""
        lengths = np.zeros(self.count, dtype=np.int64)
        for block, place in zip(self.blocks, self.places, strict=True):
            lengths[place[place >= 0]] = block.lengths[place >= 0]
        return lengths

    @cached_property
    def _unit(self) -> Occurrences:
        mean = self.lengths.mean() if self.lengths.any() else 1.0
        return np.asarray(K1 * (1 - B + B * self.lengths / mean), dtype=np.float64)

    @cached_property
    def _gaps(self) -> tuple[bool, ...]:
        """Return whether rows of each block are gone."""
        return tuple(bool((place < 0).any()) for place in self.places)

    def _held(self, token: str) -> list[tuple[Rows, NDArray[np.uint32]]]:
        """Return the rows of each block that hold a token, and how often."""
        number = token_hash(token, self.key)
        found = []
        for block, place, has_gaps in zip(self.blocks, self.places, self._gaps, strict=True):
            inside, often = block.of(number)
            here = place[inside]
            found.append((here[here >= 0], often[here >= 0]) if has_gaps else (here, often))
        return found

    def occurrences(self, token: str) -> tuple[Rows, Occurrences]:
        """Return the rows that hold a token, and how often in units of k1 × length factor."""
        held = self._held(token)
        rows = held[0][0] if len(held) == 1 else np.concatenate([_NO_ROWS, *(r for r, _ in held)])
        counts = [often for _, often in held]
        often = counts[0] if len(held) == 1 else np.concatenate([_NO_COUNTS, *counts])
        return rows, often / self._unit[rows]

    def scores(
        self, tokens: Iterable[str], *, seen: NDArray[np.bool_] | None
    ) -> NDArray[np.float32]:
        """Return BM25 of every row, `(count,)`; a token said twice counts twice.

        Args:
            tokens: the question's.
            seen: `(count,)`, the rows over which it is counted how rare a token is; None: all.
        """
        total = np.zeros(self.count, dtype=np.float64)
        size = self.count if seen is None else int(np.count_nonzero(seen))
        for token in tokens:
            rows, often = self.occurrences(token)
            held = rows.size if seen is None else int(np.count_nonzero(seen[rows]))
            if held:
                total[rows] += idf(held, size) * often / (1 + often)
        return total.astype(np.float32)

    def frequency(self, token: str, *, seen: NDArray[np.bool_] | None) -> int:
        """Return how many of the rows, None: of all, hold a token."""
        if seen is not None:
            return sum(int(np.count_nonzero(seen[rows])) for rows, _ in self._held(token))
        return sum(rows.size for rows, _ in self._held(token))


Count = Callable[[str], tuple[Rows, Occurrences]]
"""Token → rows that hold it, and how often; both empty for an unknown one."""
