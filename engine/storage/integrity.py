"""Damage in a library's database: pages, values of a wrong type, chunks unlike their text.

SQLite finds damaged pages but not changed bytes within a value, so every value's type, encoding and
JSON are checked, too. The check reads the whole file; it is spared while the file looks as it was
left (a note in `derived/`, which can be deleted at any time).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from sqlalchemy import Column, Connection, Float, Integer, LargeBinary, Table, select
from sqlalchemy.exc import DBAPIError

from ..ingest.change_detection import Look
from .graph_api import chunk_table, metadata
from .schema import documents

FILE_NAME = "checked.json"


def is_noted(library: Path, look: Look | None) -> bool:
    """Return whether the file looks as it did when it was noted as sound."""
    try:
        noted = json.loads((library / "derived" / FILE_NAME).read_text(encoding="utf8"))
    except (OSError, ValueError):
        return False
    return look is not None and noted == list(look)


def note_sound(library: Path, look: Look | None) -> None:
    """Note how the library's database looks when sound; a disk that refuses costs a later check."""
    if look is None or not look[0] or is_noted(library, look):
        return
    file = library / "derived" / FILE_NAME
    temporary = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(exist_ok=True)
        temporary.write_text(json.dumps(look), encoding="utf8")
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def forget_sound(library: Path, look: Look | None) -> None:
    """Delete the note that the library's database is sound: the next one who opens it checks it."""
    if is_noted(library, look):
        with suppress(OSError):
            (library / "derived" / FILE_NAME).unlink(missing_ok=True)


_JSON = {
    "documents": ("pages", "metadata", "given"),
    "chunks": ("headings",),
    "entities": ("aliases",),
    "reports": ("findings",),
    "written_reports": ("findings",),
    "curations": ("keys", "names"),
}
_COUNTERS = ("generation", "derived", "vectors")
_BATCH = 1_000


def find_damage(connection: Connection) -> Iterator[str]:
    """Yield the damage in a library's database, one line each; nothing for a sound one.

    Where pages are broken, or a table cannot be read, what rests on them is not looked at.
    """
    check = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    pages = [f"database: {' '.join(line.split())}" for line in check if line != "ok"]
    orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all() if not pages else []
    rows = [f"table {row[0]}: row {row[1]} has lost what it belongs to" for row in orphans]
    yield from chain(pages, rows)
    if pages:
        return
    broken = False
    for table in metadata.sorted_tables:
        for line in _broken_values(connection, table):
            broken = True
            yield line
    if not broken:
        yield from _torn_chunks(connection)


def _broken_values(connection: Connection, table: Table) -> Iterator[str]:
    """Name every column of a table that holds what was never written to it."""
    columns = list(table.columns)
    found: set[str] = set()
    try:
        rows = connection.exec_driver_sql(_raw(table))
        while batch := rows.fetchmany(_BATCH):
            for column, values in zip(columns, zip(*batch, strict=True), strict=True):
                if column.name not in found and not _are_sound(table.name, column, values):
                    found.add(column.name)
                    yield f"table {table.name}: {column.name} holds broken values"
        if table.name == "state":
            counters = connection.exec_driver_sql("SELECT key, value FROM state").all()
            yield from (
                f"table state: {key} is no number: {value!r}"
                for key, value in counters
                if key in _COUNTERS and not value.removeprefix("-").isdecimal()
            )
    except DBAPIError as error:
        yield f"table {table.name}: {' '.join(str(error.orig).split())}"


def _raw(table: Table) -> str:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    return f"SELECT {names} FROM {table.name}"  # noqa: S608  # names of our own


def _are_sound(table: str, column: Column[object], values: tuple[object, ...]) -> bool:
    kinds: tuple[type, ...] = (str,)
    if isinstance(column.type, Integer) or column.type.python_type is bool:
        kinds = (int,)
    elif isinstance(column.type, Float):
        kinds = (float, int)
    elif isinstance(column.type, LargeBinary):
        kinds = (bytes,)
    if column.nullable:
        kinds = (*kinds, type(None))
    if not all(isinstance(value, kinds) for value in values):
        return False
    if column.name in _JSON.get(table, ()):
        return all(_is_json(value) for value in values)
    return not any(
        ("\0" in value) if isinstance(value, str) else len(value) % 4
        for value in values
        if isinstance(value, str | bytes)
    )


def _is_json(value: object) -> bool:
    try:
        return isinstance(json.loads(str(value)), list | dict)
    except ValueError:
        return False


def _torn_chunks(connection: Connection) -> Iterator[str]:
    """Name the chunks that do not stand where they say in their document."""
    query = select(
        chunk_table.c.document_id,
        chunk_table.c.id,
        chunk_table.c.text,
        chunk_table.c.start,
        chunk_table.c.end,
    ).order_by(chunk_table.c.document_id, chunk_table.c.id)
    current, whole = None, None
    for document_id, chunk_id, own, start, end in connection.execute(query):
        if document_id != current:
            one = select(documents.c.text).where(documents.c.id == document_id)
            current, whole = document_id, connection.execute(one).scalar()
        if whole is None or whole[start:end] != own:
            yield f"chunk {chunk_id} does not stand in its document"
