"""Read-only database connections from URLs, with clear errors.

Knows no tables. No message and no id ever holds a password.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from ....errors import SourceError
from ...document import one_line, sanitise_text

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

_ADDRESS = re.compile(r"([a-z][a-z0-9_]*)(?:\+[a-z0-9_]+)?://", re.I)
_BACKENDS = frozenset({"sqlite", "postgresql", "postgres", "mysql", "mariadb", "mssql", "oracle"})
_DRIVERS = {
    "postgresql": (("psycopg", "psycopg"), ("psycopg2", "psycopg2")),
    "mysql": (("pymysql", "pymysql"), ("mysqldb", "MySQLdb")),
    "mariadb": (("pymysql", "pymysql"), ("mysqldb", "MySQLdb")),
}
"""Drivers by backend: SQLAlchemy's name and the module, preferred first."""
_PACKAGES = {
    "psycopg": "'psycopg[binary]'",
    "MySQLdb": "pymysql",
    "pyodbc": "pyodbc",
    "oracledb": "oracledb",
    "cx_Oracle": "oracledb",
}
_SECRET = re.compile("pass|pwd|secret|token|key", re.I)
_LOCK_SECONDS = 5.0
_CONNECT_SECONDS = 10
_STEPS_BETWEEN_LOOKS = 10_000
_REFUSED_LOGIN = re.compile(
    "authentication failed|access denied|no password supplied|login failed|role .* does not exist"
    "|password is required|not permitted to log in|invalid username/password",
    re.I,
)
_UNREACHABLE = re.compile(
    "connection refused|can't connect|could not connect|could not translate|name or service|"
    "no route to host|timed out|connection timeout|no such file or directory|getaddrinfo|resolve",
    re.I,
)
_TOO_SLOW = re.compile("interrupted|statement timeout|max_statement_time|execution time", re.I)


def is_database_url(text: str) -> bool:
    """Check whether a source is a database URL: a scheme with a SQLAlchemy dialect."""
    found = _ADDRESS.match(text)
    if found is None:
        return False
    backend = found.group(1).lower()
    if backend in _BACKENDS:
        return True
    if backend in ("http", "https", "file", "ftp", "s3", "git", "ssh"):
        return False
    dialects = entry_points(group="sqlalchemy.dialects")
    return any(dialect.name.partition(".")[0] == backend for dialect in dialects)


def database_source(url: str) -> str:
    """Return the URL without password, query and driver, for ids and messages.

    A SQLite file inside the current folder is named relative to it, so that ids do not depend on
    the machine.

    Raises:
        SourceError: it is no address of a database.
    """
    return _source(parse_database_url(url))


def parse_database_url(url: str) -> URL:
    """Parse a database URL and choose an installed driver if none is named.

    Raises:
        SourceError: it cannot be read, or names no database.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    hint = "write it as backend://user:password@host:port/database or sqlite:///file.db"
    try:
        made = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise SourceError(f"is not a database URL: {hint}") from error
    backend, _, driver = made.drivername.lower().partition("+")
    if "@" in (made.host or ""):
        raise SourceError("has an '@' in its user or password: write it as %40")
    if backend == "postgres":
        backend = "postgresql"
    if not driver:
        installed = (name for name, module in _DRIVERS.get(backend, ()) if find_spec(module))
        driver = next(installed, _DRIVERS.get(backend, (("", ""),))[0][0])
    return made.set(drivername=f"{backend}+{driver}" if driver else backend)


def _source(url: URL) -> str:
    from sqlalchemy.engine import URL

    backend = url.get_backend_name()
    database = url.database
    if backend == "sqlite" and database:
        path = sqlite_path(url)
        here = Path.cwd()
        database = (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
    bare = URL.create(
        backend, username=url.username, host=url.host, port=url.port, database=database
    )
    return sanitise_text(bare.render_as_string(hide_password=True))


def sqlite_path(url: URL) -> Path:
    """Return the file of a SQLite URL.

    Raises:
        SourceError: it names none.
    """
    database = url.database or ""
    if database.startswith("file:"):
        database = database.removeprefix("file:")
    if not database or database == ":memory:" or url.query.get("mode") == "memory":
        raise SourceError(
            "is an in-memory database, which is empty: name a file as sqlite:///path/to/file.db"
        )
    return Path(database).absolute()


@dataclass(slots=True)
class _Deadline:
    """When a query of SQLite, which has no timeout of its own, is to be stopped."""

    seconds: float
    end: float = field(default=float("inf"))

    def restart(self) -> None:
        self.end = time.monotonic() + self.seconds

    def is_over(self) -> bool:
        return time.monotonic() > self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyDatabase:
    """A database that is only read. `source` is its address as it may be shown."""

    url: URL
    source: str
    timeout_seconds: float
    _engine: Engine
    _deadline: _Deadline

    @property
    def backend(self) -> str:
        """SQLAlchemy's name of the backend, as `postgresql`."""
        return self.url.get_backend_name()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction, never committed; refusals become `SourceError`s."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.connect() as connection:
                self.restart_clock()
                _prepare(connection, milliseconds=max(1, int(1000 * self.timeout_seconds)))
                yield connection
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise SourceError(self.why(error)) from error
        except (UnicodeError, OverflowError, ValueError) as error:
            message = f"holds a value that its driver cannot read: {one_line(str(error))}"
            raise SourceError(self.without_secrets(message)) from error

    def restart_clock(self) -> None:
        """Each query and each page of rows has the whole time to itself."""
        self._deadline.restart()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def why(self, error: Exception) -> str:
        """Return a driver's error in one line with a remedy and without secrets."""
        said = self.without_secrets(one_line(str(getattr(error, "orig", None) or error)))
        lowered = said.lower()
        if _TOO_SLOW.search(lowered):
            return f"took longer than {self.timeout_seconds:g} s for one query: raise the timeout"
        if "database is locked" in lowered or "lock timeout" in lowered:
            return "is locked by another program: try again once that has finished"
        if "not a database" in lowered or "malformed" in lowered:
            return f"is not a valid SQLite database ({said}): check the file"
        if _REFUSED_LOGIN.search(lowered):
            user = one_line(sanitise_text(self.url.username or ""))
            return f"refused the login of {user!r}: check user and password ({said})"
        if _UNREACHABLE.search(lowered):
            return f"cannot be reached: check that it runs, host and port ({said})"
        if "permission denied" in lowered or "insufficient privilege" in lowered:
            return f"may not be read by this user: grant SELECT ({said})"
        if "does not exist" in lowered or "unknown database" in lowered:
            return f"has no such database, table or column: check the name ({said})"
        return f"cannot be read: {said}"

    def without_secrets(self, text: str) -> str:
        """Return the text with the password replaced by `***`, in any encoding."""
        for secret in sorted(_secrets(self.url), key=len, reverse=True):
            text = text.replace(secret, "***")
        return sanitise_text(text)


