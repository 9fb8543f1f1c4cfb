"""Differential writes: make a table hold exactly some rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Column, Connection, Table, and_, bindparam, delete, insert, select, update

from .facts import batches

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
