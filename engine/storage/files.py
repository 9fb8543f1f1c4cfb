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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from ..ingest.change_detection import stat_signature
from .graph_api import (
    WalkSnapshot,
    added_since_saved,
    chunk_table,
    follow_saved,
    gc_paused,
    load_view,
    read_view,
    save_state,
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


def find_artifact(parent: Path, kind: str, *, load: Callable[[Path], T | None]) -> T | None:
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


def follow_artifact(
    connection: Connection, parent: Path, kind: str, *, load: Callable[[Path, set[str]], T | None]
) -> T | None:
    """Load an artefact of an earlier state of this library, led on to now; None where it cannot be.

    `load` gets the documents that changed since. Artefacts are written with `save_state`.
    """

    def follow(folder: Path) -> T | None:
        changed = added_since_saved(connection, folder)
        return None if changed is None else load(folder, changed)

    return find_artifact(parent, kind, load=follow)


def is_valid_artifact(folder: Path) -> bool:
    """Check whether the folder matches its manifest exactly.

    A file that looks as it did when it was written is not read.
    """
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf8"))
        held = _files(folder)
        return held.keys() == listed.keys() and all(
            list(stat_signature(path) or ()) == listed[name][1] or _hash(path) == listed[name][0]
            for name, path in held.items()
        )
    except (OSError, ValueError, TypeError, AttributeError, LookupError):
        return False


def overwrite_rows(folder: Path, names: Iterable[str], rows: NDArray[np.int64]) -> None:
    """Set rows of array files of an artefact to zero; from then on their look alone is checked.

    Raises:
        OSError: a file is missing, or the disk refuses.
    """
    listed = json.loads((folder / MANIFEST).read_text(encoding="utf8"))
    for name in names:
        values = np.load(folder / name, mmap_mode="r+", allow_pickle=False)
        values[rows] = 0
        values.flush()
        listed[name] = ["", list(stat_signature(folder / name) or ())]
    temporary = folder.with_name(f"{folder.name}.{os.getpid()}-{threading.get_ident()}.json.part")
    temporary.write_text(json.dumps(listed, sort_keys=True), encoding="utf8")
    temporary.replace(folder / MANIFEST)


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
        listed = {
            name: [_hash(path), list(stat_signature(path) or ())]
            for name, path in _files(temporary).items()
        }
        (temporary / MANIFEST).write_text(json.dumps(listed, sort_keys=True), encoding="utf8")
        for old in sorted(folder.parent.glob(f"{folder.name.partition('-')[0]}-*")):
            if old != temporary:
                shutil.rmtree(old, ignore_errors=True)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _files(folder: Path) -> dict[str, Path]:
    """Return the files of an artefact but its manifest, by name."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


ROWS = "rows"
"""Begins the kinds of files that hold ids of chunks."""
BETWEEN = "\x1f"


def write_ids(file: Path, ids: Iterable[str]) -> None:
    """Write ids to a file."""
    file.write_text(BETWEEN.join(ids), encoding="utf8", errors="surrogatepass", newline="")


def read_ids(file: Path) -> list[str]:
    """Read the ids of a file, of which there is at least one.

    Raises:
        OSError: the file is missing.
    """
    return file.read_bytes().decode("utf8", "surrogatepass").split(BETWEEN)


KIND = "walk"
KEPT_FROM_CHUNKS = 2_000
"""A library of fewer chunks is read and built in less time than a file is checked."""
WRITTEN_ANEW_FROM = 250_000
"""A snapshot of fewer chunks that was led on is not written: each process leads it on sooner."""


def load_snapshot(connection: Connection, folder: Path, *, content: str = "") -> WalkSnapshot:
    """Load the walk snapshot of this connection's state; `folder` is `derived/`.

    One of an earlier state is led on where nothing was removed since and little came. `content` is
    the digest of its chunks where that is known.
    """
    count = connection.execute(select(func.count()).select_from(chunk_table)).scalar_one()
    if count < KEPT_FROM_CHUNKS:
        return read_view(connection)

    def write(place: Path) -> None:
        with gc_paused():
            save_view(followed or read_view(connection), place)
            save_state(connection, place)

    def follow(place: Path) -> WalkSnapshot | None:
        return follow_saved(connection, place)

    place = folder / f"{KIND}-{view_stamp(connection, content=content)}"
    followed = None if place.exists() else find_artifact(folder, KIND, load=follow)
    if followed is not None and count < WRITTEN_ANEW_FROM:
        return followed
    view = load_artifact(place, write=write, load=load_view)
    return view or followed or read_view(connection)


def delete_kept_rows(folder: Path) -> None:
    """Delete the files that hold ids of chunks or names of texts: some of these were removed."""
    for kind in (f"{ROWS}*", KIND):
        delete_artifacts(folder, kind)
