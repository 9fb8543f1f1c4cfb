"""Named relations and community titles of libraries, printed to be read and judged.

    python tests/benchmarks/relation_reading.py [--most 25] [--seed 7] [--half 0|1] LIBRARY …
    python tests/benchmarks/relation_reading.py --titles LIBRARY …

Of each library so many random relations that a text states (co-occurrence is none), with the
shortest sentence that says so: is each true, and readable as "name predicate name"? `--half` keeps
every second chunk by a hash of its text, so that one half can be worked with and the other judged
at the end; the same library gives the same relations. `--titles` prints the titles of all reports
instead.
"""

from __future__ import annotations

import argparse
import random
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import Connection, create_engine, select

from graph.model import OCCURS_WITH
from graph.storage.database import read_relations
from graph.storage.schema import chunks, entities, reports

Stated = tuple[str, str, str, str]


def main() -> None:
    """Print every library's sample."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("libraries", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=25, help="of each library")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only these chunks")
    parser.add_argument("--titles", action="store_true")
    arguments = parser.parse_args()
    for library in arguments.libraries:
        with create_engine(f"sqlite:///{library / 'library.db'}").connect() as connection:
            print(f"## {library.name}")
            if arguments.titles:
                show_titles(connection)
            else:
                show_relations(connection, arguments.most, seed=arguments.seed, half=arguments.half)


def show_relations(connection: Connection, most: int, *, seed: int, half: int | None) -> None:
    """Print so many random stated relations, each with a sentence."""
    found = sorted(set(stated(connection, half)))
    chosen = random.Random(seed).sample(found, min(most, len(found)))  # noqa: S311
    print(f"{len(found)} named relations")
    for number, (source, predicate, target, sentence) in enumerate(chosen, start=1):
        print(f"{number:3} {source} — {predicate} — {target}\n      {sentence}")


def stated(connection: Connection, half: int | None) -> Iterator[Stated]:
    """Return source, predicate, target and sentence of every named relation."""
    names = dict(map(tuple, connection.execute(select(entities.c.id, entities.c.name))))
    texts = dict(map(tuple, connection.execute(select(chunks.c.id, chunks.c.text))))
    for relation in read_relations(connection):
        sentences = [
            " ".join(texts[place.chunk_id][place.start : place.end].split())
            for place in relation.evidences
            if half is None or zlib.crc32(texts[place.chunk_id].encode()) % 2 == half
        ]
        if sentences and relation.predicate != OCCURS_WITH:
            ends = names[relation.source_id], names[relation.target_id]
            yield ends[0], relation.predicate, ends[1], min(sentences, key=len)


def show_titles(connection: Connection) -> None:
    """Print the titles of all reports, by level."""
    rows: Iterable = connection.execute(
        select(reports.c.level, reports.c.title).order_by(reports.c.level, reports.c.title)
    )
    for level, title in rows:
        print(f"  {level} {title}")


if __name__ == "__main__":
    main()
