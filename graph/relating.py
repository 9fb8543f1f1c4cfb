"""Relation building: statements grouped by entities and weighted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, or_, select

from .model import ALSO_KNOWN_AS, OCCURS_WITH, Evidence, Relation, content_id
from .rows import Difference, write_difference, write_difference_at
from .schema import relations, statements

TYPED_WEIGHT = 2.0
"""Weight of a stated relation; co-occurrence weighs 1."""

INFERRED_SHARE = 0.5
"""Factor for relations without a sentence naming both ends."""

FEW_KEYS = 400
"""Maximum names selected by the database; more are filtered in memory."""

Ends = tuple[str, str, str]
Place = tuple[str, int, int]


def stated_relations(
    connection: Connection,
    entity_of: Mapping[str, str],
    *,
    said: Mapping[str, str],
    only: Collection[str] | None = None,
) -> list[Relation]:
    """Group statements by their entities with all evidences; sorted by id.

    With `only`, the relations that have an end among these entities. `said` is what a model said
    of a relation, by its id.
    """
    places: dict[Ends, dict[Place, float]] = defaultdict(dict)
    for chunk_id, start, end, subject, predicate, target, weight in _statements(
        connection, entity_of, only
    ):
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is None or (only is not None and ends[0] not in only and ends[2] not in only):
            continue
        place, known = (chunk_id, start, end), places[ends]
        known[place] = max(known.get(place, 0.0), weight)
    found = (_relation(ends, places[ends], said=said) for ends in places)
    return sorted(found, key=lambda relation: relation.id)


def _statements(
    connection: Connection, entity_of: Mapping[str, str], only: Collection[str] | None
) -> Iterator[tuple[str, int, int, str, str, str, float]]:
    """Place, name, predicate, name, and weight; more than is asked for may be given."""
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
    ).where(table.predicate != ALSO_KNOWN_AS)
    if only is not None:
        keys = sorted(key for key, entity_id in entity_of.items() if entity_id in only)
        if len(keys) <= FEW_KEYS:
            query = query.where(or_(table.subject.in_(keys), table.object.in_(keys)))
    for part in connection.execute(query).partitions(10_000):
        for *stated, predicate, target, strength, inferred in part:
            chunk_id, start, end, subject = stated
            weight = evidence_weight(predicate, strength, inferred)
            yield chunk_id, start, end, subject, predicate, target, weight


def relation_ends(source: str | None, predicate: str, target: str | None) -> Ends | None:
    """Return the relation that a statement supports; None for none."""
    if predicate == ALSO_KNOWN_AS or source is None or target is None or source == target:
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
