"""What one changed document costs beside libraries of several sizes, in CPU seconds.

    python tests/benchmarks/change.py [PASSAGES ...] [--corpus 2wiki_dev300]

For each size a library of that many documents of the corpus is made (without vectors, which no
other document touches) and kept under `LOREGRAPH_BENCH`. In a copy of it one engine adds, changes
and removes documents, and asks a question after each: the first question and the first document of
a process, which load models, are not counted. The median of several rounds is told.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from corpora import KEPT, documents, queries

from engine import KnowledgeEngine, Settings

ROUNDS = 5
SIZES = (1_000, 6_000)


def settings() -> Settings:
    return Settings.model_validate({"embedding": {"kind": "none"}})


def built(corpus: str, size: int) -> Path:
    """Return a library of the first documents of a corpus, made where it is missing."""
    folder = KEPT / f"change-{corpus}-{size}"
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        files = folder / "files"
        files.mkdir(parents=True)
        for number, row in enumerate(documents(corpus)[:size]):
            text = f"# {row['title']}\n\n{row['text']}\n"
            (files / f"{number:06}.md").write_text(text, encoding="utf8")
        with KnowledgeEngine.open(folder / "library", settings=settings()) as engine:
            engine.sync(files)
            engine.add_text("# Warm\n\nAda Brine moored the Petrel.", document_id="warm")
        done.touch()
    return folder / "library"


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(library: Path, *, corpus: str, size: int) -> dict[str, float]:
    """Add, change and remove documents that the library does not hold, and ask after each."""
    rows = documents(corpus)
    spare = rows[size:] or rows
    questions = [query.text for query in queries(corpus)]
    asked = iter(questions)
    found: dict[str, list[float]] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        found.setdefault(name, []).append(cpu_seconds(work))

    with KnowledgeEngine.open(library, settings=settings()) as engine:
        engine.add_text("# Warm\n\nAda Brine sold the Petrel.", document_id="warm")
        engine.ask(questions[-1])
        for number in range(ROUNDS):
            one, other = (f"{spare[number * 2 + k]['text']} (round {number})" for k in (0, 1))
            note("add", lambda text=one: engine.add_text(text, document_id="changing"))
            note("question after", lambda: engine.ask(next(asked)))
            note("ordinary question", lambda: engine.ask(next(asked)))
            note("change", lambda text=other: engine.add_text(text, document_id="changing"))
            note("remove", lambda: engine.remove("changing"))
    return {name: median(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--corpus", default="2wiki_dev300")
    options = parser.parse_args()
    for size in options.sizes:
        source = built(options.corpus, size)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "library"
            shutil.copytree(source, copy)
            figures = measure(copy, corpus=options.corpus, size=size)
        told = ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
        print(f"{size:>7} documents: {told} (CPU s)", flush=True)


if __name__ == "__main__":
    main()
