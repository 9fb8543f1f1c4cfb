"""Vectors of one model in 8 bits, memory-mapped, followed without copying, in cells where many.

A block holds codes, scales and keyed marks in place of ids. A picture is never altered: the next
one shares its `base` and puts newer vectors into `tail`; what is gone loses its chunk, and its row
in the file is overwritten. Codes only choose candidates; cosines come from the library. Very many
vectors are divided into cells (an inverted file; Sivic and Zisserman, 2003), and the cells nearest
to a question are compared.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from .. import files
from ..graph_api import load_array, rows_in, save_state
from ..postings import places_among
from ..schema import vectors

HEAD_BYTES = 16
WORN_ABOVE = 0.25
"""The share of vectors that came or went since the base block was made."""
FEW = 5_000
"""Read batch size."""
SLICE = 512
"""Rows compared at once: they stay in the processor's cache, and BLAS begins no threads."""
KEPT_FROM = 2_000
"""Fewer vectors are read in less time than a file is checked."""
Marks = NDArray[np.uint64]
Slots = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class VectorBlock:
    """Vectors in 8 bits: row i is about `codes[i] * scales[i]`; `marks` say whose it is.

    `owners` are marks of the chunks. Where there are `centres`, rows lie by the nearest of these,
    those of centre c at `starts[c]:starts[c + 1]`.
    """

    marks: Marks
    owners: Marks
    codes: NDArray[np.int8]
    scales: Floats
    centres: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(
        cls, marks: Marks, owners: Marks, codes: NDArray[np.int8], scales: Floats
    ) -> VectorBlock:
        """Build a block without cells."""
        return cls(
            marks, owners, codes, scales, np.zeros((0, 0), np.float32), np.zeros(1, np.int64)
        )

    def __len__(self) -> int:
        return len(self.marks)

    def take(self, rows: Slots) -> VectorBlock:
        """Return some rows, without cells."""
        parts = (self.marks[rows], self.owners[rows], self.codes[rows], self.scales[rows])
        return VectorBlock.of(*parts)

    def joined(self, other: VectorBlock) -> VectorBlock:
        """Return the rows of both, without cells."""
        if not len(self):
            return other
        pairs = ((getattr(each, name) for each in (self, other)) for name in _ROWS)
        return VectorBlock.of(*(np.concatenate([*pair]) for pair in pairs))

    def cosines(self, query: Floats, first: int, last: int) -> Floats:
        """Cosine of the query and each of the rows `[first, last)`, as far as 8 bits tell it."""
        found = np.empty(last - first, dtype=np.float32)
        part = np.empty((SLICE, self.codes.shape[1]), dtype=np.float32)
        for start in range(first, last, SLICE):
            end = min(last, start + SLICE)
            np.copyto(part[: end - start], self.codes[start:end])
            np.dot(part[: end - start], query, out=found[start - first : end - first])
        return np.multiply(found, self.scales[first:last], out=found)

    def near(self, query: Floats) -> tuple[Slots, Floats]:
        """Return the rows of the cells nearest to the query, ascending, and their cosines."""
        probed = max(LEAST_PROBED, int(PROBED * len(self.centres)))
        order = np.argsort(-(self.centres @ query), kind="stable")
        spans = [(self.starts[cell], self.starts[cell + 1]) for cell in np.sort(order[:probed])]
        slots = np.concatenate([np.arange(*span) for span in spans])
        return slots, np.concatenate([self.cosines(query, *map(int, span)) for span in spans])

    def save(self, folder: Path) -> None:
        """Write one array a file."""
        for each in fields(self):
            np.save(folder / f"{each.name}.npy", getattr(self, each.name))

    @classmethod
    def load(cls, folder: Path) -> VectorBlock:
        """Map the arrays into memory.

        Raises:
            OSError: a file is missing.
        """
        return cls(*(load_array(folder / f"{each.name}.npy") for each in fields(cls)))


_ROWS = ("marks", "owners", "codes", "scales")
_EMPTY = VectorBlock.of(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint64),
    np.zeros((0, 0), np.int8),
    np.zeros(0, np.float32),
)


