"""kill −9 at any moment, two writers, and nothing left of what was removed."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest
from command_line import environment
from sqlalchemy import event, text
from sqlalchemy.engine import Engine
from warm_process import forked

from engine import KnowledgeEngine
from engine.storage.graph_api import metadata
from graph.export.subgraph import to_json
from graph.storage.database import read_reports

DOCUMENTS = {
    f"note-{number}": f"# Lamp {number}\n\nCaptain Ada Brine lit Lamp {number} at Gull Quay. "
    f"Orrin Vale{number} repaired Lamp {number} with Tomas Reed. The Petrel brought oil."
    for number in range(5)
}
KILL_POINTS = 16
"""Spread evenly over all database statements of the run, the first and the last among them."""


def add_all(engine: KnowledgeEngine) -> None:
    for name in sorted(DOCUMENTS):
        engine.add_text(DOCUMENTS[name], document_id=name)


def count_statements(on_event) -> None:
    """Call `on_event(n)` before the nth database statement of this process."""
    seen = 0

    def count(*_: object) -> None:
        nonlocal seen
        seen += 1
        on_event(seen)

    event.listen(Engine, "before_cursor_execute", count)


def in_child(work) -> int:
    """Do `work` in a forked child; the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def die_at(statement: int) -> None:
    """SIGKILL this process before its nth database statement."""
    count_statements(lambda n: n == statement and os.kill(os.getpid(), signal.SIGKILL))


@pytest.fixture(scope="module")
def statements_in_all(tmp_path_factory: pytest.TempPathFactory, open_engine) -> int:
    """How many statements the run takes when nobody kills it."""
    folder = tmp_path_factory.mktemp("count")

    def work() -> None:
        count_statements(lambda n: (folder / "n").write_text(str(n), encoding="utf8"))
        with open_engine(folder / "library") as engine:
            add_all(engine)

    assert in_child(work) == 0
    return int((folder / "n").read_text(encoding="utf8"))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, open_engine) -> str:
    """The graph of the run that nobody kills."""
    with open_engine(tmp_path_factory.mktemp("fresh") / "library") as engine:
        add_all(engine)
        return to_json(engine.graph_index.export())


