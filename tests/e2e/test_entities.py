"""`loregraph entities` as a user runs it: listed, decided, remembered, taken back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture(scope="module")
def filled(loregraph: Run, notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents and the library made of them."""
    folder = tmp_path_factory.mktemp("entities")
    shutil.copytree(notes / "docs", folder / "docs")
    done = loregraph(folder, "add", "docs")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


def entities(loregraph: Run, folder: Path, *arguments: str) -> str:
    done = loregraph(folder, "entities", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(loregraph: Run, folder: Path, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(
        entities(loregraph, folder, "list", query, "--json", "--limit", "100")
    )
    return rows


def test_a_decision_is_planned_made_remembered_and_taken_back(loregraph: Run, folder: Path) -> None:
    before = listed(loregraph, folder)
    planned = entities(loregraph, folder, "merge", "Orrin Vale", "tomas reed", "--dry-run")
    assert planned.startswith("would be: merge 'Orrin Vale', 'tomas reed'")
    assert "+ Orrin Vale" in planned
    assert listed(loregraph, folder) == before

    made = json.loads(entities(loregraph, folder, "merge", "Orrin Vale", "tomas reed", "--json"))
    assert made["number"] == 1
    assert made["written"] is True
    (merged,) = listed(loregraph, folder, "reed")
    assert merged["name"] == "Orrin Vale"
    reasons = {name["key"]: name["reason"] for name in merged["names"]}
    assert reasons["tomas reed"] == "merged by hand"

    loregraph(folder, "remove", "docs/lamp.md")
    loregraph(folder, "remove", "docs/petrel.txt")
    assert "waits, for no document has the names" in entities(loregraph, folder, "decisions")
    loregraph(folder, "add", "docs")
    assert listed(loregraph, folder, "reed") == [merged]
    assert "acts on 'Orrin Vale'" in entities(loregraph, folder, "decisions")

    assert "+ Tomas Reed" in entities(loregraph, folder, "undo", "1")
    assert listed(loregraph, folder) == before
    assert "no decisions were made" in entities(loregraph, folder, "decisions")


def test_names_kinds_and_splits_are_decided_too(loregraph: Run, folder: Path) -> None:
    entities(loregraph, folder, "rename", "Ada Brine", "Captain A. Brine")
    entities(loregraph, folder, "retype", "Captain A. Brine", "person")
    (row,) = listed(loregraph, folder, "captain a.")
    assert (row["name"], row["type"]) == ("Captain A. Brine", "PERSON")
    assert "Ada Brine" in row["aliases"]
    keys = [name["key"] for name in row["names"]]
    assert len(keys) > 1
    entities(loregraph, folder, "split", keys[-1])
    assert [keys[-1]] in [
        [name["key"] for name in each["names"]] for each in listed(loregraph, folder)
    ]
    shown = entities(loregraph, folder, "decisions")
    assert "1. rename 'Ada Brine' to 'Captain A. Brine': acts on 'Captain A. Brine'" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("merge", "Orin Vale", "Tomas Reed"), "near it are 'Orrin Vale'", id="typo"),
        pytest.param(("retype", "Orrin Vale", "robot"), "PERSON", id="no type"),
        pytest.param(("undo", "4"), "there is no decision 4", id="no decision"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    loregraph: Run, filled: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = loregraph(filled, "entities", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
