"""The picture that searches walk over, kept in a file of a large library.

Reading and building it takes seconds at a hundred thousand chunks, mapping what was built before
takes a moment. A small library's is built each time.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, func, select

from . import derived
from .door import (
    WalkSnapshot,
    chunk_table,
    gc_paused,
    load_view,
    read_view,
    save_view,
    view_stamp,
)

KIND = "walk"
KEPT_FROM_CHUNKS = 2_000
"""A library of fewer chunks is read and built in less time than a file is checked."""


def load_snapshot(connection: Connection, folder: Path) -> WalkSnapshot:
    """Load the walk snapshot of this connection's state; `folder` is `derived/`."""
    count = connection.execute(select(func.count()).select_from(chunk_table)).scalar_one()
    if count < KEPT_FROM_CHUNKS:
        return read_view(connection)

    def write(place: Path) -> None:
        with gc_paused():
            save_view(read_view(connection), place)

    view = derived.load_artifact(
        folder / f"{KIND}-{view_stamp(connection)}", write=write, load=load_view
    )
    return read_view(connection) if view is None else view


def invalidate_snapshots(folder: Path) -> None:
    """Delete the kept files: they hold names of texts that may have been removed."""
    derived.forget(folder, KIND)