def open_database(url: str, *, timeout_seconds: float) -> ReadOnlyDatabase:
    """Open the database of a URL lazily; a SQLite file must exist.

    Raises:
        SourceError: no such address, file or driver.
    """
    made = parse_database_url(url)
    source = _source(made)
    deadline = _Deadline(timeout_seconds)
    return ReadOnlyDatabase(
        url=made,
        source=source,
        timeout_seconds=timeout_seconds,
        _engine=_engine(made, deadline),
        _deadline=deadline,
    )


def _engine(url: URL, deadline: _Deadline) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError
    from sqlalchemy.pool import NullPool

    options: dict[str, Any] = {"poolclass": NullPool}
    if url.drivername in ("sqlite", "sqlite+pysqlite"):
        path = sqlite_path(url)
        _check_sqlite_file(path)
        options["creator"] = lambda: _connect_sqlite(path, deadline)
    elif url.get_backend_name() in _DRIVERS and "connect_timeout" not in url.query:
        options["connect_args"] = {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = create_engine(url, **options)
    except NoSuchModuleError as error:
        raise SourceError(
            f"has no installed dialect ({url.drivername}): install the "
            "SQLAlchemy dialect for it, or check the spelling"
        ) from error
    except ImportError as error:
        module = error.name or url.get_driver_name()
        package = _PACKAGES.get(module, module)
        raise SourceError(
            f"needs the driver {module!r}, which is not installed: pip install {package}"
        ) from error
    except (ArgumentError, ValueError, TypeError) as error:
        raise SourceError(f"has an unknown driver option: {error}") from error
    if engine.dialect.is_async:
        raise SourceError(f"names an async driver ({url.drivername}): leave the driver out")
    return engine


def _check_sqlite_file(path: Path) -> None:
    try:
        if path.is_dir():
            raise SourceError("is a folder, not a database file: name the file")
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError as error:
        raise SourceError("does not exist: check the path of the file") from error
    except PermissionError as error:
        raise SourceError("permission denied: make it readable for this user") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"cannot be read: {one_line(sanitise_text(str(error)))}") from error
    if head and not head.startswith(b"SQLite format 3\x00"):
        raise SourceError("is not a SQLite database (or an encrypted one): check the file")


def _connect_sqlite(path: Path, deadline: _Deadline) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_LOCK_SECONDS)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.set_progress_handler(deadline.is_over, _STEPS_BETWEEN_LOOKS)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")  # its views may not call what has effects
    return connection


def _prepare(connection: Connection, *, milliseconds: int) -> None:
    """Begin a read-only transaction with a query timeout, where supported."""
    from sqlalchemy import text

    backend = connection.dialect.name
    if backend == "postgresql":
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        set_ = text("SELECT set_config(:name, :value, true)")
        for name, value in (
            ("statement_timeout", str(milliseconds)),
            ("lock_timeout", str(int(1000 * _LOCK_SECONDS))),
            ("timezone", "UTC"),
            ("datestyle", "ISO, YMD"),
            ("intervalstyle", "postgres"),
            ("bytea_output", "hex"),
        ):
            connection.execute(set_, {"name": name, "value": value})
    elif backend in ("mysql", "mariadb"):
        connection.execute(text("SET SESSION time_zone = '+00:00'"))
        if getattr(connection.dialect, "is_mariadb", False):
            limit = text("SET SESSION max_statement_time = :limit")
            connection.execute(limit, {"limit": milliseconds / 1000})
        else:
            limit = text("SET SESSION MAX_EXECUTION_TIME = :limit")
            connection.execute(limit, {"limit": milliseconds})
        connection.execute(text("SET SESSION TRANSACTION READ ONLY"))
        connection.rollback()  # the next transaction is the first that this holds for
    elif backend == "oracle":
        connection.execute(text("SET TRANSACTION READ ONLY"))


def _secrets(url: URL) -> set[str]:
    found = {str(url.password)} if url.password else set()
    for name, value in url.query.items():
        if _SECRET.search(name) or name == "odbc_connect":
            found.update([value] if isinstance(value, str) else value)
    return {form for secret in found if secret for form in (secret, quote_plus(secret))}
