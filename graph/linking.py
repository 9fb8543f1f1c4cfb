"""Entity linking (known names in every chunk) and relations from statements.

Chunks are matched again only where a name that came or went may occur; the result is that of
matching all. A chunk that cannot be matched has no links and a fault, and is matched again whenever
names change. Relations group statements by their entities and sum the weights of their evidences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from .isolation import Isolation
from .model import OCCURS_WITH, SPEAKS_OF_A_NAME, Evidence, Relation, content_id
from .storage.database import (
    Difference,
    entities_of_keys,
    keys_of_entities,
    write_difference,
    write_difference_at,
)
from .storage.facts import LINK, faulty_chunks, forget_faults, in_batches, put_faults, rows_in
from .storage.schema import chunks, links, names, relations, statements
from .text.names import NameMatcher, introduced_names

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


Named = tuple[str, str]
"""A name's key and its kind."""


def mark_unlinked(connection: Connection, *, gone: set[Named], come: set[Named]) -> None:
    """Chunks in which a name that came or went may occur are matched again; no others.

    What a chunk's longest matches are depends only on the names that occur in it.
    """
    changed = sorted((key, kind) for key, kind in gone ^ come if kind != "concept")
    if not changed:
        return
    if len(changed) * 5 > connection.execute(select(func.count()).select_from(names)).scalar_one():
        connection.execute(update(chunks).values(linked=False))
        return
    matcher = _matcher(changed)
    faulty = faulty_chunks(connection, stage=LINK)
    texts = connection.execute(select(chunks.c.id, chunks.c.text))
    again = (row.id for row in texts if row.id in faulty or _may_occur(matcher, row.text))
    for batch in in_batches(again):
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
        with Isolation(LINK) as isolation:
            rows += _links(matcher, row)
        if isolation.fault:
            isolation.fault.log(f"{row.document_id} ({row.id})")
            reasons[row.id] = isolation.fault.reason
        if number % 500 == 0:
            progress("link", number, len(waiting))
    for batch in in_batches(row.id for row in waiting):
        connection.execute(delete(links).where(links.c.chunk_id.in_(batch)))
        connection.execute(update(chunks).where(chunks.c.id.in_(batch)).values(linked=True))
    forget_faults(connection, (row.id for row in waiting), stage=LINK)
    put_faults(connection, reasons, stage=LINK)
    if rows:
        connection.execute(insert(links), rows)


def _links(matcher: NameMatcher, row: Row[Any]) -> list[dict[str, Any]]:
    """Return the link rows of one chunk."""
    matches = matcher.match(row.text)
    introduced = introduced_names(row.text, matches, title=row.title)
    keys = sorted({match.key for match in matches})
    return [{"chunk_id": row.id, "key": key, "opens": key in introduced} for key in keys]


def _may_occur(matcher: NameMatcher, text: str) -> bool:
    """Check whether any name may occur in a text; also true where matching fails."""
    with Isolation(LINK):
        return matcher.occurs_in(text)
    return True


TYPED_WEIGHT = 2.0
"""Weight of a stated relation; co-occurrence weighs 1."""

INFERRED_SHARE = 0.5
"""Factor for relations without a sentence naming both ends."""

Ends = tuple[str, str, str]
Place = tuple[str, int, int]


def stated_relations(
    connection: Connection, *, said: Mapping[str, str], only: Collection[str] | None = None
) -> list[Relation]:
    """Group statements by their entities with all evidences; sorted by id.

    With `only`, the relations that have an end among these entities. `said` is what a model said
    of a relation, by its id.
    """
    places: dict[Ends, dict[Place, float]] = defaultdict(dict)
    rows, entity_of = _statements(connection, only)
    for chunk_id, start, end, subject, predicate, target, strength, inferred in rows:
        weight = evidence_weight(predicate, strength, inferred)
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is None or (only is not None and ends[0] not in only and ends[2] not in only):
            continue
        place, known = (chunk_id, start, end), places[ends]
        known[place] = max(known.get(place, 0.0), weight)
    found = (_relation(ends, places[ends], said=said) for ends in places)
    return sorted(found, key=lambda relation: relation.id)


def _statements(
    connection: Connection, only: Collection[str] | None
) -> tuple[Iterable[Row[Any]], Mapping[str, str]]:
    """Return statements, those with an end among the entities `only`, and their names' entities."""
    table = statements.c
    query = select(
        table.chunk_id,
        table.start,
        table.end,
        table.subject,
        table.predicate,
        table.object,
        table.strength,
        table.inferred,
    ).where(table.predicate.not_in(SPEAKS_OF_A_NAME))
    if only is None:
        return connection.execute(query), entities_of_keys(connection)
    keys = keys_of_entities(connection, only)
    sides = (rows_in(connection, query, side, keys) for side in (table.subject, table.object))
    rows = [row for side in sides for row in side]
    ends = {key for row in rows for key in (row.subject, row.object)} - keys.keys()
    return rows, keys | entities_of_keys(connection, ends)


def relation_ends(source: str | None, predicate: str, target: str | None) -> Ends | None:
    """Return the relation that a statement supports; None for none."""
    if predicate in SPEAKS_OF_A_NAME or source is None or target is None or source == target:
        return None
    if predicate == OCCURS_WITH and target < source:
        return target, predicate, source
    return source, predicate, target


def evidence_weight(predicate: str, strength: float, inferred: bool) -> float:
    """Return the weight of one evidence."""
    if predicate == OCCURS_WITH:
        return 1.0
    return TYPED_WEIGHT * float(strength) * (INFERRED_SHARE if inferred else 1.0)


def _relation(ends: Ends, places: Mapping[Place, float], *, said: Mapping[str, str]) -> Relation:
    ordered, relation_id = sorted(places), content_id("r", *ends)
    return Relation(
        id=relation_id,
        source_id=ends[0],
        predicate=ends[1],
        target_id=ends[2],
        weight=round(sum(places[place] for place in ordered), 6),
        evidences=tuple(Evidence(chunk_id=c, start=start, end=end) for c, start, end in ordered),
        description=said.get(relation_id, ""),
    )


def write_relations(
    connection: Connection, found: Sequence[Relation], *, only: Collection[str] | None = None
) -> Difference:
    """Store these relations; with `only`, among those with such an end."""
    rows: list[Mapping[str, Any]] = [
        {
            "id": relation.id,
            "source_id": relation.source_id,
            "predicate": relation.predicate,
            "target_id": relation.target_id,
            "weight": relation.weight,
            "description": relation.description,
        }
        for relation in found
    ]
    if only is None:
        return write_difference(connection, relations, rows)
    ends = (relations.c.source_id, relations.c.target_id)
    return write_difference_at(connection, relations, rows=rows, at=ends, values=only)


def read_edges(connection: Connection) -> tuple[int, list[tuple[str, str, float]]]:
    """Read the number of relations, and summed weights by entity pair.

    Pairs in sorted order, sorted; weights are summed in the order of the relations' ids.
    """
    table = relations.c
    query = select(table.id, table.source_id, table.target_id, table.weight)
    rows = sorted(map(tuple, connection.execute(query).all()))
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for _, source, target, weight in rows:
        weights[(source, target) if source < target else (target, source)] += weight
    return len(rows), [
        (source, target, weights[source, target]) for source, target in sorted(weights)
    ]
