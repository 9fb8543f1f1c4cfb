"""How many communities one document changes, and what deriving them costs.

    LOREGRAPH_BENCH=DIR python tests/benchmarks/communities.py musique_train100 [...]

Takes documents out of copies of libraries that are there already, one at a time from the same
state, and counts the communities that are not there afterwards, and the CPU seconds of deriving;
clustered exactly, and anchored. `promises.py modularity` tells how good anchored ones stay.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import mean

from sqlalchemy import select

from engine.storage.schema import migrate_schema
from graph.pipeline import DeriveOptions, Way, derive_graph
from graph.storage.database import Database, read_communities
from graph.storage.facts import delete_document, facts_generation, write_state
from graph.storage.schema import chunks

LIBRARIES = Path(os.environ.get("LOREGRAPH_BENCH", "/tmp/loregraph-bench"))  # noqa: S108
SEED = 20240601
WAYS: tuple[Way, ...] = ("exact", "anchored")


def removals(name: str, count: int) -> None:
    source = LIBRARIES / name / "library.db"
    if not source.exists():
        print(f"{name}: no library at {source}; tests/benchmarks/retrieval.py makes it")
        return
    for way in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            options = DeriveOptions(communities=way)
            whole = Path(folder) / "whole.db"
            copy(source, whole)
            derive_anew(whole, options)
            lost, written, seconds = [], [], []
            for document_id in random.Random(SEED).sample(documents_of(whole), count):  # noqa: S311
                path = Path(folder) / "less.db"
                copy(whole, path)
                one = without(path, document_id, options)
                lost.append(one[0])
                written.append(one[1])
                seconds.append(one[2])
                path.unlink()
            total = len(communities_in(whole))
            print(
                f"{name:<20} {way:<9} {total} communities; of {count} documents, one less takes "
                f"{mean(lost):.1f} away ({mean(lost) / total:.1%}, most {max(lost)}), "
                f"{mean(written):.1f} reports written, {mean(seconds):.2f} CPU s"
            )


def copy(source: Path, target: Path) -> None:
    """A library's database as of today's schema."""
    with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as old, sqlite3.connect(target) as new:
        old.backup(new)
    old.close()
    new.close()
    database = Database(f"sqlite:///{target}")
    with database.write() as connection:
        migrate_schema(connection)
    database.close()


def derive_anew(path: Path, options: DeriveOptions) -> None:
    database = Database(f"sqlite:///{path}")
    with database.write() as connection:
        write_state(connection, "generation", str(facts_generation(connection) + 1))
    derive_graph(database, options=options)
    database.close()


def documents_of(path: Path) -> list[str]:
    database = Database(f"sqlite:///{path}")
    with database.read() as connection:
        found = set(connection.execute(select(chunks.c.document_id)).scalars())
    database.close()
    return sorted(found)


def communities_in(path: Path) -> set[str]:
    database = Database(f"sqlite:///{path}")
    with database.read() as connection:
        found = {community.id for community in read_communities(connection)}
    database.close()
    return found


def without(path: Path, document_id: str, options: DeriveOptions) -> tuple[int, int, float]:
    """Communities that went with a document, reports written for it, and CPU seconds."""
    before = communities_in(path)
    database = Database(f"sqlite:///{path}")
    with database.write() as connection:
        delete_document(connection, document_id)
    began = time.process_time()
    derived = derive_graph(database, options=options)
    seconds = time.process_time() - began
    database.close()
    return len(before - communities_in(path)), derived.reports_written, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=["musique_train100", "2wiki_dev300"])
    parser.add_argument("--documents", type=int, default=20)
    options = parser.parse_args()
    for name in options.libraries:
        removals(name, options.documents)


if __name__ == "__main__":
    main()
