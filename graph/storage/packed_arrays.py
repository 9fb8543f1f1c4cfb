"""Walk snapshot on disk: plain arrays, memory-mapped.

A snapshot and its walk graph are written field by field. Staleness is decided by the caller, by
`view_stamp`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sqlalchemy import Connection, func, select

from ..errors import GraphInputError
from ..search import packed_rows, snapshot, walk
from ..search.packed_rows import Rows, SortedMapping, StringTable, first_or_empty
from ..search.snapshot import WalkSnapshot
from ..search.view_changes import documents_added_since, follow_kept
from ..search.walk import WalkGraph
from .facts import content_digest, derived_stamp, hashed_parts, lineage
from .schema import entities, links, names

PLAN = "plan.json"
"""The file that says of each field which kind of value it is."""
STATE = "state.json"
"""The file that says which state of a library is shown."""
_SHAPES: Mapping[str, Callable[[Iterable[str]], object]] = {
    "tuples": tuple[str, ...],
    "frozensets": frozenset[str],
    "first": first_or_empty,
}
_BUILT_BY = (packed_rows, walk, snapshot)
_LOADING = threading.Lock()


def view_stamp(connection: Connection, *, content: str = "") -> str:
    """Return a stamp that changes with the view or the code building it.

    The counters of the library alone would not do: a library that was restored from a copy counts
    again where it counted before. So its lineage stands in the stamp too, or where that is not
    known its chunks: `content` is their `content_digest` if at hand.
    """
    known = lineage(connection)
    if not known:
        counts = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (names, entities, links)
        ]
        known = f"{content or content_digest(connection)} {counts}"
    return hashed_parts(derived_stamp(connection), known, _code())


def _code() -> str:
    """Return a hash of the code that builds views."""
    made_of = hashlib.sha256()
    for module in _BUILT_BY:
        made_of.update(Path(str(module.__file__)).read_bytes())
    return made_of.hexdigest()[:32]


def save_state(connection: Connection, folder: Path) -> None:
    """Write into a folder which state of a library what it holds shows.

    Raises:
        OSError: the disk refuses.
    """
    told = {
        "stamp": derived_stamp(connection),
        "lineage": lineage(connection),
        "code": _code(),
    }
    (folder / STATE).write_text(json.dumps(told, sort_keys=True), encoding="utf8")


def follow_saved(connection: Connection, folder: Path) -> WalkSnapshot | None:
    """Return the view of now from one that was written at an earlier state of the library.

    None where its log does not lead from there to now.

    Raises:
        OSError: a file is not there.
    """
    told = json.loads((folder / STATE).read_text(encoding="utf8"))
    if told["code"] != _code():
        return None
    return follow_kept(connection, load_view(folder), since=told["stamp"], lineage=told["lineage"])


def added_since_saved(connection: Connection, folder: Path) -> set[str] | None:
    """Return the documents whose rows changed since what is in a folder was written.

    None where the library was never in that state, something was removed, or much changed.

    Raises:
        OSError: no state is noted there.
    """
    told = json.loads((folder / STATE).read_text(encoding="utf8"))
    return documents_added_since(connection, told["stamp"], lineage=told["lineage"])


def save_view(view: WalkSnapshot, folder: Path) -> None:
    """Write a view and its walk graph into a folder that is there.

    Raises:
        GraphInputError: a field of a kind that cannot be kept.
        OSError: the disk refuses.
    """
    view = view.packed()
    graph = view.walk_graph
    parts = {
        "view": {field.name: getattr(view, field.name) for field in fields(view)},
        "graph": {field.name: getattr(graph, field.name) for field in fields(graph)},
        "incoming": {"incoming": graph.incoming},
    }
    plan: dict[str, dict[str, Any]] = {}
    tables: dict[int, str] = {}
    for part, values in parts.items():
        plan[part] = {
            name: _saved(value, folder / f"{part}-{name}", tables) for name, value in values.items()
        }
    (folder / PLAN).write_text(json.dumps(plan, sort_keys=True), encoding="utf8")


def load_view(folder: Path) -> WalkSnapshot:
    """Load a stored view with its walk graph.

    Raises:
        OSError: a file is not there.
    """
    plan = json.loads((folder / PLAN).read_text(encoding="utf8"))
    tables: dict[str, StringTable] = {}
    parts = {
        part: {
            name: _loaded(kind, folder / f"{part}-{name}", tables) for name, kind in kinds.items()
        }
        for part, kinds in plan.items()
    }
    view, graph = WalkSnapshot(**parts["view"]), WalkGraph(**parts["graph"])
    # What these would otherwise work out when first asked.
    vars(graph).update(parts["incoming"])
    vars(view)["walk_graph"] = graph
    return view


def _saved(value: object, place: Path, tables: dict[int, str]) -> Any:
    """Write a value to files beginning with `place`; return what `_loaded` needs.

    `tables` are those written before, by identity.
    """
    match value:
        case bool():
            return ["bool", value]
        case sparse.csr_array():
            _write(place, data=value.data, indices=value.indices, indptr=value.indptr)
            return ["matrix", *map(int, value.shape)]
        case np.ndarray():
            _write(place, values=value)
            return ["array"]
        case Rows():
            _write(place, starts=value.starts, numbers=value.numbers)
            if id(value.table) not in tables:
                tables[id(value.table)] = place.name
                _write_strings(place, StringTable.of(value.table))
            shape = next(name for name, shape in _SHAPES.items() if shape == value.shape)
            return ["rows", shape, tables[id(value.table)]]
        case Mapping():
            return ["mapping", _saved_mapping(value, place)]
        case Sequence() if all(isinstance(each, str) for each in value):
            _write_strings(place, StringTable.of(value))
            return ["strings"]
    raise GraphInputError(
        f"cannot store {place.name!r} in a file: unsupported type {type(value).__name__}"
    )


def _saved_mapping(value: Mapping[str, Any], place: Path) -> str:
    pairs = sorted(_pairs(value).items())
    held = [one for _, one in pairs]
    _write_strings(place, StringTable.of(key for key, _ in pairs))
    if all(isinstance(each, str) for each in held):
        _write_strings(place.with_name(f"{place.name}-values"), StringTable.of(held))
        return "strings"
    starts = np.zeros(len(held) + 1, dtype=np.int64)
    np.cumsum([len(each) for each in held], out=starts[1:])
    flat = [number for each in held for number in each]
    _write(place, starts=starts, numbers=np.array(flat, dtype=np.int64))
    return "numbers"


def _pairs(value: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(value, ChainMap):
        return {key: one for each in reversed(value.maps) for key, one in _pairs(each).items()}
    return dict(value.pairs() if isinstance(value, SortedMapping) else value)


def _loaded(kind: Sequence[Any], place: Path, tables: dict[str, StringTable]) -> Any:
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
        case ["rows", shape, table]:
            if table not in tables:
                tables[table] = _read_strings(place.with_name(table))
            starts, numbers = _read(place, "starts"), _read(place, "numbers")
            return Rows(starts, numbers, table=tables[table], shape=_SHAPES[shape])
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