@dataclass(frozen=True)
class VectorSegment:
    """All vectors as they were at one `stamp`.

    Slots number the rows of `base` and then of `tail`. `chunk_of` (slots) is the number of each
    slot's chunk in `chunk_ids`, which are sorted, and -1 where it is gone.
    """

    stamp: str
    base: VectorBlock
    tail: VectorBlock
    chunk_ids: tuple[str, ...]
    chunk_of: NDArray[np.int32]

    @cached_property
    def held(self) -> int:
        """Return how many vectors the library holds."""
        return int(np.count_nonzero(self.chunk_of >= 0))

    @property
    def needs_compaction(self) -> bool:
        """Check whether the segments need compaction."""
        return len(self.chunk_of) - self.held + len(self.tail) > WORN_ABOVE * self.held

    @cached_property
    def margin(self) -> float:
        """Return how much the cosines of codes may be off, but for one in thousands."""
        return 2 * float(
            max(some.max(initial=0.0) for some in (self.base.scales, self.tail.scales))
        )

    def near(self, query: Floats, *, every: bool) -> tuple[Slots, Floats]:
        """Return slots and their cosines: all, or of the base those of the nearest cells."""
        if every or not len(self.base.centres):
            slots, found = np.arange(len(self.base)), self.base.cosines(query, 0, len(self.base))
        else:
            slots, found = self.base.near(query)
        if not len(self.tail):
            return slots, found
        more = np.arange(len(self.base), len(self.chunk_of))
        cosines = self.tail.cosines(query, 0, len(self.tail))
        return np.concatenate([slots, more]), np.concatenate([found, cosines])


def read_vectors(
    connection: Connection, stamp: str, *, model: str, base: VectorBlock | None = None
) -> VectorSegment:
    """Read all vectors of the library; those not in `base` become the tail.

    Without `base` all are one.
    """
    if base is not None and len(base):
        before = VectorSegment(stamp, base, _EMPTY, (), np.zeros(0, np.int32))
        return changed_vectors(connection, stamp, model=model, before=before)
    chunk_ids: list[str] = []
    block, first = _EMPTY, 0
    size = count_vectors(connection, model=model)
    columns = select(vectors.c.chunk_id, vectors.c.window, vectors.c.vector)
    result = connection.execute(columns.where(vectors.c.model == model))
    for rows in result.partitions(FEW):
        some = _block(rows)
        if not len(block):
            # Filled piece by piece: what is put together at the end is in memory twice.
            block = VectorBlock.of(
                *(
                    np.zeros((size, *getattr(some, n).shape[1:]), getattr(some, n).dtype)
                    for n in _ROWS
                )
            )
        for name in _ROWS:
            getattr(block, name)[first : first + len(some)] = getattr(some, name)
        first += len(some)
        chunk_ids += [row[0] for row in rows]
    order = np.argsort(block.marks, kind="stable")
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return _picture(stamp, block.take(order), _EMPTY, chunk_ids, places)


def changed_vectors(
    connection: Connection, stamp: str, *, model: str, before: VectorSegment
) -> VectorSegment:
    """Return the present vectors, reading only those missing in `before`."""
    if not len(before.base):
        return read_vectors(connection, stamp, model=model)
    chunk_ids, marks = _keys(connection, model)
    known = np.concatenate([before.base.marks, before.tail.marks])
    places = places_among(known, marks)
    new = np.flatnonzero(places < 0)
    tail = before.tail
    if new.size:
        made = _read(connection, {chunk_ids[row] for row in new.tolist()}, model=model)
        tail = tail.joined(made.take(places_among(made.marks, marks[new])))
        places[new] = np.arange(new.size) + len(known)
    return _picture(stamp, before.base, tail, chunk_ids, places)


def followed_vectors(
    connection: Connection,
    stamp: str,
    *,
    model: str,
    before: VectorSegment,
    chunk_ids: Collection[str],
) -> VectorSegment:
    """Return the present vectors, of which those of some chunks alone may have changed."""
    owners, marks = _keys(connection, model, chunk_ids)
    ids, moved = _renumbered(before.chunk_ids, gone={*chunk_ids} - {*owners}, come={*owners})
    is_theirs = np.zeros(len(before.chunk_ids) + 1, dtype=np.bool_)  # the last: what is gone
    is_theirs[_places(before.chunk_ids, chunk_ids)] = True
    slots = np.flatnonzero(is_theirs[before.chunk_of])
    known = np.concatenate([before.base.marks, before.tail.marks])[slots]
    places = places_among(known, marks)
    new = np.flatnonzero(places < 0)
    chunk_of = np.append(np.append(moved, -1)[before.chunk_of], np.full(new.size, -1))
    chunk_of[slots] = -1
    places[places >= 0] = slots[places[places >= 0]]
    places[new] = np.arange(new.size) + len(before.chunk_of)
    chunk_of[places] = _places(ids, owners)
    tail = before.tail
    if new.size:
        made = _read(connection, {owners[row] for row in new.tolist()}, model=model)
        tail = tail.joined(made.take(places_among(made.marks, marks[new])))
    return VectorSegment(stamp, before.base, tail, ids, chunk_of.astype(np.int32))


