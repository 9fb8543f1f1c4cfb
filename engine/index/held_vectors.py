"""The vectors of one model in memory, and what a change of the library changes of them.

A picture is never altered: the next one shares its `base` block and puts what is new into `tail`;
what is gone loses its chunk. Once a quarter has come or gone, both become one block again. Reads
the library's vectors and knows nothing of how they are searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, func, select

from .door import batches
from .tables import vectors

Key = tuple[str, int, bytes]
"""Chunk, window, and the first numbers of the vector: another text or model gives other ones."""
HEAD_BYTES = 16
MERGED_ABOVE = 0.25
"""The share of vectors that came or went since the base block was made."""
FEW = 5_000
"""Up to so many vectors are asked for by their chunks."""


@dataclass(frozen=True)
class HeldVectors:
    """All vectors as they were at one `stamp`.

    Slots number the rows of `base` and then of `tail`. `slots` holds what the library holds;
    `chunk_of` (slots) is the number of each slot's chunk in `chunk_ids`, and -1 where it is gone.
    """

    stamp: str
    base: NDArray[np.float32]
    tail: NDArray[np.float32]
    slots: dict[Key, int]
    chunk_ids: tuple[str, ...]
    chunk_of: NDArray[np.int64]

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each chunk."""
        return {chunk_id: number for number, chunk_id in enumerate(self.chunk_ids)}

    def at(self, slots: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors in these slots."""
        if not len(self.tail):
            return self.base[slots]
        found = np.empty((slots.size, self.base.shape[1]), dtype=np.float32)
        in_base = slots < len(self.base)
        found[in_base] = self.base[slots[in_base]]
        found[~in_base] = self.tail[slots[~in_base] - len(self.base)]
        return found

    def near(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of each slot's vector and the query, to the last bits."""
        if not len(self.tail):
            return np.asarray(self.base @ query)
        return np.concatenate([self.base @ query, self.tail @ query])

    def best_of(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """The best cosine of each chunk (chunks), of one cosine a slot."""
        best = np.full(len(self.chunk_ids) + 1, -np.inf, dtype=np.float32)  # the last: what is gone
        np.maximum.at(best, self.chunk_of, cosines)
        return best[:-1]


def held_vectors(
    connection: Connection, stamp: str, *, model: str, before: HeldVectors | None = None
) -> HeldVectors:
    """What the library holds now; only vectors that `before` does not hold are read."""
    keys = _keys(connection, model)
    known = before.slots if before is not None else {}
    come = [key for key in keys if key not in known]
    gone = len(known) + len(come) - len(keys)
    if before is None or len(come) + gone + len(before.tail) > MERGED_ABOVE * len(keys):
        whole = _read(connection, keys, model=model)
        return _picture(stamp, {key: slot for slot, key in enumerate(keys)}, whole, whole[:0])
    first = len(before.base) + len(before.tail)
    new = {key: first + place for place, key in enumerate(come)}
    tail = before.tail
    if come:
        made = _read(connection, come, model=model)
        tail = np.concatenate([tail, made]) if len(tail) else made
    slots = {key: new[key] if key in new else known[key] for key in keys}
    return _picture(stamp, slots, before.base, tail)


def _keys(connection: Connection, model: str) -> list[Key]:
    """Every key, sorted."""
    head = func.substr(vectors.c.vector, 1, HEAD_BYTES).label("head")
    query = select(vectors.c.chunk_id, vectors.c.window, head).where(vectors.c.model == model)
    rows: Iterable[Any] = connection.execute(query)
    # Unpacked: a hundred thousand rows by attribute would take longer than their reading.
    return sorted((chunk_id, window, bytes(start)) for chunk_id, window, start in rows)


def _picture(
    stamp: str, slots: dict[Key, int], base: NDArray[np.float32], tail: NDArray[np.float32]
) -> HeldVectors:
    number: dict[str, int] = {}
    chunk_of = np.full(len(base) + len(tail), -1, dtype=np.int64)
    for (chunk_id, _, _), slot in slots.items():
        chunk_of[slot] = number.setdefault(chunk_id, len(number))
    return HeldVectors(stamp, base, tail, slots, tuple(number), chunk_of)


def _read(connection: Connection, keys: list[Key], *, model: str) -> NDArray[np.float32]:
    """The vectors of these keys, in their order."""
    place = {(chunk_id, window): number for number, (chunk_id, window, _) in enumerate(keys)}
    found = np.zeros((0, 0), dtype=np.float32)
    for query in _queries(keys, model):
        rows: Iterable[Any] = connection.execute(query)
        for chunk_id, window, content in rows:
            if not len(found):
                found = np.zeros((len(keys), len(content) // 4), dtype=np.float32)
            number = place.get((chunk_id, window))
            if number is not None:
                found[number] = np.frombuffer(content, dtype="<f4")
    return found


def _queries(keys: list[Key], model: str) -> Iterator[Select[tuple[str, int, bytes]]]:
    """What reads these vectors: chunk by chunk where they are few, else all at once."""
    columns = select(vectors.c.chunk_id, vectors.c.window, vectors.c.vector)
    columns = columns.where(vectors.c.model == model)
    if len(keys) > FEW:
        yield columns
        return
    for batch in batches(key[0] for key in keys):
        yield columns.where(vectors.c.chunk_id.in_(batch))
