"""Libraries whose database was damaged: every command works, or says the same in one line."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.cli.main import app
from engine.errors import EngineError, LibraryUnusable

PAGE = 4096
Damage = Callable[[bytearray, random.Random], None]
PEOPLE = ("Ada Brine", "Orrin Vale", "Tomas Reed", "Edda Vik", "Lars Holm")
PROFILE = "embedding: {kind: none}\ngraph: {spacy_model: none}\n"


def write_notes(folder: Path) -> None:
    folder.mkdir()
    for number in range(12):
        one, other = PEOPLE[number % 5], PEOPLE[(number + 1) % 5]
        lines = [
            f"{one} met {other} at Gull Quay on day {day}. {other} gave {one} lamp {day}."
            for day in range(number, number + 14)
        ]
        (folder / f"note{number:02}.md").write_text(f"# Note {number}\n\n" + "\n\n".join(lines))


@pytest.fixture(scope="module")
def built(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `docs` and a sound `library` of them."""
    place = tmp_path_factory.mktemp("built")
    write_notes(place / "docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        with open_engine(place / "library") as engine:
            engine.add("docs")
    return place


def pages_of(data: bytearray) -> int:
    return len(data) // PAGE


def random_page(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(1, pages_of(data)) * PAGE
    data[at : at + PAGE] = rng.randbytes(PAGE)


def zero_page(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(1, pages_of(data)) * PAGE
    data[at : at + PAGE] = bytes(PAGE)


def truncated(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(1, pages_of(data)) * PAGE :]


def first_page(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(0, 100)
    data[at : at + 900] = rng.randbytes(900)


def flipped_bytes(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(1, pages_of(data)) * PAGE + rng.randrange(2_000)
    for place in range(at, at + 400, 7):
        data[place] ^= rng.randrange(1, 256)


def broken_json(data: bytearray, rng: random.Random) -> None:
    """Bytes of a value that is JSON: brackets and quotes gone, its length as it was."""
    places = [place for sign in (b'["', b'{"', b'"]') for place in _places(data, sign)]
    for place in rng.sample(places, k=min(3, len(places))):
        data[place : place + 2] = b"@@"


def _places(data: bytearray, sign: bytes) -> list[int]:
    found, at = [], data.find(sign, PAGE)
    while at >= 0:
        found.append(at)
        at = data.find(sign, at + 1)
    return found


KINDS: dict[str, Damage] = {
    "random page": random_page,
    "zero page": zero_page,
    "truncated": truncated,
    "first page": first_page,
    "flipped bytes": flipped_bytes,
    "broken JSON": broken_json,
}
CALLS: dict[str, Callable] = {
    "add the same": lambda engine: engine.add("docs"),
    "add new": lambda engine: engine.add_text("Ida Moss came.", document_id="new"),
    "local": lambda engine: engine.ask("Who met Ada Brine at Gull Quay?", mode="local"),
    "global": lambda engine: engine.ask("What are the main themes?", mode="global"),
    "retrieve": lambda engine: engine.retrieve("Gull Quay"),
    "stats": lambda engine: (engine.stats(), engine.documents(), engine.catalogue.page()),
    "entities": lambda engine: engine.entities.list(),
    "graph": lambda engine: (engine.graph.communities(), engine.graph.export()),
    "problems": lambda engine: engine.problems(),
    "repair": lambda engine: engine.repair(),
    "sync": lambda engine: engine.sync("docs"),
}
COMMANDS = (
    ("add", "docs"),
    ("add", "more.md"),
    ("sync", "docs"),
    ("sync", "docs", "--dry-run"),
    ("ask", "Who met Ada Brine?", "--mode", "local"),
    ("ask", "What are the main themes?", "--mode", "global"),
    ("search", "Gull Quay"),
    ("stats", "--documents"),
    ("doctor",),
    ("entities", "list"),
    ("graph", "communities"),
    ("graph", "export", "graph.json"),
    ("graph", "export", "graph.html"),
    ("remove", "docs/note03.md"),
)


def damaged(built: Path, place: Path, kind: str, seed: int) -> None:
    shutil.copytree(built, place, dirs_exist_ok=True)
    (place / "more.md").write_text("# More\n\nIda Moss came to Gull Quay.\n")
    (place / "profile.yaml").write_text(PROFILE)
    database = place / "library" / "library.db"
    data = bytearray(database.read_bytes())
    KINDS[kind](data, random.Random(seed))  # noqa: S311  # bytes of a test
    database.write_bytes(data)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_every_call_on_a_damaged_library_works_or_says_that_it_is_unusable(
    built: Path, open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    damaged(built, tmp_path, kind, seed)
    monkeypatch.chdir(tmp_path)
    said = set()
    for call in CALLS.values():
        try:
            with open_engine(tmp_path / "library") as engine:
                call(engine)
                said.add("")
        except LibraryUnusable as error:
            said.add(str(error))
    (only,) = said
    assert only == "" or "library.db" in only or "schema" in only


@pytest.mark.parametrize("seed", [2])
@pytest.mark.parametrize("kind", KINDS)
def test_calls_on_a_library_that_is_damaged_while_it_is_open_raise_nothing_unforeseen(
    built: Path, open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    damaged(built, tmp_path, kind, seed)
    monkeypatch.chdir(tmp_path)
    # Damage that came with no trace in the file's times: nothing was looked at when it was opened.
    monkeypatch.setattr("engine.storage.integrity.is_noted", lambda *_: True)
    for call in CALLS.values():
        try:
            with open_engine(tmp_path / "library") as engine:
                call(engine)
        except EngineError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_every_command_on_a_damaged_library_says_the_same_in_one_line(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    damaged(built, tmp_path, kind, 1)
    monkeypatch.chdir(tmp_path)
    ended = set()
    for command in COMMANDS:
        done = CliRunner().invoke(app, [*command, "--profile", "profile.yaml"])
        assert done.exception is None or isinstance(done.exception, EngineError | SystemExit)
        if isinstance(done.exception, LibraryUnusable):
            ended.add(str(done.exception))
        elif command[0] == "doctor" and done.exit_code == 1:
            (line,) = [line for line in done.output.splitlines() if "library.db" in line]
            assert line.startswith("✗")
        else:
            assert done.exit_code == 0, (command, done.output)
            ended.add("")
    assert len(ended) == 1, ended


def test_a_sound_library_is_looked_through_once(
    built: Path, open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    looks = []
    monkeypatch.setattr(
        "engine.storage.library.find_damage", lambda *_: looks.append(1) or iter(())
    )
    for _ in range(3):
        with open_engine(tmp_path / "library") as engine:
            engine.add_text("Ida Moss came.", document_id="new")
            engine.ask("Who came?", mode="local")
    assert len(looks) == 1, "a copy is looked at when it is first opened"
    with sqlite3.connect(tmp_path / "library" / "library.db") as other:
        other.execute("UPDATE documents SET title = 'x'")
    other.close()
    with open_engine(tmp_path / "library") as engine:
        engine.stats()
    assert len(looks) == 2


def test_a_note_that_is_broken_or_gone_costs_a_look_alone(
    built: Path, open_engine, tmp_path: Path
) -> None:
    shutil.copytree(built / "library", tmp_path / "library")
    note = tmp_path / "library" / "derived" / "checked.json"
    for text in ("{", json.dumps([1, 2]), "null"):
        note.write_text(text)
        with open_engine(tmp_path / "library") as engine:
            assert engine.problems() == []
    shutil.rmtree(note.parent)
    with open_engine(tmp_path / "library") as engine:
        assert engine.problems() == []
