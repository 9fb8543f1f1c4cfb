"""Lists of a library's graph for a reader to judge: types, and what is worth a node.

    python tests/benchmarks/graph_reading.py LIBRARY [--top 40] [--random 100] [--seed 7]

Prints the most mentioned entities with their type and two sentences each, and random entities with
theirs: the reader says of each whether the type is right, and whether it deserves its node
(noise: fragments, headings, amounts, dates, greetings, common words in capitals). LIBRARY is a
library's folder, or its database.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Connection, select

from graph.model import Entity
from graph.storage.database import Database, read_entities
from graph.storage.schema import chunks, mentions

WIDTH = 160


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("library", type=Path)
    parser.add_argument("--top", type=int, default=40)
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    path = given.library / "library.db" if given.library.is_dir() else given.library
    database = Database(f"sqlite:///{path}")
    with database.read() as connection:
        found = sorted(read_entities(connection), key=lambda one: (-one.mention_count, one.id))
        print(f"{len(found)} entities; the {given.top} most mentioned:")
        _show(connection, found[: given.top])
        chosen = random.Random(given.seed).sample(found, min(given.random, len(found)))  # noqa: S311
        print(f"\n{len(chosen)} random entities:")
        _show(connection, sorted(chosen, key=lambda one: one.name), sentences=1)
    database.close()


def _show(connection: Connection, some: Sequence[Entity], *, sentences: int = 2) -> None:
    for number, entity in enumerate(some, 1):
        print(f"{number:>3} {entity.type:<12} {entity.name}  ({entity.mention_count})")
        for line in _contexts(connection, entity, sentences):
            print(f"        {line}")


def _contexts(connection: Connection, entity: Entity, count: int) -> list[str]:
    """Return the text around the first mentions, of different chunks where there are some."""
    query = (
        select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, chunks.c.text)
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .where(mentions.c.key.in_(entity.keys))
        .order_by(mentions.c.chunk_id, mentions.c.start)
    )
    rows = connection.execute(query).all()
    first = {row.chunk_id: row for row in reversed(rows)}
    return [_around(row.text, row.start, row.end) for row in list(first.values())[:count]]


def _around(text: str, start: int, end: int) -> str:
    begin = max(0, start - (WIDTH - (end - start)) // 2)
    shown = f"{text[begin:start]}[{text[start:end]}]{text[end : begin + WIDTH]}"
    return " ".join(shown.split())


if __name__ == "__main__":
    main()
