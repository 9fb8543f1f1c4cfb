"""A database as a source, on SQLite files that the tests make."""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import sanitise_text
from engine.ingest.readers.database.connection import (
    database_source,
    is_database_url,
    open_database,
)
from engine.ingest.readers.database.reader import (
    DatabaseItem,
    DatabaseNote,
    DatabaseOptions,
    read_database,
)
from engine.ingest.readers.database.schema import (
    cell_text,
    date_text,
    encode_id_part,
    fill_row_template,
    key_text,
    template_names,
)
from engine.types import SourceFailure, SourceText

SHOP = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email VARCHAR(50), photo BLOB, password_hash TEXT
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total NUMERIC,
    updated_at DATETIME, note TEXT
);
CREATE TABLE "订单 明细" (
    "订单" INTEGER, "行" INTEGER, "名称" TEXT, "a""b%" TEXT, PRIMARY KEY ("订单", "行")
);
CREATE TABLE log (line TEXT, level INTEGER);
CREATE VIEW large AS SELECT * FROM orders WHERE total > 10;
INSERT INTO customers VALUES
    (1, 'Ada Lovelace', 'ada@example.org', x'00FF10', 's3cret'), (2, '王小明', NULL, NULL, NULL);
INSERT INTO orders VALUES
    (11, 2, 3, 1714979289, 'first line
second line'), (10, 1, 12.5, '2024-05-06 07:08:09', NULL), (12, 99, 4, 'soon', NULL);
INSERT INTO "订单 明细" VALUES (1, 1, '绿茶', 'quoted'), (1, 2, 'a/b', '');
INSERT INTO log VALUES ('same', 1), ('same', 1), ('other', 2);
"""


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a shop's database in the current folder."""
    monkeypatch.chdir(tmp_path)
    execute(tmp_path / "shop.db", SHOP)
    return "sqlite:///shop.db"


def items(url: str, **options: object) -> list[DatabaseItem]:
    return list(read_database(url, options=DatabaseOptions(**options)))  # type: ignore[arg-type]


def documents(url: str, **options: object) -> dict[str, SourceText]:
    found = [item for item in items(url, **options) if isinstance(item, SourceText)]
    assert len({item.id for item in found}) == len(found)
    return {item.id: item for item in found}


def notes(url: str, **options: object) -> list[str]:
    return [item.text for item in items(url, **options) if isinstance(item, DatabaseNote)]


def test_ids_are_the_address_the_table_and_the_key(shop: str) -> None:
    keyed = [id_ for id_ in documents(shop) if "/log/" not in id_]
    assert keyed == [
        "sqlite:///shop.db",
        "sqlite:///shop.db/customers/1",
        "sqlite:///shop.db/customers/2",
        "sqlite:///shop.db/orders/10",
        "sqlite:///shop.db/orders/11",
        "sqlite:///shop.db/orders/12",
        "sqlite:///shop.db/订单%20明细/1,1",
        "sqlite:///shop.db/订单%20明细/1,2",
    ]


def test_a_row_is_its_title_and_a_line_for_each_cell_that_holds_something(shop: str) -> None:
    order = documents(shop)["sqlite:///shop.db/orders/11"]
    assert order.text == (
        "orders: first line second line\nid: 11\ncustomer_id: 王小明 (2)\ntotal: 3\n"
        "updated_at: 1714979289\nnote:\nfirst line\nsecond line\n"
    )
    assert order.sha256 == hashlib.sha256(order.text.encode()).hexdigest()
    assert (order.type, order.shape, order.source) == ("row", "text", "sqlite:///shop.db")
    assert order.metadata == {
        "table": "orders",
        "database": "shop.db",
        "date": "2024-05-06T07:08:09Z",
        "path": "sqlite:///shop.db/orders/11",
        "type": "row",
    }


def test_bytes_are_described_and_null_is_left_out(shop: str) -> None:
    found = documents(shop)
    assert "photo: (binary, 3 bytes)\n" in found["sqlite:///shop.db/customers/1"].text
    assert found["sqlite:///shop.db/customers/2"].text == "customers: 王小明\nid: 2\nname: 王小明\n"


def test_what_is_no_date_gives_no_date(shop: str) -> None:
    assert "date" not in documents(shop)["sqlite:///shop.db/orders/12"].metadata


def test_the_schema_describes_tables_columns_keys_and_rows(shop: str) -> None:
    schema = next(iter(documents(shop).values()))
    assert (schema.type, schema.shape, schema.title) == ("schema", "markdown", "Database shop.db")
    assert "sqlite: 4 tables, 10 rows.\n" in schema.text
    assert "## orders\n\nTable. Rows: 3. Primary key: id.\n" in schema.text
    assert "| customer_id | INTEGER | yes | customers.id |\n" in schema.text
    assert "## log\n\nTable. Rows: 3. No primary key.\n" in schema.text
    assert '| a"b% | TEXT | yes |  |\n' in schema.text


def test_equal_rows_without_a_key_are_read_once_and_said(shop: str) -> None:
    logged = [text for id_, text in documents(shop, tables=("log",)).items() if "/log/" in id_]
    assert sorted(text.text for text in logged) == [
        "log: other\nline: other\nlevel: 2\n",
        "log: same\nline: same\nlevel: 1\n",
    ]
    assert notes(shop) == [
        "table 'log': 1 row equalled another row (the table has no key) and was added once"
    ]


def test_reading_twice_gives_the_same_whatever_the_order_of_arrival(
    shop: str, tmp_path: Path
) -> None:
    before = items(shop)
    execute(
        tmp_path / "shop.db",
        "CREATE TABLE moved AS SELECT * FROM log ORDER BY level DESC; DELETE FROM log;"
        "INSERT INTO log SELECT * FROM moved; DROP TABLE moved;",
    )
    assert items(shop) == before


def test_a_changed_row_keeps_its_id_and_a_deleted_one_is_gone(shop: str, tmp_path: Path) -> None:
    before = documents(shop)
    execute(
        tmp_path / "shop.db",
        "UPDATE orders SET total = 5 WHERE id = 12; DELETE FROM orders WHERE id = 10",
    )
    after = documents(shop)
    assert set(before) - set(after) == {"sqlite:///shop.db/orders/10"}
    changed = {id_ for id_ in after if after[id_].sha256 != before[id_].sha256}
    assert changed == {"sqlite:///shop.db", "sqlite:///shop.db/orders/12"}


def test_a_label_follows_the_row_that_it_names(shop: str, tmp_path: Path) -> None:
    execute(tmp_path / "shop.db", "UPDATE customers SET name = 'Countess' WHERE id = 1")
    assert "customer_id: Countess (1)" in documents(shop)["sqlite:///shop.db/orders/10"].text


@pytest.mark.parametrize(
    ("options", "tables"),
    [
        pytest.param({"tables": ("orders",)}, {"orders"}, id="one"),
        pytest.param({"tables": ("*o*",), "exclude": ("lo*",)}, {"customers", "orders"}, id="two"),
        pytest.param({"tables": ("la*", "log")}, {"large", "log"}, id="a view by its name"),
        pytest.param({"exclude": ("*r*", "log")}, {"订单 明细"}, id="all but"),
    ],
)
def test_patterns_choose_tables(shop: str, options: dict[str, object], tables: set[str]) -> None:
    found = {t.metadata["table"] for t in documents(shop, **options).values() if t.type == "row"}
    assert found == tables


def test_what_is_excluded_is_told_nowhere(shop: str) -> None:
    texts = documents(shop, exclude=("customers.password_hash",)).values()
    assert not any("password_hash" in text.text or "s3cret" in text.text for text in texts)
    assert any("customer_id: Ada Lovelace (1)" in text.text for text in texts)
    without = documents(shop, exclude=("customers",)).values()
    assert not any("Ada" in text.text for text in without)


def test_a_template_makes_the_text(shop: str) -> None:
    found = documents(shop, tables=("customers",), template="{name} <{email}> of {{{table}}}")
    assert [text.text for text in found.values() if text.type == "row"] == [
        "Ada Lovelace <ada@example.org> of {customers}",
        "王小明 <> of {customers}",
    ]


def test_a_table_without_the_templates_columns_is_written_without_it_and_said(shop: str) -> None:
    options = {"tables": ("customers", "log"), "template": "{name}"}
    assert "log: other\nline: other\nlevel: 2\n" in {
        text.text for text in documents(shop, **options).values()
    }
    assert (
        notes(shop, **options)[0]
        == "table 'log' has no column name: its rows are written without the template"
    )


@pytest.mark.parametrize(
    "template",
    [
        "{name.__class__}",
        "{name[0]}",
        "{name!r}",
        "{name:>999999999}",
        "{}",
        "{name",
        "name}",
        "{name:{email}}",
        "{nothing of this kind}",
        "{0}",
    ],
)
def test_a_template_names_columns_and_nothing_else(shop: str, template: str) -> None:
    with pytest.raises(SourceError, match="template"):
        items(shop, template=template)


@given(st.text(), st.text())
def test_a_cell_is_never_read_as_a_template(cell: str, other: str) -> None:
    names = template_names("{a}|{b}")
    assert names == {"a", "b"}
    assert fill_row_template("{a}|{b}", {"a": cell, "b": other}, table="t") == f"{cell}|{other}"


def test_rows_past_the_limit_are_said(shop: str) -> None:
    found = documents(shop, tables=("orders",), max_rows=2)
    assert [id_.rpartition("/")[2] for id_ in found] == ["shop.db", "10", "11"]
    said = "table 'orders': only the first 2 of its 3 rows are read: raise max_rows"
    assert notes(shop, tables=("orders",), max_rows=2) == [said]


def test_a_long_cell_is_cut_before_it_is_fetched(tmp_path: Path) -> None:
    execute(
        tmp_path / "long.db",
        "CREATE TABLE t (id TEXT PRIMARY KEY, body TEXT);"
        "INSERT INTO t VALUES ('k', printf('%.*c', 5000000, 'x'))",
    )
    *_, row = documents(f"sqlite:///{tmp_path}/long.db", max_cell_characters=100).values()
    assert row.text.endswith("body: " + "x" * 100 + " … [cut at 100 characters]\n")


def test_reading_leaves_the_file_as_it_is(shop: str, tmp_path: Path) -> None:
    before = (tmp_path / "shop.db").read_bytes()
    (tmp_path / "shop.db").chmod(0o400)
    documents(shop)
    assert (tmp_path / "shop.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]


def test_the_connection_refuses_to_write(shop: str) -> None:
    database = open_database(shop, timeout_seconds=10)
    with pytest.raises(SourceError, match="readonly"), database.reading() as connection:
        connection.exec_driver_sql("DELETE FROM orders")


def test_keys_of_every_kind_are_distinct_ids(tmp_path: Path) -> None:
    rows = [
        *((1, "integer"), (1.5, "real"), ("a/b", "slash"), ("a%2Fb", "percent"), ("", "empty")),
        *((b"\x00\xff", "bytes"), (None, "null"), (None, "null again"), ("é 中", "script")),
        *(("k" * 300, "long"), ("a ", "blank at its end"), ("a", "none")),
    ]
    with closing(sqlite3.connect(tmp_path / "keys.db")) as connection:
        connection.execute("CREATE TABLE t (k PRIMARY KEY, v TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
    found = documents(f"sqlite:///{tmp_path}/keys.db")
    ends = {text.title: id_.partition("keys.db/t/")[2] for id_, text in found.items()}
    assert ends["t: integer"] == "1"
    assert ends["t: slash"] == "a%2Fb"
    assert ends["t: percent"] == "a%252Fb"
    assert ends["t: bytes"] == "00ff"
    assert ends["t: script"] == "é%20中"
    assert ends["t: long"].startswith("sha256-")
    assert ends["t: blank at its end"] == "a%20"
    assert ends["t: null"].startswith("row-")
    assert ends["t: null"] != ends["t: null again"]


def test_values_that_do_not_fit_their_column_are_read(tmp_path: Path) -> None:
    execute(
        tmp_path / "odd.db",
        'CREATE TABLE t (id INTEGER PRIMARY KEY, "" DATE, b BOOLEAN, c JSON, d ODD(9),'
        ' "select" X);'
        "INSERT INTO t VALUES"
        " (1, 'not a date', 7, '{broken', CAST(x'ff41' AS TEXT), 'last')",
    )
    *_, row = documents(f"sqlite:///{tmp_path}/odd.db").values()
    assert row.text == ("t: 1\nid: 1\n: not a date\nb: 7\nc: {broken\nd: \ufffdA\nselect: last\n")


def test_foreign_keys_to_nowhere_and_to_themselves_are_no_trouble(tmp_path: Path) -> None:
    execute(
        tmp_path / "keys.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, parent INTEGER REFERENCES t,"
        " gone INTEGER REFERENCES nowhere(id), odd TEXT REFERENCES t(name));"
        "INSERT INTO t VALUES (1, 'root', NULL, 5, 'root'), (2, 'leaf', 1, 6, NULL)",
    )
    url = f"sqlite:///{tmp_path}/keys.db"
    assert documents(url)[f"{url}/t/2"].text == (
        "t: leaf\nid: 2\nname: leaf\nparent: root (1)\ngone: 6\n"
    )
    assert notes(url) == [
        "what t.gone points to is not named: it does not exist: there is no table 'nowhere'"
    ]


def test_a_table_that_cannot_be_read_is_a_failure_and_the_others_are_read(tmp_path: Path) -> None:
    execute(
        tmp_path / "half.db",
        "CREATE TABLE good (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO good VALUES (1, 'x');"
        "CREATE TABLE gone (id INTEGER); CREATE VIEW bad AS SELECT * FROM gone; DROP TABLE gone",
    )
    url = f"sqlite:///{tmp_path}/half.db"
    found = items(url, tables=("good", "bad"))
    assert [item.id for item in found if isinstance(item, SourceText)] == [url, f"{url}/good/1"]
    (failure,) = [item for item in found if isinstance(item, SourceFailure)]
    assert failure.source == f"{url}/bad"
    assert "no such table" in failure.reason


def test_what_full_text_search_keeps_is_not_read_twice(tmp_path: Path) -> None:
    execute(
        tmp_path / "search.db",
        "CREATE VIRTUAL TABLE notes USING fts5(body); INSERT INTO notes VALUES ('hello')",
    )
    rows = list(documents(f"sqlite:///{tmp_path}/search.db").values())
    assert [text.metadata.get("table") for text in rows] == [None, "notes"]


def test_a_query_past_its_time_ends_with_a_reason(tmp_path: Path) -> None:
    execute(
        tmp_path / "slow.db",
        "CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT i FROM n WHERE i < 0; CREATE TABLE t (id INTEGER)",
    )
    found = items(f"sqlite:///{tmp_path}/slow.db", tables=("slow",), timeout_seconds=0.2)
    (failure,) = [item for item in found if isinstance(item, SourceFailure)]
    assert failure.reason == "took longer than 0.2 s for one query: raise the timeout"


def test_a_locked_database_is_said_to_be_locked(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.ingest.readers.database.connection._LOCK_SECONDS", 0.05)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError, match="is locked by another program: try again"):
            items(shop)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        pytest.param("sqlite:///nowhere.db", "does not exist: check the path", id="no file"),
        pytest.param("sqlite:///text.db", "is not a SQLite database", id="not a database"),
        pytest.param("sqlite:///torn.db", "is not a valid SQLite database", id="torn"),
        pytest.param("sqlite:///blank.db", "is empty: there are no tables in it", id="empty"),
        pytest.param("sqlite:///.", "is a folder", id="a folder"),
        pytest.param("sqlite://", "in-memory", id="memory"),
        pytest.param("sqlite:///:memory:", "in-memory", id="memory by name"),
        pytest.param("sqlite", "is not a database URL", id="no address"),
        pytest.param("postgresql://u:p@h:port/x", "is not a database URL", id="port in words"),
        pytest.param("strange://u:hunter2@h/x", "no installed dialect", id="unknown"),
        pytest.param("mysql+nodriver://u:hunter2@h/x", "no installed dialect", id="unknown driver"),
        pytest.param("postgresql://u:hun@ter2@h/x", "write it as %40", id="at sign"),
        pytest.param("postgresql://u:hunter2@127.0.0.1:1/x", "cannot be reached", id="nobody"),
    ],
)
def test_what_cannot_be_opened_is_one_line_without_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, reason: str
) -> None:
    if url.startswith("postgresql://u:hunter2"):
        pytest.importorskip("psycopg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.db").write_text("A diary, not a database.")
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 40)
    (tmp_path / "blank.db").touch()
    with pytest.raises(SourceError) as caught:
        items(url)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_missing_driver_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SourceError) as caught:
        items("postgresql+psycopg://user:hunter2@localhost/x")
    expected = "needs the driver 'psycopg', which is not installed: pip install 'psycopg[binary]'"
    assert str(caught.value) == expected


