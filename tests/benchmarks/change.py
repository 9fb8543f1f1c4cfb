"""What one changed document costs beside libraries of several sizes, in CPU seconds.

    python tests/benchmarks/change.py [PASSAGES ...] [--corpus 2wiki_dev300]

The corpus is read once into a library without vectors (no other document touches them). For each
size its facts are copied into a library of that many documents: the first ones, and beyond those
that there are copies in which rare names have other letters (see `scale.py`). All are derived and
kept under `LOREGRAPH_BENCH`. In a copy of it one engine adds, changes and removes documents. After
each addition it asks two questions, the second of which was the first one of the round before: both
are of the same questions. The first question and the first document of a process, which load
models, are not counted. The median of several rounds is told. At last a run changes 500 documents.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from corpora import KEPT, documents, queries
from llama_index.core import Document
from scale import rare_words, renamed
from sqlalchemy import Table, insert, select

from engine import KnowledgeEngine, Settings
from engine.storage.library import Library
from engine.storage.schema import KeywordEntry, keywords
from engine.storage.schema import documents as document_table
from engine.storage.tokenization import tokens
from graph.pipeline import forget_derived
from graph.storage.facts import raise_generation
from graph.storage.schema import chunks, mentions, statements

ROUNDS = 5
MANY = 500
SIZES = (1_000, 6_000, 25_000, 100_000)
Row = dict[str, Any]


def settings() -> Settings:
    return Settings.model_validate({"embedding": {"kind": "none"}})


def read_corpus(corpus: str) -> Path:
    """Return a library of all documents of a corpus, made where it is missing."""
    folder = KEPT / f"change-{corpus}"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        files = folder / "files"
        files.mkdir(parents=True)
        for number, row in enumerate(documents(corpus)):
            text = f"# {row['title']}\n\n{row['text']}\n"
            (files / f"{number:06}.md").write_text(text, encoding="utf8")
        with KnowledgeEngine.open(folder / "library", settings=settings()) as engine:
            engine.sync(files)
        (folder / "done").touch()
    return folder / "library"


def built(corpus: str, size: int) -> Path:
    """Return a derived library of so many documents, made where it is missing."""
    folder = KEPT / f"change-{corpus}-{size}"
    if not (folder / "done").exists():
        facts = read_facts(read_corpus(corpus))
        shutil.rmtree(folder, ignore_errors=True)
        with KnowledgeEngine.open(folder / "library", settings=settings()) as engine:
            engine.add_text("# Warm\n\nAda Brine moored the Petrel.", document_id="warm")
        write_copies(folder / "library", facts, size=size)
        with KnowledgeEngine.open(folder / "library", settings=settings()) as engine:
            engine.retrieve("Who moored the Petrel?")
        (folder / "done").touch()
    return folder / "library"


def read_facts(path: Path) -> dict[str, list[Row]]:
    """Return the rows of all facts, by table, in the order of their documents."""
    library = Library(path, create=False)
    with library.read() as connection:
        facts = {
            table.name: [dict(row._mapping) for row in connection.execute(select(table))]
            for table in (document_table, chunks, mentions, statements)
        }
    library.close()
    facts["documents"].sort(key=lambda row: str(row["id"]))
    return facts


def write_copies(path: Path, facts: Mapping[str, Sequence[Row]], *, size: int) -> None:
    """Fill a library with copies of all facts until it holds `size` documents."""
    library = Library(path, create=False)
    rare = rare_words(row["text"] for row in facts["documents"])
    for number, first in enumerate(range(0, size, len(facts["documents"]))):
        held = {row["id"] for row in facts["documents"][: size - first]}
        inside = {row["id"] for row in facts["chunks"] if row["document_id"] in held}
        copy = _Copy(number, rare)
        with library.write() as connection:
            for table, column, kept in (
                (document_table, "id", held),
                (chunks, "id", inside),
                (mentions, "chunk_id", inside),
                (statements, "chunk_id", inside),
            ):
                rows = (copy.row(table, row) for row in facts[table.name] if row[column] in kept)
                connection.execute(insert(table), list(rows))
            rows = (row for row in facts["chunks"] if row["id"] in inside)
            connection.execute(insert(keywords), [copy.keywords(row) for row in rows])
    with library.write() as connection:
        forget_derived(connection)
        raise_generation(connection)
    library.close()


class _Copy:
    """Facts under ids of their own, with other letters in rare names."""

    def __init__(self, number: int, rare: frozenset[str]) -> None:
        self._number = number
        self._rare = rare
        self._said: dict[str, str] = {}

    def _renamed(self, text: str) -> str:
        if text not in self._said:
            self._said[text] = renamed(text, self._number, self._rare) if self._number else text
        return self._said[text]

    def row(self, table: Table, row: Row) -> Row:
        ids = ("id", "document_id", "chunk_id", "text_sha", "source", "path")
        words = ("title", "text", "title_key", "key", "surface", "subject", "object")
        new = {**row, **{name: f"{row[name]}-{self._number}" for name in ids if name in row}}
        new |= {name: self._renamed(row[name]) for name in words if name in row}
        return {**new, "linked": False} if table is chunks else new

    def keywords(self, row: Row) -> Row:
        title, text = self._renamed(row["title"]), self._renamed(row["text"])
        body = " ".join(tokens(f"{title}\n{text}"))
        entry = KeywordEntry(" ".join(tokens(title)), "", body, 1.0)
        return {"chunk_id": f"{row['id']}-{self._number}", **entry._asdict(), "stamp": entry.stamp}


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(library: Path, *, corpus: str, size: int) -> dict[str, float]:
    """Add, change and remove documents that the library does not hold, and ask after each."""
    rows = documents(corpus)
    spare = rows[size:] or rows
    questions = [query.text for query in queries(corpus)]
    found: dict[str, list[float]] = {}

    def note(name: str, work: Callable[[], object]) -> None:
        found.setdefault(name, []).append(cpu_seconds(work))

    with KnowledgeEngine.open(library, settings=settings()) as engine:
        engine.add_text("# Warm\n\nAda Brine sold the Petrel.", document_id="warm")
        engine.ask(questions[-1])
        for number in range(ROUNDS):
            one, other = (f"{spare[number * 2 + k]['text']} (round {number})" for k in (0, 1))
            note("add", lambda text=one: engine.add_text(text, document_id="changing"))
            note("question after", lambda at=number: engine.ask(questions[at + 1]))
            note("ordinary question", lambda at=number: engine.ask(questions[at]))
            note("change", lambda text=other: engine.add_text(text, document_id="changing"))
            note("remove", lambda: engine.remove("changing"))
            file = library.parent / f"{number}.md"
            file.write_text(f"# Round {number}\n\n{one}\n", encoding="utf8")
            note("add a file", lambda path=file: engine.add(path))
            engine.remove(engine.add(file).unchanged)
        held = [row.id for row in engine.documents()][:MANY]
        texts = [f"{spare[-1 - place % len(spare)]['text']} (again)" for place in range(len(held))]
        many = [Document(text=text, id_=one) for one, text in zip(held, texts, strict=True)]
        note(f"change {len(many)}", lambda: engine.add(many))
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
