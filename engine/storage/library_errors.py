"""Errors of a library's folder and database, in words that say what to do."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import LibraryBusy, LibraryNotFound, LibraryUnusable

_DAMAGE = ("not a database", "malformed", "decode to UTF-8", "unsupported file format")
_ANOTHER_FOLDER = "give an empty or a new folder with --library"


def library_not_found(path: Path) -> LibraryNotFound:
    """Return the error of a path without a library."""
    return LibraryNotFound(f"no library at {str(path)!r}; create one with `loregraph add <files>`")


def path_is_file(path: Path) -> LibraryUnusable:
    """Return the error for a path that is a file."""
    return LibraryUnusable(f"not a library: {str(path)!r} is a file; name a folder")


def folder_not_empty(path: Path) -> LibraryUnusable:
    """Return the error for a folder with other content."""
    return LibraryUnusable(f"not a library: {str(path)!r} has other files in it; {_ANOTHER_FOLDER}")


def cannot_create(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a folder that cannot be created."""
    return LibraryUnusable(
        f"cannot create a library at {str(path)!r}: {error.strerror}; choose a writable folder"
    )


def not_listed(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a folder that cannot be listed."""
    return LibraryUnusable(
        f"cannot read the folder {str(path)!r}: {error.strerror}; check its permissions"
    )


def not_locked(path: Path, error: OSError) -> LibraryUnusable:
    """Return the error for a lock that fails without another writer."""
    return LibraryUnusable(
        f"cannot lock the library at {str(path)!r}: {error.strerror}; check its permissions"
    )


def read_only(path: Path) -> LibraryUnusable:
    """Return the error for writing to a read-only library."""
    return LibraryUnusable(
        f"the library at {str(path)!r} is read-only: make its folder writable, or copy it to "
        "where it can be written"
    )


def needs_recovery(path: Path) -> LibraryUnusable:
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
    return LibraryUnusable(
        f"not a library: {str(database)!r} is a database of another program; {_ANOTHER_FOLDER}"
    )


def lost_database(database: Path) -> LibraryUnusable:
    """Return the error for a library whose database lost its content."""
    return LibraryUnusable(
        f"library is damaged: {str(database)!r} is empty though it was in use; "
        "restore it from a copy, or remove the folder and add the documents again"
    )


def library_busy(path: Path, *, waited_seconds: float) -> LibraryBusy:
    """Return the error of a library whose other writer did not finish in time."""
    return LibraryBusy(
        f"another process is writing to {str(path)!r} (waited {waited_seconds:g} s); "
        "try again when it is done"
    )


def library_damaged(database: Path, what: str) -> LibraryUnusable:
    """Return the error of a library's damaged database."""
    return LibraryUnusable(
        f"library is damaged: {str(database)!r} ({what}); restore it from a copy, "
        "or build a new library"
    )


def is_damage(error: Exception) -> bool:
    """Return whether the database says that its file is damaged."""
    return any(sign in _said(error) for sign in _DAMAGE)


def _said(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())


def library_refused(error: Exception, database: Path) -> LibraryBusy | LibraryUnusable:
    """Return the engine's error for a failure of the library's database."""
    path = database.parent
    text = _said(error)
    kept = "what was stored before is kept"
    if "locked" in text or "busy" in text:
        return LibraryBusy(f"another process is writing to {str(path)!r}; try again shortly")
    if "unable to open" in text and not os.access(path, os.W_OK):
        return needs_recovery(path) if database.exists() else read_only(path)
    if "readonly" in text and not os.access(database, os.W_OK):
        return read_only(path)
    if "disk I/O error" in text:
        return LibraryUnusable(
            f"cannot write to the disk of {str(path)!r} ({text}); if it is full, make "
            f"room and run the same command again; {kept}"
        )
    if "full" in text:
        return LibraryUnusable(
            f"disk full: {str(path)!r}; make room and run the same command again; {kept}"
        )
    if text.startswith(("duplicate column", "no such table", "no such column")):
        return LibraryUnusable(
            f"library is damaged: the tables at {str(path)!r} do not match its schema "
            f"({text}); restore it from a copy, or build a new library"
        )
    if is_damage(error):
        return library_damaged(database, text)
    return LibraryUnusable(
        f"cannot use the library at {str(path)!r}: {text}; run `loregraph doctor`"
    )
