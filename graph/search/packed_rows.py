"""Rows of strings as numbers of one table: small to hold, map and change.

A hundred thousand small Python objects take longer to make than arrays take to map, so strings and
rows are made when they are asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
T = TypeVar("T")
V = TypeVar("V", covariant=True)


class StringTable(Sequence[str]):
    """Strings by number.

    Args:
        ends: `(n + 1,)`, where each string begins in `letters` and, last, where the last one ends.
        letters: all strings in UTF-8, one after the other.
    """

    def __init__(self, ends: Numbers, letters: Bytes) -> None:
        self.ends = ends
        self.letters = letters

    @classmethod
    def of(cls, strings: Iterable[str]) -> StringTable:
        """Build the table of these strings, in order."""
        encoded = [string.encode("utf8", "surrogatepass") for string in strings]
        ends = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in encoded], out=ends[1:])
        return cls(ends, np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]
        letters = self.letters[self.ends[number] : self.ends[number + 1]]
        return letters.tobytes().decode("utf8", "surrogatepass")

    def find(self, string: str) -> int:
        """Return the number of a string of a sorted table, -1 for none; nothing is decoded."""
        wanted, low, high = string.encode("utf8", "surrogatepass"), 0, len(self)
        ends, letters = self.ends, self.letters
        while low < high:
            middle = (low + high) // 2
            if letters[ends[middle] : ends[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        is_there = low < len(self) and letters[ends[low] : ends[low + 1]].tobytes() == wanted
        return low if is_there else -1

    def __iter__(self) -> Iterator[str]:
        everything, places = self.letters.tobytes(), pairwise(self.ends.tolist())
        if everything.isascii():  # a piece of a text takes a third of the time of its decoding
            text = everything.decode("ascii")
            return iter([text[start:end] for start, end in places])
        return (everything[start:end].decode("utf8", "surrogatepass") for start, end in places)


def first_or_empty(strings: Iterable[str]) -> str:
    """Return the only string of a row, "" where it has none."""
    return next(iter(strings), "")


class Rows(Sequence[T]):
    """Rows of strings, built on access; `shape` converts a row's strings.

    Args:
        starts: `(n + 1,)`, where each row begins in `numbers`.
        numbers: which strings of the table stand in the rows, row after row.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        starts: Numbers,
        numbers: Numbers,
        *,
        table: Sequence[str],
        shape: Callable[[Iterable[str]], T],
    ) -> None:
        self.starts = starts
        self.numbers = numbers
        self.table = table
        self.shape = shape

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        row = range(len(self))[place]
        inside = self.numbers[self.starts[row] : self.starts[row + 1]].tolist()
        return self.shape(self.table[number] for number in inside)

    def __iter__(self) -> Iterator[T]:
        strings = list(self.table)
        numbers = self.numbers.tolist()
        for start, end in pairwise(self.starts.tolist()):
            yield self.shape(strings[number] for number in numbers[start:end])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @property
    def owners(self) -> Numbers:
        """Return the row of each number."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def shaped(self, shape: Callable[[Iterable[str]], V]) -> Rows[V]:
        """Return the same rows in another shape."""
        return Rows(self.starts, self.numbers, table=self.table, shape=shape)

    def renumbered(self, places: Numbers, table: Sequence[str]) -> Rows[T]:
        """Return the same rows over a table that holds each string at another place."""
        return Rows(self.starts, places[self.numbers], table=table, shape=self.shape)

    def spliced(self, order: Numbers, more: Rows[T]) -> Rows[T]:
        """Return these rows by number; those from `len(self)` on are rows of `more`.

        Both have one table.
        """
        both = np.concatenate([self.starts[:-1], more.starts[:-1] + self.starts[-1]])
        sizes = np.concatenate([np.diff(self.starts), np.diff(more.starts)])[order]
        starts = np.zeros(len(order) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        steps = np.arange(starts[-1]) - np.repeat(starts[:-1] - both[order], sizes)
        numbers = np.concatenate([self.numbers, more.numbers])[steps]
        return Rows(starts, numbers, table=self.table, shape=self.shape)


def find_string(strings: Sequence[str], wanted: str) -> int:
    """Return the place of a string in a sorted sequence, -1 for none."""
    if isinstance(strings, StringTable):
        return strings.find(wanted)
    if isinstance(strings, Rows):  # one string a row, over a sorted table
        number = find_string(strings.table, wanted)
        place = int(np.searchsorted(strings.numbers, number)) if number >= 0 else len(strings)
        is_there = place < len(strings) and strings.numbers[place] == number
    else:
        place = bisect_left(strings, wanted)
        is_there = place < len(strings) and strings[place] == wanted
    return place if is_there else -1


def pack_rows(
    *columns: Sequence[Collection[str]], table: Sequence[str] | None = None
) -> list[Rows[tuple[str, ...]]]:
    """Pack columns of rows over one sorted table, that of their strings where none is given.

    The strings of a row are sorted; repeats and empty strings are left out.
    """
    rows = [[sorted({*row} - {""}) for row in column] for column in columns]
    strings = sorted({string for column in rows for row in column for string in row})
    places = range(len(strings)) if table is None else [bisect_left(table, s) for s in strings]
    number = dict(zip(strings, places, strict=True))
    table = strings if table is None else table
    found = []
    for column in rows:
        starts = np.zeros(len(column) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in column], out=starts[1:])
        flat = (number[string] for row in column for string in row)
        numbers = np.fromiter(flat, dtype=np.int64, count=int(starts[-1]))
        found.append(Rows(starts, numbers, table=table, shape=tuple[str, ...]))
    return found


def widen_table(table: Sequence[str], more: Iterable[str]) -> tuple[list[str], Numbers]:
    """Return a sorted table with further strings, and the new place of each old one."""
    known = table if isinstance(table, list) else list(table)
    wider, places, begun = list[str](), list[int](), 0
    for string in sorted({*more}):
        place = bisect_left(known, string)
        if place == len(known) or known[place] != string:
            wider += known[begun:place]
            wider.append(string)
            places.append(place)
            begun = place
    wider += known[begun:]
    before = np.bincount(np.array(places, dtype=np.int64), minlength=len(known))
    return wider, np.arange(len(known)) + np.cumsum(before[: len(known)])


@dataclass(frozen=True)
class Splice:
    """Rows of some documents replaced by fresh ones; rows are sorted by document.

    Args:
        size: number of old rows.
        pieces: old rows that stay, and the fresh ones behind them, in turns.
    """

    size: int
    pieces: tuple[tuple[range, range], ...]

    @classmethod
    def of(cls, old: Sequence[str], fresh: Sequence[str], documents: Iterable[str]) -> Splice:
        """Return how rows of these documents are replaced, by the document of each row."""
        pieces, place = list[tuple[range, range]](), 0
        for one in sorted(documents):
            come = range(bisect_left(fresh, one), bisect_right(fresh, one))
            pieces.append((range(place, bisect_left(old, one)), come))
            place = bisect_right(old, one)
        return cls(len(old), (*pieces, (range(place, len(old)), range(0))))

    @cached_property
    def order(self) -> Numbers:
        """Return which row stands where, of old ones and, behind these, of fresh ones."""
        ranges = [
            each
            for stay, come in self.pieces
            for each in (_numbers(stay), _numbers(come) + self.size)
        ]
        return np.concatenate(ranges)

    @cached_property
    def moved(self) -> Numbers:
        """Return where each row stands now, old ones and behind these fresh ones; -1 if gone."""
        come = sum(len(come) for _, come in self.pieces)
        moved = np.full(self.size + come, -1, dtype=np.int64)
        moved[self.order] = np.arange(len(self.order))
        return moved

    def joined(self, old: Sequence[T], fresh: Sequence[T]) -> list[T]:
        """Return a column of rows with those of the documents replaced."""
        found = list[T]()
        for stay, come in self.pieces:
            found += old[stay.start : stay.stop]
            found += fresh[come.start : come.stop]
        return found


def _numbers(some: range) -> Numbers:
    return np.arange(some.start, some.stop)


class SortedMapping(Mapping[str, V]):
    """Mapping over sorted keys with values built on access."""

    def __init__(self, keys: Sequence[str], value_at: Callable[[int], V]) -> None:
        self._keys = keys
        self._value_at = value_at

    def __getitem__(self, key: str) -> V:
        number = find_string(self._keys, key)
        if number < 0:
            raise KeyError(key)
        return self._value_at(number)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def pairs(self) -> Iterator[tuple[str, V]]:
        """Return keys and values in order, without a search for each."""
        return ((key, self._value_at(place)) for place, key in enumerate(self._keys))
