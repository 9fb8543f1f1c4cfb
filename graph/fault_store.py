"""Which stage could not take which chunk, and why, in and out of the database.

A row goes with its chunk. It holds the product's version: a chunk that another version could not
take is tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select

from .facts import batches
from .isolation import product_version
from .schema import faults

EXTRACT, LINK, DERIVE = "extract", "link", "derive"
"""Stages whose faults are told apart later."""

FAILED = "failed: "
"""Begins the name of an extractor that could not read a chunk: its result is never reused."""


def put_faults(connection: Connection, reasons: Mapping[str, str], *, stage: str) -> None:
    """Note, by chunk id, why a stage could not take it; what was noted before is replaced."""
    forget_faults(connection, reasons, stage=stage)
    now = product_version()
    if reasons:
        rows = [
            {"chunk_id": key, "stage": stage, "reason": reasons[key], "version": now}
            for key in sorted(reasons)
        ]
        connection.execute(insert(faults), rows)


def forget_faults(connection: Connection, chunk_ids: Iterable[str], *, stage: str) -> None:
    """Delete what was noted of a stage and these chunks."""
    for batch in batches(chunk_ids):
        gone = delete(faults).where(faults.c.chunk_id.in_(batch), faults.c.stage == stage)
        connection.execute(gone)


def faulty_chunks(connection: Connection, *, stage: str) -> set[str]:
    """The ids of the chunks that a stage could not take."""
    query = select(faults.c.chunk_id).where(faults.c.stage == stage)
    return set(connection.execute(query).scalars())
