"""The wheel in a fresh environment: README and tutorial run as printed, in an empty folder.

    make test-wheel        # for each of Python 3.11, 3.12 and 3.13 that is found

Packages and models are fetched, which takes minutes, so this is no part of the default run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from command_line import REPOSITORY
from openai_server import OpenAIServer
from pages import assert_shows, blocks_of, lines_of, sent
from reading_model import read_like_a_model

VERSIONS = ("3.11", "3.12", "3.13")
LONGEST_SECONDS = 900
MOST_PACKAGES, MOST_MEGABYTES = 180, 1_000
"""Of an environment with the models, without `pip` and bytecode; lower them when it shrinks."""


def interpreters() -> dict[str, str]:
    """Pythons by version: this one, those of the path, those of pyenv."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {own: sys.executable}
    for version in VERSIONS:
        named = shutil.which(f"python{version}")
        managed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
        if version not in found and (managed or named):
            found[version] = str(managed[-1]) if managed else str(named)
    return found


def call(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf8",
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stderr[-4_000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir")
    call(*pip, folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=VERSIONS)
def installed(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The `bin` of an environment that holds the wheel and its models."""
    python = interpreters().get(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} on this machine")
    folder = tmp_path_factory.mktemp(f"python{request.param}")
    call(python, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    call(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    own = clean() | {"LOREGRAPH_MODELS": str(folder / "venv" / "models")}
    call(programs / "loregraph", "models", "fetch", cwd=folder, env=own)
    return programs


def clean() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("LOREGRAPH", "PYTHON"))
    }


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.answer_with(read_like_a_model)
        yield server


@pytest.mark.parametrize("page", ["README.md", "docs/content/tutorial.md"])
def test_every_command_of_a_page_runs_in_an_empty_folder(
    installed: Path, page: str, model: OpenAIServer, tmp_path: Path
) -> None:
    env = clean() | {
        "LOREGRAPH_MODELS": str(installed.parent / "models"),
        "LOREGRAPH_LLM__BASE_URL": model.base_url,
        "OPENAI_API_KEY": "a-key",
        "COLUMNS": "80",
    }
    printed = server = ""
    with ExitStack() as parts:
        for block in blocks_of(page):
            if block.reason:
                continue
            if block.language == "text":
                assert_shows(printed, block.text)
            elif block.language == "python":
                call(installed / "python", "-c", block.text, cwd=tmp_path, env=env)
            elif block.language == "bash":
                printed = ""
                for program, *arguments in map(shlex.split, lines_of(block)):
                    if program == "export":
                        continue
                    if program == "curl":
                        printed += sent(arguments, server)
                    elif arguments[0] == "serve":
                        server = parts.enter_context(Serving(installed, tmp_path, env)).url
                    else:
                        printed += call(installed / program, *arguments, cwd=tmp_path, env=env)


class Serving:
    """`loregraph serve` of the environment, on a free port."""

    def __init__(self, installed: Path, folder: Path, env: dict[str, str]) -> None:
        self._command = [str(installed / "loregraph"), "serve", "--port", "0"]
        self._folder, self._env = folder, env
        self.url = ""

    def __enter__(self) -> Serving:
        self._process = subprocess.Popen(
            self._command, cwd=self._folder, env=self._env, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"listens at (http://\S+)", line):
                self.url = found[1]
                return self
        raise AssertionError("the server ended before it listened")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)


DOCUMENTS = {
    "page.html": "<html><body><article><h1>The quay</h1><p>{}</p></article></body></html>",
    "letter.rtf": r"{{\rtf1\ansi {}\par}}",
    "module.py": 'def lamp():\n    """{}"""\n',
    "mail.eml": "From: a@example.org\nSubject: The lamp\n\n{}\n",
}


def test_readers_have_all_that_they_import(installed: Path, tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        said = f"Ada Brine lit the lamp of {name.partition('.')[0]} quay in the year 1901. " * 3
        (tmp_path / name).write_text(text.format(said), encoding="utf8")
    env = clean() | {"LOREGRAPH_MODELS": str(installed.parent / "models")}
    printed = call(installed / "loregraph", "add", *DOCUMENTS, cwd=tmp_path, env=env)
    assert printed.startswith(f"{len(DOCUMENTS)} added")


def test_an_environment_is_no_larger_than_it_was(installed: Path, tmp_path: Path) -> None:
    listed = call(installed / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    packages = [line for line in listed.splitlines() if not line.startswith("pip==")]
    every = (path for path in installed.parent.rglob("*") if path.is_file())
    files = [path for path in every if path.suffix != ".pyc" and "pip" not in path.parts]
    megabytes = sum(path.stat().st_size for path in files if not path.is_symlink()) / 1e6
    print(f"{len(packages)} packages, {megabytes:.0f} MB")
    assert len(packages) <= MOST_PACKAGES
    assert megabytes <= MOST_MEGABYTES
