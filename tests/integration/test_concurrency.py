"""One engine, many threads: questions of every kind while documents come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.config import Settings
from engine.engine import KnowledgeEngine
from engine.errors import UnknownName
from engine.types import Answer

LAMP = (
    "# The lamp at Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. "
    "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n"
)
PETREL = (
    "# The Petrel\n\nThe Petrel was a supply ship of the Vale Line. Orrin Vale owned the Vale "
    "Line, and Tomas Reed was the mate of the Petrel until 1912.\n"
)
ROUNDS = 12


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[KnowledgeEngine]:
    light = {"embedding": {"kind": "tfidf"}, "graph": {"spacy_model": "none"}}
    settings = Settings.model_validate(light)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as opened:
        opened.add_text(LAMP, document_id="lamp")
        opened.add_text(PETREL, document_id="petrel")
        yield opened


def test_questions_go_on_while_documents_come_and_go(engine: KnowledgeEngine) -> None:
    """No error, every quote stands in its document, and in the end all is as it was."""
    before = engine.ask("Who lit the lamp at Gull Quay?", mode="local").text
    stop = threading.Event()

    def local() -> None:
        holds(engine, engine.ask("Who lit the lamp at Gull Quay?", mode="local"))

    def overview() -> None:
        holds(engine, engine.ask("What are the main themes?", mode="global"))

    def passages() -> None:
        assert engine.retrieve("Who owned the Petrel?", top_k=3)

    def state() -> tuple[bool, int]:
        return engine.stats()["up_to_date"], engine._ledger.generation()

    def around() -> None:
        before = state()
        try:
            engine.graph.neighbourhood("Orrin Vale", hops=2)
        except UnknownName:  # while it is being derived anew
            assert not before[0] or state() != before

    def look() -> None:
        assert engine.catalogue.page(limit=5).total >= 2
        engine.usage()
        engine.stats()

    def again(work: Callable[[], None]) -> int:
        count = 0
        while not stop.is_set() or not count:
            work()
            count += 1
        return count

    readers = (local, overview, passages, around, look, local)
    with ThreadPoolExecutor(len(readers)) as pool:
        going = [pool.submit(again, work) for work in readers]
        try:
            for number in range(ROUNDS):
                text = f"The brig Heron{number} of Orrin Vale came to Gull Quay in 18{number:02}."
                engine.add_text(text, document_id=f"n{number}")
                if number % 2:
                    engine.remove([f"n{number - 1}", f"n{number}"])
        finally:
            stop.set()
        assert all(each.result() for each in going)
    assert engine.problems() == []
    assert [row.id for row in engine.documents()] == ["lamp", "petrel"]
    assert engine.ask("Who lit the lamp at Gull Quay?", mode="local").text == before


def holds(engine: KnowledgeEngine, answer: Answer) -> None:
    """Every citation quotes its document, unless that has gone meanwhile."""
    for citation in answer.citations:
        window = engine.catalogue.window(
            citation.document_id, start=citation.start, end=citation.end
        )
        assert window is None or window.text == citation.quote


def test_two_threads_that_write_take_turns(engine: KnowledgeEngine) -> None:
    def add(number: int) -> tuple[str, ...]:
        return engine.add_text(f"Note {number} on Gull Quay.", document_id=f"t{number}").added

    with ThreadPoolExecutor(4) as pool:
        added = list(pool.map(add, range(8)))
    assert added == [(f"t{number}",) for number in range(8)]
    assert len(engine.documents()) == 10
    assert engine.problems() == []
