"""Schema reflection of a database, and the text of schemas and rows: titles, labels, dates.

What `exclude` names is neither read nor described, nor used to name what a foreign key points to.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import re
import string
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ....errors import SourceError
from ...document import iso_date, one_line, sanitise_text
from ..markdown_writer import pipe_table
from .connection import ReadOnlyDatabase

if TYPE_CHECKING:
    from sqlalchemy import Connection, Inspector

_TITLES = (
    *("title", "name", "label", "headline", "heading", "subject", "caption"),
    *("display_name", "full_name", "fullname", "username", "email"),
    *("标题", "题目", "名称", "姓名", "名字", "主题", "标签", "品名"),
)
_FULL_NAMES = (("first_name", "last_name"), ("firstname", "lastname"), ("given_name", "surname"))
_TITLE_ENDINGS = ("_title", "title", "_name", "name", "名称", "姓名", "标题", "名")
_DATES = (
    *("updated_at", "updated", "updated_on", "modified_at", "modified", "last_modified"),
    *("last_update", "last_updated", "changed_at", "date", "published_at", "published"),
    *("publication_date", "created_at", "created", "created_on", "timestamp", "datetime"),
    *("更新时间", "修改时间", "更新日期", "日期", "时间", "发布时间", "发布日期", "创建时间"),
)
_DATE_ENDINGS = ("_at", "_date", "_datetime", "_timestamp", "date", "日期", "时间")
_NOT_OF_THE_ROW = re.compile(
    "birth|born|death|died|expir|due|until|_end|end_|deleted|出生|到期|截止"
)
_CODE = re.compile("(^|_)(id|key|uid|uuid|guid|hash|sha256)$", re.I)
_EPOCH_SECONDS = range(10**8, 10**10)
_DIGITS = 100
_KEY_LIMIT = 200
_TITLE_LIMIT = 120
_DIVIDERS = re.compile(r"[\s%/,?#\x00-\x1f\x7f]")
_SPACES = re.compile(r"(?<![ \t\r\f\v])[ \t\r\f\v]++\n")

Labels = Mapping[str, str]
"""Readable labels of a row's foreign keys, by first key column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column as its table declares it. `type` is the database's own word for it."""

    name: str
    type: str
    nullable: bool = True
    textual: bool = False
    binary: bool = False
    orderable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """Foreign key: columns of one table referring to another's, in matching order."""

    columns: tuple[str, ...]
    table: str
    schema: str | None
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table or view. `name` is with its schema where that is not the default one.

    `key` is the primary key's columns, empty without one; `rows` None where they were not counted.
    """

    name: str
    bare_name: str
    schema: str | None
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int | None = None
    comment: str = ""
    is_view: bool = False

    def counted(self, rows: int | None) -> Table:
        """Return the same table with its row count."""
        return replace(self, rows=rows)


def title_columns(table: Table) -> tuple[str, ...]:
    """Return the columns that name a row; empty if none looks suitable.

    In this order: a well-known name, a first and a last name, a well-known ending, and at last
    the first column of text that is no key, but for a table whose key is words already.
    """
    by_folded = {column.name.casefold(): column.name for column in reversed(table.columns)}
    keys = {*table.key, *(name for key in table.foreign_keys for name in key.columns)}
    for name in _TITLES:
        if name in by_folded and name not in ("username", "email"):
            return (by_folded[name],)
    for pair in _FULL_NAMES:
        if all(name in by_folded for name in pair):
            return tuple(by_folded[name] for name in pair)
    for name in ("username", "email"):
        if name in by_folded:
            return (by_folded[name],)
    free = [column for column in table.columns if column.name not in keys and column.textual]
    for ending in _TITLE_ENDINGS:
        for column in free:
            if column.name.casefold().endswith(ending):
                return (column.name,)
    speaking = any(
        c.name in table.key and c.textual and not _CODE.search(c.name) for c in table.columns
    )
    return (free[0].name,) if free and not speaking else ()


def date_column(table: Table) -> str | None:
    """Return the column of a row's last change: update, then date, then creation."""
    by_folded = {column.name.casefold(): column.name for column in reversed(table.columns)}
    for name in _DATES:
        if name in by_folded:
            return by_folded[name]
    for column in table.columns:
        name = column.name.casefold()
        if name.endswith(_DATE_ENDINGS) and not _NOT_OF_THE_ROW.search(name):
            return column.name
    return None


def date_text(value: object) -> str:
    """Return a cell as an ISO 8601 day or UTC second; empty if not a date.

    Whole numbers are seconds or milliseconds since 1970.
    """
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int):
        return _of_epoch(value)
    text = value.strip() if isinstance(value, str) else ""
    if text.isascii() and text.isdigit() and len(text) in (9, 10, 12, 13):
        return _of_epoch(int(text))
    return iso_date(value) or ""


def _of_epoch(number: int) -> str:
    seconds = number if number in _EPOCH_SECONDS else number // 1000
    if seconds not in _EPOCH_SECONDS:
        return ""
    return iso_date(datetime.datetime.fromtimestamp(seconds, datetime.UTC)) or ""


def cell_text(value: object, *, limit: int) -> str:
    """Return a cell as text, deterministic, truncated past `limit` characters."""
    text = _written(value)
    if len(text) > limit:
        text = text[:limit].rstrip() + f" … [cut at {limit:,} characters]"
    return _SPACES.sub("\n", sanitise_text(text)).strip()


