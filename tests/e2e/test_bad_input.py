"""Bad input: one clear line that says what to do, the right exit code, and nothing lost.

What a library can meet before it is opened is tried inside this process (the same `main`, without
two seconds of imports each time); files, disks and limits are tried by the command itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import run

from engine import KnowledgeEngine, Settings
from engine.cli.main import main
from engine.storage.schema import SCHEMA

GIGABYTE = 10**9
FULL = "make room and run the same command again; what was stored before is kept"


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def type_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """`type_in("ask", "…")`: the command line inside this process, in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOREGRAPH_EMBEDDING__KIND", "none")
    monkeypatch.setenv("LOREGRAPH_GRAPH__SPACY_MODEL", "none")

    def run(*arguments: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["loregraph", *arguments])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        assert isinstance(code, int)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, notes: Path) -> Path:
    """A library of three documents, searched once, so that it has derived files; to be copied."""
    library = tmp_path_factory.mktemp("sound") / "library"
    with light_engine(library) as engine:
        assert len(engine.add(notes / "docs").added) == 3
        assert engine.retrieve("Who lit the lamp at Gull Quay?")
    assert (library / "derived").exists()
    return library


def noise_bytes(count: int) -> bytes:
    """Bytes that look random and are the same every time."""
    return hashlib.shake_256(b"noise").digest(count)