def _places(sorted_ids: Sequence[str], wanted: Iterable[str]) -> Slots:
    """Return where each of the wanted ids stands that is among these."""
    found = ((bisect_left(sorted_ids, one), one) for one in wanted)
    here = [at for at, one in found if at < len(sorted_ids) and sorted_ids[at] == one]
    return np.array(here, dtype=np.int64)


def _renumbered(
    sorted_ids: tuple[str, ...], *, gone: Collection[str], come: Collection[str]
) -> tuple[tuple[str, ...], Slots]:
    """Return the ids without some and with others, sorted, and the new place of each old one."""
    changes = Counter[int]()
    ids, begun = list[str](), 0
    for one in sorted({*gone, *come}):
        at = bisect_left(sorted_ids, one)
        was_here = at < len(sorted_ids) and sorted_ids[at] == one
        if was_here == (one in come):
            continue
        ids += sorted_ids[begun:at]
        ids += [one] * (not was_here)
        changes[at + was_here] += 1 - 2 * was_here
        begun = at + was_here
    steps = np.zeros(len(sorted_ids) + 1, dtype=np.int64)
    steps[list(changes)] = list(changes.values())
    moved = np.arange(len(sorted_ids)) + np.cumsum(steps[:-1])
    return (*ids, *sorted_ids[begun:]), moved


def merge_segments(held: VectorSegment) -> VectorSegment:
    """Merge into one block in the order of marks, independent of arrival."""
    whole = held.base.joined(held.tail) if len(held.tail) else held.base
    slots = np.flatnonzero(held.chunk_of >= 0)
    slots = slots[np.argsort(whole.marks[slots], kind="stable")]
    return VectorSegment(
        held.stamp, whole.take(slots), _EMPTY, held.chunk_ids, held.chunk_of[slots]
    )


def compact_vectors(held: VectorSegment, onto: VectorBlock) -> VectorSegment:
    """Return the vectors of `held` over another base block, the rest in the tail."""
    whole = held.base.joined(held.tail) if len(held.tail) else held.base
    slots = np.flatnonzero(held.chunk_of >= 0)
    places = places_among(onto.marks, whole.marks[slots])
    new = slots[places < 0]
    places[places < 0] = np.arange(new.size) + len(onto)
    chunk_of = np.full(len(onto) + new.size, -1, dtype=np.int32)
    chunk_of[places] = held.chunk_of[slots]
    return VectorSegment(held.stamp, onto, whole.take(new), held.chunk_ids, chunk_of)


def count_vectors(connection: Connection, *, model: str) -> int:
    """Count the vectors of the model in the library."""
    query = select(func.count()).select_from(vectors).where(vectors.c.model == model)
    return int(connection.execute(query).scalar_one())


def exact_cosines(
    connection: Connection, query: Floats, chunk_ids: Collection[str], *, model: str
) -> dict[str, float]:
    """Return the best cosine of each chunk that has a vector in the library.

    Each is summed in a fixed order.
    """
    # Ids as one value: to compile a query of hundreds takes longer than to run it.
    given = func.json_each(json.dumps(sorted({*chunk_ids}))).table_valued("value")
    columns = select(vectors.c.chunk_id, vectors.c.vector).where(vectors.c.model == model)
    columns = columns.where(vectors.c.chunk_id.in_(select(given.c.value)))
    rows: Sequence[Any] = connection.execute(columns).all()
    real = np.frombuffer(b"".join([content for _, content in rows]), dtype="<f4")
    cosines = np.einsum("ij,j->i", real.reshape(len(rows), query.size), query)
    best = dict[str, float]()
    for (chunk_id, _), cosine in zip(rows, cosines.tolist(), strict=True):
        best[chunk_id] = max(cosine, best.get(chunk_id, -np.inf))
    return best


def _hashed(*parts: str | bytes) -> int:
    """Return the number that stands for a key in files; never 0, which stands for what is gone."""
    told = b"\x1f".join(
        each if isinstance(each, bytes) else each.encode("utf8", "surrogatepass") for each in parts
    )
    digest = hashlib.blake2b(told, digest_size=8, key=b"loregraph vectors").digest()
    return int.from_bytes(digest, "little") or 1


