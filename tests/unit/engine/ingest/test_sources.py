from __future__ import annotations

import hashlib
import os
import unicodedata
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.ingest.discovery import find_sources, sha256_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}", encoding="utf-8")


def ids(*paths: str | Path) -> list[str]:
    return [source.id for source in find_sources(paths).sources]


def test_a_folder_is_read_whole_and_in_order(folder: Path) -> None:
    write(folder, "docs/b.md", "docs/a.txt", "docs/sub/c.html", "docs/sub/deep/d.PDF")
    expected = ["docs/a.txt", "docs/b.md", "docs/sub/c.html", "docs/sub/deep/d.PDF"]
    assert expected == ids("docs")


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param("docs", id="plain"),
        pytest.param("./docs/", id="dot and slash"),
        pytest.param("docs/sub/..", id="up again"),
        pytest.param("{here}/docs", id="absolute"),
    ],
)
def test_ids_do_not_depend_on_how_the_folder_is_spelled(folder: Path, spelling: str) -> None:
    write(folder, "docs/sub/a.md")
    assert ids(spelling.format(here=folder)) == ["docs/sub/a.md"]


def test_ids_outside_the_current_folder_begin_with_the_name_given(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, "docs/sub/a.md", "note.txt")
    assert ids(elsewhere / "docs") == ["docs/sub/a.md"]
    assert ids(elsewhere / "docs" / "sub" / "a.md") == ["a.md"]
    assert ids(elsewhere / "note.txt") == ["note.txt"]


def test_the_current_folder_itself_adds_nothing_to_ids(folder: Path) -> None:
    write(folder, "a.md", "sub/b.md")
    assert ids(".") == ["a.md", "sub/b.md"]


def test_ids_are_composed_unicode(folder: Path) -> None:
    write(folder, "docs/" + unicodedata.normalize("NFD", "résumé.md"))
    assert ids("docs") == ["docs/résumé.md"]


def test_the_order_of_paths_does_not_matter(folder: Path) -> None:
    write(folder, "docs/a.md", "docs/sub/b.md", "c.txt")
    (folder / "link").symlink_to(folder / "docs")
    paths = ["link", "docs/sub", "docs", "c.txt", "docs/a.md"]
    assert find_sources(paths) == find_sources(paths[::-1])
    assert ids(*paths) == ["c.txt", "docs/a.md", "docs/sub/b.md"]


def test_hidden_names_are_passed_over_unless_named(folder: Path) -> None:
    write(folder, "docs/a.md", "docs/.git/b.md", "docs/.c.md", ".notes/d.md")
    assert ids("docs") == ["docs/a.md"]
    assert ids(".notes") == [".notes/d.md"]


def test_an_excluded_folder_is_not_entered_and_said(folder: Path) -> None:
    write(folder, "a.md", "library/b.md")
    found = find_sources(["."], not_in=["library"])
    assert [source.id for source in found.sources] == ["a.md"]
    assert found.notes == ["skipped 'library': it is excluded"]


def test_a_loop_of_links_ends_and_is_said(folder: Path) -> None:
    write(folder, "docs/a.md", "docs/sub/b.md")
    (folder / "docs/sub/up").symlink_to(folder / "docs")
    found = find_sources(["docs"])
    assert [source.id for source in found.sources] == ["docs/a.md", "docs/sub/b.md"]
    assert found.notes == ["'docs/sub/up' is the same folder as 'docs': read once"]
    assert found.failures == []


def test_a_link_to_a_file_never_takes_the_place_of_the_file(folder: Path) -> None:
    write(folder, "docs/z.md")
    (folder / "docs/a.md").symlink_to(folder / "docs/z.md")
    found = find_sources(["docs"])
    assert [source.id for source in found.sources] == ["docs/z.md"]
    assert found.notes == ["'docs/a.md' is the same file as 'docs/z.md': read once"]


def test_a_link_that_leads_outside_is_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere, "a.md")
    write(folder, "docs/b.md")
    (folder / "docs/more").symlink_to(elsewhere)
    assert ids("docs") == ["docs/b.md", "docs/more/a.md"]


def test_a_link_to_nothing_is_a_failure(folder: Path) -> None:
    write(folder, "docs/a.md")
    (folder / "docs/b.md").symlink_to(folder / "gone.md")
    (failure,) = find_sources(["docs"]).failures
    assert failure.source == "docs/b.md"
    assert "broken link" in failure.reason


def test_files_without_a_reader_are_noted_not_failed(folder: Path) -> None:
    write(folder, "docs/a.md", "docs/unnamed", *(f"docs/{n}.xyz" for n in range(5)))
    found = find_sources(["docs"])
    assert [source.id for source in found.sources] == ["docs/a.md"]
    assert found.failures == []
    assert found.notes == [
        "skipped 1 file without a suffix (unsupported format): docs/unnamed",
        "skipped 5 files with suffix '.xyz' (unsupported format): "
        "docs/0.xyz, docs/1.xyz, docs/2.xyz, …",
    ]


