"""The database's two ways in, over a file and in memory, from one thread and from many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from graph.storage.database import Database


@pytest.fixture(params=["file", "memory", ":memory:"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    urls = {"file": f"sqlite:///{tmp_path / 'x.db'}", "memory": "sqlite://"}
    opened = Database(urls.get(request.param, f"sqlite:///{request.param}"))
    with opened.write() as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER PRIMARY KEY)"))
    yield opened
    opened.close()


def put(connection: Connection, number: int) -> None:
    connection.execute(text("INSERT INTO t VALUES (:n)"), {"n": number})


def numbers(connection: Connection) -> list[int]:
    return list(connection.execute(text("SELECT n FROM t ORDER BY n")).scalars())


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_write_inside_a_write_is_the_same_transaction(database: Database) -> None:
    with database.write() as outer:
        put(outer, 1)
        with database.write() as inner, database.read() as reading:
            assert inner is outer is reading
            put(inner, 2)
    with database.read() as connection:
        assert numbers(connection) == [1, 2]


def test_an_error_takes_back_the_whole_outermost_write(database: Database) -> None:
    with pytest.raises(KeyError), database.write() as outer:
        put(outer, 1)
        with database.write() as inner:
            put(inner, 2)
        raise KeyError
    with database.write() as connection:
        assert numbers(connection) == []


def test_a_read_inside_a_read_is_the_same_view(database: Database) -> None:
    with database.read() as outer, database.read() as inner:
        assert inner is outer


def test_a_write_inside_a_read_is_kept(database: Database) -> None:
    with database.read() as reading:
        assert numbers(reading) == []
        with database.write() as writing:
            put(writing, 1)
            with database.read() as again:
                assert numbers(again) == [1]
    with database.read() as connection:
        assert numbers(connection) == [1]


def test_a_write_that_fails_inside_a_read_is_taken_back(database: Database) -> None:
    with database.read() as reading:
        with pytest.raises(KeyError), database.write() as writing:
            put(writing, 1)
            raise KeyError
        assert numbers(reading) == []
    with database.read() as connection:
        assert numbers(connection) == []


def test_every_thread_sees_the_same_database(database: Database) -> None:
    def write(number: int) -> None:
        with database.write() as connection:
            before = numbers(connection)
            put(connection, number)
            assert numbers(connection) == sorted([*before, number])

    threads = [in_thread(lambda n=n: write(n)) for n in range(12)]
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert numbers(connection) == list(range(12))


def test_no_thread_sees_a_half_done_write(database: Database) -> None:
    seen: list[list[int]] = []

    def read() -> None:
        with database.read() as connection:
            seen.append(numbers(connection))

    with database.write() as connection:
        put(connection, 1)
        reader = in_thread(read)
        reader.join(timeout=0.2)
        put(connection, 2)
    reader.join()
    assert seen in ([[]], [[1, 2]])


def test_a_thread_of_its_own_begins_its_own_transaction(database: Database) -> None:
    """The transaction that a thread joins is the thread's own, not the last one opened."""
    failed: list[BaseException] = []

    def other() -> None:
        try:
            with pytest.raises(KeyError), database.write() as connection:
                put(connection, 9)
                raise KeyError
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            failed.append(error)

    with database.write() as connection:
        put(connection, 1)
        waiting = in_thread(other)
    waiting.join()
    assert failed == []
    with database.read() as connection:
        assert numbers(connection) == [1]


def test_two_databases_in_memory_are_two() -> None:
    first, second = Database("sqlite://"), Database("sqlite://")
    with first.write() as connection:
        connection.execute(text("CREATE TABLE only_here (n INTEGER)"))
    with second.read() as connection:
        found = connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar()
    assert found == 0


def test_a_view_of_a_file_does_not_move_while_others_commit(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.db'}")
    with database.write() as connection:
        connection.execute(text("CREATE TABLE t (n INTEGER PRIMARY KEY)"))

    def write() -> None:
        with database.write() as connection:
            put(connection, 1)

    with database.read() as connection:
        assert numbers(connection) == []
        in_thread(write).join()
        assert numbers(connection) == []
    with database.read() as connection:
        assert numbers(connection) == [1]
    database.close()
