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
import sqlite3
import subprocess
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import compress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpora import KEPT, queries
from sqlalchemy import select

SOURCE = "2wiki_dev300"
SIZES = ("source", "100000")
QUESTIONS = 200
SHARED_BY = 20
"""A capitalised word of this many chunks keeps its letters in every copy: "American", "London"."""
NOISE = 0.33
DONE = "tiled"
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"
_WORD = re.compile(r"[^\W\d_]+")
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
    """Add copies table by table in the order of keys, and the other indexes at the end."""
    from engine.ingest.change_detection import stat_signature
    from engine.storage.integrity import note_sound

    connection = sqlite3.connect(folder / "library.db", isolation_level=None)
    for setting in _FAST:
        connection.execute(f"PRAGMA {setting}")
    held = {name: _Columns.read(connection, name, key) for name, key in _TILED.items()}
    words = rare_words(held["documents"]["text"])
    number, count = 0, len(held["chunks"]["id"])
    wanted = count if size == "source" else int(size)
    copies = _Copies(held, words)
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in indexes if count < wanted else ():
        connection.execute(f"DROP INDEX {name}")
    connection.execute("BEGIN")
    while count < wanted:
        number += 1
        for name, columns in copies.made(number, at_most=wanted - count).items():
            places = ", ".join("?" * len(columns))
            named = ", ".join(f'"{column}"' for column in columns)
            rows = zip(*columns.values(), strict=True)
            said = f"INSERT OR IGNORE INTO {name} ({named}) VALUES ({places})"  # noqa: S608
            connection.executemany(said, rows)
        count = min(wanted, count + len(held["chunks"]["id"]))
        print(f"{count} chunks, {time.process_time():.0f} CPU s", flush=True)
    for name, sql in indexes if number else ():
        connection.execute(sql)
        print(f"{name}, {time.process_time():.0f} CPU s", flush=True)
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    note_sound(folder, stat_signature(folder / "library.db"))
    return count


_FAST = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE",
         "cache_size = -400000", "temp_store = MEMORY", "threads = 2")  # fmt: skip
_TILED = {
    "documents": "id",
    "chunks": "id",
    "names": "key",
    "entities": "id",
    "links": "chunk_id, key",
    "vectors": "chunk_id, model, window",
    "keywords": "chunk_id",
}


class _Columns(dict[str, list[Any]]):
    """A table by column, its rows in the order of its key."""

    @classmethod
    def read(cls, connection: sqlite3.Connection, table: str, key: str) -> _Columns:
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608
        names = [column[0] for column in cursor.description]
        return cls(zip(names, map(list, zip(*cursor, strict=True)), strict=True))

    def only(self, kept: Sequence[bool]) -> _Columns:
        return _Columns({name: list(compress(values, kept)) for name, values in self.items()})


class _Letters:
    """A column of texts, of which each copy exchanges the letters of rare words at once."""

    def __init__(self, texts: Sequence[str], words: frozenset[str]) -> None:
        joined = list("\0".join(texts))
        places = []
        for match in _WORD.finditer("".join(joined)):
            if _folded(match[0]) in words:
                for place, letter in enumerate(match[0], match.start()):
                    joined[place] = unicodedata.normalize("NFKD", letter)[0]
                    places.append(place)
        self._codes = np.frombuffer("".join(joined).encode("utf-32-le", "surrogatepass"), "<u4")
        chosen = np.array(places, dtype=np.int64)
        self._places = chosen[self._codes[chosen] < 128]

    def exchanged(self, table: Mapping[int, str]) -> list[str]:
        letters = np.arange(128, dtype="<u4")
        letters[list(table)] = [ord(letter) for letter in table.values()]
        codes = self._codes.copy()
        codes[self._places] = letters[codes[self._places]]
        return codes.tobytes().decode("utf-32-le", "surrogatepass").split("\0")


class _Copies:
    """Makes renamed copies of all rows, or of the first chunks with their documents."""

    def __init__(self, held: Mapping[str, _Columns], words: frozenset[str]) -> None:
        from engine.storage.tokenization import tokens

        self._held = held
        self._words = words
        self._stems = [(word, tokens(word)) for word in sorted(words)]
        self._texts = {
            (table, column): _Letters(held[table][column], words)
            for table, columns in _RENAMED.items()
            for column in columns
        }
        joined = b"".join(held["vectors"]["vector"])
        self._vectors = np.frombuffer(joined, "<f4").reshape(len(held["vectors"]["vector"]), -1)
        said = [held["keywords"][field] for field in _FIELDS]
        self._vocabulary = {
            w: n for n, w in enumerate({w for f in said for t in f for w in t.split()})
        }
        self._said = [[[self._vocabulary[w] for w in t.split()] for t in texts] for texts in said]

    def made(self, number: int, *, at_most: int) -> dict[str, _Columns]:
        table, front = exchanged_letters(number), f"{number:04}~"
        found = {name: _Columns(columns) for name, columns in self._held.items()}
        for (name, column), letters in self._texts.items():
            found[name][column] = letters.exchanged(table)
        for name, columns in _NUMBERED.items():
            for column in columns:
                found[name][column] = [front + value for value in found[name][column]]
        self._rename_entities(found, front)
        found["vectors"]["vector"] = self._moved(number)
        self._reword(found["keywords"], number)
        return found if at_most >= len(found["chunks"]["id"]) else _first(found, at_most)

    def _rename_entities(self, found: dict[str, _Columns], front: str) -> None:
        """Give what has another name in this copy another id."""
        before, after = self._held["names"], found["names"]
        pairs = zip(before["key"], after["key"], before["entity_id"], strict=True)
        changed = {entity for old, new, entity in pairs if old != new}
        for name, column in (("names", "entity_id"), ("entities", "id")):
            found[name][column] = [
                front + e if e in changed else e for e in self._held[name][column]
            ]

    def _moved(self, number: int) -> list[bytes]:
        random = np.random.default_rng(number)
        moved = random.standard_normal(self._vectors.shape, dtype=np.float32)
        moved *= NOISE / np.linalg.norm(moved, axis=1, keepdims=True)
        moved += self._vectors
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        return [row.tobytes() for row in moved.astype("<f4")]

    def _reword(self, columns: _Columns, number: int) -> None:
        from engine.storage.schema import KeywordEntry
        from engine.storage.tokenization import tokens

        rename, renamed = renaming(number, self._words), dict[str, str]()
        for word, said in self._stems:
            renamed.update(zip(said, tokens(rename(word)), strict=False))
        vocabulary = [renamed.get(token, token) for token in self._vocabulary]
        for field, texts in zip(_FIELDS, self._said, strict=True):
            columns[field] = [" ".join([vocabulary[place] for place in text]) for text in texts]
        entries = zip(*(columns[name] for name in KeywordEntry._fields), strict=True)
        columns["stamp"] = [KeywordEntry(*entry).stamp for entry in entries]


