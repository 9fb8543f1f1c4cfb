"""A real PostgreSQL as a source: its types, its schemas, its refusals, and that it is only read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from engine.errors import SourceError
from engine.ingest.readers.database.connection import database_source, open_database
from engine.ingest.readers.database.reader import (
    DatabaseItem,
    DatabaseNote,
    DatabaseOptions,
    read_database,
)
from engine.types import SourceFailure, SourceText

SCHEMA = """
CREATE TYPE mood AS ENUM ('calm', 'stormy');
CREATE TABLE keepers (
    id uuid PRIMARY KEY, "Full Name" text, born date, papers bytea, secret text
);
COMMENT ON TABLE keepers IS 'Who keeps the lamps';
COMMENT ON COLUMN keepers.born IS 'as the parish has it';
CREATE TABLE lamps (
    place text, number int, keeper uuid REFERENCES keepers, lit boolean, height numeric(10, 3),
    weather mood, tags text[], facts jsonb, "updated_at" timestamptz, span tstzrange, address inet,
    weight double precision, "100% percent" text, PRIMARY KEY (place, number)
);
CREATE TABLE readings (at timestamp, level int) PARTITION BY RANGE (at);
CREATE TABLE readings_2024 PARTITION OF readings FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE SCHEMA archive;
CREATE TABLE archive.letters (id int PRIMARY KEY, subject text, keeper uuid REFERENCES keepers);
CREATE VIEW bright AS SELECT place, number FROM lamps WHERE lit;
INSERT INTO keepers VALUES
    ('00000000-0000-0000-0000-000000000001', '守灯人 Ada', '1815-12-10', '\\x00ff', 'hidden'),
    ('00000000-0000-0000-0000-000000000002', 'Bob', '-infinity', NULL, NULL);
INSERT INTO lamps VALUES
    ('Gull Quay', 2, '00000000-0000-0000-0000-000000000001', true, 12.500, 'stormy',
     '{a,"b c"}', '{"b": 1, "a": [2]}', '2024-05-06 07:08:09+02', '[2024-01-01,2024-02-01)',
     '10.0.0.1', 0.1, 'x'),
    ('Gull Quay', 1, NULL, NULL, NULL, NULL, NULL, NULL, 'infinity', NULL, NULL, 'NaN', NULL);
INSERT INTO readings VALUES ('2024-03-01 12:00', 5), ('2024-03-01 12:00', 5), ('2024-04-01', 6);
INSERT INTO archive.letters VALUES (1, 'To Bob', '00000000-0000-0000-0000-000000000002');
CREATE ROLE guest LOGIN PASSWORD 'guest-word';
GRANT SELECT ON lamps TO guest;
"""


@pytest.fixture
def lights(postgres_server: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a new database of lighthouses."""
    name = "lights_" + hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    administer(postgres_server.url(), f"CREATE DATABASE {name}")
    url = postgres_server.url(name)
    administer(url, SCHEMA)
    yield url
    administer(postgres_server.url(), f"DROP DATABASE {name} WITH (FORCE)", "DROP ROLE guest")


def administer(url: str, *statements: str) -> None:
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))
    engine.dispose()


def items(url: str, **options: Any) -> list[DatabaseItem]:
    return list(read_database(url, options=DatabaseOptions(**options)))


def by_end(url: str, **options: Any) -> dict[str, SourceText]:
    """The documents by what follows the database's own id."""
    source = database_source(url)
    found = [item for item in items(url, **options) if isinstance(item, SourceText)]
    assert all(item.source == source for item in found)
    return {item.id.removeprefix(source): item for item in found}


def test_every_type_has_a_text_that_does_not_depend_on_the_session(lights: str) -> None:
    lamp = by_end(lights)["/lamps/Gull%20Quay,2"]
    assert lamp.text == (
        "lamps: Gull Quay,2\n"
        "place: Gull Quay\n"
        "number: 2\n"
        "keeper: 守灯人 Ada (00000000-0000-0000-0000-000000000001)\n"
        "lit: true\n"
        "height: 12.500\n"
        "weather: stormy\n"
        'tags: {a,"b c"}\n'
        'facts: {"a": [2], "b": 1}\n'
        "updated_at: 2024-05-06 05:08:09+00\n"
        'span: ["2024-01-01 00:00:00+00","2024-02-01 00:00:00+00")\n'
        "address: 10.0.0.1/32\n"
        "weight: 0.1\n"
        "100% percent: x\n"
    )
    assert lamp.metadata["date"] == "2024-05-06T05:08:09Z"


def test_dates_that_no_driver_reads_are_read(lights: str) -> None:
    found = by_end(lights)
    assert "born: -infinity\n" in found["/keepers/00000000-0000-0000-0000-000000000002"].text
    lamp = found["/lamps/Gull%20Quay,1"]
    assert lamp.text.endswith("number: 1\nupdated_at: infinity\nweight: NaN\n")
    assert "date" not in lamp.metadata


def test_the_schema_says_what_the_tables_mean(lights: str) -> None:
    schema = by_end(lights)[""]
    assert "postgresql: 3 tables, 7 rows.\n" in schema.text
    assert "Rows: 2. Primary key: id. Who keeps the lamps\n" in schema.text
    assert "| born | DATE | yes |  | as the parish has it |\n" in schema.text
    assert "| keeper | UUID | yes | keepers.id |\n" in schema.text


