"""Parents of chunks: the wider text of a document that is read once a chunk is found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..storage.graph_api import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpan:
    """Text read for a row: the document's `[start, end)`."""

    row: int
    chunk: Chunk
    start: int
    end: int
    text: str


def expand_to_parents(
    rows: Sequence[int] | NDArray[np.int64],
    *,
    limit: int,
    chunks: Callable[[Sequence[int]], Mapping[int, Chunk]],
    text: Callable[[str, int, int], str],
) -> list[ReadSpan]:
    """At most `limit` readings of `rows`, in their order.

    Args:
        rows: best first.
        limit: how many are wanted.
        chunks: rows to the chunks that are there, by row.
        text: document id, start and end to the text there.
    """
    found: list[ReadSpan] = []
    read: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for first in range(0, len(rows), limit):
        some = [int(row) for row in rows[first : first + limit]]
        held = chunks(some)
        for row in some:
            chunk = held.get(row)
            if chunk is None or _is_inside(chunk, read[chunk.document_id]):
                continue
            start, end = chunk.read or (chunk.start, chunk.end)
            if chunk.read is not None:
                read[chunk.document_id].append(chunk.read)
            words = chunk.text if chunk.read is None else text(chunk.document_id, start, end)
            found.append(ReadSpan(row=row, chunk=chunk, start=start, end=end, text=words))
            if len(found) == limit:
                return found
    return found


def _is_inside(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= chunk.start and chunk.end <= end for start, end in spans)