def _block(rows: Iterable[Any]) -> VectorBlock:
    """Return the block of rows of chunk, window and vector, in their order."""
    rows = [(chunk_id, window, content) for chunk_id, window, content in rows]
    real = np.frombuffer(b"".join([content for _, _, content in rows]), dtype="<f4")
    real = real.reshape(len(rows), -1)
    scales = np.abs(real).max(axis=1, initial=0.0) / np.float32(127)
    safe = np.where(scales > 0, scales, np.float32(1))
    return VectorBlock.of(
        np.array([_hashed(c, str(w), v[:HEAD_BYTES]) for c, w, v in rows], dtype=np.uint64),
        np.array([_hashed(c) for c, _, _ in rows], dtype=np.uint64),
        np.rint(real / safe[:, None]).astype(np.int8),
        scales.astype(np.float32),
    )


def _keys(
    connection: Connection, model: str, chunk_ids: Collection[str] | None = None
) -> tuple[list[str], Marks]:
    """Return chunk and mark of every vector, or of those of some chunks."""
    head = func.substr(vectors.c.vector, 1, HEAD_BYTES)
    query = select(vectors.c.chunk_id, vectors.c.window, head).where(vectors.c.model == model)
    rows: list[Any] = (
        list(connection.execute(query).all())
        if chunk_ids is None
        else list(rows_in(connection, query, vectors.c.chunk_id, chunk_ids))
    )
    marks = [_hashed(chunk_id, str(window), bytes(start)) for chunk_id, window, start in rows]
    return [row[0] for row in rows], np.array(marks, dtype=np.uint64)


def _read(connection: Connection, chunk_ids: Collection[str], *, model: str) -> VectorBlock:
    """Read the vectors of some chunks."""
    query = select(vectors.c.chunk_id, vectors.c.window, vectors.c.vector)
    query = query.where(vectors.c.model == model)
    if len(chunk_ids) > FEW:
        return _block([row for row in connection.execute(query) if row[0] in chunk_ids])
    return _block(rows_in(connection, query, vectors.c.chunk_id, chunk_ids))


def _picture(
    stamp: str, base: VectorBlock, tail: VectorBlock, owners: Sequence[str], places: Slots
) -> VectorSegment:
    """Build a picture in which the vector at each place is of the chunk beside it."""
    chunk_ids = tuple(sorted({*owners}))
    number = {chunk_id: place for place, chunk_id in enumerate(chunk_ids)}
    chunk_of = np.full(len(base) + len(tail), -1, dtype=np.int32)
    chunk_of[places] = [number[chunk_id] for chunk_id in owners]
    return VectorSegment(stamp, base, tail, chunk_ids, chunk_of)


PROBED = 3 / 16
LEAST_PROBED = 16
"""Cells that are compared: a share of all, and at least so many."""
_SAMPLED, _ROUNDS = 32, 6
"""Rows for each cell from which the centres are made, and rounds in which they move."""


def divide(block: VectorBlock, *, is_wanted: Callable[[], bool]) -> VectorBlock | None:
    """Return a block, which is in the order of marks, in about √n cells; always the same ones.

    None as soon as it is no longer wanted: a million rows take half a minute.
    """
    count = 2 ** round(np.log2(max(len(block), 1)) / 2)
    sample = block.codes[: _SAMPLED * count].astype(np.float32)  # marks are as good as random
    sample *= block.scales[: len(sample), None]
    centres = sample[:count].copy()
    for _ in range(_ROUNDS):
        cells = np.concatenate([*_nearest_centres(sample, centres)])
        sums = np.zeros_like(centres)
        np.add.at(sums, cells, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
        if not is_wanted():
            return None
    found = []
    for cells in _nearest_centres(block.codes, centres):
        found.append(cells)
        if not is_wanted():
            return None
    cells = np.concatenate(found)
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(len(centres) + 1))
    return replace(block.take(order), centres=centres, starts=starts.astype(np.int64))


def _nearest_centres(rows: NDArray[Any], centres: Floats) -> Iterator[Slots]:
    for start in range(0, len(rows), FEW):
        part = rows[start : start + FEW].astype(np.float32)
        yield np.argmax(part @ centres.T, axis=1)


# --- files ----------------------------------------------------------------------------------------


def keep_block(block: VectorBlock, *, folder: Path, model: str) -> VectorBlock:
    """Write a block to `folder` (`derived/`) and map it; the same one where the disk refuses."""
    name = f"{_kind(model)}-{_base_name(block)}"
    kept = files.load_artifact(folder / name, write=block.save, load=VectorBlock.load)
    return block if kept is None else kept


def kept_block(folder: Path, *, model: str) -> VectorBlock | None:
    """Return the block of this model in `folder` (`derived/`), which may be behind the library."""
    return files.find_artifact(folder, _kind(model), load=VectorBlock.load)


