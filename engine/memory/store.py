"""Session store: messages of open sessions, summaries of closed ones, and facts, in one database.

SQLite in the library's folder, or PostgreSQL. Every change is one transaction, so a session that is
being closed when its process is killed is found open again, and closing it twice closes it once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from ..errors import MissingExtra, SettingsError
from .records import MAX_NAME_CHARACTERS, Conversation, Fact, Message, SessionSummary

metadata = MetaData()
turns = Table(
    "memory_turns",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("user", String(64), nullable=False, index=True),
    Column("session", String(64), nullable=False),
    Column("role", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("cited", Text, nullable=False),
    Column("at", String(32), nullable=False),
    sqlite_autoincrement=True,
)
names = Table(
    "memory_sessions",
    metadata,
    Column("user", String(64), primary_key=True),
    Column("session", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("begun", String(32), nullable=False),
)
summaries = Table(
    "memory_summaries",
    metadata,
    Column("user", String(64), primary_key=True),
    Column("document_id", String(256), primary_key=True),
    Column("session", String(64), nullable=False),
    Column("summary", Text, nullable=False),
    Column("topics", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
)
facts = Table(
    "memory_facts",
    metadata,
    Column("user", String(64), primary_key=True),
    Column("id", String(16), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("text", Text, nullable=False),
    Column("session", String(64), nullable=False),
    Column("document_id", String(256), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("valid_from", String(16), nullable=False),
    Column("slot", Text, nullable=False),
    Column("superseded_by", String(16)),
)
_BEGIN = (
    'INSERT INTO memory_sessions ("user", session, name, begun)'
    " VALUES (:user, :session, :name, :begun) ON CONFLICT DO NOTHING"
)
_TABLES = (turns, names, summaries, facts)
_BATCH = 500
"""Rows that one statement deletes."""
_NUL = "\x00"
_LOCK = 7_165_013
"""Number of the advisory lock under which the tables are created."""
OpenTurns = dict[int, Message]
"""Messages of an open session by their number, in order."""


class SessionStore:
    """Session store. Safe to share by threads and processes.

    Args:
        url: SQLAlchemy's, of a SQLite file or a PostgreSQL.
        timeout_seconds: of connecting to PostgreSQL, and of one statement.

    Raises:
        MissingExtra: the extra `postgres` is not installed.
    """

    def __init__(self, url: URL, *, timeout_seconds: float = 5.0) -> None:
        self._engine = _engine(url, timeout_seconds)
        self._ready = False
        self._preparing = threading.Lock()

    def prepare(self) -> None:
        """Create the tables where they are missing; the first access does it."""
        with self._preparing:
            if self._ready:
                return
            with self._engine.begin() as connection:
                if self._engine.dialect.name == "postgresql":
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                metadata.create_all(connection)
            self._ready = True

    # --- open sessions ----------------------------------------------------------------------

    def append(self, user: str, session: str, messages: Sequence[Message]) -> None:
        """Append messages to a session, together and in order."""
        if not messages:
            return
        self.prepare()
        with self._engine.begin() as connection:
            for message in messages:
                values = {name: _clean(value) for name, value in asdict(message).items()}
                connection.execute(insert(turns).values(user=user, session=session, **values))
            first = next((each for each in messages if each.role == "user"), messages[0])
            values = {"user": user, "session": session, "begun": messages[0].at}
            values["name"] = _clean(first.text)[:MAX_NAME_CHARACTERS].strip()
            connection.execute(text(_BEGIN), values)

    def conversations(self, user: str) -> list[Conversation]:
        """Return the sessions of a user with their names."""
        self.prepare()
        query = select(names).where(names.c.user == user).order_by(names.c.session)
        with self._engine.connect() as connection:
            return [
                Conversation(session=row.session, name=row.name, begun=row.begun)
                for row in connection.execute(query)
            ]

    def name(self, user: str, session: str, name: str) -> None:
        """Name a session."""
        self.prepare()
        with self._engine.begin() as connection:
            values = {"user": user, "session": session, "name": name, "begun": ""}
            connection.execute(text(_BEGIN), values)
            own = (names.c.user == user) & (names.c.session == session)
            connection.execute(update(names).where(own).values(name=name))

    def open_sessions(self, user: str) -> dict[str, OpenTurns]:
        """Return the messages of a user's open sessions, oldest first."""
        self.prepare()
        with self._engine.connect() as connection:
            rows = connection.execute(
                select(turns).where(turns.c.user == user).order_by(turns.c.id)
            )
            found: dict[str, OpenTurns] = {}
            for row in rows:
                message = Message(role=row.role, text=row.text, at=row.at, cited=row.cited)
                found.setdefault(row.session, {})[row.id] = message
        return found

    def users(self) -> list[str]:
        """Return the users with open sessions, sorted."""
        self.prepare()
        with self._engine.connect() as connection:
            return sorted(connection.execute(select(turns.c.user).distinct()).scalars())

    def finish(
        self,
        user: str,
        closed: Collection[int],
        written: Sequence[SessionSummary],
        known: Sequence[Fact],
    ) -> None:
        """Replace messages by summaries, and a user's facts by `known`, in one transaction."""
        self.prepare()
        with self._engine.begin() as connection:
            for summary in written:
                own = (summaries.c.user == user) & (summaries.c.document_id == summary.document_id)
                connection.execute(delete(summaries).where(own))
                values = {**asdict(summary), "topics": json.dumps(summary.topics)}
                connection.execute(insert(summaries).values(user=user, **values))
            numbers = sorted(closed)
            for first in range(0, len(numbers), _BATCH):
                batch = numbers[first : first + _BATCH]
                connection.execute(delete(turns).where(turns.c.id.in_(batch)))
            _write_facts(connection, user, known)

    # --- summaries and facts ------------------------------------------------------------------

    def summaries(self, user: str, *, limit: int) -> list[SessionSummary]:
        """Return the latest summaries of a user, newest first."""
        self.prepare()
        query = select(summaries).where(summaries.c.user == user)
        query = query.order_by(summaries.c.created_at.desc(), summaries.c.document_id).limit(limit)
        with self._engine.connect() as connection:
            return [_summary(row._mapping) for row in connection.execute(query)]

    def facts(self, user: str) -> list[Fact]:
        """Return a user's facts, oldest first, replaced ones among them."""
        self.prepare()
        query = select(facts).where(facts.c.user == user)
        query = query.order_by(facts.c.valid_from, facts.c.document_id, facts.c.start)
        with self._engine.connect() as connection:
            return [_fact(row._mapping) for row in connection.execute(query)]

    def put_facts(self, user: str, known: Sequence[Fact]) -> None:
        """Replace the facts of a user."""
        self.prepare()
        with self._engine.begin() as connection:
            _write_facts(connection, user, known)

    # --- forgetting ---------------------------------------------------------------------------

    def expire(self, before: str) -> int:
        """Delete summaries created before an ISO time; return their number."""
        self.prepare()
        with self._engine.begin() as connection:
            return connection.execute(
                delete(summaries).where(summaries.c.created_at < before)
            ).rowcount

    def forget(self, user: str, session: str | None = None) -> None:
        """Delete a session, or everything of a user."""
        self.prepare()
        with self._engine.begin() as connection:
            for table in _TABLES:
                own = table.c.user == user
                if session is not None:
                    own &= table.c.session == session
                connection.execute(delete(table).where(own))

    def redact(
        self, user: str, documents: Collection[str], cut: Callable[[Message], Message]
    ) -> None:
        """Cut open messages, and delete the summaries of these documents."""
        self.prepare()
        with self._engine.begin() as connection:
            for row in connection.execute(select(turns).where(turns.c.user == user)).all():
                held = Message(role=row.role, text=row.text, at=row.at, cited=row.cited)
                left = cut(held)
                if left == held:
                    continue
                own = turns.c.id == row.id
                if left.text:
                    new = {"text": left.text, "cited": left.cited}
                    connection.execute(update(turns).where(own).values(**new))
                else:
                    connection.execute(delete(turns).where(own))
            own = (summaries.c.user == user) & summaries.c.document_id.in_(list(documents))
            connection.execute(delete(summaries).where(own))
            for row in connection.execute(select(names).where(names.c.user == user)).all():
                name = cut(Message(role="user", text=row.name, at=row.begun)).text
                if name != row.name:
                    own = (names.c.user == user) & (names.c.session == row.session)
                    connection.execute(update(names).where(own).values(name=name))

    def erase(self) -> None:
        """Remove deleted rows from the files: truncate SQLite's WAL, or VACUUM PostgreSQL."""
        self.prepare()
        with self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                return
            for table in _TABLES:
                connection.execute(text(f"VACUUM FULL {table.name}"))

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()