def test_a_file_that_is_named_is_taken_whatever_its_suffix(folder: Path) -> None:
    write(folder, "notes.xyz", "README")
    assert ids("notes.xyz", "README") == ["README", "notes.xyz"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("nowhere", "does not exist", id="missing"),
    ],
)
def test_what_is_not_there_is_a_failure_with_its_reason(
    folder: Path, path: str, reason: str
) -> None:
    found = find_sources([path])
    assert found.sources == []
    assert [failure.source for failure in found.failures] == [path]
    assert reason in found.failures[0].reason


@pytest.mark.parametrize("content", [(), ("docs/a.xyz",), ("docs/.hidden.md",)])
def test_a_folder_with_nothing_to_read_is_a_failure(folder: Path, content: tuple[str, ...]) -> None:
    (folder / "docs").mkdir()
    write(folder, *content)
    (failure,) = find_sources(["docs"]).failures
    assert failure.source == "docs"
    assert failure.reason.startswith("contains no readable file")
    assert "README" in failure.reason


def test_two_files_with_one_id_are_a_failure_that_names_both(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    write(one, "docs/a.md", "docs/b.md")
    write(two, "docs/a.md")
    found = find_sources([one / "docs", two / "docs"])
    assert [source.id for source in found.sources] == ["docs/b.md"]
    (failure,) = found.failures
    assert failure.source == "docs/a.md"
    assert str(one / "docs/a.md") in failure.reason
    assert str(two / "docs/a.md") in failure.reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_never_opened(folder: Path) -> None:
    (folder / "docs").mkdir()
    os.mkfifo(folder / "docs/pipe.txt")
    failures = {failure.source: failure.reason for failure in find_sources(["docs"]).failures}
    assert "not a regular file" in failures["docs/pipe.txt"]


def test_a_folder_that_may_not_be_listed_does_not_stop_the_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def refuse_closed(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    write(folder, "docs/a.md", "docs/closed/b.md")
    monkeypatch.setattr(os, "scandir", refuse_closed)  # file modes do not stop the superuser
    found = find_sources(["docs"])
    assert [source.id for source in found.sources] == ["docs/a.md"]
    assert [failure.source for failure in found.failures] == ["docs/closed"]
    assert "permission denied" in found.failures[0].reason


def test_folders_nest_deeper_than_the_stack(folder: Path) -> None:
    path = folder
    for _ in range(1200):
        path = path / "d"
        if len(str(path)) > 3500:
            break
        path.mkdir()
    deepest = path if path.is_dir() else path.parent
    (deepest / "a.md").write_text("deep", encoding="utf-8")
    found = [source.path for source in find_sources(["d"]).sources]
    expected = [deepest / "a.md"]
    (deepest / "a.md").unlink()  # pytest's own clean-up would overrun the stack
    while deepest != folder:
        deepest.rmdir()
        deepest = deepest.parent
    assert expected == found


def test_the_hash_is_of_the_bytes(folder: Path) -> None:
    data = bytes(range(256)) * 8192
    (folder / "a.bin").write_bytes(data)
    expected = hashlib.sha256(data).hexdigest()
    assert expected == sha256_of(folder / "a.bin", max_bytes=len(data))


def test_hashing_stops_at_the_limit_and_names_the_setting(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"12345")
    with pytest.raises(SourceError, match=r"5 bytes.*limit is 4.*ingest\.max_file_bytes"):
        sha256_of(folder / "a.txt", max_bytes=4)


def test_hashing_what_is_gone_says_so(folder: Path) -> None:
    with pytest.raises(SourceError, match="vanished"):
        sha256_of(folder / "gone.txt", max_bytes=4)


# Patterns


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        pytest.param([], [], ["docs/a.md", "docs/old/c.md", "docs/sub/b.txt"], id="all"),
        pytest.param(["*.md"], [], ["docs/a.md", "docs/old/c.md"], id="a suffix"),
        pytest.param([], ["old/"], ["docs/a.md", "docs/sub/b.txt"], id="a folder"),
        pytest.param(["/*.md"], [], ["docs/a.md"], id="the top only"),
        pytest.param(["*.md", "sub/"], ["a.*"], ["docs/old/c.md", "docs/sub/b.txt"], id="both"),
        pytest.param(["**/c.md"], [], ["docs/old/c.md"], id="at any depth"),
    ],
)
def test_patterns_choose_what_is_taken_of_a_folder(
    folder: Path, include: list[str], exclude: list[str], expected: list[str]
) -> None:
    write(folder, "docs/a.md", "docs/sub/b.txt", "docs/old/c.md")
    found = find_sources(["docs"], include=include, exclude=exclude)
    assert [source.id for source in found.sources] == expected
    assert not found.failures
    left_out = {"docs/a.md", "docs/old/c.md", "docs/sub/b.txt"} - set(expected)
    assert {passed.source for passed in found.skipped} == left_out


def test_a_file_that_is_named_is_taken_whatever_the_patterns(folder: Path) -> None:
    write(folder, "a.md")
    assert [source.id for source in find_sources(["a.md"], include=["*.txt"]).sources] == ["a.md"]


def test_what_no_reader_takes_is_listed(folder: Path) -> None:
    write(folder, "docs/a.md", "docs/b.xyz", "docs/c")
    found = find_sources(["docs"])
    assert [(each.source, each.reason) for each in found.skipped] == [
        ("docs/b.xyz", "unsupported format '.xyz'"),
        ("docs/c", "has neither a suffix nor a known name"),
    ]
