"""What a library keeps in files of its rows, led on by later processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hashed_embedding import open_light
from sqlalchemy import Connection

from engine import KnowledgeEngine
from engine.storage import bm25_index, files
from engine.storage.vectors import index as vector_index

QUESTION = "What does the log of the Petrel tell of a calm night by a pier?"
Opened = Callable[[Path], KnowledgeEngine]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Open a library anew, as another process does; small ones keep their rows, too."""
    monkeypatch.setattr(files, "KEPT_FROM_CHUNKS", 2)
    monkeypatch.setattr(bm25_index, "KEPT_FROM", 2)
    monkeypatch.setattr(vector_index, "KEPT_FROM", 2)
    engines: list[KnowledgeEngine] = []

    def open_anew(path: Path) -> KnowledgeEngine:
        for engine in engines:
            engine.close()
        engines.append(open_light(path))
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


def _lists(path: Path) -> list[str]:
    """Return the files that say which chunks the rows of keywords and of vectors are about."""
    return sorted(each.name for each in (path / "derived").glob("rows*-*"))


def _refuse_to_read(*_connection: object, **_model: object) -> NoReturn:
    raise AssertionError("all rows were read anew")


def _forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be read but the rows of documents that changed."""
    monkeypatch.setattr(files, "read_view", _refuse_to_read)
    monkeypatch.setattr(vector_index, "read_vectors", _refuse_to_read)
    listed = bm25_index.KeywordIndex._listed

    def list_some(
        index: bm25_index.KeywordIndex, connection: Connection, documents: set[str] | None = None
    ) -> object:
        assert documents is not None
        return listed(index, connection, documents)

    monkeypatch.setattr(bm25_index.KeywordIndex, "_listed", list_some)


NEWS = "# Petrel\n\nThe log of the Petrel tells of a calm night."


def test_what_other_processes_added_is_led_on_from_the_file(
    path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _kept(path)
    opened(path).add_text(NEWS, document_id="news")
    opened(path).add_text(_text(40), document_id="d40")
    assert _kept(path) == before
    with monkeypatch.context() as patch:
        _forbid_reading(patch)
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
    _forbid_reading(monkeypatch)
    found = _found(opened(path))
    after = _kept(path)
    assert len(after) == 1
    assert after != before
    assert _found(opened(path)) == found


def test_removed_and_replaced_text_leaves_no_file(path: Path, opened: Opened) -> None:
    opened(path).remove("d03")
    assert _kept(path) + _lists(path) == []
    _found(opened(path))
    assert len(_kept(path)) == 1
    assert len(_lists(path)) == 2
    opened(path).add_text(NEWS, document_id="d04")
    assert _kept(path) + _lists(path) == []


@pytest.mark.parametrize("later", [[41], [41, 42]], ids=["as many changes", "more changes"])
def test_a_restored_library_is_not_led_on_from_another_history(
    path: Path, opened: Opened, later: list[int]
) -> None:
    opened(path).close()
    copy = shutil.copy2(path / "library.db", path.with_name("copy.db"))
    shutil.rmtree(path / "derived")
    engine = opened(path)
    engine.add_text(NEWS, document_id="news")
    assert _found(engine)[0][0] == "news"
    engine.close()
    assert len(_kept(path)) == 1  # of a state that the copy never was in, and counts alike
    shutil.copy2(copy, path / "library.db")
    for number in later:
        opened(path).add_text(_text(number), document_id=f"d{number}")
    engine = opened(path)
    found = _found(engine)
    assert found
    assert "news" not in dict(found)
    for number in later:
        assert engine.retrieve(_text(number))[0].document_id == f"d{number}"
    engine.close()
    shutil.rmtree(path / "derived")
    assert _found(opened(path)) == found
