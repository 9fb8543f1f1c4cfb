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


def test_a_decision_is_planned_made_and_taken_back(loregraph: Run, folder: Path) -> None:
    planned = entities(loregraph, folder, "merge", "Orrin Vale", "tomas reed", "--dry-run")
    assert planned.startswith("would be: merge 'Orrin Vale', 'tomas reed'")
    assert "+ Orrin Vale" in planned
    made = json.loads(entities(loregraph, folder, "merge", "Orrin Vale", "tomas reed", "--json"))
    assert made["number"] == 1
    assert made["written"] is True
    (merged,) = listed(loregraph, folder, "reed")
    reasons = {name["key"]: name["reason"] for name in merged["names"]}
    assert reasons["tomas reed"] == "merged by hand"
    shown = entities(loregraph, folder, "decisions")
    assert "1. merge 'Orrin Vale', 'tomas reed': acts on 'Orrin Vale'" in shown
    assert "+ Tomas Reed" in entities(loregraph, folder, "undo", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ("merge", "Orin Vale", "Tomas Reed"), "similar names are 'Orrin Vale'", id="typo"
        ),
        pytest.param(("retype", "Orrin Vale", "robot"), "PERSON", id="no type"),
        pytest.param(("undo", "4"), "no decision 4", id="no decision"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    loregraph: Run, filled: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = loregraph(filled, "entities", *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
