"""String tables as arrays that can be memory-mapped.

A hundred thousand small Python objects take longer to make than the arrays take to map: here a
string, a row or an entry is made when it is asked for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar, overload

import numpy as np
import numpy.typing as npt

Ends = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
T = TypeVar("T")
V = TypeVar("V", covariant=True)


class StringTable(Sequence[str]):
    """Strings by number.

    Args:
        ends: `(n + 1,)`, where each string begins in `letters` and, last, where the last one ends.
        letters: all strings in UTF-8, one after the other.
    """

    def __init__(self, ends: Ends, letters: Bytes) -> None:
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

    def __iter__(self) -> Iterator[str]:
        everything = self.letters.tobytes()
        for start, end in pairwise(self.ends.tolist()):
            yield everything[start:end].decode("utf8", "surrogatepass")


class Rows(Sequence[T]):
    """Rows of strings, built on access; `shape` converts a row's strings.

    Args:
        starts: `(n + 1,)`, where each row begins in `numbers`.
        numbers: which strings of the table stand in the rows, row after row.
    """

    def __init__(
        self,
        starts: Ends,
        numbers: npt.NDArray[np.int64],
        *,
        table: StringTable,
        shape: Callable[[Iterable[str]], T],
    ) -> None:
        self._starts = starts
        self._numbers = numbers
        self._table = table
        self._shape = shape

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        row = range(len(self))[place]
        inside = self._numbers[self._starts[row] : self._starts[row + 1]].tolist()
        return self._shape(self._table[number] for number in inside)

    def __iter__(self) -> Iterator[T]:
        strings = list(self._table)
        numbers = self._numbers.tolist()
        for start, end in pairwise(self._starts.tolist()):
            yield self._shape(strings[number] for number in numbers[start:end])


class SortedMapping(Mapping[str, V]):
    """Mapping over sorted keys with values built on access."""

    def __init__(self, keys: StringTable, value_at: Callable[[int], V]) -> None:
        self._keys = keys
        self._value_at = value_at

    def __getitem__(self, key: str) -> V:
        number = bisect_left(self._keys, key)
        if number == len(self._keys) or self._keys[number] != key:
            raise KeyError(key)
        return self._value_at(number)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def numbered(rows: Sequence[Collection[str]]) -> tuple[Ends, npt.NDArray[np.int64], StringTable]:
    """Encode rows as `(starts, numbers, table)` of `Rows`.

    Table and unordered rows are sorted.
    """
    table = sorted({string for row in rows for string in row})
    number = {string: place for place, string in enumerate(table)}
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    numbers = np.fromiter(
        (
            number[string]
            for row in rows
            for string in (row if isinstance(row, Sequence) else sorted(row))
        ),
        dtype=np.int64,
        count=int(starts[-1]),
    )
    return starts, numbers, StringTable.of(table)
