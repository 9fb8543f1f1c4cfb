"""README and docs: every code block runs, prints what the page shows, and the site is built.

A page runs from top to bottom in a folder of its own, which holds `data/corpus` and `configs/` of
the repository and a library of that corpus. Language models are the local server. In a shown
output `…` stands for anything.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import command_line
import pytest
import yaml
from api_server import ApiServer
from command_line import LONGEST_SECONDS, REPOSITORY, WITHOUT_MODELS
from openai_server import OpenAIServer
from pages import Block, assert_shows, blocks_of, lines_of, sent
from reading_model import read_like_a_model
from sample_library import sample_library

from loregraph import Settings

CONTENT = REPOSITORY / "docs" / "content"
PAGES = ["README.md", *sorted(str(p.relative_to(REPOSITORY)) for p in CONTENT.rglob("*.md"))]
WITH_BUNDLED_MODELS = ("README.md", "docs/content/tutorial.md")
"""Pages that show outputs of the default profile; others run without models, which is quicker."""
NOT_RUN = {
    ("README.md", "installs packages"),
    ("docs/content/tutorial.md", "installs packages"),
    ("docs/content/tutorial.md", "needs a folder of yours"),
    ("docs/content/guides/agents.md", "speaks the Model Context Protocol with its client"),
    ("docs/content/guides/deployment.md", "listens on every interface"),
    ("docs/content/guides/deployment.md", "needs a container engine"),
    ("docs/content/guides/evaluation.md", "waits for a browser"),
    ("docs/content/guides/formats.md", "needs the internet"),
}
FIRST = "loregraph add data/corpus"
MODEL_ADDRESS = "http://127.0.0.1:8080/v1"


def loregraph(folder: Path, arguments: list[str], env: Mapping[str, str]) -> str:
    """Standard output of a command that must succeed."""
    done = command_line.run(folder, *arguments, models=True, env=env)
    assert done.returncode == 0, f"loregraph {arguments}: {done.stderr}"
    return done.stdout


class Run:
    """A page that runs: its folder, environment, server and what the last block printed."""

    def __init__(
        self, folder: Path, *, env: Mapping[str, str], added: str, model: str, parts: ExitStack
    ) -> None:
        self.folder = folder
        self.printed = ""
        self._env = {**env, "LOREGRAPH_LLM__BASE_URL": model}
        self._added = added
        self._model = model
        self._parts = parts
        self._server = ""

    def bash(self, block: Block, *, is_first: bool) -> None:
        printed = []
        for position, line in enumerate(lines_of(block)):
            if is_first and position == 0 and line == FIRST:
                printed.append(self._added)  # the library of this folder was made by it
            else:
                printed.append(self._command(shlex.split(line)))
        self.printed = "".join(printed)

    def _command(self, words: list[str]) -> str:
        program, *arguments = words
        if program == "export":
            self._env.update(argument.split("=", 1) for argument in arguments)
            return ""
        if program == "curl":
            return sent(arguments, self._server)
        assert program == "loregraph", f"a block that cannot run needs a marker: {words}"
        if arguments[0] == "serve":
            server = ApiServer(self.folder, env=self._env, arguments=arguments[1:], models=True)
            self._server = self._parts.enter_context(server).url
            return ""
        return loregraph(self.folder, arguments, self._env)

    def python(self, block: Block) -> None:
        source = block.text.replace(MODEL_ADDRESS, self._model)
        exec(compile(source, "block.py", "exec"), {"__name__": "__main__"})  # noqa: S102


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.answer_with(read_like_a_model)
        yield server


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)])
def test_every_block_of_a_page_runs_and_shows_what_it_prints(
    page: str,
    model: OpenAIServer,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_models = page in WITH_BUNDLED_MODELS
    ready = sample_library(tmp_path_factory, models=with_models)
    folder = tmp_path / "page"
    shutil.copytree(ready.folder, folder)
    monkeypatch.chdir(folder)
    env = {} if with_models else WITHOUT_MODELS
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    with ExitStack() as parts:
        address = model.base_url
        run = Run(folder, env=env, added=ready.printed, model=address, parts=parts)
        blocks = [block for block in blocks_of(page) if not block.reason]
        first = next((block for block in blocks if block.language in ("bash", "python")), None)
        for block in blocks:
            if block.language == "bash":
                run.bash(block, is_first=block is first)
            elif block.language == "text":
                assert_shows(run.printed, block.text)
            elif block.language == "python":
                run.python(block)
            elif block.language == "yaml":
                Settings.model_validate(yaml.safe_load(block.text))
            else:
                assert block.language == "json", f"a block of unknown language: {block}"
                json.loads(block.text)


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    marked = {
        (page, block.reason.split(" until ")[0].strip())
        for page in PAGES
        for block in blocks_of(page)
        if block.reason
    }
    assert marked == NOT_RUN


def test_the_readme_stays_short() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf8").splitlines()) <= 150


def test_links_of_the_readme_lead_to_files() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf8")
    targets = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text)]
    assert [target for target in targets if not (REPOSITORY / target).exists()] == []


def test_every_promise_names_a_test_that_exists() -> None:
    there = {
        f"{file.name}::{name}"
        for file in (REPOSITORY / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(encoding="utf8"), re.M)
    }
    text = (CONTENT / "promises.md").read_text(encoding="utf8")
    named = re.findall(r"`(test_\w+\.py::test_\w+)`", text)
    assert len(named) > 80
    assert [name for name in named if name not in there] == []


def test_every_term_of_the_glossary_has_one_meaning_in_order() -> None:
    text = (CONTENT / "glossary.md").read_text(encoding="utf8")
    terms = [row.split("|")[1].strip().lower() for row in text.splitlines() if row[:2] == "| "][1:]
    assert terms == sorted(set(terms))
    assert len(terms) >= 60


def test_the_site_is_built_strictly_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: it comes with the group dev")
    where = ("--config-file", "docs/mkdocs.yml", "--site-dir", str(tmp_path / "site"))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", *where],
        cwd=REPOSITORY,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        encoding="utf8",
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {
        str(p.relative_to(tmp_path / "site")): p.read_text(encoding="utf8")
        for p in (tmp_path / "site").rglob("*.html")
    }
    for name in ("python", "cli", "settings", "rest", "tools", "errors"):
        assert f"reference/{name}.html" in pages
    assert "loregraph entities merge" in pages["reference/cli.html"]
    assert "lock_timeout_seconds" in pages["reference/settings.html"]
    assert "/v1/ask" in pages["reference/rest.html"]
    assert "LibraryBusy" in pages["reference/errors.html"]
    assert 'id="engine"' in pages["reference/python.html"]
    loaded = re.compile(r'<(?:script|img|iframe|link|source)\b[^>]*(?:src|href)="?(?:https?:)?//')
    assert [name for name, text in pages.items() if loaded.search(text)] == []
