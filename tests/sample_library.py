"""A library of the sample corpus, built once for all processes of a test run.

Half a minute of computing is in it, so whoever needs it first builds it, and the others wait.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import REPOSITORY, run
from filelock import FileLock


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLibrary:
    """A folder with `data/corpus`, `configs` and `library`, and what `add data/corpus` printed."""

    folder: Path
    printed: str


def sample_library(factory: pytest.TempPathFactory, *, models: bool) -> SampleLibrary:
    """The sample corpus in the default profile, or without models; no test may change it."""
    base = factory.getbasetemp()
    if base.name.startswith("popen-"):  # a worker's folder, in that of the whole run
        base = base.parent
    folder = base / f"sample-{'with' if models else 'without'}-models"
    printed = folder / "printed.txt"
    with FileLock(f"{folder}.lock"):
        if not printed.exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(REPOSITORY / "data" / "corpus", folder / "data" / "corpus")
            shutil.copytree(REPOSITORY / "configs", folder / "configs")
            done = run(folder, "add", "data/corpus", models=models)
            assert done.returncode == 0, done.stderr
            printed.write_text(done.stdout, encoding="utf8")
    return SampleLibrary(folder=folder, printed=printed.read_text(encoding="utf8"))
