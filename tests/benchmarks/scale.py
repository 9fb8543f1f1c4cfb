"""A hundred thousand chunks: latency of questions by stage, memory, and what a change costs.

    python tests/benchmarks/scale.py             # the 6,119 documents, and 100,000 chunks
    python tests/benchmarks/scale.py 30000       # another number of chunks

The library of `2wiki_dev300` (made by `retrieval.py` or `indexing.py`) is tiled. Every copy has
names of its own: the letters of rare capitalised words are turned, so texts, names, links and
tokens are new, and words that many documents share stay shared. Vectors are the real ones, moved
by a third of their length in a random direction. Questions are renamed in the same way. A tiled
library is kept beside its source. The floor is what no search does without: one embedding and one
pass over all vectors.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT, queries
from sqlalchemy import Connection, insert, select

SOURCE = "2wiki_dev300"
SIZES = ("source", "100000")
QUESTIONS = 200
SHARED_BY = 20
"""A capitalised word of this many chunks keeps its letters in every copy: "American", "London"."""
NOISE = 0.33
DONE = "tiled"
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"
_WORD = re.compile(r"[^\W\d_]+")
Row = dict[str, Any]
Rename = Callable[[str], str]


def main(sizes: Sequence[str]) -> None:
    for size in sizes or SIZES:
        # A process each: peak memory is a process's own.
        subprocess.run([sys.executable, __file__, "--build", size], check=True)
        for kept in ("nothing", "everything"):
            subprocess.run([sys.executable, __file__, "--first", size, kept], check=True)
        subprocess.run([sys.executable, __file__, "--measure", size], check=True)


# --- a library of many copies ---------------------------------------------------------------------


def place(size: str) -> Path:
    return KEPT / f"{SOURCE}-{size}"


def build(size: str) -> None:
    """Copy the source's library and add renamed copies until it has `size` chunks."""
    source = KEPT / SOURCE / "library.db"
    if not source.exists():
        sys.exit(f"no library at {source.parent}: run tests/benchmarks/retrieval.py {SOURCE} first")
    folder = place(size)
    if (folder / DONE).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(source, folder / "library.db")
    started = time.perf_counter()
    count = tile(folder, size)
    (folder / DONE).touch()
    print(f"{count} chunks built in {time.perf_counter() - started:.0f} s")


