"""The command line, a browser at the web page, and three documents for both."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import command_line
import pytest
from api_server import ApiServer
from command_line import LONGEST_SECONDS, Finished, environment
from warm_process import Forked, forked
from web_browser import Tab, opened, started_browser


@pytest.fixture(scope="session")
def loregraph() -> Callable[..., Finished]:
    """`loregraph(folder, "ask", "…", models=False, env={…})`: run it there, and what came of it.

    It begins where all is imported (`warm_process`) unless its beginning is what is looked at: the
    interpreter's own settings.
    """

    def run(
        folder: Path,
        *arguments: str | Path,
        models: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        of_python = any(name.startswith("PYTHON") for name in env or ())
        if not of_python:
            return command_line.run(folder, *arguments, models=models, env=env)
        return subprocess.run(
            [sys.executable, "-m", "engine.cli", *map(str, arguments)],
            cwd=folder,
            env=environment(models=models, **(env or {})),
            capture_output=True,
            encoding="utf8",
            timeout=LONGEST_SECONDS,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def start() -> Callable[..., Forked]:
    """As `loregraph`, but the process is handed out while it runs, and writes where it is told."""

    def run(folder: Path, *arguments: str | Path, stdout: IO[bytes], stderr: IO[bytes]) -> Forked:
        asked = [str(argument) for argument in arguments]
        return forked(asked, cwd=folder, env=environment(), stdout=stdout, stderr=stderr)

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
