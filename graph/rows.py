"""Make a table hold exactly some rows, writing only what differs. Knows no table's meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, and_, bindparam, delete, insert, select, tuple_, update


def replace_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Make the table hold exactly these rows, writing only the difference; how many changed."""
    key_columns = list(table.primary_key.columns)
    columns = [column.name for column in table.columns]
    wanted = {
        tuple(row[c.name] for c in key_columns): tuple(row[c] for c in columns) for row in rows
    }
    held = {
        tuple(getattr(row, c.name) for c in key_columns): tuple(row)
        for row in connection.execute(select(table))
    }
    gone = sorted(held.keys() - wanted.keys())
    come = [
        dict(zip(columns, wanted[key], strict=True)) for key in sorted(wanted.keys() - held.keys())
    ]
    changed = sorted(key for key in wanted.keys() & held.keys() if wanted[key] != held[key])
    for start in range(0, len(gone), 200):
        part = gone[start : start + 200]
        where = (
            key_columns[0].in_([key[0] for key in part])
            if len(key_columns) == 1
            else tuple_(*key_columns).in_(part)
        )
        connection.execute(delete(table).where(where))
    if changed:
        same_key = and_(*(column == bindparam(f"key_{column.name}") for column in key_columns))
        values: dict[str, Any] = {
            c.name: bindparam(f"new_{c.name}") for c in table.columns if not c.primary_key
        }
        connection.execute(
            update(table).where(same_key).values(values),
            [
                {f"key_{c.name}": part for c, part in zip(key_columns, key, strict=True)}
                | {f"new_{name}": v for name, v in zip(columns, wanted[key], strict=True)}
                for key in changed
            ],
        )
    if come:
        connection.execute(insert(table), come)
    return len(gone) + len(come) + len(changed)
