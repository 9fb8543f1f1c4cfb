"""Evidence quotes: places in chunks as quotes from documents.

Only documents that are seen are read from; None means all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select, func, select

from .descriptions import combined
from .explored import SourceQuote
from .facts import batches
from .model import Chunk, Evidence
from .read import read_chunks
from .relating import Ends, relation_ends
from .schema import chunks, descriptions, digests, mentions, statements
from .sentences import sentence_spans
from .summarise_descriptions import Described

_NAMED_IN_ONE_SENTENCE = 4
"""A thing is named in one sentence less often than this."""

_LONG_SENTENCE = 300
"""Length above which a sentence is mostly a list."""

PageOf = Callable[[str, int], int | None]
"""The page on which an offset of a document lies; None where it has no pages."""


@dataclass(slots=True)
class QuotedStatement:
    """Statement of a relation: place, and a model's wording."""

    places: list[Evidence]
    descriptions: list[str]


def quotes(
    connection: Connection, places: Iterable[Evidence], *, page_of: PageOf
) -> dict[Evidence, SourceQuote]:
    """Each place as a quote; a place in a chunk that is gone is left out."""
    wanted = sorted(set(places))
    held = read_chunks(connection, {place.chunk_id for place in wanted})
    return {
        place: _quote(held[place.chunk_id], place, page_of)
        for place in wanted
        if place.chunk_id in held
    }


def _quote(chunk: Chunk, place: Evidence, page_of: PageOf) -> SourceQuote:
    start = chunk.start + place.start
    return SourceQuote(
        document_id=chunk.document_id,
        title=chunk.title,
        chunk_id=chunk.id,
        start=start,
        end=chunk.start + place.end,
        quote=chunk.text[place.start : place.end],
        page=page_of(chunk.document_id, start),
    )


def mention_sentences(
    connection: Connection,
    keys: Collection[str],
    *,
    documents: Collection[str] | None,
    limit: int,
) -> list[Evidence]:
    """Return sentences with these names, from as many documents as possible.

    The first of each document, then the second of each, and so on; of documents those first that
    have one of the names for a title, then those that name it most often, then by their ids.
    """
    inside = _mentions_by_turn(sorted(keys)).subquery()
    columns = inside.c
    order = (columns.turn, columns.titled.desc(), columns.times.desc(), columns.document_id)
    rows = connection.execute(select(inside).order_by(*order))
    seen = (row for row in rows if documents is None or row.document_id in documents)
    first = list(islice(seen, limit * _NAMED_IN_ONE_SENTENCE))
    held = read_chunks(connection, {row.chunk_id for row in first})
    found: dict[Evidence, None] = {}
    for row in first:
        start, end = _sentence_about(held[row.chunk_id].text, row.start, row.end)
        found[Evidence(chunk_id=row.chunk_id, start=start, end=end)] = None
    return list(found)[:limit]


def _mentions_by_turn(keys: Sequence[str]) -> Select[Any]:
    """Return mentions with their rank within the document, in query form."""
    turn = func.row_number().over(
        partition_by=chunks.c.document_id,
        order_by=(chunks.c.position, chunks.c.id, mentions.c.start, mentions.c.end),
    )
    times = func.count().over(partition_by=chunks.c.document_id)
    return (
        select(mentions.c.chunk_id, mentions.c.start, mentions.c.end, chunks.c.document_id)
        .add_columns(turn.label("turn"), times.label("times"))
        .add_columns(chunks.c.title_key.in_(keys).label("titled"))
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .where(mentions.c.key.in_(keys))
    )


def _sentence_about(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentences that cover a span."""
    touched = [span for span in sentence_spans(text) if span[0] < end and start < span[1]]
    return (touched[0][0], touched[-1][1]) if touched else (start, end)


def said_of_relations(
    connection: Connection,
    wanted: Collection[Ends],
    *,
    entity_of: Mapping[str, str],
    keys: Collection[str],
    documents: Collection[str] | None,
) -> dict[Ends, QuotedStatement]:
    """Return the statements of these relations, single short sentences first.

    Args:
        connection: to read by.
        wanted: relations by their ends, which are entity ids.
        entity_of: what every seen name means.
        keys: all names of all ends of the relations.
        documents: those that are seen.
    """
    found: dict[Ends, dict[Evidence, bool]] = defaultdict(dict)
    texts: dict[Ends, set[str]] = defaultdict(set)
    known = frozenset(keys)
    query = select(statements, chunks.c.document_id).join(
        chunks, chunks.c.id == statements.c.chunk_id
    )
    for batch in batches(known):
        for row in connection.execute(query.where(statements.c.subject.in_(batch))):
            if row.object not in known:
                continue
            ends = relation_ends(
                entity_of.get(row.subject), row.predicate, entity_of.get(row.object)
            )
            if ends is None or ends not in wanted:
                continue
            if documents is not None and row.document_id not in documents:
                continue
            place = Evidence(chunk_id=row.chunk_id, start=row.start, end=row.end)
            found[ends][place] = row.inferred and found[ends].get(place, True)
            if row.description:
                texts[ends].add(row.description)
    return {
        ends: QuotedStatement(
            places=sorted(places, key=lambda one: (places[one], _is_long(one), one)),
            descriptions=sorted(texts[ends]),
        )
        for ends, places in found.items()
    }


def _is_long(place: Evidence) -> bool:
    return place.end - place.start > _LONG_SENTENCE


def description_of(
    connection: Connection,
    keys: Sequence[str],
    *,
    id: str,  # noqa: A002
    name: str,
    documents: Collection[str],
) -> str:
    """Return model descriptions from these documents; a summary only of exactly those."""
    query = (
        select(descriptions.c.text, chunks.c.document_id)
        .join(chunks, chunks.c.id == descriptions.c.chunk_id)
        .where(descriptions.c.key.in_(sorted(keys)))
    )
    texts = [row.text for row in connection.execute(query) if row.document_id in documents]
    if not texts:
        return ""
    thing = Described(id=id, name=name, texts=tuple(texts))
    kept = select(digests.c.text).where(digests.c.fingerprint == thing.fingerprint)
    return connection.execute(kept).scalar() or combined(texts)
