"""The command line as a user runs it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest
from api_server import ApiServer
from warm_process import forked
from web_browser import Tab, opened, started_browser

REPOSITORY = Path(__file__).parents[2]
WITHOUT_MODELS = {"LOREGRAPH_EMBEDDING__KIND": "none", "LOREGRAPH_GRAPH__SPACY_MODEL": "none"}
"""Quick to start; what is tested with it does not depend on vectors or entity types."""

Finished = subprocess.CompletedProcess[str]
LONGEST_SECONDS = 240


def environment(*, models: bool = False, **more: str) -> dict[str, str]:
    """The environment of a command: nothing of the caller's own settings in it."""
    inherited = {name: value for name, value in os.environ.items() if "LOREGRAPH" not in name}
    plain = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "", "COLUMNS": "80"}
    return inherited | plain | ({} if models else WITHOUT_MODELS) | more


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "engine.cli", *map(str, arguments)]


@pytest.fixture(scope="session")
def loregraph() -> Callable[..., Finished]:
    """`loregraph(folder, "ask", "…", models=False, env={…})`: run it there, and what came of it.

    It begins where all is imported (`warm_process`) unless its beginning is what is looked at: its
    help, the interpreter's own settings, limits, and the default profile.
    """

    def run(
        folder: Path,
        *arguments: str | Path,
        models: bool = False,
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> Finished:
        there = environment(models=models, **(env or {}))
        of_python = any(name.startswith("PYTHON") for name in env or ())
        if models or before is not None or of_python or "--help" in arguments:
            return subprocess.run(
                command(*arguments),
                cwd=folder,
                env=there,
                preexec_fn=before,
                capture_output=True,
                encoding="utf8",
                timeout=LONGEST_SECONDS,
                check=False,
            )
        with TemporaryFile() as out, TemporaryFile() as errors:
            asked = [str(argument) for argument in arguments]
            process = forked(asked, cwd=folder, env=there, stdout=out, stderr=errors)
            try:
                code = process.wait(timeout=LONGEST_SECONDS)
            finally:
                process.kill()
            said, failed = (_text_of(stream) for stream in (out, errors))
        return Finished(asked, code, said, failed)

    return run


def _text_of(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf8")


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser; not for the session, for it keeps an event loop running."""
    with started_browser() as running:
        yield running


@pytest.fixture(scope="module")
def shared_tab(browser: Any, server: ApiServer) -> Iterator[Tab]:
    """A tab at the module's `server`."""
    with opened(browser, server.url) as tab:
        yield tab


@pytest.fixture
def tab(shared_tab: Tab) -> Iterator[Tab]:
    """It, for one test, at whose end all that it asked for and that failed counts."""
    with shared_tab.watched():
        yield shared_tab


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
