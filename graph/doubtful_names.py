"""Storage of uncertain name pairs and their verdicts.

How a model is asked about them is `judge_names`' business; who asks it, and what that costs, others
know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, select

from .curation import apply_overrides
from .curation_store import read_curations
from .facts import batches, raise_generation
from .judge_names import SAME, Judgement, NamedThing, PairQuestion
from .judgement_store import put_judgements, read_judgements
from .model import Entity, Name
from .name_facts import read_neighbours, resolution
from .resolve import best_surface
from .resolve_rules import profile_of
from .schema import chunks, descriptions, mentions, names
from .sentences import sentence_spans
from .similar_names import Embed, SimilarPair, similar_pairs


def uncertain_pairs(
    connection: Connection, *, limit: int, embed: Embed | None = None
) -> list[PairQuestion]:
    """Return unjudged pairs, most similar first, one per pair of entities."""
    now = resolution(connection)
    profiles = {name.key: profile_of(name) for name in now.names}
    pairs = similar_pairs(profiles, neighbours=read_neighbours(connection), embed=embed)
    entity_of = {key: entity for entity in now.entities for key in entity.keys}
    settled = _settled(connection, entity_of)
    apart = _split_off(connection, entity_of)
    chosen: list[SimilarPair] = []
    for pair in sorted(pairs, key=lambda one: (-one.score, one)):
        if len(chosen) >= limit:
            break
        ends = _ends(entity_of, pair.first, pair.second)
        if len(ends) == 2 and ends not in settled and ends.isdisjoint(apart):
            settled.add(ends)
            chosen.append(pair)
    known = {name.key: name for name in now.names}
    context = _contexts(connection, {key for p in chosen for key in (p.first, p.second)})
    return [
        PairQuestion(
            first=_thing(known[pair.first], entity_of[pair.first], context),
            second=_thing(known[pair.second], entity_of[pair.second], context),
        )
        for pair in chosen
    ]


def save_verdicts(connection: Connection, judgements: Iterable[Judgement]) -> int:
    """Store verdicts; return how many merge names, which raises the generation.

    Those of names that went while the model was thinking are left out.
    """
    kept = _of_names_still_there(connection, judgements)
    put_judgements(connection, kept)
    same = sum(each.verdict == SAME for each in kept)
    if same:
        raise_generation(connection)
    return same


def _of_names_still_there(
    connection: Connection, judgements: Iterable[Judgement]
) -> list[Judgement]:
    """Without those about names that went while the model was thinking."""
    values = list(judgements)
    known: set[str] = set()
    for batch in batches(key for each in values for key in (each.first_key, each.second_key)):
        query = select(names.c.key).where(names.c.key.in_(batch))
        known.update(connection.execute(query).scalars())
    return [each for each in values if {each.first_key, each.second_key} <= known]


def _ends(entity_of: Mapping[str, Entity], first: str, second: str) -> frozenset[str]:
    return frozenset(entity_of[key].id for key in (first, second))


def _settled(connection: Connection, entity_of: Mapping[str, Entity]) -> set[frozenset[str]]:
    """Pairs of entities about which a model has said something."""
    return {
        _ends(entity_of, each.first_key, each.second_key)
        for each in read_judgements(connection)
        if each.first_key in entity_of and each.second_key in entity_of
    }


def _split_off(connection: Connection, entity_of: Mapping[str, Entity]) -> set[str]:
    """Return ids of entities that a user keeps apart."""
    apart = apply_overrides(read_curations(connection)).apart
    return {entity_of[key].id for key in apart if key in entity_of}


def _thing(name: Name, entity: Entity, context: Mapping[str, str]) -> NamedThing:
    return NamedThing(
        key=name.key,
        name=best_surface(name.surfaces) or name.key,
        type=entity.type if entity.type != "NAME" else "",
        context=context.get(name.key, ""),
    )


def _contexts(connection: Connection, keys: Collection[str]) -> dict[str, str]:
    """Return a context line for each name: a description, else its first sentence."""
    found: dict[str, str] = {}
    places: defaultdict[str, dict[str, int]] = defaultdict(dict)
    placed_keys: set[str] = set()
    for batch in batches(keys):
        said = select(descriptions).where(descriptions.c.key.in_(batch))
        for row in connection.execute(said.order_by(descriptions.c.key, descriptions.c.chunk_id)):
            found.setdefault(row.key, row.text)
        placed = select(mentions.c.key, mentions.c.chunk_id, mentions.c.start)
        order = (mentions.c.key, mentions.c.chunk_id, mentions.c.start)
        for row in connection.execute(placed.where(mentions.c.key.in_(batch)).order_by(*order)):
            if row.key not in found and row.key not in placed_keys:
                placed_keys.add(row.key)
                places[row.chunk_id][row.key] = row.start
    for batch in batches(places):
        texts = select(chunks.c.id, chunks.c.text).where(chunks.c.id.in_(batch))
        for row in connection.execute(texts):
            for key, start in sorted(places[row.id].items()):
                found[key] = _sentence_at(row.text, start)
    return found


def _sentence_at(text: str, offset: int) -> str:
    """Return the sentence around an offset."""
    for start, end in sentence_spans(text):
        if start <= offset < end:
            return text[start:end]
    return ""
