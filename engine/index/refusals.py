"""Messages for libraries that cannot be opened, read or written.

Knows the messages of SQLite; opens nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import LibraryBusy, LibraryNotFound, LibraryUnusable

_DAMAGE = ("not a database", "malformed", "decode to UTF-8", "unsupported file format")
_ANOTHER_FOLDER = "give an empty or a new folder with --library"


def library_not_found(path: Path) -> LibraryNotFound:
    """No library at this path."""
    return LibraryNotFound(f"no library at {str(path)!r}; `loregraph add <files>` makes one")


def path_is_file(path: Path) -> LibraryUnusable:
    """Return the error for a path that is a file."""
    return LibraryUnusable(f"{str(path)!r} is a file; a library is a folder")


def folder_not_empty(path: Path) -> LibraryUnusable:
    """Return the error for a folder with other content."""
    return LibraryUnusable(f"{str(path)!r} is a folder with other files in it; {_ANOTHER_FOLDER}")


def cannot_create(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a folder that cannot be created."""
    return LibraryUnusable(f"cannot make a library at {str(path)!r}: {error.strerror}")


def not_listed(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a folder that cannot be listed."""
    return LibraryUnusable(f"cannot read the folder {str(path)!r}: {error.strerror}")


def not_locked(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a lock that fails without another writer."""
    return LibraryUnusable(f"cannot lock the library at {str(path)!r}: {error.strerror}")


def read_only(path: Path) -> LibraryUnusable:
    """Return the error for writing to a read-only library."""
    return LibraryUnusable(
        f"the library at {str(path)!r} is read-only: make its folder writable, or copy it to "
        "where it can be written"
    )


def unfinished(path: Path) -> LibraryUnusable:
    """Return the error for a read-only library that needs recovery."""
    return LibraryUnusable(
        f"the library at {str(path)!r} is read-only, and whoever wrote it last did not finish: "
        "make its folder writable and ask it once, or copy it to where it can be written"
    )


def newer_schema(path: Path, *, held: int, known: int) -> LibraryUnusable:
    """Return the error for a library of a later version."""
    return LibraryUnusable(
        f"the library at {str(path)!r} has schema {held}, this loregraph reads {known}: "
        "upgrade loregraph, or build a new library"
    )


def other_database(database: Path) -> LibraryUnusable:
    """Return the error for a foreign database of this name."""
    return LibraryUnusable(f"{str(database)!r} is a database of something else; {_ANOTHER_FOLDER}")


def lost_database(database: Path) -> LibraryUnusable:
    """Return the error for a library whose database lost its content."""
    return LibraryUnusable(
        f"{str(database)!r} is empty, though the library was in use: restore it from a copy, "
        "or remove the folder and add the documents again"
    )


def busy(path: Path, *, waited_seconds: float) -> LibraryBusy:
    """Another writer did not finish in time."""
    return LibraryBusy(
        f"another process is writing to {str(path)!r} (waited {waited_seconds:g} s); "
        "try again when it is done"
    )


def damaged(database: Path, what: str) -> LibraryUnusable:
    """The database holds what was never written to it."""
    return LibraryUnusable(
        f"{str(database)!r} is not a usable library, its database is damaged ({what}): "
        "restore it from a copy, or build a new library"
    )


def is_damage(error: Exception) -> bool:
    """Return whether the database says that its file is damaged."""
    return any(sign in _said(error) for sign in _DAMAGE)


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())


def refused(error: Exception, database: Path) -> LibraryBusy | LibraryUnusable:
    """Return the engine's error for a database failure."""
    path = database.parent
    text = _said(error)
    kept = "what was stored before is kept"
    if "locked" in text or "busy" in text:
        return LibraryBusy(f"the library at {str(path)!r} is being written to; try again shortly")
    if "unable to open" in text and not os.access(path, os.W_OK):
        return unfinished(path) if database.exists() else read_only(path)
    if "readonly" in text and not os.access(database, os.W_OK):
        return read_only(path)
    if "disk I/O error" in text:
        return LibraryUnusable(
            f"the disk of {str(path)!r} refuses ({text}): if it is full, make room and run the "
            f"same command again; {kept}"
        )
    if "full" in text:
        return LibraryUnusable(
            f"the disk of {str(path)!r} is full: make room and run the same command again; {kept}"
        )
    if text.startswith(("duplicate column", "no such table", "no such column")):
        return LibraryUnusable(
            f"the tables of the library at {str(path)!r} are not those of the schema that it says "
            f"it has ({text}): restore it from a copy, or build a new library"
        )
    if is_damage(error):
        return damaged(database, text)
    return LibraryUnusable(f"the library at {str(path)!r} refused: {text}")