def test_partitions_are_read_once_and_equal_rows_said(lights: str) -> None:
    rows = [end for end in by_end(lights) if end.startswith("/readings")]
    assert len(rows) == 2
    assert DatabaseNote(
        text="table 'readings': 1 row equalled another row (the table has no key) "
        "and was added once"
    ) in items(lights)


def test_other_schemas_and_views_are_read_where_they_are_named(lights: str) -> None:
    found = by_end(lights, tables=("archive.*", "bright"), exclude=("keepers",))
    assert found["/archive.letters/1"].text == (
        "archive.letters: To Bob\nid: 1\nsubject: To Bob\n"
        "keeper: 00000000-0000-0000-0000-000000000002\n"
    )
    assert [text.text for text in found.values() if text.metadata.get("table") == "bright"] == [
        "bright: Gull Quay\nplace: Gull Quay\nnumber: 2\n"
    ]
    labelled = by_end(lights, tables=("archive.letters",))["/archive.letters/1"]
    assert "keeper: Bob (" in labelled.text


def test_a_changed_row_updates_and_a_deleted_one_goes(lights: str) -> None:
    before = by_end(lights)
    administer(
        lights,
        "UPDATE lamps SET weather = 'calm' WHERE number = 2",
        "DELETE FROM lamps WHERE number = 1",
    )
    after = by_end(lights)
    assert set(before) - set(after) == {"/lamps/Gull%20Quay,1"}
    changed = {end for end, found in after.items() if found.sha256 != before[end].sha256}
    assert changed == {"", "/lamps/Gull%20Quay,2"}


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM lamps", "CREATE TABLE x (i int)", "SELECT setval('s', 9)", "DROP TABLE lamps"],
)
def test_nothing_can_be_written(lights: str, statement: str) -> None:
    administer(lights, "CREATE SEQUENCE s")
    database = open_database(lights, timeout_seconds=10)
    with pytest.raises(SourceError, match="read-only"), database.reading() as connection:
        connection.execute(text(statement))


def test_what_this_user_may_not_read_is_a_failure_with_what_to_do(
    postgres_server: Any, lights: str
) -> None:
    name = make_url(lights).database
    guest = postgres_server.url(name, user="guest", password="guest-word")  # noqa: S106
    found = items(guest)
    failures = {item.source: item.reason for item in found if isinstance(item, SourceFailure)}
    source = database_source(guest)
    assert set(failures) == {f"{source}/keepers", f"{source}/readings"}
    assert all("grant SELECT" in reason for reason in failures.values())
    lamps = [item for item in found if isinstance(item, SourceText) and "/lamps/" in item.id]
    assert len(lamps) == 2
    assert "keeper: 00000000-0000-0000-0000-000000000001\n" in lamps[1].text
    notes = [item.text for item in found if isinstance(item, DatabaseNote)]
    assert notes[0].startswith("what lamps.keeper points to is not named: it may not be read")


def test_a_refused_login_is_one_line_without_the_password(postgres_server: Any) -> None:
    with pytest.raises(SourceError) as caught:
        items(postgres_server.url(password="hunter2-wrong"))  # noqa: S106
    assert "refused the login of 'owner': check user and password" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_is_not_there_is_named(postgres_server: Any) -> None:
    with pytest.raises(SourceError, match=r'has no such database.*"nowhere"'):
        items(postgres_server.url("nowhere"))


def test_a_slow_query_ends_with_a_reason(lights: str) -> None:
    administer(lights, "CREATE VIEW slow AS SELECT pg_sleep(30)::text AS waited")
    found = items(lights, tables=("slow",), timeout_seconds=0.3)
    (failure,) = [item for item in found if isinstance(item, SourceFailure)]
    assert failure.reason == "took longer than 0.3 s for one query: raise the timeout"


def test_a_table_locked_by_another_is_said_to_be_locked(
    lights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.ingest.readers.database.connection._LOCK_SECONDS", 0.2)
    engine = create_engine(make_url(lights).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql("LOCK TABLE keepers IN ACCESS EXCLUSIVE MODE")
        found = items(lights, tables=("keepers",))
    engine.dispose()
    (failure,) = [item for item in found if isinstance(item, SourceFailure)]
    assert failure.reason == "is locked by another program: try again once that has finished"


def test_a_large_table_is_streamed_in_the_order_of_its_key(lights: str) -> None:
    administer(
        lights,
        "CREATE TABLE many (id int PRIMARY KEY, body text)",
        "INSERT INTO many SELECT i, repeat('x', 1000) FROM generate_series(50000, 1, -1) AS i",
    )
    source = database_source(lights)
    walk = read_database(lights, options=DatabaseOptions(tables=("many",)))
    first = [next(walk) for _ in range(4)]
    walk.close()  # type: ignore[attr-defined]
    ends = [item.id.removeprefix(source) for item in first if isinstance(item, SourceText)]
    assert ends == ["", "/many/1", "/many/2", "/many/3"]


def test_names_are_quoted_whatever_they_hold(lights: str) -> None:
    administer(
        lights,
        'CREATE TABLE "a""; DROP TABLE lamps; --" ("select" int PRIMARY KEY, "%(x)s :y" text)',
        """INSERT INTO "a""; DROP TABLE lamps; --" VALUES (1, 'kept')""",
    )
    found = by_end(lights)
    odd = next(text for text in found.values() if "DROP" in str(text.metadata.get("table")))
    assert odd.text.endswith("select: 1\n%(x)s :y: kept\n")
    assert "/lamps/Gull%20Quay,1" in found
