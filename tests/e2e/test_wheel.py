"""What is published: the wheel holds both packages whole and nothing else, and works from anywhere.

Building it fetches the build backend from the package index. On a build server that must work;
elsewhere these tests are skipped with a word where there is no network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("engine", "graph")


def pip(*arguments: str | Path, cwd: Path) -> None:
    call = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(
        call, cwd=cwd, capture_output=True, encoding="utf8", timeout=200, check=False
    )
    unreachable = "No matching distribution found for hatchling" in done.stderr
    if unreachable and not os.environ.get("CI"):
        pytest.skip("the build backend cannot be fetched: this test needs the package index")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


def in_repository() -> set[str]:
    """The files of both packages in the repository, and the profiles of `configs/`."""
    files = {
        path.relative_to(REPOSITORY).as_posix()
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return files | {f"engine/configs/{path.name}" for path in (REPOSITORY / "configs").iterdir()}


def test_the_wheel_holds_both_packages_whole_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        about = {name.split("/")[0] for name in archive.namelist()} - set(PACKAGES)
    assert held == in_repository()
    assert about == {"-".join(wheel.name.split("-")[:2]) + ".dist-info"}
    assert {f"{package}/py.typed" for package in PACKAGES} <= held
    assert {"engine/configs/local.yaml", "engine/configs/openai.yaml"} <= held
    assert any(name.startswith("engine/answer/prompts/") for name in held)
    assert {"graph/page/page.html", "graph/page/page.css", "graph/page/start.js"} <= held


def test_the_wheel_says_what_it_is_and_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        about = Parser().parsestr(archive.read(metadata).decode())
        (entries,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
        scripts = archive.read(entries).decode().split()
    assert about["Name"] == "loregraph"
    assert about["Description-Content-Type"] == "text/markdown"
    needed = about.get_all("Requires-Dist") or []
    assert any(line.startswith("llama-index") for line in needed)
    assert all("extra ==" in line for line in needed if "torch" in line.lower())
    assert scripts == ["[console_scripts]", "loregraph", "=", "engine.serve.cli:main"]


def test_an_installed_wheel_works_from_a_folder_with_an_engine_and_a_graph_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    installed = tmp_path / "installed"
    pip("install", "--quiet", "--no-deps", "--target", installed, wheel, cwd=tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    for name in PACKAGES:
        (work / f"{name}.py").write_text("raise SystemExit('the wrong module')", encoding="utf8")
    (work / "note.md").write_text("Ada Brine lit the lamp at Gull Quay in 1901.", encoding="utf8")
    (work / "other.md").write_text("The Petrel brought oil.", encoding="utf8")

    def loregraph(*arguments: str) -> str:
        settings = {"LOREGRAPH_EMBEDDING__KIND": "none", "LOREGRAPH_GRAPH__SPACY_MODEL": "none"}
        done = subprocess.run(
            [sys.executable, installed / "bin" / "loregraph", *arguments],
            cwd=work,
            env=os.environ | settings | {"PYTHONPATH": str(installed)},
            capture_output=True,
            encoding="utf8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    profile = installed / "engine" / "configs" / "local.yaml"
    assert loregraph("add", ".", "--profile", str(profile)).startswith("4 added")
    answer = json.loads(loregraph("ask", "Who lit the lamp at Gull Quay?", "--json"))
    assert "Ada Brine" in answer["text"]
    loregraph("graph", "export", "graph.html")
    assert "Gull Quay" in (work / "graph.html").read_text(encoding="utf8")
