"""Which names of the library occur in which chunk.

Kept up to date by matching again only where a name that came or went may occur; the result is that
of matching everything anew. A chunk that cannot be matched has no links and a fault, and is matched
again whenever names change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from .facts import batches
from .fault_store import LINK, faulty_chunks, forget_faults, put_faults
from .isolation import Fault, isolated
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
    faulty = faulty_chunks(connection, stage=LINK)
    texts = connection.execute(select(chunks.c.id, chunks.c.text))
    again = (row.id for row in texts if row.id in faulty or _may_occur(matcher, row.text))
    for batch in batches(again):
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=False))


def _matcher(kinds: Iterable[tuple[str, str]]) -> NameMatcher:
    named = [(key, kind) for key, kind in kinds if kind != "concept"]
    return NameMatcher(
        titles=[key for key, kind in named if kind == "title"], names=[key for key, _ in named]
    )


def write_links(connection: Connection, progress: Progress) -> None:
    """Match the chunks that wait for it with all names as they are now."""
    columns = (chunks.c.id, chunks.c.document_id, chunks.c.title, chunks.c.text)
    query = select(*columns).where(chunks.c.linked.is_(False))
    waiting = connection.execute(query.order_by(chunks.c.id)).all()
    if not waiting:
        return
    known = connection.execute(select(names.c.key, names.c.kind))
    matcher = _matcher((row.key, row.kind) for row in known)
    rows: list[dict[str, Any]] = []
    reasons: dict[str, str] = {}
    for number, row in enumerate(waiting):
        found = _links_or_fault(matcher, row)
        if isinstance(found, Fault):
            found.log(f"{row.document_id} ({row.id})")
            reasons[row.id] = found.reason
        else:
            rows += found
        if number % 500 == 0:
            progress("link", number, len(waiting))
    for batch in batches(row.id for row in waiting):
        connection.execute(delete(links).where(links.c.chunk_id.in_(batch)))
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=True))
    forget_faults(connection, (row.id for row in waiting), stage=LINK)
    put_faults(connection, reasons, stage=LINK)
    if rows:
        connection.execute(insert(links), rows)


def _links_or_fault(matcher: NameMatcher, row: Row[Any]) -> list[dict[str, Any]] | Fault:
    return isolated(lambda: _links(matcher, row), stage=LINK)


def _links(matcher: NameMatcher, row: Row[Any]) -> list[dict[str, Any]]:
    """The rows of one chunk."""
    matches = matcher.match(row.text)
    introduced = introduced_names(row.text, matches, title=row.title)
    keys = sorted({match.key for match in matches})
    return [{"chunk_id": row.id, "key": key, "opens": key in introduced} for key in keys]


def _may_occur(matcher: NameMatcher, text: str) -> bool:
    """Whether any of the names stands in a text; also where that cannot be told."""
    found = isolated(lambda: matcher.occurs_in(text), stage=LINK)
    return isinstance(found, Fault) or found