def light_engine(library: Path) -> KnowledgeEngine:
    light = {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    return KnowledgeEngine.open(library, settings=Settings.model_validate(light))


def one_line(said: Said) -> str:
    """The message of a command that failed: one line on standard error and nothing else."""
    assert said.code == 1
    assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 1, said.err
    assert lines[0].startswith("loregraph: ")
    return lines[0].removeprefix("loregraph: ")


# --- sources ------------------------------------------------------------------------------------


def make_sources(folder: Path) -> dict[str, str]:
    """Sources of every bad kind in a folder, and what is to be said of each."""
    folder.mkdir()
    (folder / "empty.md").touch()
    (folder / "blank.txt").write_text(" \n\t\n", encoding="utf8")
    (folder / "noise.txt").write_bytes(noise_bytes(5_000))
    (folder / "picture.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    (folder / "nowhere.md").symlink_to("gone.md")
    os.mkfifo(folder / "pipe.md")
    said = {
        "empty.md": "there is nothing to read in it",
        "blank.txt": "there is no text in it",
        "noise.txt": "looks like a binary file",
        "picture.txt": "looks like a binary file (PNG), not text",
        "broken.pdf": "PDF",
        "nowhere.md": "is a broken link: repair or remove it",
        "pipe.md": "is not a regular file (a pipe, socket or device)",
    }
    for name, size in (("large.txt", 200_000_000), ("vast.md", 100 * GIGABYTE)):
        with (folder / name).open("wb") as file:
            file.truncate(size)  # no block of it is written: reading it would take minutes
        said[name] = f"is too large: {size:,} bytes, the limit is 50,000,000; split it, or raise"
    if os.geteuid() != 0:
        (folder / "secret.md").write_text("A secret.", encoding="utf8")
        (folder / "secret.md").chmod(0)
        said["secret.md"] = "permission denied: make it readable for this user"
    return said


def test_one_bad_file_never_stops_the_others_and_each_is_named_with_its_reason(
    loregraph, tmp_path: Path
) -> None:
    expected = make_sources(tmp_path / "docs")
    (tmp_path / "docs" / "chapter.md").mkdir()
    (tmp_path / "docs" / "chapter.md" / "good.txt").write_text("In a folder.", encoding="utf8")
    (tmp_path / "docs" / "zz good.md").write_text("After all the others.", encoding="utf8")
    (tmp_path / "docs" / "chapter.md" / "round").symlink_to(tmp_path / "docs")
    done = loregraph(tmp_path, "add", "docs")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith(f"2 added, 2 empty, {len(expected) - 2} failed, 2 chunks")
    lines = [line for line in done.stderr.splitlines() if line.startswith(("  empty", "  failed"))]
    said = dict(line.partition("docs/")[2].split(": ", 1) for line in lines)
    assert said.keys() == expected.keys()
    for name, reason in expected.items():
        assert reason in said[name], name
    assert "is the same folder as 'docs': read once" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_file_that_vanishes_while_others_are_read_is_named_and_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.md").write_text(f"Note {name} of Ada Brine.", encoding="utf8")

    def take_away(stage: str, done: int, total: int) -> None:
        if (stage, done, total) == ("read", 1, 3):  # found with the others, and about to be read
            (tmp_path / "b.md").unlink()

    with light_engine(tmp_path / "library") as engine:
        report = engine.add(tmp_path, progress=take_away)
    assert report.added == ("a.md", "c.md")
    assert [failure.source for failure in report.failed] == ["b.md"]
    assert report.failed[0].reason.startswith("vanished before it could be read")


@pytest.mark.parametrize("command", [["add"], ["sync"], ["add", "--estimate"]])
def test_a_first_run_that_stores_nothing_leaves_no_library(
    type_in, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "nothing").mkdir()
    said = type_in(*command, "nothing", "gone.md")
    assert said.code == 1
    assert said.out.startswith("0 documents" if "--estimate" in command else "2 failed")
    assert "  failed nothing: contains no readable file: " in said.err
    assert "  failed gone.md: does not exist: " in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["nothing"]


def test_a_library_that_was_there_before_stays_when_nothing_is_stored_in_it(
    type_in, tmp_path: Path
) -> None:
    (tmp_path / "note.md").write_text("Ada Brine lit the lamp.", encoding="utf8")
    assert type_in("add", "note.md").code == 0
    assert type_in("remove", "note.md").code == 0
    assert type_in("add", "gone.md").code == 1
    for question in (["ask", "Who?"], ["search", "oil"], ["graph", "export", "graph.html"]):
        message = one_line(type_in(*question))
        assert message == "library is empty: 'library'; add documents with `loregraph add <files>`"


# --- questions and settings ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["ask", ""], "question is empty", id="nothing"),
        pytest.param(["ask", " \t\n　"], "question is empty", id="white space"),
        pytest.param(["ask", "?"], "question is empty", id="no word"),
        pytest.param(["ask", "？！…"], "question is empty", id="no word in Chinese"),
        pytest.param(["search", "  "], "question is empty", id="a search for nothing"),
        pytest.param(["ask", "why " * 2_000], "use at most 4,000", id="too long"),
        pytest.param(
            ["graph", "export", "graph.pdf"],
            "end the name in .html, .graphml, .json",
            id="an unknown graph format",
        ),
        pytest.param(
            ["graph", "export", "no/such/folder/graph.html"],
            "cannot write: 'no/such/folder/graph.html'",
            id="a graph into a folder that is not there",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    type_in, sound: Path, arguments: list[str], message: str
) -> None:
    assert message in one_line(type_in(*arguments, "--library", str(sound)))


@pytest.mark.parametrize(
    ("profile", "environment", "message"),
    [
        pytest.param("chunk:\n  size: 5\n", {}, "chunk.size: unknown key", id="a typo in a key"),
        pytest.param("chnk: {}\n", {}, "chnk: unknown key", id="a typo in a section"),
        pytest.param("chunk: {size_tokens: 1}\n", {}, "chunk.size_tokens: ", id="out of range"),
        pytest.param("chunk: [\n", {}, "cannot read profile: 'my.yaml'", id="not YAML"),
        pytest.param("- chunk\n", {}, "profile is not a mapping", id="a list"),
        pytest.param(
            None, {}, "no such profile: 'my.yaml'; give a YAML file, or one of", id="no such file"
        ),
        pytest.param(
            "", {"LOREGRAPH_CHUNK__SIZE_TOKENS": "many"}, "size_tokens", id="a word for a number"
        ),
        pytest.param(
            "",
            {"LOREGRAPH_CHUNK__SIZE_TOKENS": "["},
            "SIZE_TOKENS",
            id="a variable that is no YAML",
        ),
        pytest.param("llm: {kind: openai_like}\n", {}, "llm.model: name the", id="no model named"),
        pytest.param(
            "rerank: {kind: endpoint, model: m, base_url: 'https://models.invalid/v1'}\n",
            {"RERANK_API_KEY": ""},
            "set the environment variable RERANK_API_KEY",
            id="no key of a reranker",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_one_line_and_make_no_library(
    type_in,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: str | None,
    environment: dict[str, str],
    message: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if profile is not None:
        (tmp_path / "my.yaml").write_text(profile, encoding="utf8")
    assert message in one_line(type_in("add", ".", "--profile", "my.yaml"))
    assert not (tmp_path / "library").exists()


PAID_FOR = """
llm: {kind: openai_like, model: gpt-4o-mini, base_url: "https://models.invalid/v1"}
rerank: {kind: endpoint, model: m, base_url: "https://models.invalid/v1"}
graph: {extractor: llm}
"""


def test_only_what_asks_a_model_needs_its_key(
    type_in, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "RERANK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "paid.yaml").write_text(PAID_FOR, encoding="utf8")
    shutil.copytree(sound, tmp_path / "library")
    (tmp_path / "note.md").write_text("Ada Brine met Orrin Vale.", encoding="utf8")
    for command in (
        ["add", "note.md", "--estimate"],
        ["sync", ".", "--dry-run"],
        ["stats"],
        ["usage"],
        ["entities", "list"],
        ["graph", "show", "Ada Brine"],
        ["graph", "export", "graph.json"],
        ["remove", "docs/petrel.txt"],
    ):
        said = type_in(*command, "--profile", "paid.yaml")
        assert said.code == 0, (command, said.err)
        if "--estimate" in command:
            assert "extraction (gpt-4o-mini): " in said.out
    for command in (["ask", "Who?"], ["add", "note.md"]):
        message = one_line(type_in(*command, "--profile", "paid.yaml"))
        assert message.endswith("set the environment variable OPENAI_API_KEY")


# --- libraries ----------------------------------------------------------------------------------


def nothing_there(_library: Path) -> None: ...


def a_file(library: Path) -> None:
    library.write_text("my notes", encoding="utf8")


def other_files(library: Path) -> None:
    library.mkdir()
    (library / "thesis.md").write_text("Years of work.", encoding="utf8")


def another_database(library: Path) -> None:
    library.mkdir()
    with sqlite3.connect(library / "library.db") as connection:
        connection.execute("CREATE TABLE books (title TEXT)")
    connection.close()


def newer(library: Path) -> None:
    with sqlite3.connect(library / "library.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def noise(library: Path) -> None:
    (library / "library.db").write_bytes(noise_bytes(50_000))


def cut_short(library: Path) -> None:
    os.truncate(library / "library.db", 40_000)


def emptied(library: Path) -> None:
    os.truncate(library / "library.db", 0)


def overwritten(library: Path) -> None:
    with (library / "library.db").open("r+b") as file:
        file.seek(4_096)
        file.write(noise_bytes(100_000))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            newer, f"has schema 99, this loregraph reads {SCHEMA}: upgrade loregraph", id="newer"
        ),
        pytest.param(noise, "restore it from a copy, or build a new library", id="noise"),
        pytest.param(cut_short, "restore it from a copy, or build a new library", id="cut short"),
        pytest.param(
            overwritten, "restore it from a copy, or build a new library", id="overwritten"
        ),
        pytest.param(emptied, "is empty though it was in use; restore", id="emptied"),
        pytest.param(a_file, "'library' is a file; name a folder", id="a file"),
        pytest.param(other_files, "has other files in it; give", id="other files"),
        pytest.param(another_database, "is a database of another program; give", id="not ours"),
    ],
)
def test_a_library_that_cannot_be_used_is_left_as_it_is(
    type_in, tmp_path: Path, sound: Path, damage: Callable[[Path], None], message: str
) -> None:
    library = tmp_path / "library"
    if damage in (newer, noise, cut_short, emptied, overwritten):
        shutil.copytree(sound, library)
    damage(library)
    (tmp_path / "note.md").write_text("Ada Brine wrote this note.", encoding="utf8")
    before = contents(library)
    assert message in one_line(type_in("add", "note.md"))
    if damage is not other_files:
        assert message in one_line(type_in("ask", "Who wrote this note?"))
        said = type_in("doctor")
        assert (said.code, said.err) == (1, "")
        assert any(line.startswith("✗") and message in line for line in said.out.splitlines())
    assert contents(library) == before


def contents(path: Path) -> dict[str, bytes]:
    """Every file under a path but SQLite's log; of each all but a header's length."""
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {
        str(file): file.read_bytes()[100:]
        for file in files
        if file.is_file() and not file.name.endswith(("-wal", "-shm", ".lock"))
    }


@pytest.mark.parametrize("asked", [["stats"], ["ask", "Who?"], ["remove", "a.md"]])
def test_where_there_is_no_library_none_is_made_but_by_add(
    type_in, tmp_path: Path, asked: list[str]
) -> None:
    message = one_line(type_in(*asked))
    assert message == "no library at 'library'; create one with `loregraph add <files>`"
    assert list(tmp_path.iterdir()) == []


# --- disks --------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """`small_disk("size=2m")` mounts a disk in memory, or mounts it anew with other options."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        if mounted:
            options = f"remount,{options}"
        call = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(call, capture_output=True).returncode:
            pytest.skip("a disk in memory cannot be mounted here: run as root to have this tested")
        mounted = True
        return place

    yield mount
    if mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def write_notes(folder: Path) -> None:
    """Twenty-five documents that take about two megabytes in a library."""
    folder.mkdir()
    for number in range(25):
        days = (
            f"On day {number}.{day} Ada Brine met Orrin Vale at Gull Quay." for day in range(99)
        )
        (folder / f"{number:02}.md").write_text("\n\n".join(days), encoding="utf8")


def test_a_full_disk_keeps_what_was_stored_and_goes_on_when_there_is_room(
    loregraph, small_disk, sound: Path, tmp_path: Path
) -> None:
    library = small_disk("size=1m") / "library"
    shutil.copytree(sound, library)
    write_notes(tmp_path / "docs")
    add = ("add", "docs", "--library", library)
    done = loregraph(tmp_path, *add)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"loregraph: disk full: {str(library)!r}; {FULL}"
    assert "Traceback" not in done.stderr
    with light_engine(library) as engine:
        held = {document.id for document in engine.documents()}
        assert engine.problems() == []
    assert {"docs/lamp.md", "docs/petrel.txt", "docs/灯塔.md"} <= held
    assert len(held) < 28
    small_disk("size=50m")
    done = loregraph(tmp_path, *add)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{28 - len(held)} added, ")
    with light_engine(library) as engine:
        assert engine.problems() == []
        assert len(engine.documents()) == 28


def test_a_limit_on_file_sizes_is_met_like_a_full_disk(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "library")
    write_notes(tmp_path / "docs")
    limit = 2 * (sound / "library.db").stat().st_size
    no_more_than_that = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit},) * 2)"
    )
    done = run(tmp_path, "add", "docs", prelude=no_more_than_that)
    assert (done.returncode, done.stdout) == (1, "")
    message = done.stderr.splitlines()[-1]
    assert message.startswith("loregraph: cannot write to the disk of 'library' ")
    assert message.endswith(FULL)
    with light_engine(tmp_path / "library") as engine:
        assert engine.problems() == []
        assert "Ada Brine" in engine.ask("Who lit the lamp at Gull Quay?").text


def test_a_read_only_library_answers_and_refuses_to_be_changed(
    type_in, small_disk, sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = small_disk("size=2m") / "library # 1"
    shutil.copytree(sound, library)
    small_disk("ro")
    (tmp_path / "note.md").write_text("Ada Brine wrote this note.", encoding="utf8")
    before = contents(library)
    for arguments in (["add", "note.md"], ["remove", "docs/lamp.md"]):
        message = one_line(type_in(*arguments, "--library", str(library)))
        assert "is read-only: make its folder writable, or copy it" in message
    for embedding in ("none", "bundled"):
        monkeypatch.setenv("LOREGRAPH_EMBEDDING__KIND", embedding)
        said = type_in("ask", "Who lit the lamp at Gull Quay?", "--library", str(library))
        assert (said.code, said.err) == (0, "")
        assert "Ada Brine" in said.out
    monkeypatch.setenv("LOREGRAPH_EMBEDDING__KIND", "none")
    assert type_in("stats", "--library", str(library)).code == 0
    assert contents(library) == before
    small_disk("rw")
    assert type_in("add", "note.md", "--library", str(library)).code == 0


def test_a_read_only_library_is_read_with_what_a_killed_writer_left_or_not_at_all(
    type_in, small_disk, sound: Path
) -> None:
    library = small_disk("size=8m") / "library"
    shutil.copytree(sound, library)
    killed = """
import os, sys
from engine.storage.library import Library
with Library(sys.argv[1]).write() as connection:
    connection.exec_driver_sql("UPDATE documents SET title = 'left in the log'")
os._exit(9)
"""
    done = subprocess.run([sys.executable, "-c", killed, str(library)], check=False)
    assert done.returncode == 9
    small_disk("ro")
    said = type_in("stats", "--documents", "--library", str(library))
    assert (said.code, said.err) == (0, "")
    assert "left in the log" in said.out
    small_disk("rw")
    (library / "library.db-shm").unlink()
    small_disk("ro")
    message = one_line(type_in("stats", "--library", str(library)))
    assert "is read-only, and whoever wrote it last did not finish" in message


def test_a_disk_without_room_for_the_graph_page_is_one_line(
    type_in, small_disk, sound: Path
) -> None:
    target = small_disk("size=8k") / "graph.html"
    message = one_line(type_in("graph", "export", str(target), "--library", str(sound)))
    assert (
        message
        == f"cannot write: {str(target)!r} (No space left on device); choose a writable place"
    )
