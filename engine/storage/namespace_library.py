"""Library of some namespaces: a derived copy that holds nothing else.

A question that is confined to namespaces is answered from a library with their documents alone, so
its BM25 statistics, names, entities, communities and reports are a function of what may be read.
The copy takes facts (documents, chunks, vectors, tokens, what was read from chunks) and a user's
decisions, no derived row and nothing that a language model said of several documents. It lies in
`derived/` under a fingerprint of its content and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Collection
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from ..errors import LibraryError, LibraryNotFound
from .graph_api import RENAME
from .library import (
    DATABASE_NAME,
    Library,
    changed_namespaces,
    forget_changed,
    library_url,
)
from .library_errors import library_refused

KIND = "namespaces"
KEPT_COPIES = 1_000
"""Maximum copies on disk; the ones opened longest ago are deleted."""
MANIFEST = "namespaces.json"
_NUMBERS = itertools.count()

_INSIDE = "namespace IN (SELECT value FROM json_each(:namespaces))"
_DOCUMENTS = f"SELECT id FROM {{source}}documents WHERE {_INSIDE}"  # noqa: S608  # no input in it
_CHUNKS = f"SELECT id FROM {{source}}chunks WHERE document_id IN ({_DOCUMENTS})"  # noqa: S608
_OF_CHUNKS = f"chunk_id IN ({_CHUNKS})"
_OF_ALL = f"action != '{RENAME}'"  # a new name may come from another namespace
_COPIED = {
    "documents": _INSIDE,
    "chunks": f"document_id IN ({_DOCUMENTS})",
    "vectors": _OF_CHUNKS,
    "keywords": _OF_CHUNKS,
    "mentions": _OF_CHUNKS,
    "statements": _OF_CHUNKS,
    "descriptions": _OF_CHUNKS,
    "claims": _OF_CHUNKS,
    "curations": _OF_ALL,
}
"""Copied tables, parents first, with the condition of their rows."""
_UNREAD = {
    "documents": {"text"},
    "chunks": {"text", "linked"},
    "vectors": {"vector"},
    "keywords": {"title", "heading", "body", "readable"},
}
"""Columns that others determine (hashes, ids), left out of the fingerprint; and `linked`, which is
derived."""


def holds_only(connection: Connection, namespaces: Collection[str]) -> bool:
    """Check whether no document of the library lies outside of these namespaces."""
    query = f"SELECT 1 FROM documents WHERE NOT {_INSIDE} LIMIT 1"  # noqa: S608  # no input in it
    return connection.exec_driver_sql(query, _given(namespaces)).first() is None


def content_fingerprint(connection: Connection, namespaces: Collection[str]) -> str:
    """Return a fingerprint of all that the copy of these namespaces holds."""
    digest = hashlib.sha256(_given(namespaces)["namespaces"].encode())
    for table, condition in _COPIED.items():
        info = connection.exec_driver_sql(f"PRAGMA table_info({table})").all()
        columns = [row.name for row in info if row.name not in _UNREAD.get(table, ())]
        keys = [row.name for row in sorted(info, key=lambda row: row.pk) if row.pk]
        rows = connection.exec_driver_sql(
            f"SELECT {_listed(columns)} FROM {table} "  # noqa: S608  # names of our own
            f"WHERE {condition.format(source='')} ORDER BY {_listed(keys)}",
            _given(namespaces),
        )
        digest.update(f"\x1e{table}".encode())
        for row in rows:
            digest.update(repr(tuple(row)).encode("utf8", "surrogatepass"))
    return digest.hexdigest()


class NamespaceCopy:
    """Open copy of some namespaces; a lock file tells other processes that it is in use.

    A copy without its manifest is not whole, or its content has changed: nobody opens it any more,
    and whoever closes it last deletes it.
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self._folder = folder
        self.library = Library(folder, create=create)
        self._lock = FileLock(folder / f"open-{os.getpid()}-{next(_NUMBERS)}.lock", timeout=0)
        try:
            self._lock.acquire()
        except BaseException:
            self.library.close()
            raise

    @property
    def is_listed(self) -> bool:
        """Check whether others may open it."""
        return (self._folder / MANIFEST).exists()

    def move(self, place: Path) -> None:
        """Close the database and move its folder; left where it is where there is one already."""
        self.library.close()
        with suppress(OSError):
            self._folder.replace(place)

    def close(self) -> None:
        """Close it; delete it where nobody may open it any more."""
        self.library.close()
        self._lock.release()
        if not self.is_listed:
            delete_copy(self._folder)


