"""One SQL database, one write transaction at a time, readers beside it.

`write()` is re-entrant within a thread: whoever calls it inside another `write()` joins that
transaction, which is how one document reaches every table in one commit. Knows no table.

Differential writes: make a table hold exactly some rows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Table,
    and_,
    bindparam,
    create_engine,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.pool import StaticPool

from .facts import batches

BUSY_TIMEOUT_SECONDS = 60


class Database:
    """A connection pool with the two ways to use it.

    SQLite runs in WAL mode, so readers never wait for the writer; any other SQLAlchemy URL is
    used as it is. A SQLite database in memory is one connection that all threads share: there
    transactions wait for each other, and a `write()` inside a `read()` is part of it.
    """

    def __init__(self, url: str | URL) -> None:
        self.url = make_url(url)
        options: dict[str, Any] = {}
        if self.url.get_backend_name() == "sqlite":
            options["connect_args"] = {"timeout": BUSY_TIMEOUT_SECONDS}
        self._turn: AbstractContextManager[Any] = nullcontext()
        self._in_memory = _is_in_memory(self.url)
        if self._in_memory:
            options["connect_args"]["check_same_thread"] = False
            options["poolclass"] = StaticPool
            self._turn = threading.RLock()
        self._engine = create_engine(self.url, **options)
        self._local = threading.local()
        if self.url.get_backend_name() == "sqlite":
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction, committed or rolled back at the end of the outermost block."""
        current: Connection | None = getattr(self._local, "connection", None)
        if current is not None:
            yield current
            return
        reader: Connection | None = getattr(self._local, "reader", None)
        if self._in_memory and reader is not None:
            with reader.begin_nested(), self._writing(reader):
                yield reader
            return
        with self._turn, self._engine.connect() as connection:
            connection = connection.execution_options(loregraph_write=True)
            with connection.begin(), self._writing(connection):
                yield connection

    @contextmanager
    def _writing(self, connection: Connection) -> Iterator[None]:
        self._local.connection = connection
        try:
            yield
        finally:
            self._local.connection = None

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a consistent read, shared by nested `read()` calls of the thread.

        Inside `write()` it sees what that transaction wrote.
        """
        current: Connection | None = getattr(self._local, "connection", None)
        current = current or getattr(self._local, "reader", None)
        if current is not None:
            yield current
            return
        with self._turn, self._engine.connect() as connection, connection.begin():
            self._local.reader = connection
            try:
                yield connection
            finally:
                self._local.reader = None

    def close(self) -> None:
        """Close every pooled connection."""
        self._engine.dispose()


def _is_in_memory(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and (
        not url.database or ":memory:" in url.database or url.query.get("mode") == "memory"
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite` alone
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA secure_delete = ON")  # what is removed is overwritten, not only unlinked
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at once: a transaction that reads first and writes later could
    # otherwise fail with "database is locked" whatever the timeout.
    write = connection.get_execution_options().get("loregraph_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


Values = tuple[Any, ...]
"""A row as a tuple, in the order of the table's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Difference between stored and wanted rows by key, each side sorted.

    A row that changed stands on both sides.
    """

    before: Mapping[Values, Values]
    after: Mapping[Values, Values]

    @property
    def count(self) -> int:
        """Number of rows added, removed or changed."""
        return len(self.before.keys() | self.after.keys())

    @property
    def come(self) -> list[Values]:
        """Keys that were not held before."""
        return [key for key in self.after if key not in self.before]

    @property
    def gone(self) -> list[Values]:
        """Keys that are held no more."""
        return [key for key in self.before if key not in self.after]


def write_difference(
    connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]
) -> Difference:
    """Make the table hold exactly these rows with distinct keys; return the difference."""
    held = set(map(tuple, connection.execute(select(table)).all()))
    return _write(connection, table, held=held, wanted=_tuples(table, rows))


def write_difference_at(
    connection: Connection,
    table: Table,
    *,
    rows: Iterable[Mapping[str, Any]],
    at: Sequence[Column[str]],
    values: Iterable[str],
) -> Difference:
    """Do the same for the part of a table with these values in columns `at`.

    All rows lie in that part.
    """
    held = {
        tuple(row)
        for batch in batches(values)
        for column in at
        for row in connection.execute(select(table).where(column.in_(batch))).all()
    }
    return _write(connection, table, held=held, wanted=_tuples(table, rows))


def _tuples(table: Table, rows: Iterable[Mapping[str, Any]]) -> set[Values]:
    return set(map(itemgetter(*table.columns.keys()), rows))


def _write(
    connection: Connection, table: Table, *, held: set[Values], wanted: set[Values]
) -> Difference:
    columns = list(table.columns.keys())
    keys = [column.name for column in table.primary_key.columns]
    places = [columns.index(name) for name in keys]

    def by_key(rows: set[Values]) -> dict[Values, Values]:
        return dict(sorted((tuple(row[place] for place in places), row) for row in rows))

    difference = Difference(before=by_key(held - wanted), after=by_key(wanted - held))
    same_key = and_(*(table.c[name] == bindparam(f"key_{name}") for name in keys))

    def named(key: Values) -> dict[str, Any]:
        return {f"key_{name}": part for name, part in zip(keys, key, strict=True)}

    if gone := [named(key) for key in difference.gone]:
        connection.execute(delete(table).where(same_key), gone)
    changed = [
        named(key) | {f"new_{name}": part for name, part in zip(columns, row, strict=True)}
        for key, row in difference.after.items()
        if key in difference.before
    ]
    if changed:
        values: dict[str, Any] = {
            name: bindparam(f"new_{name}") for name in columns if name not in keys
        }
        connection.execute(update(table).where(same_key).values(values), changed)
    if come := difference.come:
        connection.execute(
            insert(table), [dict(zip(columns, difference.after[key], strict=True)) for key in come]
        )
    return difference