def test_a_missing_table_is_named_with_what_there_is(shop: str) -> None:
    with pytest.raises(SourceError) as caught:
        items(shop, tables=("costumers",))
    expected = "has no table 'costumers': there are customers, large, log, orders, 订单 明细"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((url, True) for url in ("sqlite:///x.db", "postgresql://h/x", "mysql+pymysql://u@h/x")),
        *((url, True) for url in ("postgres://h/x", "SQLITE:///x.db", "mssql+pyodbc://x")),
        *((url, False) for url in ("http://h/x", "https://h/x", "file:///x.db", "x.db", "")),
        *((url, False) for url in ("sqlite:x.db", "docs/sqlite://x", "git+ssh://h/x", "c://x")),
    ],
)
def test_database_addresses_are_told_from_others(text: str, expected: bool) -> None:
    assert is_database_url(text) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            "postgresql+psycopg://ann:pw%40@db.example:5433/shop?sslmode=require&sslpassword=x",
            "postgresql://ann@db.example:5433/shop",
            id="password, driver and query go",
        ),
        pytest.param("postgres://h/x", "postgresql://h/x", id="old name"),
        pytest.param("sqlite:///data/./x.db", "sqlite:///data/x.db", id="file"),
        pytest.param("sqlite:///file:x.db?mode=ro&uri=true", "sqlite:///x.db", id="file by URI"),
        pytest.param("sqlite:////nowhere/x.db", "sqlite:////nowhere/x.db", id="file elsewhere"),
    ],
)
def test_a_source_is_the_address_without_secrets(url: str, expected: str) -> None:
    assert database_source(url) == expected


