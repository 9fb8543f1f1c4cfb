"""Text of database rows and schemas: titles, labels, dates, templates.

Pure functions of names and values; connections are `connection`'s, queries `queries`'.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import json
import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from ...errors import SourceError
from ..content import one_line, sanitise_text
from ..dates import iso_date

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
    """Return a placeholder for binary values."""
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
    joined = ",".join(map(encoded, texts))
    return joined if len(joined) <= _KEY_LIMIT else "sha256-" + _hash(joined)


def encoded(text: str) -> str:
    """Encode a name or key as an id component; separators are percent-encoded."""
    return _DIVIDERS.sub(lambda found: quote(found.group(), safe=""), text)


def row_hash(cells: Mapping[str, str]) -> str:
    """Return the id suffix of a row without key; equal rows share it."""
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
    """Return the column names in a template.

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


def filled(template: str, cells: Mapping[str, str], *, table: str) -> str:
    """Fill a template's `{column}` and `{table}` placeholders.

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
    lines = [_row(head), _row(["---"] * len(head))]
    for column in table.columns:
        nullable = "yes" if column.nullable else "no"
        cells = [column.name, column.type, nullable, points_to.get(column.name, "")]
        lines.append(_row([*cells, column.comment] if commented else cells))
    return f"## {_cell(table.name)}\n\n{' '.join(facts)}\n\n" + "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return one_line(sanitise_text(text), limit=500).replace("|", "\\|")