def kept_picture(
    folder: Path, base: VectorBlock, *, stamp: str, content: str, model: str
) -> VectorSegment | None:
    """Return the picture of this content over a kept block, where one was kept."""
    place = folder / _picture_name(base, stamp, content, model)
    try:
        return _load_picture(place, base) if files.is_valid_artifact(place) else None
    except OSError:  # another process replaces it
        return None


def earlier_picture(
    connection: Connection, folder: Path, base: VectorBlock, *, model: str
) -> VectorSegment | None:
    """Return a picture over a kept block from which the log of changes leads to now."""

    def load(place: Path, _changed: set[str]) -> VectorSegment | None:
        is_of_base = place.name.rpartition("-")[2].startswith(_base_name(base))
        return _load_picture(place, base) if is_of_base else None

    return files.follow_artifact(connection, folder, f"{files.ROWS}{_kind(model)}", load=load)


def _load_picture(place: Path, base: VectorBlock) -> VectorSegment:
    return VectorSegment(
        (place / STAMP).read_text(encoding="utf8"),
        base,
        VectorBlock.load(place / TAIL),
        tuple(files.read_ids(place / IDS)),
        load_array(place / "chunk_of.npy"),
    )


def keep_picture(
    connection: Connection, held: VectorSegment, *, content: str, folder: Path, model: str
) -> None:
    """Write which chunk each row of the base is about, and the tail."""

    def write(place: Path) -> None:
        save_state(connection, place)
        (place / STAMP).write_text(held.stamp, encoding="utf8")
        files.write_ids(place / IDS, held.chunk_ids)
        np.save(place / "chunk_of.npy", held.chunk_of)
        (place / TAIL).mkdir()
        held.tail.save(place / TAIL)

    name = _picture_name(held.base, held.stamp, content, model)
    files.load_artifact(folder / name, write=write, load=lambda _: True)


IDS, TAIL, STAMP = "ids.txt", "tail", "stamp.txt"


def _picture_name(base: VectorBlock, stamp: str, content: str, model: str) -> str:
    state = hashlib.sha256(f"{stamp} {content}".encode()).hexdigest()[:16]
    return f"{files.ROWS}{_kind(model)}-{_base_name(base)}{state}"


def _base_name(base: VectorBlock) -> str:
    return hashlib.sha256(base.marks.tobytes()).hexdigest()[:16]


def scrub_vectors(
    folder: Path, rows_of: Callable[[VectorBlock], Slots], *, model: str | None = None
) -> None:
    """Overwrite rows of the blocks kept in `folder` (`derived/`); `rows_of` tells which."""
    kind = f"{KIND}*" if model is None else _kind(model)
    for place in sorted(folder.glob(f"{kind}-*")):
        if not files.is_valid_artifact(place):  # nobody will open it
            continue
        with suppress(OSError):  # another process replaces it, or the disk is read-only
            rows = rows_of(VectorBlock.load(place))
            if rows.size:
                files.overwrite_rows(place, [f"{name}.npy" for name in _ROWS], rows)


def delete_blocks(folder: Path) -> None:
    """Delete all blocks kept in `folder` (`derived/`)."""
    files.delete_artifacts(folder, f"{KIND}*")


def unwanted_rows(held: VectorSegment) -> Callable[[VectorBlock], Slots]:
    """Return what tells the rows of the base whose vectors are gone."""
    gone = held.base.marks[held.chunk_of[: len(held.base)] < 0]
    return lambda block: np.flatnonzero(np.isin(block.marks, gone[gone > 0]))


def removed_rows(
    connection: Connection, chunk_ids: Collection[str]
) -> Callable[[VectorBlock], Slots]:
    """Return what tells the rows of these chunks that the library no longer has."""
    head = func.substr(vectors.c.vector, 1, HEAD_BYTES)
    query = select(vectors.c.chunk_id, vectors.c.window, head)
    found = rows_in(connection, query, vectors.c.chunk_id, chunk_ids)
    present = np.array([_hashed(c, str(w), bytes(v)) for c, w, v in found], dtype=np.uint64)
    owners = np.array([_hashed(chunk_id) for chunk_id in chunk_ids], dtype=np.uint64)
    return lambda block: np.flatnonzero(
        np.isin(block.owners, owners) & ~np.isin(block.marks, present)
    )


KIND = "vectors"


def _kind(model: str) -> str:
    return KIND + hashlib.sha256(model.encode("utf8", "surrogatepass")).hexdigest()[:12]
