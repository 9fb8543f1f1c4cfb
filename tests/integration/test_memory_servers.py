"""Memory on a real Redis and a real PostgreSQL: order, loss, absence, and forgetting."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer
from redis_server import RedisServer
from sqlalchemy import MetaData, create_engine, inspect, select

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.memory.records import Memory, Message
from engine.memory.store import SessionStore, server_store
from engine.memory.working import RedisMemory

WRITERS, MESSAGES = 8, 500
AT = "2024-05-01T10:00:00"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def settings(**memory: Any) -> Settings:
    return Settings.model_validate(
        {"embedding": {"kind": "tfidf", "multilingual": False}, "memory": memory}
    )


def on_postgres(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("MEMORY_PASSWORD", server.password)
    return {
        "short_term": server.url().replace(f":{server.password}", ""),
        "short_term_password_variable": "MEMORY_PASSWORD",
    }


def on_redis(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("MEMORY_REDIS_PASSWORD", server.password)
    return {"working": server.url, "working_password_variable": "MEMORY_REDIS_PASSWORD"}


def written(append: Callable[[list[Message]], None]) -> None:
    """Append messages from several threads at once."""

    def write(writer: int) -> None:
        for number in range(MESSAGES):
            append([Message(role="user", text=f"{writer} {number}", at=AT)])

    with ThreadPoolExecutor(WRITERS) as threads:
        list(threads.map(write, range(WRITERS)))


def check_order(texts: list[str]) -> None:
    assert len(texts) == WRITERS * MESSAGES
    for writer in range(WRITERS):
        numbers = [int(each.split()[1]) for each in texts if each.startswith(f"{writer} ")]
        assert numbers == list(range(MESSAGES))


def test_eight_writers_lose_nothing_on_redis(redis: RedisServer) -> None:
    memory = RedisMemory(
        redis.url,
        password=redis.password,
        place="library",
        messages=WRITERS * MESSAGES,
        ttl_seconds=600,
        timeout_seconds=5,
    )
    written(lambda messages: memory.append("ann", "s", messages))
    check_order([each.text for each in memory.read("ann", "s")])
    assert memory.read("bob", "s") == []
    memory.close()


def test_eight_writers_lose_nothing_on_postgresql(postgres: PostgresServer) -> None:
    url = postgres.url().replace(f":{postgres.password}", "")
    store = SessionStore(server_store(url, postgres.password))
    written(lambda messages: store.append("ann", "writers", messages))
    check_order([each.text for each in store.open_sessions("ann")["writers"].values()])
    store.forget("ann")
    store.close()


def test_the_window_on_redis_keeps_its_size_and_lifetime(redis: RedisServer) -> None:
    memory = RedisMemory(
        redis.url, password=redis.password, place="x", messages=4, ttl_seconds=1, timeout_seconds=5
    )
    for number in range(6):
        memory.append("ann", "s", [Message(role="user", text=str(number), at=AT)])
    assert [each.text for each in memory.read("ann", "s")] == ["2", "3", "4", "5"]
    end = time.monotonic() + 30
    while memory.read("ann", "s") and time.monotonic() < end:
        time.sleep(0.05)
    assert memory.read("ann", "s") == []
    memory.close()


def test_memory_works_on_both_servers_and_forgets(
    redis: RedisServer, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(
        **on_redis(redis, monkeypatch), **on_postgres(postgres, monkeypatch), wait_seconds=10
    )
    with KnowledgeEngine.open(tmp_path / "library", settings=chosen) as engine:
        engine.add_text("Ada Marsh founded the station in 1901.", document_id="note")
        first = engine.ask("My colour is zyxquartz. Who founded the station?", memory=Memory("ann"))
        assert first.warnings == ()
        engine.memory.close_session("ann")
        engine.ask("As I said, my colour is zyxquartz. Is it a colour?", memory=Memory("ann", "b"))
        answer = engine.ask("What is my colour?", memory=Memory("ann", "c"))
        assert "zyxquartz" in answer.text
        with create_engine(_driver(postgres)).connect() as connection:
            assert "zyxquartz" in _all_rows(connection)
        engine.memory.forget("ann", fact=engine.memory.facts("ann")[0].id)
        with create_engine(_driver(postgres)).connect() as connection:
            assert "zyxquartz" not in _all_rows(connection)
        engine.memory.forget("ann")
        with create_engine(_driver(postgres)).connect() as connection:
            assert "ann" not in _all_rows(connection)


def _driver(postgres: PostgresServer) -> str:
    return postgres.url().replace("postgresql://", "postgresql+psycopg://")


def _all_rows(connection: Any) -> str:
    tables = [name for name in inspect(connection).get_table_names() if name.startswith("memory_")]
    assert len(tables) == 4
    found = MetaData()
    found.reflect(connection, only=tables)
    return repr([connection.execute(select(table)).all() for table in found.sorted_tables])


def test_forgetting_rewrites_the_files_of_redis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisServer() as server:
        chosen = settings(**on_redis(server, monkeypatch), wait_seconds=10)
        with KnowledgeEngine.open(tmp_path / "library", settings=chosen) as engine:
            from redis import Redis

            client = Redis.from_url(server.url, password=server.password)
            client.config_set("appendonly", "yes")
            client.config_set("appendfsync", "always")
            _settle(client)
            engine.memory.remember("ann", [("user", "My keyword is zyxquartz.")])
            place = server._place
            assert _holding(place, b"zyxquartz")
            engine.memory.forget("ann")
            assert _holding(place, b"zyxquartz") == []


def _settle(client: Any) -> None:
    while client.info("persistence")["aof_rewrite_in_progress"]:
        time.sleep(0.02)


def _holding(folder: Path, word: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if word in path.read_bytes()]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A server that takes connections and never says a word."""
    held: list[socket.socket] = []
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)

        def accept() -> None:
            while True:
                try:
                    held.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
    for connection in held:
        connection.close()


@pytest.mark.parametrize("backend", ["working", "short_term"])
@pytest.mark.parametrize("how", ["down", "silent"])
def test_a_server_that_is_away_costs_a_warning_and_no_wait(
    backend: str, how: str, silent_port: int, tmp_path: Path
) -> None:
    port = silent_port if how == "silent" else _closed_port()
    url = {
        "working": f"redis://127.0.0.1:{port}",
        "short_term": f"postgresql://ann@127.0.0.1:{port}/x",
    }
    chosen = settings(**{backend: url[backend]})
    name = "working memory" if backend == "working" else "short-term memory"
    most = 0.2 + 1.5 * (os.cpu_count() == 1) + 0.15

    # Other processes can only lengthen a wait: one of three engines, each new, has to keep to it.
    waits = (_waited(tmp_path / str(number), chosen, name) for number in range(3))
    assert any(wait < most for wait in waits)


def _waited(place: Path, chosen: Settings, name: str) -> float:
    """Return the seconds that a question waits for a memory that does not answer."""
    with KnowledgeEngine.open(place, settings=chosen) as engine:
        engine.add_text("Ada Marsh founded the station in 1901.", document_id="note")
        engine.ask("Who founded the station?")
        _ = engine.memory  # its clients are imported before the clock starts
        begun = time.monotonic()
        computed = time.process_time()
        answer = engine.ask("Who founded the station?", memory=Memory("ann"))
        waited = time.monotonic() - begun - (time.process_time() - computed)
        assert "Ada Marsh" in answer.text
        assert any(name in warning for warning in answer.warnings)
        assert answer.trace[-1].figures["failed"] == 1.0
    return waited


def _closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