@pytest.mark.parametrize("point", range(KILL_POINTS))
def test_a_kill_while_adding_loses_at_most_the_document_in_hand(
    open_engine, tmp_path: Path, point: int, statements_in_all: int, uninterrupted: str
) -> None:
    path = tmp_path / "library"

    def work() -> None:
        die_at(1 + point * (statements_in_all - 1) // (KILL_POINTS - 1))
        with open_engine(path) as engine:
            add_all(engine)

    assert in_child(work) == signal.SIGKILL
    with open_engine(path) as engine:
        assert engine.problems() == []
        held = {row.id for row in engine.documents()}
        assert held == set(sorted(DOCUMENTS)[: len(held)])
        engine.retrieve("Who lit Lamp 1?")  # resumes what was left undone
        assert engine.stats()["up_to_date"]
        add_all(engine)
        assert to_json(engine.graph_index.export()) == uninterrupted


def test_a_kill_between_removal_and_derivation_leaves_no_ghost(open_engine, tmp_path: Path) -> None:
    path = tmp_path / "library"
    with open_engine(path) as engine:
        add_all(engine)
        # the transaction of a removal, and then "the power fails"
        engine._whole.parts.indexer.remove("note-3")
    with open_engine(path) as engine, engine._library.read() as connection:
        view = engine.graph_index.view()
        reports = read_reports(connection)
        assert "Orrin Vale3" not in view.display.values()
        assert not any(
            "Lamp 3" in finding.text for report in reports for finding in report.findings
        )
        assert not engine.stats()["up_to_date"]
    with open_engine(path) as engine:
        assert all(
            "Lamp 3" not in passage.text for passage in engine.retrieve("Lamp 3 Orrin Vale3")
        )
        assert engine.stats()["up_to_date"]


def test_what_is_removed_stands_in_no_table_and_in_no_file(open_engine, tmp_path: Path) -> None:
    path = tmp_path / "library"
    person = "Zephyrine Quocks"
    with open_engine(path) as engine:
        add_all(engine)
        engine.add_text(f"{person} met {person} at Gull Quay with Ada Brine.", document_id="secret")
        assert engine.retrieve(person)[0].document_id == "secret"
        engine.remove("secret")
        engine.retrieve(person)
        with engine._library.read() as connection:
            for table in metadata.sorted_tables:
                rows = connection.execute(text(f"SELECT * FROM {table.name}")).all()  # noqa: S608
                assert not any("quocks" in str(row).casefold() for row in rows), table.name
        assert "quocks" not in to_json(engine.graph_index.export()).casefold()
    for file in sorted(path.rglob("*")):
        if file.is_file():
            assert b"quocks" not in file.read_bytes().lower(), file


def test_a_repair_writes_the_file_anew_without_free_pages(open_engine, tmp_path: Path) -> None:
    path = tmp_path / "library"
    with open_engine(path) as engine:
        add_all(engine)
        engine.add_text("Zephyrine Quocks met Ada Brine. " * 400, document_id="long")
        engine.remove("long")
        with engine._library.read() as connection:
            assert connection.execute(text("PRAGMA freelist_count")).scalar_one() > 0
        engine.repair()
        with engine._library.read() as connection:
            assert connection.execute(text("PRAGMA freelist_count")).scalar_one() == 0
            assert engine.problems() == []
        assert engine.retrieve("Ada Brine")


def test_adding_then_removing_is_never_having_added(open_engine, tmp_path: Path) -> None:
    with open_engine(tmp_path / "a") as engine:
        add_all(engine)
        before = to_json(engine.graph_index.export())
        engine.add_text("Ada Brine sold Gull Quay to Ursa Minor.", document_id="sale")
        engine.remove("sale")
        assert to_json(engine.graph_index.export()) == before


def test_entities_that_others_mention_survive_a_removal(open_engine, tmp_path: Path) -> None:
    with open_engine(tmp_path / "a") as engine:
        add_all(engine)
        engine.remove("note-0")
        names = {entity.name for entity in engine.graph_index.entities()}
    assert "Orrin Vale1" in names
    assert "Orrin Vale0" not in names
    assert any("Ada Brine" in name for name in names)


def test_two_processes_adding_at_once_both_succeed(tmp_path: Path) -> None:
    for part in ("left", "right"):
        folder = tmp_path / part
        folder.mkdir()
        for name, content in DOCUMENTS.items():
            (folder / f"{name}.md").write_text(f"{content} From the {part}.", encoding="utf8")
    with (tmp_path / "said").open("wb") as said:
        runs = [
            forked(["add", part], cwd=tmp_path, env=environment(), stdout=said, stderr=said)
            for part in ("left", "right")
        ]
    ended = [run.wait(timeout=120) for run in runs]
    assert ended == [0, 0], (tmp_path / "said").read_text(encoding="utf8")
    with KnowledgeEngine.open(tmp_path / "library", create=False) as engine:
        assert len(engine.documents()) == 2 * len(DOCUMENTS)
        assert engine.problems() == []


def test_a_dead_writer_holds_no_lock(open_engine, tmp_path: Path) -> None:
    path = tmp_path / "library"
    ready = tmp_path / "ready"

    def hold() -> None:
        with open_engine(path) as engine, engine._library.writer():
            ready.touch()
            time.sleep(60)

    child = os.fork()
    if child == 0:
        try:
            hold()
        finally:
            os._exit(1)  # whatever happens, it is no second run of the tests
    while not ready.exists():
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "it ended before it held the lock"
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open_engine(path, library={"lock_timeout_seconds": 1}) as engine:
        assert engine.add_text("Gull Quay is free again.", document_id="free").added == ("free",)


def test_readers_go_on_while_another_writes(open_engine, tmp_path: Path) -> None:
    path = tmp_path / "library"
    with open_engine(path) as writer, open_engine(path) as reader:
        add_all(writer)
        before = reader.retrieve("Who lit Lamp 1?")
        with writer._library.writer(), writer._library.write() as connection:
            connection.execute(text("UPDATE documents SET title = 'half done'"))
            assert reader.retrieve("Who lit Lamp 1?") == before
            connection.rollback()


def test_nothing_leaves_the_machine_in_the_default_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: socket.socket, address: object) -> None:
        raise AssertionError(f"a connection to {address!r} was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        engine.add_text(DOCUMENTS["note-1"], document_id="note-1")
        assert "Ada Brine" in engine.ask("Who lit Lamp 1?").text
        engine.ask("What are the main themes?")
        engine.export_graph(tmp_path / "graph.json")
