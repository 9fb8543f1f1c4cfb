"""Namespaces: requests of limited tokens compared, and ten thousand namespaces in one library.

    python tests/benchmarks/namespaces.py compare            # 2,000 random requests
    python tests/benchmarks/namespaces.py compare 300 7      # another number, another seed
    python tests/benchmarks/namespaces.py many FOLDER        # built there once, then measured
    python tests/benchmarks/namespaces.py many FOLDER 1000   # another number of namespaces

`compare` needs no library: see `tests/tenants.py`. A library of many namespaces is made of one with
ten documents and fifty chunks, whose rows are copied with names of their own; vectors are those of
hashed words.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

PROBES, SEED = 2_000, 1
NAMESPACES = 10_000
DOCUMENTS, PARTS = 10, 5
TEMPLATE = "qaaaaa"
"""Letters of the first namespace's own names; each other namespace has others in their place."""
DERIVED = ("entities", "names", "relations", "links", "communities", "members", "reports")
IDS = {"id", "chunk_id", "entity_id", "source_id", "target_id", "community_id", "parent_id"}
SECTIONS = {"embedding": {"kind": "tfidf"}, "graph": {"spacy_model": "none"}}


def main() -> None:
    match sys.argv[1:]:
        case ["compare", *figures]:
            count, seed = (*map(int, figures), *(PROBES, SEED)[len(figures) :])
            compare(count, seed)
        case ["many", folder, *figures]:
            many(Path(folder), int(figures[0]) if figures else NAMESPACES)
        case _:
            sys.exit(__doc__)


def compare(count: int, seed: int) -> None:
    """A quarter each with vectors of hashed words or without, and with a model or without."""
    from tenants import Tenants

    for with_models, kind in product((False, True), ("tfidf", "none")):
        env, some = {"LOREGRAPH_EMBEDDING__KIND": kind}, count // 4
        with (
            tempfile.TemporaryDirectory() as folder,
            Tenants(Path(folder), env, with_models=with_models) as tenants,
        ):
            differing = tenants.compare(count=some, seed=seed)
            prompts = tenants.prompts()
        print(f"vectors {kind}, model {with_models}: {some} requests, {len(differing)} differ")
        print(f"{sum(map(len, prompts))} prompts, equal: {prompts[1:] == prompts[:-1]}")
        print("\n\n".join(differing))


# --- many namespaces ----------------------------------------------------------------------------


def many(folder: Path, count: int) -> None:
    """Measure opening, the first question of a namespace and the next; wall seconds."""
    if not (folder / "library.db").exists():
        timed(f"build {count} namespaces", lambda: build(folder, count))
        # What was written behind its back is looked through for damage, once.
        timed("check", lambda: opened(folder).close())
    name = code(count // 2)
    engine = timed("open", lambda: opened(folder))
    with engine:
        asked = f"Where did the ship {name} go?"
        for label, space in (("first", name), ("next", name), ("another's first", code(7))):
            found = timed(
                f"{label} question",
                lambda space=space: engine.retrieve(asked, namespace=f"n{space}"),
            )
            assert found and {each.document_id.split("::")[0] for each in found} == {f"n{space}"}
        timed("list namespaces", engine.catalogue.namespaces)
        made = [*(folder / "derived").glob("namespaces-*")]
        print(f"{len(made)} copies made, {[each.name for each in (folder / 'derived').iterdir()]}")


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Do it and print how long it took."""
    started = time.perf_counter()
    found = work()
    print(f"{name:<24} {time.perf_counter() - started:8.2f} s")
    return found


def opened(folder: Path) -> Any:
    """Open the library with vectors of hashed words."""
    from engine.config import Settings
    from engine.engine import KnowledgeEngine

    return KnowledgeEngine.open(folder, settings=Settings.model_validate(SECTIONS))


def code(number: int) -> str:
    """Return the letters of a namespace, as many as the template's."""
    letters = []
    for _ in TEMPLATE[1:]:
        number, letter = divmod(number, 26)
        letters.append(chr(ord("a") + letter))
    return "q" + "".join(reversed(letters))


def build(folder: Path, count: int) -> None:
    """Build the first namespace, and copy its rows for the others."""
    shutil.rmtree(folder, ignore_errors=True)
    with opened(folder) as engine:
        for number in range(DOCUMENTS):
            engine.add_text(text(number), document_id=f"doc{number}", namespace=f"n{TEMPLATE}")
    with closing(sqlite3.connect(folder / "library.db")) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        tables = ("documents", "chunks", "vectors", "keywords", "mentions", "statements", *DERIVED)
        held = {table: rows_of(connection, table) for table in tables}
        for table, (columns, rows) in held.items():
            marks = ", ".join("?" for _ in columns)
            statement = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"  # noqa: S608
            copies = (row for number in range(1, count) for row in renamed(columns, rows, number))
            connection.executemany(statement, copies)
            connection.commit()


def text(number: int) -> str:
    """Return a document of five chunks: a sentence with names, and words without."""
    plain = "the cargo was counted again before winter and the ledger stayed in the old house. "
    ship = TEMPLATE.capitalize()
    said = f"The ship {ship} left harbour {number} with Captain Moss{number}. "
    return "\n\n".join(f"# Part {part}\n\n{said}{plain * 16}" for part in range(PARTS))


def rows_of(connection: sqlite3.Connection, table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    found = connection.execute(f"SELECT * FROM {table}")  # noqa: S608
    return [each[0] for each in found.description], found.fetchall()


def renamed(
    columns: list[str], rows: list[tuple[Any, ...]], number: int
) -> Iterator[tuple[Any, ...]]:
    """Return rows with ids and names of this namespace."""
    own = code(number)
    upper, title = own.capitalize(), TEMPLATE.capitalize()
    for row in rows:
        values = [
            each.replace(TEMPLATE, own).replace(title, upper) if isinstance(each, str) else each
            for each in row
        ]
        for place, name in enumerate(columns):
            held = values[place]
            if name in IDS and isinstance(held, str) and "::" not in held:
                values[place] = f"{held[:-5]}{own[1:]}"
        yield tuple(values)


if __name__ == "__main__":
    main()
