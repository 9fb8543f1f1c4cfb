"""Database schema reflection, cached.

What `exclude` names is not there for anybody: neither read nor described,
nor used to name what a foreign key points to.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from .connection import ReadOnlyDatabase
from .rows import Column, ForeignKey, Table, title_columns

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_NAMES_IN_A_MESSAGE = 10
Place = tuple[str | None, str]
"""A schema, None for the default one, and a table's name."""


class Catalogue:
    """The tables and views of one database.

    Raises `SourceError` from every method where the database refuses.
    """

    def __init__(self, database: ReadOnlyDatabase, *, exclude: Sequence[str]) -> None:
        self._database = database
        self._exclude = exclude
        self._tables: dict[Place, Table] = {}
        self._views: set[Place] = set()

    def names(self, patterns: Sequence[str]) -> list[Place]:
        """Return matching names, sorted: tables, and views named by a pattern.

        Raises:
            SourceError: a pattern takes nothing, or there are no tables at all.
        """
        with self._database.reading() as connection:
            inspector = _inspector(connection)
            tables = set(_tables(inspector, connection, schemas=_schemas(inspector, patterns)))
            for schema in _schemas(inspector, patterns):
                self._views |= {(schema, name) for name in inspector.get_view_names(schema)}
        tables = {place for place in tables if not self._is_excluded(_shown(place))}
        views = {place for place in self._views if not self._is_excluded(_shown(place))}
        if not patterns:
            if not tables:
                raise SourceError("is empty: there are no tables in it")
            return sorted(tables, key=_order)
        found: set[Place] = set()
        for pattern in patterns:
            taken = {place for place in tables | views if _takes(pattern, place)}
            if not taken:
                there = _some(map(_shown, sorted(tables | views, key=_order)))
                raise SourceError(f"has no table {pattern!r}: there are {there}")
            found |= taken
        return sorted(found, key=_order)

    def table(self, schema: str | None, name: str) -> Table:
        """Return a table's structure without excluded columns."""
        place = (schema, name)
        if place not in self._tables:
            with self._database.reading() as connection, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of types it does not know: they are read as text
                self._tables[place] = self._reflected(connection, place)
        return self._tables[place]

    def pointed_to(self, key: ForeignKey) -> Table | None:
        """Return the table a foreign key refers to by primary key, if its rows have a label."""
        if self._is_excluded(_shown((key.schema, key.table))):
            return None
        target = self.table(key.schema, key.table)
        whole = sorted(key.referred) == sorted(target.key)
        return target if whole and title_columns(target) else None

    def _reflected(self, connection: Connection, place: Place) -> Table:
        from sqlalchemy.exc import NoSuchTableError

        schema, name = place
        inspector = _inspector(connection)
        try:
            found = inspector.get_columns(name, schema=schema)
            key = inspector.get_pk_constraint(name, schema=schema)["constrained_columns"]
            foreign = inspector.get_foreign_keys(name, schema=schema)
        except NoSuchTableError as error:
            raise SourceError(f"does not exist: there is no table {_shown(place)!r}") from error
        columns = [_column(item, connection) for item in found]
        kept = [item for item in columns if not self._is_excluded(f"{_shown(place)}.{item.name}")]
        if not kept:
            raise SourceError("has no columns that may be read: exclude the table instead")
        names = {item.name for item in kept}
        keys = [_foreign_key(item, inspector.default_schema_name) for item in foreign]
        return Table(
            name=_shown(place),
            bare_name=name,
            schema=schema,
            columns=tuple(kept),
            key=tuple(key),
            foreign_keys=tuple(
                sorted(
                    (item for item in keys if item is not None and names.issuperset(item.columns)),
                    key=lambda item: item.columns,
                )
            ),
            comment=_comment(inspector, place),
            is_view=place in self._views,
        )

    def _is_excluded(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._exclude)


def _inspector(connection: Connection) -> Inspector:
    from sqlalchemy import inspect

    return inspect(connection)


def _schemas(inspector: Inspector, patterns: Iterable[str]) -> list[str | None]:
    """Return the default schema and those named in patterns with a dot."""
    named = {pattern.partition(".")[0] for pattern in patterns if "." in pattern}
    if not named:
        return [None]
    default = inspector.default_schema_name
    known = [schema for schema in inspector.get_schema_names() if schema != default]
    return [None, *sorted(schema for schema in known if schema in named)]


def _tables(
    inspector: Inspector, connection: Connection, *, schemas: Sequence[str | None]
) -> Iterable[Place]:
    for schema in schemas:
        hidden = _hidden(connection, schema or inspector.default_schema_name)
        for name in inspector.get_table_names(schema=schema):
            if name not in hidden:
                yield schema, name


def _hidden(connection: Connection, schema: str | None) -> frozenset[str]:
    """Return tables that duplicate others: partitions and full-text indexes."""
    from sqlalchemy import text

    backend = connection.dialect.name
    if backend == "sqlite":
        found = connection.execute(text("SELECT name FROM pragma_table_list WHERE type = 'shadow'"))
    elif backend == "postgresql":
        found = connection.execute(
            text(
                "SELECT c.relname FROM pg_catalog.pg_class c "
                "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                "WHERE c.relispartition AND n.nspname = :schema"
            ),
            {"schema": schema},
        )
    else:
        return frozenset()
    return frozenset(str(name) for (name,) in found)


def _column(found: Any, connection: Connection) -> Column:
    from sqlalchemy import types

    type_ = found["type"]
    binary = (types._Binary, types.LargeBinary, types.BINARY, types.VARBINARY)
    ordered = (
        *(types.String, types.Integer, types.Numeric, types.Boolean, types.Uuid),
        *(types.Date, types.DateTime, types.Time),
    )
    bits = type(type_).__name__ == "BIT" and connection.dialect.name in ("mysql", "mariadb")
    return Column(
        name=found["name"],
        type=_type_name(type_, connection),
        nullable=bool(found.get("nullable", True)),
        textual=isinstance(type_, types.String) and not isinstance(type_, types.Enum),
        binary=bits or isinstance(type_, binary),
        orderable=isinstance(type_, ordered),
        comment=found.get("comment") or "",
    )


def _type_name(type_: Any, connection: Connection) -> str:
    from sqlalchemy.exc import CompileError
    from sqlalchemy.types import NullType

    if isinstance(type_, NullType):
        return ""
    try:
        return str(type_.compile(dialect=connection.dialect))
    except CompileError:
        return type(type_).__name__


def _foreign_key(found: Any, default: str | None) -> ForeignKey | None:
    """None where the key does not say, column by column, what it points to."""
    columns, referred = found["constrained_columns"], found["referred_columns"]
    if not columns or len(columns) != len(referred):
        return None
    return ForeignKey(
        columns=tuple(columns),
        table=found["referred_table"],
        schema=None if found["referred_schema"] == default else found["referred_schema"],
        referred=tuple(referred),
    )


def _comment(inspector: Inspector, place: Place) -> str:
    schema, name = place
    try:
        return inspector.get_table_comment(name, schema=schema)["text"] or ""
    except NotImplementedError:  # a backend without comments
        return ""


def _shown(place: Place) -> str:
    schema, name = place
    return f"{schema}.{name}" if schema else name


def _order(place: Place) -> tuple[str, str]:
    return place[0] or "", place[1]


def _takes(pattern: str, place: Place) -> bool:
    return fnmatchcase(_shown(place), pattern)


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = ", …" if len(names) > _NAMES_IN_A_MESSAGE else ""
    return (", ".join(names[:_NAMES_IN_A_MESSAGE]) or "none") + more
