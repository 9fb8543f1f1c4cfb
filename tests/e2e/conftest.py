"""The command line as a user runs it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
WITHOUT_MODELS = {"LOREGRAPH_EMBEDDING__KIND": "none", "LOREGRAPH_GRAPH__SPACY_MODEL": "none"}
"""Quick to start; what is tested with it does not depend on vectors or entity types."""

Finished = subprocess.CompletedProcess[str]


def environment(*, models: bool = False, **more: str) -> dict[str, str]:
    """The environment of a command: nothing of the caller's own settings in it."""
    inherited = {name: value for name, value in os.environ.items() if "LOREGRAPH" not in name}
    plain = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "", "COLUMNS": "80"}
    return inherited | plain | ({} if models else WITHOUT_MODELS) | more


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "engine.serve", *map(str, arguments)]


@pytest.fixture(scope="session")
def loregraph() -> Callable[..., Finished]:
    """`loregraph(folder, "ask", "…", models=False, env={…})`: run it there, and what came of it."""

    def run(
        folder: Path,
        *arguments: str | Path,
        models: bool = False,
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> Finished:
        return subprocess.run(
            command(*arguments),
            cwd=folder,
            env=environment(models=models, **(env or {})),
            preexec_fn=before,
            capture_output=True,
            encoding="utf8",
            timeout=240,
            check=False,
        )

    return run


def listen_to_interrupts() -> None:
    """A shell that runs tests in the background has its children ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen[bytes]]:
    """As `loregraph`, but the process is handed out while it runs."""

    def run(folder: Path, *arguments: str | Path, **streams: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment(),
            preexec_fn=listen_to_interrupts,
            **streams,
        )

    return run


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `docs/`: three documents in two languages."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "docs").mkdir()
    for name, text in DOCUMENTS.items():
        (folder / "docs" / name).write_text(text, encoding="utf8")
    return folder


DOCUMENTS = {
    "lamp.md": (
        "# The lamp at Gull Quay\n\nCaptain Ada Brine lit the lamp at Gull Quay in 1901. "
        "Orrin Vale repaired it with Tomas Reed after the storm of 1907.\n\n"
        "## Oil\n\nThe Petrel brought oil to Gull Quay every month. Ada Brine paid for it.\n"
    ),
    "petrel.txt": (
        "The Petrel\n\nThe Petrel was a supply ship of the Vale Line. Orrin Vale owned the Vale "
        "Line, and Tomas Reed was the mate of the Petrel until 1912.\n"
    ),
    "灯塔.md": "# 鸥港灯塔\n\n艾达·布莱恩船长于1901年点亮了鸥港灯塔。海燕号每月运来灯油。\n",
}