def tile(folder: Path, size: str) -> int:
    from engine.storage.library import Library
    from engine.storage.schema import documents

    library = Library(folder, create=False)
    tables = {table.name: table for table in documents.metadata.sorted_tables}
    with library.read() as connection:
        held = {name: _rows(connection, tables[name]) for name in _TILED}
    words = rare_words(row["text"] for row in held["documents"])
    wanted = len(held["chunks"]) if size == "source" else int(size)
    count, number = len(held["chunks"]), 0
    while count < wanted:
        number += 1
        copy = _Copy(held, number, words, at_most=wanted - count)
        with library.write() as connection:
            connection.exec_driver_sql(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
            for name in _TILED:
                rows = copy.rows(name)
                connection.execute(insert(tables[name]).prefix_with("OR IGNORE"), rows)
        count += len(copy.chunks)
        print(f"{count} chunks", flush=True)
    library.close()
    return count


CACHE_KILOBYTES = 400_000
_TILED = ("documents", "chunks", "names", "entities", "links", "vectors", "keywords")


def _rows(connection: Connection, table: Any) -> list[Row]:
    return [dict(row._mapping) for row in connection.execute(select(table))]


class _Copy:
    """One renamed copy of all rows, or of the first documents whose chunks fit."""

    def __init__(
        self, held: dict[str, list[Row]], number: int, words: frozenset[str], *, at_most: int
    ) -> None:
        from engine.storage.tokenization import tokens

        self._held = held
        self._number = number
        self.rename: Rename = renaming(number, words)
        self._random = np.random.default_rng(number)
        ordered = sorted(held["chunks"], key=lambda row: (row["document_id"], row["position"]))
        self.chunks = {row["id"]: f"{row['id']}-{number}" for row in ordered[:at_most]}
        self._documents = {row["document_id"] for row in ordered[:at_most]}
        self._keys = {row["key"]: self.rename(row["key"]) for row in held["names"]}
        self._tokens = {
            token: renamed
            for word in words
            for token, renamed in zip(tokens(word), tokens(self.rename(word)), strict=False)
        }
        changed = {r["entity_id"] for r in held["names"] if self._keys[r["key"]] != r["key"]}
        self._entities = {
            row["id"]: f"{row['id']}-{number}" if row["id"] in changed else row["id"]
            for row in held["entities"]
        }

    def rows(self, table: str) -> list[Row]:
        renamed_columns = {"title", "text", "title_key", "context", "name", "key"}
        found = []
        for row in self._held[table]:
            chunk_id = row.get("chunk_id", row["id"] if table == "chunks" else None)
            if chunk_id is not None and chunk_id not in self.chunks:
                continue
            new = dict(row)
            if table not in {"vectors", "keywords"}:
                new |= {c: self.rename(row[c]) for c in renamed_columns & row.keys()}
            if "chunk_id" in row:
                new["chunk_id"] = self.chunks[row["chunk_id"]]
            match table:
                case "documents":
                    if row["id"] not in self._documents:
                        continue
                    new |= {"id": self._of(row["id"]), "source": self._of(row["id"])}
                case "chunks":
                    new |= {
                        "id": self.chunks[row["id"]],
                        "document_id": self._of(row["document_id"]),
                        "text_sha": self._of(row["text_sha"]),
                    }
                case "names":
                    new["entity_id"] = self._entities[row["entity_id"]]
                case "entities":
                    new["id"] = self._entities[row["id"]]
                case "vectors":
                    new |= {"input_sha": self._of(row["input_sha"]), "vector": self._moved(row)}
                case "keywords":
                    new |= self._keywords(row)
            found.append(new)
        return found

    def _of(self, name: str) -> str:
        return f"{name}-{self._number}"

    def _moved(self, row: Row) -> bytes:
        from engine.storage.library import unit_length

        real = np.frombuffer(row["vector"], dtype="<f4")
        moved = self._random.standard_normal(real.size, dtype=np.float32)
        return unit_length(real + moved * (NOISE / np.linalg.norm(moved))).tobytes()

    def _keywords(self, row: Row) -> Row:
        from engine.storage.schema import KeywordEntry

        fields = ("title", "heading", "body")
        said = [" ".join(self._tokens.get(t, t) for t in row[f].split()) for f in fields]
        entry = KeywordEntry(*said, row["readable"])
        return {**entry._asdict(), "stamp": entry.stamp}


def rare_words(texts: Iterable[str]) -> frozenset[str]:
    """Words (folded) that are written with a capital in few texts, and small in none."""
    capitals: Counter[str] = Counter()
    small: set[str] = set()
    for text in texts:
        for word in set(_WORD.findall(text)):
            if word[0].isupper():
                capitals[_folded(word)] += 1
            else:
                small.add(_folded(word))
    return frozenset(w for w, n in capitals.items() if n < SHARED_BY and w not in small)


def renamed(text: str, number: int, words: frozenset[str]) -> str:
    """The text with the letters of these words exchanged by `number`; as long as it was."""
    return renaming(number, words)(text)


@cache
def renaming(number: int, words: frozenset[str]) -> Rename:
    """Return what exchanges consonants and vowels of these words in a way of its own."""
    random = Random(number)  # noqa: S311 — no secret
    table: dict[int, str] = {}
    for row in (CONSONANTS, VOWELS):
        for letter, other in zip(row, random.sample(row, len(row)), strict=True):
            table |= {ord(letter): other, ord(letter.upper()): other.upper()}

    @cache
    def of_word(word: str) -> str:
        if _folded(word) not in words:
            return word
        bare = "".join(unicodedata.normalize("NFKD", letter)[0] for letter in word)
        return bare.translate(table)

    return lambda text: _WORD.sub(lambda match: of_word(match[0]), text)


def _folded(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


# --- what it costs to ask -------------------------------------------------------------------------


def first(size: str, kept: str) -> None:
    """The first question of a process, with `nothing` or `everything` in `derived/` to start from.

    What a library of an older version derives anew before it can be asked is not counted.
    """
    from engine import KnowledgeEngine

    path = place(size)
    with KnowledgeEngine.open(path, create=False) as engine:
        engine.as_retriever()  # brings up to date what is derived
        if kept == "nothing":
            shutil.rmtree(path / "derived", ignore_errors=True)
        wall, work = time.perf_counter(), time.process_time()
        found = engine.as_retriever().search(queries(SOURCE)[0].text)
        seconds = time.perf_counter() - wall
        print(
            f"\nfirst question with {kept} kept: {seconds:.2f} s, "
            f"{time.process_time() - work:.2f} CPU s; peak memory {_peak_megabytes():.0f} MB; "
            f"load average {os.getloadavg()[0]:.1f}"
        )
        for step in found.trace:
            print(f"  {step.stage:32} {step.seconds:8.2f} s")


def measure(size: str) -> None:
    from engine import KnowledgeEngine

    path = place(size)
    with KnowledgeEngine.open(path, create=False) as engine:
        asked = _questions(engine, size)
        engine.retrieve(asked[0])
        stages: dict[str, list[float]] = defaultdict(list)
        for question in asked:
            started, work = time.perf_counter(), time.process_time()
            found = engine.as_retriever().search(question)
            stages["question in all"].append(time.perf_counter() - started)
            stages["processors, all threads"].append(time.process_time() - work)
            for step in found.trace:
                stages[step.stage].append(step.seconds)
        peak = _peak_megabytes()
        print(f"\n{engine.stats()['chunks']} chunks, {engine.stats()['vectors']} vectors, "
              f"{len(asked)} questions, load average {os.getloadavg()[0]:.1f}")  # fmt: skip
        for stage, seconds in stages.items():
            _show(stage, seconds)
        _show("floor: embedding and one pass", _floor(path, asked))
        print(f"  {'peak memory':32} {peak:8.0f} MB (before the floor was measured)")
        _changes(engine, path, asked[1])


def _show(label: str, seconds: Sequence[float]) -> None:
    middle, late = 1000 * np.percentile(seconds, [50, 95])
    print(f"  {label:32} median {middle:7.1f} ms   p95 {late:7.1f} ms")


def _questions(engine: Any, size: str) -> list[str]:
    words = rare_words(engine.document_text(row.id) for row in engine.documents()
                       if "-" not in row.id)  # fmt: skip
    copies = 1 if size == "source" else max(1, int(size) // 6214)
    asked = [query.text for query in queries(SOURCE)[:QUESTIONS]]
    return [
        renamed(text, place % copies, words) if place % copies else text
        for place, text in enumerate(asked)
    ]


def _floor(path: Path, asked: Sequence[str]) -> list[float]:
    from engine.config import Settings
    from engine.providers.factory import build_embedding
    from engine.storage.library import Library
    from engine.storage.schema import vectors

    model = build_embedding(Settings().embedding)
    library = Library(path, create=False)
    with library.read() as connection:
        found = connection.execute(select(vectors.c.vector)).scalars().all()
    library.close()
    matrix = np.frombuffer(b"".join(found), dtype="<f4").reshape(len(found), -1)
    times = []
    for question in asked:
        started = time.perf_counter()
        matrix @ np.asarray(model.get_query_embedding(question), dtype=np.float32)
        times.append(time.perf_counter() - started)
    return times


def _changes(engine: Any, path: Path, question: str) -> None:
    """What a question costs after one vector changed, in all and by side.

    The stored vector is only replaced by itself, which nothing can know before it looks.
    """
    from engine.storage.library import Library, WindowVector
    from engine.storage.schema import vectors

    library = Library(path, create=False)
    with library.write() as connection:
        first = connection.execute(select(vectors).order_by(vectors.c.chunk_id).limit(1)).one()
        held = connection.execute(select(vectors).where(vectors.c.chunk_id == first.chunk_id)).all()
        values = [
            WindowVector(
                chunk_id=row.chunk_id,
                window=row.window,
                input_sha=row.input_sha,
                vector=np.frombuffer(row.vector, dtype="<f4"),
            )
            for row in held
        ]
        library.put_vectors(values, model=first.model)
    library.close()
    started = time.perf_counter()
    engine.as_retriever().search(question)
    print(f"  {'question after a change of vectors':32} {time.perf_counter() - started:8.2f} s")


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--build", size]:
            build(size)
        case ["--first", size, kept]:
            first(size, kept)
        case ["--measure", size]:
            measure(size)
        case sizes:
            main(sizes)
