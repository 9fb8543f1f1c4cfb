"""What a caller of the tools may reach: namespaces, and files in the folders that were allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import NotAllowed, SourceError
from engine.tools.schemas import ALL_RIGHTS, Access, Admitted, admitted_source


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    folder = tmp_path / "allowed"
    (folder / "sub").mkdir(parents=True)
    (folder / "note.md").write_text("a note", encoding="utf8")
    (folder / "sub" / "deep.md").write_text("deeper", encoding="utf8")
    (tmp_path / "secret.md").write_text("a secret", encoding="utf8")
    (tmp_path / "allowed-too").mkdir()
    (tmp_path / "allowed-too" / "other.md").write_text("beside", encoding="utf8")
    return folder


def part(folder: Path, *include: str) -> Admitted:
    return Admitted(source=str(folder.resolve()), include=include)


@pytest.mark.parametrize(
    "source",
    ["note.md", "./note.md", "sub/../note.md", "allowed/note.md", "{folder}/note.md"],
)
def test_a_file_in_an_allowed_folder_is_found_by_any_path(allowed: Path, source: str) -> None:
    given = source.format(folder=allowed)
    assert admitted_source(given, folders=[allowed]) == part(allowed, "/note.md")


@pytest.mark.parametrize(
    "source",
    [
        "../secret.md",
        "sub/../../secret.md",
        "{folder}/../secret.md",
        "{folder}-too/other.md",
        "/etc/passwd",
        "~/.bashrc",
        "..",
        "/",
        "",
        "no-such-file.md",
        "note.md\0.txt",
        "x" * 5_000,
        "%2e%2e/secret.md",
        "..\\secret.md",
    ],
)
def test_nothing_else_is_and_what_is_there_is_not_told_from_what_is_not(
    allowed: Path, source: str
) -> None:
    given = source.format(folder=allowed)
    with pytest.raises(NotAllowed, match="outside of the allowed folders"):
        admitted_source(given, folders=[allowed])


def test_a_link_that_leads_out_is_refused_as_a_file_and_in_a_folder(allowed: Path) -> None:
    (allowed / "sub" / "link.md").symlink_to(allowed.parent / "secret.md")
    for source in ("sub/link.md", "sub", "."):
        with pytest.raises(NotAllowed):
            admitted_source(source, folders=[allowed])
    (allowed / "sub" / "link.md").unlink()
    (allowed / "sub" / "folder").symlink_to(allowed.parent, target_is_directory=True)
    for source in ("sub/folder/secret.md", "sub", "sub/folder"):
        with pytest.raises(NotAllowed):
            admitted_source(source, folders=[allowed])


def test_a_link_that_stays_inside_is_followed(allowed: Path) -> None:
    (allowed / "link.md").symlink_to(allowed / "sub" / "deep.md")
    assert admitted_source("link.md", folders=[allowed]) == part(allowed, "/sub/deep.md")
    assert admitted_source("sub", folders=[allowed]) == part(allowed, "/sub")
    assert admitted_source(".", folders=[allowed]) == part(allowed)


def test_an_allowed_folder_may_itself_be_a_link(allowed: Path) -> None:
    (allowed.parent / "door").symlink_to(allowed, target_is_directory=True)
    found = admitted_source("door/note.md", folders=[allowed.parent / "door"])
    assert found == part(allowed, "/note.md")


def test_a_name_full_of_patterns_means_itself_alone(allowed: Path) -> None:
    (allowed / "a [1]*.md").write_text("one", encoding="utf8")
    found = admitted_source("a [1]*.md", folders=[allowed])
    assert found.include == (r"/a\ \[1\]\*.md",)


def test_a_circle_of_links_is_nothing(allowed: Path) -> None:
    (allowed / "a").symlink_to(allowed / "b")
    (allowed / "b").symlink_to(allowed / "a")
    with pytest.raises(NotAllowed):
        admitted_source("a", folders=[allowed])


def test_web_addresses_go_on_to_the_rules_of_ingest() -> None:
    found = admitted_source(" https://example.org/a.pdf ", folders=[])
    assert found == Admitted(source="https://example.org/a.pdf")


@pytest.mark.parametrize(
    "source",
    [
        "sqlite:///x.db",
        "postgresql://u@h/db",
        "file:///etc/passwd",
        "ftp://h/x",
        "HTTP+x://h",
        "a:/",
    ],
)
def test_other_addresses_are_refused(allowed: Path, source: str) -> None:
    with pytest.raises(NotAllowed):
        admitted_source(source, folders=[allowed])


def test_without_a_folder_no_file_can_be_added() -> None:
    with pytest.raises(NotAllowed, match="--allow FOLDER"):
        admitted_source("note.md", folders=[])


def test_rights_reach_as_far_as_their_namespaces() -> None:
    rights = Access(reads=frozenset({"north", "east"}), writes=frozenset({"north"}))
    assert rights.within(None) == {"north", "east"}
    assert rights.within("east") == "east"
    with pytest.raises(NotAllowed):
        rights.within("south")
    assert rights.home(None) == rights.home("north") == "north"
    with pytest.raises(NotAllowed):
        rights.home("east")
    with pytest.raises(SourceError):
        ALL_RIGHTS.home("a/b")


def test_where_several_could_be_meant_one_must_be_said() -> None:
    assert ALL_RIGHTS.home(None) == ""
    assert Access(writes=frozenset({"", "north"})).home(None) == ""
    with pytest.raises(NotAllowed, match="east, north"):
        Access(writes=frozenset({"east", "north"})).home(None)
    with pytest.raises(NotAllowed, match="none"):
        ALL_RIGHTS.read_only().home(None)


def test_confinement_only_takes_away() -> None:
    rights = Access(reads=frozenset({"north", "east"}), writes=frozenset({"north"}))
    assert rights.only("east") == Access(reads=frozenset({"east"}), writes=frozenset())
    assert rights.only("south") == Access(reads=frozenset(), writes=frozenset())
    assert ALL_RIGHTS.only("north").home(None) == "north"
