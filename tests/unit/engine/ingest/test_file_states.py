from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.ingest.change_detection import FILE_NAME, FileStateCache, stat_signature

LONG_AGO = 1_600_000_000


def old_file(path: Path, text: str = "text") -> Path:
    """Its entry's time of change cannot be set, so hints are tested with looks of long ago."""
    path.write_text(text)
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


LOOK = (4, LONG_AGO * 10**9, LONG_AGO * 10**9, 7)


def test_a_file_that_looks_as_it_did_has_the_hash_that_it_had(tmp_path: Path) -> None:
    seen = FileStateCache(tmp_path)
    seen.note_file("a.md", LOOK, "sha")
    seen.save(gone=())
    assert FileStateCache(tmp_path).sha256_of("a.md", LOOK) == "sha"


@pytest.mark.parametrize("place", range(4))
def test_any_difference_in_its_look_means_to_read_it(tmp_path: Path, place: int) -> None:
    seen = FileStateCache(tmp_path)
    seen.note_file("a.md", LOOK, "sha")
    other = list(LOOK)
    other[place] += 1
    assert seen.sha256_of("a.md", (other[0], other[1], other[2], other[3])) is None


def test_a_file_changed_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("text")
    seen = FileStateCache(tmp_path)
    seen.note_file("a.md", stat_signature(path), "sha")
    assert seen.sha256_of("a.md", stat_signature(path)) is None


def test_what_is_no_source_any_more_is_forgotten(tmp_path: Path) -> None:
    seen = FileStateCache(tmp_path)
    seen.note_file("secret.md", LOOK, "sha")
    seen.note_address("https://example.org/", etag='"1"', last_modified="")
    seen.save(gone=())
    assert FileStateCache(tmp_path).marks_of("https://example.org/") == ('"1"', "")
    FileStateCache(tmp_path).save(gone={"secret.md"})
    assert FileStateCache(tmp_path).marks_of("https://example.org/") == ('"1"', "")
    FileStateCache(tmp_path).save(gone={"https://example.org/"})
    assert "secret" not in (tmp_path / "derived" / FILE_NAME).read_text()
    assert FileStateCache(tmp_path).marks_of("https://example.org/") == ("", "")


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    FileStateCache(tmp_path).save(gone={"a.md"})
    assert not (tmp_path / "derived").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 1, "addresses": []}', '{"files": {}}'])
def test_a_damaged_file_only_costs_the_hints(tmp_path: Path, text: str) -> None:
    (tmp_path / "derived").mkdir()
    (tmp_path / "derived" / FILE_NAME).write_text(text)
    assert FileStateCache(tmp_path).sha256_of("a.md", LOOK) is None


def test_a_folder_and_what_is_gone_have_no_look(tmp_path: Path) -> None:
    assert stat_signature(tmp_path) is None
    assert stat_signature(tmp_path / "gone") is None
    assert stat_signature(old_file(tmp_path / "a")) is not None
