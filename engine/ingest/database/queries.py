"""SELECT statements for tables; names are quoted and values bound by SQLAlchemy.

Cells are cut, and bytes replaced by their number, in the database itself, so that no huge value
crosses the wire. Where a backend has one text form for everything, it is asked for that: a driver
cannot then fail on a date of the year infinity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .rows import Column, ForeignKey, Table, binary_text, title_columns

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select, TableClause

_LABEL_CHARACTERS = 100
_CASTING = frozenset({"postgresql", "mysql", "mariadb"})
_QUOTING = _CASTING | {"sqlite"}


class Query(NamedTuple):
    """Query whose `select` gives `columns`, then the key, then a value for each of `labels`.

    `cells` and `keys` are where the columns and where the key ends in a row; `labels` holds the
    foreign key's first column for each label value.
    """

    select: Select[Any]
    columns: tuple[str, ...]
    cells: int
    keys: int
    labels: tuple[str, ...]


def count_query(table: Table, backend: str) -> Select[Any]:
    """Build the query for the number of rows."""
    from sqlalchemy import func, select

    return select(func.count()).select_from(_clause(table, backend))


def row_query(
    table: Table,
    *,
    labels: Sequence[tuple[ForeignKey, Table]],
    backend: str,
    limit: int,
    cell: int,
) -> Query:
    """Build the query for the first `limit` rows by key.

    Cells are cut just past `cell` characters.
    """
    from sqlalchemy import select

    own = _clause(table, backend)
    columns = [_cell(own, column, backend=backend, limit=cell) for column in table.columns]
    keys = [_key(own, column, backend) for column in _named(table, table.key)]
    joined: Any = own
    label_columns, label_names = [], []
    for number, (key, target) in enumerate(labels):
        other = _clause(target, backend).alias(f"label_{number}")
        condition = _same(own, other, key)
        joined = joined.outerjoin(other, condition)
        for column in _named(target, title_columns(target)):
            label_columns.append(_cell(other, column, backend=backend, limit=_LABEL_CHARACTERS))
            label_names.append(key.columns[0])
    everything = [
        expression.label(f"value_{number}")
        for number, expression in enumerate([*columns, *keys, *label_columns])
    ]
    order = table.key or tuple(column.name for column in table.columns if column.orderable)
    chosen = select(*everything).select_from(joined)
    chosen = chosen.order_by(*(own.c[name] for name in order)).limit(limit)
    return Query(
        select=chosen,
        columns=tuple(column.name for column in table.columns),
        cells=len(columns),
        keys=len(columns) + len(keys),
        labels=tuple(label_names),
    )


def _clause(table: Table, backend: str) -> TableClause:
    from sqlalchemy import column
    from sqlalchemy import table as clause
    from sqlalchemy.sql import quoted_name

    def name(text: str) -> str:  # elsewhere lower case stands for "any case" and is not quoted
        return quoted_name(text, quote=True) if backend in _QUOTING else text

    names = dict.fromkeys([*(item.name for item in table.columns), *table.key])
    names |= dict.fromkeys(part for key in table.foreign_keys for part in key.columns)
    schema = None if table.schema is None else name(table.schema)
    return clause(name(table.bare_name), *(column(name(item)) for item in names), schema=schema)


def _named(table: Table, names: Sequence[str]) -> list[Column]:
    """Return the named columns; unreflected ones as text."""
    by_name = {column.name: column for column in table.columns}
    return [by_name.get(name, Column(name=name, type="")) for name in names]


def _same(own: Any, other: Any, key: ForeignKey) -> ColumnElement[bool]:
    from sqlalchemy import and_

    pairs = zip(key.columns, key.referred, strict=True)
    return and_(*(own.c[mine] == other.c[theirs] for mine, theirs in pairs))


def _cell(clause: Any, column: Column, *, backend: str, limit: int) -> ColumnElement[Any]:
    from sqlalchemy import Text, case, cast, func, literal

    value = clause.c[column.name]
    before, after = (literal(part) for part in binary_text("|").split("|"))
    size = before + cast(func.length(value), Text) + after
    if backend == "sqlite":  # any column of it may hold any type
        kind = func.typeof(value)
        cut = func.substr(value, 1, limit + 1)
        return case((kind == "blob", size), (kind == "text", cut), else_=value)
    if column.binary:
        return size if backend in _CASTING else value
    if backend in _CASTING:
        return func.substr(cast(value, Text), 1, limit + 1)
    return value  # type: ignore[no-any-return]


def _key(clause: Any, column: Column, backend: str) -> ColumnElement[Any]:
    from sqlalchemy import Text, cast

    value = clause.c[column.name]
    if backend in _CASTING and not column.binary:
        return cast(value, Text)
    return value  # type: ignore[no-any-return]
