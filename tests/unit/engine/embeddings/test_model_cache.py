from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.embeddings.tokenizer import cache_folder, cached_file


class _Builder:
    """Counts how often it is asked."""

    def __init__(self, content: bytes = b"a model") -> None:
        self.content = content
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.content


def _damage_size(path: Path) -> None:
    path.write_bytes(b"a mod")


def _damage_content(path: Path) -> None:
    path.write_bytes(b"A MODEL")


def _remove_stamp(path: Path) -> None:
    path.with_name(f"{path.name}.stamp").unlink()


def _garble_stamp(path: Path) -> None:
    path.with_name(f"{path.name}.stamp").write_bytes(b"[1, \xff")


def test_it_is_built_once(tmp_path: Path) -> None:
    build = _Builder()
    first = cached_file("m", build, folder=tmp_path / "new" / "folder")
    second = cached_file("m", build, folder=tmp_path / "new" / "folder")
    assert isinstance(first, Path)
    assert (first, first.read_bytes(), build.calls) == (second, b"a model", 1)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(_damage_size, id="cut short"),
        pytest.param(_damage_content, id="other bytes of the same length"),
        pytest.param(Path.unlink, id="gone"),
        pytest.param(_remove_stamp, id="no stamp"),
        pytest.param(_garble_stamp, id="garbled stamp"),
    ],
)
def test_what_is_damaged_is_built_anew(damage: object, tmp_path: Path) -> None:
    build = _Builder()
    path = cached_file("m", build, folder=tmp_path)
    assert isinstance(path, Path)
    os.utime(path, ns=(1, 1))
    damage(path)  # type: ignore[operator]
    assert cached_file("m", build, folder=tmp_path) == path
    assert (path.read_bytes(), build.calls) == (b"a model", 2)


def test_a_changed_time_alone_costs_a_hash_and_no_build(tmp_path: Path) -> None:
    build = _Builder()
    path = cached_file("m", build, folder=tmp_path)
    assert isinstance(path, Path)
    os.utime(path, ns=(1, 1))
    assert cached_file("m", build, folder=tmp_path) == path
    assert build.calls == 1


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    assert cached_file("m", _Builder(), folder=tmp_path) == b"a model"
    assert list(tmp_path.iterdir()) == []


def test_the_folder_can_be_named_by_the_environment(tmp_path: Path) -> None:
    assert cache_folder({"LOREGRAPH_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({}).name == "loregraph"
