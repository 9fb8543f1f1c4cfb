"""Collected descriptions of entities and relations, and their summaries.

That text is a model's summary where one is kept of exactly this, else what is said, put together.
A summary goes as soon as something else is said: none outlives what it was made of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from .descriptions import MAX_CHARACTERS, combined
from .facts import batches, raise_generation
from .model import Entity, content_id
from .name_facts import resolution
from .relating import Ends, relation_ends
from .schema import descriptions, digests, statements
from .summarise_descriptions import Described, to_summarise


def collect_descriptions(
    connection: Connection, entities: Sequence[Entity], entity_of: Mapping[str, str]
) -> list[Described]:
    """Every entity and relation of which something is said, sorted by id."""
    names = {entity.id: entity.name for entity in entities}
    of_entities: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(select(descriptions.c.key, descriptions.c.text)):
        if row.key in entity_of:
            of_entities[entity_of[row.key]].append(row.text)
    of_relations: dict[Ends, list[str]] = defaultdict(list)
    columns = (statements.c.subject, statements.c.predicate, statements.c.object)
    query = select(*columns, statements.c.description).where(statements.c.description != "")
    for subject, predicate, target, text in connection.execute(query):
        ends = relation_ends(entity_of.get(subject), predicate, entity_of.get(target))
        if ends is not None:
            of_relations[ends].append(text)
    things = [
        Described(id=entity_id, name=names[entity_id], texts=tuple(texts))
        for entity_id, texts in of_entities.items()
    ]
    for (source, predicate, target), texts in of_relations.items():
        name = f"{names[source]} – {predicate} – {names[target]}"
        id_ = content_id("r", source, predicate, target)
        things.append(Described(id=id_, name=name, texts=tuple(texts)))
    return sorted(things, key=lambda thing: thing.id)


def described(connection: Connection, things: Iterable[Described]) -> dict[str, str]:
    """Return the description of each item by id; outdated summaries are deleted."""
    values = list(things)
    held = _read(connection)
    if not held:
        return {thing.id: combined(thing.texts) for thing in values}
    prints = {thing.id: thing.fingerprint for thing in values}
    for batch in batches(held.keys() - prints.values()):
        connection.execute(delete(digests).where(digests.c.fingerprint.in_(batch)))
    return {
        thing.id: held[prints[thing.id]] if prints[thing.id] in held else combined(thing.texts)
        for thing in values
    }


def pending_descriptions(connection: Connection) -> list[Described]:
    """Return items with more text than fits and no summary, sorted by id."""
    now = resolution(connection)
    entity_of = {merge.key: merge.entity_id for merge in now.merges}
    held = _read(connection)
    long = [
        thing
        for thing in collect_descriptions(connection, now.entities, entity_of)
        if sum(len(text) + 1 for text in thing.texts) > MAX_CHARACTERS
    ]
    return to_summarise([thing for thing in long if thing.fingerprint not in held])


def save_summaries(
    connection: Connection,
    things: Iterable[Described],
    texts: Mapping[str, str],
    *,
    model: str,
) -> None:
    """Keep summaries, by the id of the thing; what is derived is to be derived anew."""
    rows = {
        thing.fingerprint: {
            "fingerprint": thing.fingerprint,
            "text": texts[thing.id],
            "model": model,
        }
        for thing in things
        if thing.id in texts
    }
    if not rows:
        return
    for batch in batches(rows):
        connection.execute(delete(digests).where(digests.c.fingerprint.in_(batch)))
    connection.execute(insert(digests), [rows[key] for key in sorted(rows)])
    raise_generation(connection)


def _read(connection: Connection) -> dict[str, str]:
    return {row.fingerprint: row.text for row in connection.execute(select(digests))}
