"""Derived artefacts on disk: one folder each, used only when complete and valid.

A folder is named `<kind>-<stamp>`, the stamp of what it was made from, so a stale one is never
opened. It is written beside its place and moved there with the hash of every file; a missing,
damaged or truncated one is written anew. The snapshot of the graph walk is such an artefact in
large libraries.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, func, select

from .graph_api import (
    WalkSnapshot,
    chunk_table,
    gc_paused,
    load_view,
    read_view,
    save_view,
    view_stamp,
)

MANIFEST = "manifest.json"
T = TypeVar("T")
logger = logging.getLogger("loregraph.index")


def load_artifact(
    folder: Path, *, write: Callable[[Path], None], load: Callable[[Path], T]
) -> T | None:
    """Load an artefact's folder, writing it first if missing or invalid.

    None where the disk refuses (full, read-only): whoever asks must then work from memory; the log
    tells why. `load` must raise an OSError for a file that is not there: another process that reads
    an older or a newer state of the library may clear the folder away at any moment.
    """
    attempts = 3
    for attempt in range(1, attempts + 1):
        try:
            if not is_valid_artifact(folder):
                _write(folder, write)
            return load(folder)
        except OSError as error:
            if attempt == attempts:
                logger.warning(
                    "cannot cache %s (%s): it is built in memory at every start", folder.name, error
                )
    return None


def find_artifact(parent: Path, kind: str, *, load: Callable[[Path], T]) -> T | None:
    """Load a complete artefact of this kind, whatever it was made from; None where there is none.

    For artefacts that say themselves what they hold, and may be behind the library.
    """
    for folder in sorted(parent.glob(f"{kind}-*")):
        try:
            if folder.suffix != ".part" and is_valid_artifact(folder):
                return load(folder)
        except OSError:
            continue  # another process replaces it
    return None


def is_valid_artifact(folder: Path) -> bool:
    """Check whether the folder matches its manifest exactly."""
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf8"))
        return bool(listed == _hashes(folder))
    except (OSError, ValueError):
        return False


def delete_artifacts(parent: Path, kind: str) -> None:
    """Delete all derived folders of this kind, so that deleted text leaves no copy."""
    for folder in sorted(parent.glob(f"{kind}-*")):
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, write: Callable[[Path], None]) -> None:
    folder.parent.mkdir(exist_ok=True)
    # The name is nobody else's: two processes may write the same folder at the same time.
    temporary = Path(f"{folder}.{os.getpid()}-{threading.get_ident()}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        write(temporary)
        hashes = json.dumps(_hashes(temporary), sort_keys=True)
        (temporary / MANIFEST).write_text(hashes, encoding="utf8")
        for old in sorted(folder.parent.glob(f"{folder.name.partition('-')[0]}-*")):
            if old != temporary:
                shutil.rmtree(old, ignore_errors=True)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _hashes(folder: Path) -> dict[str, str]:
    hashes = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != MANIFEST:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            hashes[path.relative_to(folder).as_posix()] = digest
    return hashes


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

    view = load_artifact(folder / f"{KIND}-{view_stamp(connection)}", write=write, load=load_view)
    return read_view(connection) if view is None else view


def invalidate_snapshots(folder: Path) -> None:
    """Delete the kept files: they hold names of texts that may have been removed."""
    delete_artifacts(folder, KIND)