@given(st.text(min_size=1))
def test_encoding_a_name_loses_nothing_and_leaves_no_divider(name: str) -> None:
    assert not set(encode_id_part(name)) & set("/ ,?#\n\t\x00")
    if name.isprintable():
        assert unquote(encode_id_part(name)) == name


@given(
    st.lists(st.text(max_size=8), min_size=2, max_size=2),
    st.lists(st.text(max_size=8), min_size=2, max_size=2),
)
def test_different_keys_have_different_texts(one: list[str], other: list[str]) -> None:
    assert (key_text(one) == key_text(other)) == (
        [*map(sanitise_text, one)] == [*map(sanitise_text, other)]
    )


UTC_PLUS_2 = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(True, "true", id="bool"),
        pytest.param(Decimal("1E+3"), "1000", id="decimal"),
        pytest.param(Decimal("1E+5000"), "1E+5000", id="vast decimal"),
        pytest.param(Decimal("NaN"), "NaN", id="no number"),
        pytest.param(datetime.date(2024, 5, 6), "2024-05-06", id="day"),
        pytest.param(
            datetime.datetime(2024, 5, 6, 1, tzinfo=UTC_PLUS_2),
            "2024-05-05 23:00:00+00:00",
            id="time with a zone",
        ),
        pytest.param({"b": 1, "a": ["é"]}, '{"a": ["é"], "b": 1}', id="object"),
        pytest.param({3, 1}, "[1, 3]", id="set"),
        pytest.param(memoryview(b"123"), "(binary, 3 bytes)", id="bytes"),
        pytest.param("a \r\nb\x00\n", "a\nb\ufffd", id="text"),
    ],
)
def test_a_cell_has_one_text(value: object, expected: str) -> None:
    assert cell_text(value, limit=100) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("2024-05-06", "2024-05-06", id="day"),
        pytest.param("2024-05-06 07:08:09.5+02", "2024-05-06T05:08:09Z", id="zone"),
        pytest.param("2024-05-06 07:08:09", "2024-05-06T07:08:09Z", id="no zone"),
        pytest.param("1714979289000", "2024-05-06T07:08:09Z", id="milliseconds"),
        pytest.param(7, "", id="small number"),
        pytest.param("infinity", "", id="infinity"),
        pytest.param("0000-00-00", "", id="no day"),
        pytest.param("9999-12-31 23:59:59-12", "9999-12-31", id="past the end of time"),
    ],
)
def test_dates_are_days_or_seconds_in_utc(value: object, expected: str) -> None:
    assert date_text(value) == expected


def test_importing_the_module_loads_no_database_library() -> None:
    code = "import sys, engine.ingest.readers.database.reader; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_rows_are_streamed(tmp_path: Path) -> None:
    execute(
        tmp_path / "many.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
        " INSERT INTO t SELECT i, 'value ' || i FROM n",
    )
    walk: Iterator[DatabaseItem] = read_database(f"sqlite:///{tmp_path}/many.db")
    assert [next(walk) for _ in range(3)][-1].id.endswith("/t/2")  # type: ignore[union-attr]
    walk.close()  # type: ignore[attr-defined]
    execute(tmp_path / "many.db", "DELETE FROM t")  # nothing is held once the walk is closed
