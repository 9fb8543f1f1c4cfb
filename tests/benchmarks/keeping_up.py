"""What staying up to date costs: a folder synchronised again, and one paragraph of a book changed.

    python tests/benchmarks/keeping_up.py [--files 10000] [--book PATH]

The files are made here and hold a sentence or two; neither models nor spaCy take part in the first
half, for they have nothing to do with what is unchanged. The second half counts what is embedded
again when a sentence is put into a book, at places spread over it.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engine import KnowledgeEngine, Settings
from engine.types import IngestReport

BOOKS = Path(__file__).parents[3] / "shared" / "data" / "novels"
SENTENCE = "Quite another sentence stands here now, and a second one beside it. "


def timed(name: str, work: Callable[[], IngestReport]) -> IngestReport:
    cpu, wall = time.process_time(), time.perf_counter()
    report = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    counts = ", ".join(
        f"{len(getattr(report, word))} {word}"
        for word in ("added", "changed", "unchanged", "removed", "failed")
        if getattr(report, word)
    )
    print(f"{name:<32} {wall:8.2f} s  {cpu:8.2f} CPU s  {counts}; {report.embedded} embedded")
    return report


def a_folder(folder: Path, count: int) -> None:
    docs = folder / "docs"
    for number in range(count):
        path = docs / f"{number // 100:03}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nBuoy {number} lies {number % 97} fathoms deep.\n")
        os.utime(path, (1_600_000_000, 1_600_000_000))
    time.sleep(2.1)  # what was written a moment ago is hashed, not trusted to its look
    settings = Settings.model_validate(
        {"embedding": {"kind": "none"}, "graph": {"spacy_model": "none"}}
    )
    with KnowledgeEngine.open(folder / "library", settings=settings) as engine:
        timed(f"{count} files, first time", lambda: engine.sync(docs))
        timed("again, nothing changed", lambda: engine.sync(docs))
        (folder / "library" / "derived" / "seen.json").unlink()
        timed("again, every file hashed", lambda: engine.sync(docs))
        timed("dry run", lambda: engine.sync(docs, dry_run=True))
        (docs / "000" / "00000.md").write_text("# Note 0\n\nBuoy 0 has gone.\n")
        (docs / "000" / "00001.md").unlink()
        timed("one changed, one gone", lambda: engine.sync(docs))


def a_book(folder: Path, book: Path) -> None:
    text = book.read_text(encoding="utf8")
    with KnowledgeEngine.open(folder / f"library-{book.stem}") as engine:
        timed(book.name, lambda: engine.add_text(text, document_id="book"))
        for tenth in (1, 3, 5, 7, 9):
            at = text.index("\n", len(text) * tenth // 10) + 1
            changed = text[:at] + SENTENCE + text[at:]
            timed(
                f"  a sentence at {tenth}/10",
                lambda t=changed: engine.add_text(t, document_id="book"),
            )  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--book", type=Path, default=BOOKS / "a_christmas_carol_pg.txt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        a_folder(Path(folder), options.files)
        if options.book.exists():
            a_book(Path(folder), options.book)
        else:
            print(f"no book at {options.book}: give one with --book")


if __name__ == "__main__":
    main()
