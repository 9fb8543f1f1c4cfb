"""Usage log: LLM cost of a library, and cached LLM replies.

A row is written after each call, in its own transaction and never in the caller's: a call is paid
for whatever becomes of the caller. Where the database is busy for long, rows wait in memory for the
next call or for `close`; only a killed process loses those.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, NamedTuple

from sqlalchemy import Connection, NullPool, create_engine, delete, event, func, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError

from ..types import StageUsage, Usage
from .graph_api import facts_generation
from .library import Library
from .schema import replies, usage

_LOGGER = logging.getLogger("loregraph.models")
_BUSY_SECONDS = 0.2
_AFTER_BUSY_SECONDS = 1.0
_CLOSING_SECONDS = 10.0


class _Place(NamedTuple):
    day: str
    stage: str
    model: str


class UsageLog:
    """Usage log of one library in one currency; thread-safe, close at the end."""

    def __init__(self, library: Library, *, currency: str = "USD") -> None:
        self._library = library
        self._currency = currency
        self._lock = threading.Lock()
        self._waiting: dict[_Place, tuple[Usage, int]] = {}
        self._written: dict[str, Usage] = {}
        self._busy_until = float("-inf")
        self._engine = create_engine(
            library.database.url, connect_args={"timeout": _BUSY_SECONDS}, poolclass=NullPool
        )
        event.listen(self._engine, "connect", _prepare)
        event.listen(self._engine, "begin", _begin)

    # --- what calls cost --------------------------------------------------------------------

    def add(self, *, day: str, stage: str, model: str, usage: Usage, failed: int = 0) -> None:
        """Book calls; `failed` of them gave nothing that could be used."""
        place = _Place(day, stage, model)
        with self._lock:
            before, failures = self._waiting.get(place, (Usage(), 0))
            self._waiting[place] = (before + usage, failures + failed)
            self._flush()

    def spent_by_others(self, day: str) -> Usage:
        """Return the day's cost booked elsewhere: earlier, or by another process."""
        with self._lock, self._library.read() as connection:
            return _sums(connection, day).since(self._written.get(day, Usage()))

    def rows(self) -> list[StageUsage]:
        """Return usage by day, stage and model, in that order, with what waits to be written."""
        rows: dict[_Place, dict[str, Any]] = {}
        with self._lock:
            self._flush()
            with self._library.read() as connection:
                for row in connection.execute(select(usage)):
                    rows[_Place(row.day, row.stage, row.model)] = dict(row._mapping)
            for place, (waiting, failed) in self._waiting.items():
                added = _counts(waiting, failed=failed)
                before = rows.get(place, place._asdict() | dict.fromkeys(added, 0))
                rows[place] = before | {name: before[name] + value for name, value in added.items()}
        return [StageUsage(**rows[place], currency=self._currency) for place in sorted(rows)]

    def _flush(self) -> None:
        """Write what waits; it goes on waiting where the database is busy."""
        if not self._waiting or time.monotonic() < self._busy_until:
            return
        try:
            with self._engine.begin() as connection:
                for place, (waiting, failed) in sorted(self._waiting.items()):
                    _book(connection, place, waiting, failed=failed)
        except DBAPIError as error:
            self._busy_until = time.monotonic() + _AFTER_BUSY_SECONDS
            _LOGGER.debug("usage is written later: %s", error.orig)
            return
        for place, (waiting, _) in self._waiting.items():
            self._written[place.day] = self._written.get(place.day, Usage()) + waiting
        self._waiting.clear()

    # --- what was answered ------------------------------------------------------------------

    def generation(self) -> int:
        """Return the library's generation; cached replies belong to one."""
        with self._library.read() as connection:
            return facts_generation(connection)

    def cached_reply(self, key: str) -> str | None:
        """Return the cached reply of this key, if the library is unchanged."""
        with self._library.read() as connection:
            query = select(replies.c.text).where(
                replies.c.key == key, replies.c.generation == facts_generation(connection)
            )
            text: str | None = connection.execute(query).scalar()
        return text

    def cache_reply(self, key: str, text: str, *, usage: Usage, asked_in: int) -> bool:
        """Cache an answer; return whether it was stored.

        Nothing is stored where the library has changed since the generation `asked_in`, nor while
        another process is writing to it.
        """
        row = {
            "key": key,
            "generation": asked_in,
            "text": text,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }
        try:
            with self._lock, self._engine.begin() as connection:
                drop_stale_replies(connection)
                if facts_generation(connection) != asked_in:
                    return False
                statement = insert(replies).values(row)
                connection.execute(
                    statement.on_conflict_do_update(index_elements=[replies.c.key], set_=row)
                )
        except DBAPIError as error:
            _LOGGER.info("answer not cached: the library is busy (%s)", error.orig)
            return False
        return True

    def close(self) -> None:
        """Write what waits, however long that takes within reason."""
        with self._lock:
            self._busy_until = float("-inf")
            self._flush()
            if self._waiting:
                self._flush_patiently()
        self._engine.dispose()

    def _flush_patiently(self) -> None:
        event.listen(self._engine, "connect", _be_patient)
        self._busy_until = float("-inf")
        self._flush()
        if self._waiting:
            _LOGGER.warning("cannot write the usage of %d stages", len(self._waiting))


def drop_stale_replies(connection: Connection) -> None:
    """Delete what was answered from other documents than the library holds now."""
    connection.execute(delete(replies).where(replies.c.generation != facts_generation(connection)))


def _counts(waiting: Usage, *, failed: int) -> dict[str, float]:
    """Return the columns of a row that calls add to."""
    return {
        "calls": waiting.calls,
        "failed": failed,
        "prompt_tokens": waiting.prompt_tokens,
        "cached_tokens": waiting.cached_tokens,
        "completion_tokens": waiting.completion_tokens,
        "cost": waiting.cost,
    }


def _book(connection: Connection, place: _Place, waiting: Usage, *, failed: int) -> None:
    added = _counts(waiting, failed=failed)
    statement = insert(usage).values(**place._asdict(), **added)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[usage.c.day, usage.c.stage, usage.c.model],
            set_={name: usage.c[name] + value for name, value in added.items()},
        )
    )


def _sums(connection: Connection, day: str) -> Usage:
    columns = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost")
    sums = [func.coalesce(func.sum(usage.c[name]), 0).label(name) for name in columns]
    row = connection.execute(select(*sums).where(usage.c.day == day)).one()
    return Usage(**row._mapping)


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin` alone
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _be_patient(connection: Any, _record: object) -> None:
    connection.execute(f"PRAGMA busy_timeout = {_CLOSING_SECONDS * 1000:.0f}")
