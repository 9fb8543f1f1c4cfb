"""Library folder and database file: created, recognised, refused, opened.

On a disk that can be written, or only be read. Knows files and SQLite's addresses, nothing of what
the database holds.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.engine import URL

from . import refusals


def prepare_folder(folder: Path, database_name: str, *, create: bool) -> None:
    """See to it that a library is in the folder, or can be made there.

    Raises:
        LibraryNotFound: no library there, and `create` is false.
        LibraryUnusable: a file, a folder of other things, one that cannot be made or read, or a
            library whose database is lost.
    """
    if folder.exists() and not folder.is_dir():
        raise refusals.path_is_file(folder)
    database = folder / database_name
    # One look: between two another process can have begun a library here.
    try:
        held = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
    except OSError as error:
        raise refusals.not_listed(folder, error) from error
    if database_name in held:
        if not size_of(database) and "derived" in held:
            raise refusals.lost_database(database)
        return
    if not create:
        raise refusals.library_not_found(folder)
    if held:
        raise refusals.folder_not_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusals.cannot_create(folder, error) from error


def is_writable(database: Path) -> bool:
    """Check whether the database file and its folder are writable."""
    folder = database.parent
    return os.access(folder, os.W_OK) and (not database.exists() or os.access(database, os.W_OK))


def address(database: Path) -> URL:
    """Return the database URL, read-only where nothing else is possible.

    WAL mode needs files beside the database, even to read, unless it is told that nothing changes.
    What a process that was killed left in such a file would then be missing: where there is one,
    it is read with it or not at all.
    """
    file = str(database.resolve())
    if is_writable(database):
        return URL.create("sqlite", database=file)
    how = {"uri": "true", "mode": "ro"}
    if not os.access(database.parent, os.W_OK) and not size_of(Path(f"{file}-wal")):
        how["immutable"] = "1"
    return URL.create("sqlite", database=f"file:{quote(file)}", query=how)


def size_of(file: Path) -> int:
    """Bytes in a file; none where it is not there."""
    try:
        return file.stat().st_size
    except FileNotFoundError:  # the database's side files go when another process closes it
        return 0


def size_within(folder: Path) -> int:
    """Return the bytes of all files below a folder, ignoring vanished ones."""
    walked = os.walk(folder)  # passes over folders that are gone
    return sum(size_of(Path(place) / name) for place, _, names in walked for name in names)
