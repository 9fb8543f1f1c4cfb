"""Library health: counts, consistency checks and repair."""

from __future__ import annotations

from sqlalchemy import func, select, text

from ..types import PendingChunk
from .indexer import Indexer
from .integrity import damage
from .library import Library
from .partial import partial_count
from .store_dense import ExternalDense
from .tables import documents
from .vector import WindowedVectorIndex

COUNTED = (
    "documents",
    "outdated",
    "chunks",
    "vectors",
    "mentions",
    "statements",
    "claims",
    "pending",
    "entities",
    "relations",
    "communities",
    "reports",
    "written_reports",
)
"""What a user counts: `outdated` are documents whose file can no longer be read.

`pending` chunks
that a language model has not read.
"""


def library_counts(library: Library) -> dict[str, int]:
    """Return user-facing counts and the size on disk."""
    counts = library.counts()
    with library.read() as connection:
        outdated = select(func.count()).where(documents.c.outdated.is_not(None))
        counts["outdated"] = connection.execute(outdated).scalar_one()
    unreadable = (
        sum(each.unreadable for each in pending_chunks(library)) if counts["pending"] else 0
    )
    return {name: counts[name] for name in COUNTED} | {
        "partial": partial_count(library),
        "unreadable": unreadable,
        "size_bytes": library.size_bytes(),
    }


def pending_chunks(library: Library) -> list[PendingChunk]:
    """The chunks that a language model was to read and has not, by document, and why.

    Unreadable are those of which the reason is kept as one that the model is not asked again for.
    """
    query = text(
        "SELECT document_id, chunk_id, reason, EXISTS (SELECT 1 FROM unanswered"
        " WHERE stage = 'extraction' AND key = text_sha AND unanswered.reason = pending.reason)"
        " AS unreadable FROM pending JOIN chunks ON chunks.id = chunk_id"
        " ORDER BY document_id, start, chunk_id"
    )
    with library.read() as connection:
        return [
            PendingChunk(**{**row, "unreadable": bool(row["unreadable"])})
            for row in connection.execute(query).mappings()
        ]


def repair_library(indexer: Indexer, vectors: WindowedVectorIndex | None) -> list[str]:
    """Bring everything that is derived up to the library; what was done, a line each."""
    done = indexer.derived()
    lines = [f"derived: {done.rows_written} rows written"] if done.rows_written else []
    if vectors is not None and isinstance(vectors.store.dense, ExternalDense):
        found = vectors.store.dense.reconcile(full=True)
        lines.append(f"vector store: {found.added} vectors written, {found.removed} removed")
    return lines


def check_library(library: Library) -> list[str]:
    """Return problems of a damaged library, one line each; empty if sound."""
    with library.read() as connection:
        return list(damage(connection))
