"""Rows of a table replaced by others: the table ends as asked, and only what differs is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    select,
)

from graph.storage.database import write_difference

_metadata = MetaData()
SINGLE = Table(
    "single",
    _metadata,
    Column("key", String, primary_key=True),
    Column("text", String),
    Column("weight", Float),
    Column("dirty", Boolean),
)
DOUBLE = Table(
    "double",
    _metadata,
    Column("left", String, primary_key=True),
    Column("right", String, primary_key=True),
    Column("text", String),
)
KEYS_ONLY = Table(
    "keys_only",
    _metadata,
    Column("left", String, primary_key=True),
    Column("right", String, primary_key=True),
)

_key = st.sampled_from(["a", "b", "c", "Ö", "'; --"])
_text = st.sampled_from([None, "", "x", "北"])
_weight = st.floats(allow_nan=False).map(lambda weight: weight + 0.0)  # −0.0 is 0.0
_single = st.fixed_dictionaries(
    {"key": _key, "text": _text, "weight": _weight, "dirty": st.booleans()}
)
_double = st.fixed_dictionaries({"left": _key, "right": _key, "text": _text})
_keys_only = st.fixed_dictionaries({"left": _key, "right": _key})


def _lists(row: st.SearchStrategy[dict[str, Any]], *keys: str) -> st.SearchStrategy:
    return st.lists(row, unique_by=lambda r: tuple(r[key] for key in keys), max_size=8)


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.begin() as opened:
        _metadata.create_all(opened)
        yield opened


def _held(connection: Connection, table: Table) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in connection.execute(select(table))]


def _sorted(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        pytest.param(SINGLE, _lists(_single, "key"), id="one key"),
        pytest.param(DOUBLE, _lists(_double, "left", "right"), id="two keys"),
        pytest.param(KEYS_ONLY, _lists(_keys_only, "left", "right"), id="nothing but keys"),
    ],
)
def test_the_table_holds_exactly_the_rows_and_counts_what_changed(
    connection: Connection, table: Table, rows: st.SearchStrategy
) -> None:
    @given(first=rows, second=rows)
    def check(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
        write_difference(connection, table, first)
        assert _sorted(_held(connection, table)) == _sorted(first)
        keys = [column.name for column in table.primary_key]
        before = {tuple(row[k] for k in keys): row for row in first}
        after = {tuple(row[k] for k in keys): row for row in second}
        differ = sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())
        assert write_difference(connection, table, second).count == differ
        assert _sorted(_held(connection, table)) == _sorted(second)
        assert write_difference(connection, table, second).count == 0

    check()


def test_only_the_difference_is_written(connection: Connection) -> None:
    rows = [{"key": f"k{n}", "text": "x", "weight": n / 3, "dirty": False} for n in range(1_000)]
    write_difference(connection, SINGLE, rows)
    written: list[tuple[str, int]] = []

    def note(_c, _cursor, statement: str, parameters: Any, _context, many: bool) -> None:
        verb = statement.split()[0]
        if verb != "SELECT":
            written.append((verb, len(parameters) if many else 1))

    event.listen(connection, "before_cursor_execute", note)
    changed = [*rows[1:999], {**rows[999], "text": "y"}, {**rows[0], "key": "new"}]
    assert write_difference(connection, SINGLE, changed).count == 3
    event.remove(connection, "before_cursor_execute", note)
    assert written == [("DELETE", 1), ("UPDATE", 1), ("INSERT", 1)]


def test_many_rows_go_at_once(connection: Connection) -> None:
    rows = [{"left": f"l{n}", "right": "r", "text": ""} for n in range(2_500)]
    write_difference(connection, DOUBLE, rows)
    assert write_difference(connection, DOUBLE, rows[:1]).count == 2_499
    assert _held(connection, DOUBLE) == rows[:1]