def library_store(folder: Path) -> URL:
    """Return the URL of the store in a library's memory folder."""
    return URL.create("sqlite", database=str(folder / "sessions.db"))


def server_store(address: str, password: str) -> URL:
    """Return the URL of a store on PostgreSQL; raises `SettingsError`."""
    try:
        url = make_url(address)
    except ArgumentError as error:
        raise SettingsError(f"memory.short_term: not a URL: {address[:40]!r}") from error
    if url.get_backend_name() != "postgresql":
        raise SettingsError(
            "memory.short_term: give `library` or postgresql://user@host:5432/database"
        )
    if url.password:
        raise SettingsError(
            "memory.short_term: holds a password; put it into a variable and name that in"
            " memory.short_term_password_variable"
        )
    return url.set(drivername="postgresql+psycopg", password=password or None)


def _engine(url: URL, timeout_seconds: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        Path(url.database or "").parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url, connect_args={"timeout": timeout_seconds})
        event.listen(engine, "connect", _prepare_sqlite)
        return engine
    milliseconds = max(1, int(timeout_seconds * 1000))
    try:
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_timeout=timeout_seconds,
            connect_args={
                "connect_timeout": max(1, round(timeout_seconds)),
                "options": f"-c statement_timeout={milliseconds}",
            },
        )
    except (ImportError, NoSuchModuleError) as error:
        raise MissingExtra(
            "memory.short_term: PostgreSQL needs the extra `postgres`: "
            "pip install 'loregraph[postgres]'"
        ) from error


def _prepare_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _write_facts(connection: Any, user: str, known: Sequence[Fact]) -> None:
    held = {
        row.id: _fact(row._mapping)
        for row in connection.execute(select(facts).where(facts.c.user == user))
    }
    wanted = {fact.id: fact for fact in known}
    changed = [key for key in held if wanted.get(key) != held[key]]
    for first in range(0, len(changed), _BATCH):
        own = (facts.c.user == user) & facts.c.id.in_(changed[first : first + _BATCH])
        connection.execute(delete(facts).where(own))
    come = [fact for key, fact in wanted.items() if held.get(key) != fact]
    if come:
        rows = [{"user": user, **asdict(fact)} for fact in come]
        connection.execute(insert(facts), rows)


def _clean(value: str) -> str:
    return value.replace(_NUL, "")


def _summary(row: Mapping[Any, Any]) -> SessionSummary:
    return SessionSummary(
        session=row["session"],
        document_id=row["document_id"],
        summary=row["summary"],
        topics=tuple(json.loads(row["topics"])),
        created_at=row["created_at"],
    )


def _fact(row: Mapping[Any, Any]) -> Fact:
    return Fact(**{name: row[name] for name in Fact.__dataclass_fields__})
