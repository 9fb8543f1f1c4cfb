"""Which names of the library occur in which chunk.

Kept up to date by matching again only where a name that came or went may occur; the result is that
of matching everything anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from .facts import batches
from .names import NameMatcher, introduced_names
from .schema import chunks, links, names

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


def mark_unlinked(connection: Connection, now: set[tuple[str, str]]) -> None:
    """Chunks in which a name that came or went may occur are matched again; no others.

    What a chunk's longest matches are depends only on the names that occur in it.
    """
    before = set(map(tuple, connection.execute(select(names.c.key, names.c.kind)).all()))
    changed = sorted((key, kind) for key, kind in now ^ before if kind != "concept")
    if len(changed) * 5 > len(now):
        connection.execute(update(chunks).values(linked=False))
        return
    if not changed:
        return
    matcher = _matcher(changed)
    texts = connection.execute(select(chunks.c.id, chunks.c.text))
    for batch in batches(row.id for row in texts if matcher.occurs_in(row.text)):
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=False))


def _matcher(kinds: Iterable[tuple[str, str]]) -> NameMatcher:
    named = [(key, kind) for key, kind in kinds if kind != "concept"]
    return NameMatcher(
        titles=[key for key, kind in named if kind == "title"], names=[key for key, _ in named]
    )


def write_links(connection: Connection, progress: Progress) -> None:
    """Match the chunks that wait for it with all names as they are now."""
    query = select(chunks.c.id, chunks.c.title, chunks.c.text).where(chunks.c.linked.is_(False))
    waiting = connection.execute(query.order_by(chunks.c.id)).all()
    if not waiting:
        return
    known = connection.execute(select(names.c.key, names.c.kind))
    matcher = _matcher((row.key, row.kind) for row in known)
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(waiting):
        matches = matcher.match(row.text)
        introduced = introduced_names(row.text, matches, title=row.title)
        keys = sorted({match.key for match in matches})
        rows.extend({"chunk_id": row.id, "key": key, "opens": key in introduced} for key in keys)
        if number % 500 == 0:
            progress("link", number, len(waiting))
    for batch in batches(row.id for row in waiting):
        connection.execute(delete(links).where(links.c.chunk_id.in_(batch)))
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=True))
    if rows:
        connection.execute(insert(links), rows)