def _written(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case bytes() | bytearray() | memoryview():
            return binary_text(len(bytes(value)))
        case datetime.datetime():
            return _moment(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal():
            is_long = value.is_finite() and value != 0 and abs(value.adjusted()) > _DIGITS
            return str(value) if is_long else f"{value:f}"
        case dict() | list() | tuple() | set() | frozenset():
            kept = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            return json.dumps(kept, ensure_ascii=False, sort_keys=True, default=str)
        case _:
            return str(value)


def binary_text(size: int | str) -> str:
    """Return a placeholder for a binary value of a database row."""
    return f"(binary, {size} bytes)"


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return value.isoformat(sep=" ")


def key_text(values: Sequence[object]) -> str | None:
    """Encode a primary key for an id: percent-encoded, comma-separated.

    None where a part is NULL, which SQLite lets a key hold more than once. A key of more than 200
    characters is its hash.
    """
    if any(value is None for value in values):
        return None
    texts = [
        bytes(value).hex()
        if isinstance(value, bytes | bytearray | memoryview)
        else sanitise_text(_written(value))
        for value in values
    ]
    joined = ",".join(map(encode_id_part, texts))
    return joined if len(joined) <= _KEY_LIMIT else "sha256-" + _hash(joined)


def encode_id_part(text: str) -> str:
    """Encode a table's name or key as a part of a document id, separators percent-encoded."""
    return _DIVIDERS.sub(lambda found: quote(found.group(), safe=""), text)


def row_hash(cells: Mapping[str, str]) -> str:
    """Return the document id suffix of a database row without key; equal rows share it."""
    return "row-" + _hash(json.dumps(sorted(cells.items()), ensure_ascii=False))[:32]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def row_title(table: Table, cells: Mapping[str, str], *, key: str) -> str:
    """Return `table: label`, else `table: key`, else the table's name."""
    named = " ".join(filter(None, (cells.get(column, "") for column in title_columns(table))))
    return one_line(": ".join(filter(None, (table.name, named or key))), limit=_TITLE_LIMIT)


def row_text(title: str, cells: Mapping[str, str], *, labels: Labels) -> str:
    """Return the title and a line for each non-empty cell, in table order."""
    lines = [title]
    for name, cell in cells.items():
        if cell:
            shown = f"{labels[name]} ({cell})" if labels.get(name) else cell
            gap = "\n" if "\n" in shown else " "
            lines.append(f"{one_line(sanitise_text(name))}:{gap}{shown}")
    return "\n".join(lines) + "\n"


def template_names(template: str) -> frozenset[str]:
    """Return the column names in a database row's template.

    Raises:
        SourceError: it asks for more than the value of a column.
    """
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        raise SourceError(
            f"has a template that cannot be read ({error}): write a column as {{column}}, "
            "a brace that stays as {{ or }}"
        ) from error
    names = set()
    for _, name, format_, conversion in fields:
        if name is None:
            continue
        if not name.strip() or format_ or conversion or any(c in name for c in ".[]"):
            raise SourceError(
                f"has a template that asks for more than a column ({one_line(name)!r}): "
                "only {column} and {table} are filled in"
            )
        names.add(name)
    return frozenset(names)


def fill_row_template(template: str, cells: Mapping[str, str], *, table: str) -> str:
    """Fill a row template's `{column}` and `{table}` placeholders.

    `template_names` has passed it; nothing but text is ever looked up in it.
    """
    values = {"table": table, **cells}
    return "".join(
        literal + (values[name] if name is not None else "")
        for literal, name, _, _ in string.Formatter().parse(template)
    )


def schema_text(name: str, tables: Iterable[Table], *, backend: str) -> str:
    """Render tables, columns, keys and row counts as Markdown."""
    tables = list(tables)
    known = [table.rows for table in tables if table.rows is not None]
    rows = f"{sum(known):,} rows" + ("" if len(known) == len(tables) else " or more")
    counted = "1 table" if len(tables) == 1 else f"{len(tables):,} tables"
    parts = [f"# Database {_cell(name)}\n\n{backend}: {counted}, {rows}.\n"]
    parts += [_table_text(table) for table in tables]
    return "\n".join(parts)


def _table_text(table: Table) -> str:
    rows = "not counted" if table.rows is None else f"{table.rows:,}"
    facts = [f"{'View' if table.is_view else 'Table'}. Rows: {rows}."]
    facts.append(f"Primary key: {', '.join(table.key)}." if table.key else "No primary key.")
    if table.comment:
        facts.append(one_line(sanitise_text(table.comment), limit=1_000))
    points_to = {
        column: f"{key.table}.{referred}"
        for key in table.foreign_keys
        for column, referred in zip(key.columns, key.referred, strict=True)
    }
    head = ["column", "type", "NULL", "points to"]
    commented = any(column.comment for column in table.columns)
    if commented:
        head.append("meaning")
    rows_of_columns: list[list[str]] = []
    for column in table.columns:
        nullable = "yes" if column.nullable else "no"
        cells = [column.name, column.type, nullable, points_to.get(column.name, "")]
        rows_of_columns.append([_cell(cell) for cell in (*cells, *[column.comment][:commented])])
    described = pipe_table(head, rows_of_columns)
    return f"## {_cell(table.name)}\n\n{' '.join(facts)}\n\n{described}\n"


def _cell(text: str) -> str:
    return one_line(sanitise_text(text), limit=500)


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
