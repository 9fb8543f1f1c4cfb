"""The walk's snapshot of a library, kept in a file and led on by later processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import KnowledgeEngine, Settings
from engine.storage import files
from graph.search.snapshot import WalkSnapshot

QUESTION = "What does the log of the Petrel tell of a calm night by a pier?"
PLAIN = Settings.model_validate({"embedding": {"kind": "none"}})
Opened = Callable[[Path], KnowledgeEngine]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Open a library anew, as another process does; small ones keep their snapshot, too."""
    monkeypatch.setattr(files, "KEPT_FROM_CHUNKS", 2)
    engines: list[KnowledgeEngine] = []

    def open_anew(path: Path) -> KnowledgeEngine:
        for engine in engines:
            engine.close()
        engines.append(KnowledgeEngine.open(path, settings=PLAIN))
        return engines[-1]

    yield open_anew
    for engine in engines:
        engine.close()


WORDS = [
    f"{first}{last}" for first in ("Mar", "Tol", "Ves", "Quin") for last in ("by", "ton", "wick")
]


def _text(number: int) -> str:
    place = f"{WORDS[number % 12]}{WORDS[number * 5 % 11].lower()}"
    return f"# {place}\n\nThe pier of {place} was built of oak for ships of passage."


@pytest.fixture
def path(tmp_path: Path, opened: Opened) -> Path:
    """Return a library of thirty documents that keeps its snapshot in a file."""
    engine = opened(tmp_path / "library")
    for number in range(30):
        engine.add_text(_text(number), document_id=f"d{number:02}")
    _found(engine)
    assert len(_kept(tmp_path / "library")) == 1
    return tmp_path / "library"


def _found(engine: KnowledgeEngine) -> list[tuple[str, float]]:
    return [(one.document_id, one.score) for one in engine.retrieve(QUESTION, top_k=30)]


def _kept(path: Path) -> list[str]:
    return sorted(each.name for each in (path / "derived").glob("walk-*"))


def _refuse_to_read(_connection: object) -> WalkSnapshot:
    raise AssertionError("the snapshot was read anew")


NEWS = "# Petrel\n\nThe log of the Petrel tells of a calm night."


def test_what_other_processes_added_is_led_on_from_the_file(
    path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _kept(path)
    opened(path).add_text(NEWS, document_id="news")
    opened(path).add_text(_text(40), document_id="d40")
    assert _kept(path) == before
    with monkeypatch.context() as patch:
        patch.setattr(files, "read_view", _refuse_to_read)
        found = _found(opened(path))
    assert found[0][0] == "news"
    opened(path).close()
    shutil.rmtree(path / "derived")
    assert _found(opened(path)) == found


def test_a_large_snapshot_is_written_where_it_was_led_on(
    path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(path).add_text(NEWS, document_id="news")
    before = _kept(path)
    monkeypatch.setattr(files, "WRITTEN_ANEW_FROM", 2)
    monkeypatch.setattr(files, "read_view", _refuse_to_read)
    found = _found(opened(path))
    after = _kept(path)
    assert len(after) == 1
    assert after != before
    assert _found(opened(path)) == found


def test_removed_and_replaced_text_leaves_no_file(path: Path, opened: Opened) -> None:
    opened(path).remove("d03")
    assert _kept(path) == []
    _found(opened(path))
    assert len(_kept(path)) == 1
    opened(path).add_text(NEWS, document_id="d04")
    assert _kept(path) == []


def test_a_restored_library_is_not_led_on_from_another_history(path: Path, opened: Opened) -> None:
    opened(path).close()
    copy = shutil.copy2(path / "library.db", path.with_name("copy.db"))
    shutil.rmtree(path / "derived")
    engine = opened(path)
    engine.add_text(NEWS, document_id="news")
    assert _found(engine)[0][0] == "news"
    engine.close()
    assert len(_kept(path)) == 1  # of a state that the copy never was in, and counts alike
    shutil.copy2(copy, path / "library.db")
    opened(path).add_text(_text(41), document_id="d41")
    opened(path).add_text(_text(42), document_id="d42")
    engine = opened(path)
    found = _found(engine)
    assert found
    assert "news" not in dict(found)
    for number in (41, 42):
        assert engine.retrieve(_text(number))[0].document_id == f"d{number}"
    engine.close()
    shutil.rmtree(path / "derived")
    assert _found(opened(path)) == found
