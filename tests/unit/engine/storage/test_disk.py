"""A library on a disk that can only be read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from engine.errors import LibraryUnusable
from engine.storage import library as disk
from engine.storage.library import DATABASE_NAME, Library
from engine.types import SourceText

FOLDER = "a library? #1 %41 灯塔"
"""A name that an address would be misread by."""


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A library of one document, closed."""
    library = Library(tmp_path / FOLDER)
    text = SourceText(id="note", title="Note", type="text", text="Ada Brine.", sha256="0")
    library.put_documents([text], recipe="")
    library.close()
    return library.path


@pytest.fixture
def read_only(sound: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same where the system says that it cannot be written."""
    access = os.access

    def refused(path: str | Path, mode: int) -> bool:
        return access(path, mode) and not (mode & os.W_OK)

    monkeypatch.setattr(os, "access", refused)
    return sound


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}


def test_it_is_read_and_nothing_is_written_beside_it(read_only: Path) -> None:
    before = _files(read_only)
    library = Library(read_only, create=False)
    assert library.is_read_only
    assert library.document_text("note") == "Ada Brine."
    assert _files(read_only) == before
    library.close()
    assert _files(read_only) == before


def test_what_writes_is_refused_with_what_to_do(read_only: Path) -> None:
    library = Library(read_only, create=False)
    refusal = "is read-only: make its folder writable, or copy it to where it can be written"
    with pytest.raises(LibraryUnusable, match=refusal), library.write():
        pytest.fail("it was let in")
    with pytest.raises(LibraryUnusable, match=refusal), library.writer():
        pytest.fail("it was let in")
    with pytest.raises(LibraryUnusable, match=refusal):
        library.delete_document_row("note")
    assert library.held_among(["note"])
    library.close()


def test_where_nothing_can_be_written_no_library_is_made(read_only: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(LibraryUnusable, match="empty' is read-only: make its folder"):
        Library(tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_library_that_can_be_written_is_opened_as_ever(sound: Path) -> None:
    library = Library(sound, create=False)
    assert not library.is_read_only
    library.delete_document_row("note")
    assert not library.held_among(["note"])
    library.close()


def test_what_a_killed_writer_left_is_never_passed_over(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(sound, create=False)
    library.delete_document_row("note")  # stands in the log until the database is closed
    copy = tmp_path / "copy"
    shutil.copytree(sound, copy)
    library.close()
    assert disk.size_of(copy / f"{DATABASE_NAME}-wal") > 0
    monkeypatch.setattr(os, "access", lambda _path, mode: not mode & os.W_OK)
    assert "immutable" not in disk.library_url(copy / DATABASE_NAME).query
    again = Library(copy, create=False)
    assert not again.held_among(["note"])
    again.close()


def test_a_file_that_is_not_there_has_no_size(tmp_path: Path) -> None:
    assert disk.size_of(tmp_path / "none") == 0
    assert disk.is_writable(tmp_path / "none")