_FIELDS = ("title", "heading", "body")
_RENAMED = {
    "documents": ("title", "text"),
    "chunks": ("title", "title_key", "text", "context"),
    "names": ("key",),
    "entities": ("name",),
    "links": ("key",),
}
_NUMBERED = {
    "documents": ("id", "source"),
    "chunks": ("id", "document_id", "text_sha"),
    "links": ("chunk_id",),
    "vectors": ("chunk_id", "input_sha"),
    "keywords": ("chunk_id",),
}


def _first(found: Mapping[str, _Columns], at_most: int) -> dict[str, _Columns]:
    """Return the rows of the first chunks and their documents, and all names."""
    chunks = found["chunks"]
    ids, documents = {*chunks["id"][:at_most]}, {*chunks["document_id"][:at_most]}
    wanted = {"documents": ("id", documents), "chunks": ("id", ids)}
    wanted |= dict.fromkeys(("links", "vectors", "keywords"), ("chunk_id", ids))
    return {
        name: columns.only([value in wanted[name][1] for value in columns[wanted[name][0]]])
        if name in wanted
        else columns
        for name, columns in found.items()
    }


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


def exchanged_letters(number: int) -> dict[int, str]:
    """Return which letter stands for which in the copy of this number."""
    random = Random(number)  # noqa: S311 — no secret
    table: dict[int, str] = {}
    for row in (CONSONANTS, VOWELS):
        for letter, other in zip(row, random.sample(row, len(row)), strict=True):
            table |= {ord(letter): other, ord(letter.upper()): other.upper()}
    return table


@cache
def renaming(number: int, words: frozenset[str]) -> Rename:
    """Return what exchanges consonants and vowels of these words in a way of its own."""
    table = exchanged_letters(number)

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
    from engine.storage.integrity import FILE_NAME

    path = place(size)
    with KnowledgeEngine.open(path, create=False) as engine:
        engine.as_retriever()  # brings up to date what is derived
        if kept == "nothing":
            for each in (path / "derived").iterdir():
                if each.name != FILE_NAME:  # the note that the database is sound
                    shutil.rmtree(each)
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
        asked = _questions(size)
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
        print(f"  {'peak memory':32} {peak:8.0f} MB (before the floor was measured)", flush=True)
        _show("floor: embedding and one pass", _floor(path, asked))
        _changes(engine, path, asked[1])


def _show(label: str, seconds: Sequence[float]) -> None:
    middle, late = 1000 * np.percentile(seconds, [50, 95])
    print(f"  {label:32} median {middle:7.1f} ms   p95 {late:7.1f} ms")


def _questions(size: str) -> list[str]:
    connection = sqlite3.connect(KEPT / SOURCE / "library.db")
    words = rare_words(text for (text,) in connection.execute("SELECT text FROM documents"))
    held = {row for (row,) in connection.execute("SELECT id FROM documents")}
    chunks = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    connection.close()
    copies = 1 if size == "source" else max(1, int(size) // chunks)
    asked = [query.text for query in queries(SOURCE) if query.gold <= held][:QUESTIONS]
    return [
        renamed(text, place % copies, words) if place % copies else text
        for place, text in enumerate(asked)
    ]


def _floor(path: Path, asked: Sequence[str]) -> list[float]:
    from engine.config import Settings
    from engine.llm.response import identity_of
    from engine.providers.factory import build_embedding
    from engine.storage.library import Library
    from engine.storage.schema import vectors

    model = build_embedding(Settings().embedding)
    library = Library(path, create=False)
    with library.read() as connection:
        inside = vectors.c.model == identity_of(model)
        found = connection.execute(select(vectors.c.vector).where(inside)).scalars().all()
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
        own = (vectors.c.chunk_id == first.chunk_id) & (vectors.c.model == first.model)
        held = connection.execute(select(vectors).where(own)).all()
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
