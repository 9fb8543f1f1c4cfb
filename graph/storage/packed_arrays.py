"""Walk snapshot on disk: plain arrays, memory-mapped.

A snapshot and its walk graph are written field by field. Strings, rows and entries are made when
they are asked for: a hundred thousand small Python objects take longer to make than the arrays take
to map. Staleness is decided by the caller, by `view_stamp`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sqlalchemy import Connection, func, select

from ..errors import GraphInputError
from ..search import snapshot, walk
from ..search.snapshot import WalkSnapshot
from ..search.walk import WalkGraph
from .facts import derived_stamp
from .schema import chunks, entities, links, names

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


def encode_rows(rows: Sequence[Collection[str]]) -> tuple[Ends, npt.NDArray[np.int64], StringTable]:
    """Encode rows of the walk graph as `(starts, numbers, table)` of `Rows`.

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


PLAN = "plan.json"
"""The file that says of each field which kind of value it is."""
_LISTS: Mapping[str, Callable[[Iterable[str]], Collection[str]]] = {
    "tuples": tuple,
    "frozensets": frozenset,
}
_BUILT_BY = (walk, snapshot)
_LOADING = threading.Lock()


def view_stamp(connection: Connection) -> str:
    """Return a stamp that changes with the view or the code building it.

    The counters of the library alone would not do: a library that was restored from a copy counts
    again where it counted before. So its chunks stand in the stamp too.
    """
    made_of = hashlib.sha256(derived_stamp(connection).encode())
    for column in (chunks.c.id, chunks.c.text_sha):
        held = connection.execute(select(column).order_by(column)).scalars()
        made_of.update("\x1f".join(held).encode("utf8", "surrogatepass"))
    for table in (names, entities, links):
        count = connection.execute(select(func.count()).select_from(table)).scalar_one()
        made_of.update(f"\x1e{count}".encode())
    for module in _BUILT_BY:
        made_of.update(Path(str(module.__file__)).read_bytes())
    return made_of.hexdigest()[:32]


def save_view(view: WalkSnapshot, folder: Path) -> None:
    """Write a view and its walk graph into a folder that is there.

    Raises:
        GraphInputError: a field of a kind that cannot be kept.
        OSError: the disk refuses.
    """
    graph = view.walk_graph
    parts = {
        "view": {field.name: getattr(view, field.name) for field in fields(view)},
        "graph": {field.name: getattr(graph, field.name) for field in fields(graph)},
        "incoming": {"incoming": graph.incoming},
    }
    plan: dict[str, dict[str, Any]] = {}
    for part, values in parts.items():
        plan[part] = {
            name: _saved(value, folder / f"{part}-{name}") for name, value in values.items()
        }
    (folder / PLAN).write_text(json.dumps(plan, sort_keys=True), encoding="utf8")


def load_view(folder: Path) -> WalkSnapshot:
    """Load a stored view with its walk graph.

    Raises:
        OSError: a file is not there.
    """
    plan = json.loads((folder / PLAN).read_text(encoding="utf8"))
    parts = {
        part: {name: _loaded(kind, folder / f"{part}-{name}") for name, kind in kinds.items()}
        for part, kinds in plan.items()
    }
    view, graph = WalkSnapshot(**parts["view"]), WalkGraph(**parts["graph"])
    # What these would otherwise work out when first asked.
    vars(graph).update(parts["incoming"])
    vars(view)["walk_graph"] = graph
    return view


def _saved(value: object, place: Path) -> Any:
    """Write a value to files beginning with `place`; return what `_loaded` needs."""
    match value:
        case bool():
            return ["bool", value]
        case sparse.csr_array():
            _write(place, data=value.data, indices=value.indices, indptr=value.indptr)
            return ["matrix", *map(int, value.shape)]
        case np.ndarray():
            _write(place, values=value)
            return ["array"]
        case Mapping():
            return ["mapping", _saved_mapping(value, place)]
        case Sequence() if all(isinstance(each, str) for each in value):
            _write_strings(place, StringTable.of(value))
            return ["strings"]
        case Sequence() if all(isinstance(each, (tuple, frozenset)) for each in value):
            starts, numbers, table = encode_rows(value)
            _write(place, starts=starts, numbers=numbers)
            _write_strings(place, table)
            return ["tuples" if all(isinstance(each, tuple) for each in value) else "frozensets"]
    raise GraphInputError(
        f"cannot store {place.name!r} in a file: unsupported type {type(value).__name__}"
    )


def _saved_mapping(value: Mapping[str, Any], place: Path) -> str:
    keys = sorted(value)
    _write_strings(place, StringTable.of(keys))
    held = [value[key] for key in keys]
    if all(isinstance(each, str) for each in held):
        _write_strings(place.with_name(f"{place.name}-values"), StringTable.of(held))
        return "strings"
    starts = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in held], out=starts[1:])
    flat = [number for each in held for number in each]
    _write(place, starts=starts, numbers=np.array(flat, dtype=np.int64))
    return "numbers"


def _loaded(kind: Sequence[Any], place: Path) -> Any:
    match kind:
        case ["bool", value]:
            return value
        case ["matrix", *shape]:
            arrays = (_read(place, "data"), _read(place, "indices"), _read(place, "indptr"))
            return sparse.csr_array(arrays, shape=tuple(shape))
        case ["array"]:
            return _read(place, "values")
        case ["mapping", values]:
            return _loaded_mapping(values, place)
        case ["strings"]:
            return tuple(_read_strings(place))
        case [rows]:
            starts, numbers = _read(place, "starts"), _read(place, "numbers")
            return Rows(starts, numbers, table=_read_strings(place), shape=_LISTS[rows])
    raise GraphInputError(f"{place.name!r} was written by another version: {kind!r}")


def _loaded_mapping(values: str, place: Path) -> Mapping[str, Any]:
    keys = _read_strings(place)
    if values == "strings":
        return SortedMapping(
            keys, _read_strings(place.with_name(f"{place.name}-values")).__getitem__
        )
    starts, numbers = _read(place, "starts"), _read(place, "numbers")
    return SortedMapping(keys, lambda at: tuple(numbers[starts[at] : starts[at + 1]].tolist()))


def _write(place: Path, **arrays: npt.NDArray[Any]) -> None:
    for name, values in arrays.items():
        np.save(place.with_name(f"{place.name}.{name}.npy"), values, allow_pickle=False)


def _write_strings(place: Path, table: StringTable) -> None:
    _write(place, ends=table.ends, letters=table.letters)


def _read(place: Path, name: str) -> npt.NDArray[Any]:
    file = place.with_name(f"{place.name}.{name}.npy")
    return load_array(file)


def load_array(file: Path) -> npt.NDArray[Any]:
    """Map an array file into memory; one thread at a time.

    NumPy parses the header as Python, and CPython before 3.12 may raise `SystemError` where two
    threads parse at once.

    Raises:
        OSError: the file is missing.
    """
    with _LOADING:
        # A plain array over the map: slicing a `memmap` itself takes many times as long.
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))


def _read_strings(place: Path) -> StringTable:
    return StringTable(_read(place, "ends"), _read(place, "letters"))