def delete_copy(folder: Path) -> None:
    """Let nobody open a copy any more, and delete it unless it is in use."""
    (folder / MANIFEST).unlink(missing_ok=True)
    for file in folder.glob("open-*.lock"):
        lock = FileLock(file, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return
        except OSError:  # it went just now
            continue
        lock.release()
    gone = folder.with_name(f"{folder.name.partition('.')[0]}.{uuid4().hex}.gone")
    try:
        folder.replace(gone)  # at once: nothing is written into a folder that is half deleted
    except FileNotFoundError:
        return
    except OSError:  # what it holds goes all the same
        gone = folder
    shutil.rmtree(gone, ignore_errors=True)


def open_copy(
    library: Library,
    namespaces: Collection[str],
    *,
    fingerprint: str,
    folder: Path,
    derive: Callable[[Library], object],
) -> NamespaceCopy | None:
    """Open the copy of these namespaces with this fingerprint; made first where there is none.

    Args:
        library: what is copied.
        namespaces: which of it.
        fingerprint: that of the content when it was last looked at.
        folder: where copies lie.
        derive: brings a new copy's derived rows up to its facts.

    Returns:
        None where another process deleted it meanwhile, since its content changed.

    Raises:
        LibraryUnusable: the disk refuses.
    """
    place = folder / f"{KIND}-{fingerprint[:32]}"
    try:
        if not (place / MANIFEST).exists():
            _make(library, namespaces, place, derive)
        os.utime(place)
        copy = NamespaceCopy(place)
    except LibraryNotFound:  # deleted just now; by the next look it may have been made again
        delete_copy(place)
        return None
    except (OSError, sqlite3.Error, LibraryError) as error:
        if not (place / MANIFEST).exists() and os.access(folder, os.W_OK):
            return None
        if isinstance(error, LibraryError):
            raise
        raise library_refused(error, place / DATABASE_NAME) from error
    if copy.is_listed:
        return copy
    copy.close()
    return None


def _make(
    library: Library,
    namespaces: Collection[str],
    place: Path,
    derive: Callable[[Library], object],
) -> None:
    """Write a copy beside its place and move it there; another process may do the same."""
    part = place.parent / f"{place.name}.{os.getpid()}-{threading.get_ident()}.part"
    part.mkdir(parents=True)
    copy = NamespaceCopy(part, create=True)
    try:
        _copy_rows(library, part / DATABASE_NAME, namespaces)
        derive(copy.library)
        listed = json.dumps(sorted(namespaces), ensure_ascii=False)
        (part / MANIFEST).write_text(listed, encoding="utf8")
        copy.move(place)
    finally:
        (part / MANIFEST).unlink(missing_ok=True)
        copy.close()
    copies = sorted(place.parent.glob(f"{KIND}-*"), key=_opened_at, reverse=True)
    for old in copies[KEPT_COPIES:]:
        delete_copy(old)


def _opened_at(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _copy_rows(library: Library, target: Path, namespaces: Collection[str]) -> None:
    """Copy the rows of these namespaces, in one transaction of the target."""
    url = library_url(library.path / DATABASE_NAME)
    source = str(url.database) if url.query else f"file:{quote(str(url.database))}"
    options = "&".join(f"{key}={value}" for key, value in url.query.items() if key != "uri")
    with closing(sqlite3.connect(f"file:{quote(str(target))}", uri=True)) as connection:
        connection.isolation_level = None
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("ATTACH ? AS source", (f"{source}?{options}" if options else source,))
        connection.execute("BEGIN IMMEDIATE")
        for table, condition in _COPIED.items():
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            chosen = ["0" if name == "linked" else f'"{name}"' for name in columns]
            connection.execute(
                f"INSERT INTO main.{table} ({_listed(columns)}) "  # noqa: S608  # names of our own
                f"SELECT {', '.join(chosen)} FROM source.{table} "
                f"WHERE {condition.format(source='source.')}",
                _given(namespaces),
            )
        connection.execute("INSERT INTO main.state (key, value) VALUES ('generation', '1')")
        connection.execute("COMMIT")
        connection.execute("DETACH source")


def _listed(columns: Collection[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _given(namespaces: Collection[str]) -> dict[str, str]:
    return {"namespaces": json.dumps(sorted(namespaces))}


def delete_changed_copies(library: Library) -> None:
    """Delete the copies of namespaces that changed, so that removed text leaves no copy.

    One that a running process has open is deleted by it: when it closes it, or is asked again.
    """
    with library.write() as connection:
        changed = changed_namespaces(connection)
        if not changed:
            return
        for copy in sorted((library.path / "derived").glob(f"{KIND}-*")):
            if _is_stale(copy, changed):
                delete_copy(copy)
        forget_changed(connection)


def _is_stale(copy: Path, changed: Collection[str]) -> bool:
    try:
        held = set(json.loads((copy / MANIFEST).read_text(encoding="utf8")))
    except (OSError, ValueError):
        return True  # never finished
    return not held.isdisjoint(changed)
