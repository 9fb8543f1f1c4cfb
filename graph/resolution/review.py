"""Review of resolution: effects of planned overrides, and uncertain pairs.

A name is looked up by its key, by an entity's id, or by what an entity is called. A plan writes
nothing: it shows entities before and after, each name with its reason. Uncertain pairs become
questions for `llm_judge`; verdicts on them are stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from ..errors import GraphInputError
from ..model import ENTITY_TYPES, SAME, Entity, Judgement, Merge, Name, content_id
from ..storage.database import entity_of_row
from ..storage.facts import in_batches, put_judgements, raise_generation, read_judgements, rows_in
from ..storage.schema import chunks, descriptions, mentions, names
from ..storage.schema import entities as entity_table
from ..storage.schema import names as name_table
from ..text.cjk import has_han
from ..text.names import name_key
from ..text.sentences import sentence_spans
from .llm_judge import NamedThing, PairQuestion
from .name_facts import read_neighbours
from .resolver import (
    MERGE,
    RENAME,
    RETYPE,
    SPLIT,
    Curation,
    Resolution,
    apply_overrides,
    best_surface,
    next_number,
    read_curations,
    resolve_facts,
)
from .rules import name_profile
from .similarity import Embed, SimilarPair, similar_pairs

SUGGESTIONS = 4
_LIKE_ENOUGH = 60
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """An entity with the reason why each of its names belongs to it, by key."""

    entity: Entity
    reasons: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideEffect:
    """A decision, and the entities that it changes, as they are and as they would be."""

    curation: Curation
    before: tuple[NamedEntity, ...]
    after: tuple[NamedEntity, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideState:
    """Override with its present targets: entity ids, and names not found."""

    curation: Curation
    entities: tuple[Entity, ...]
    missing: tuple[str, ...]


def plan_decision(
    connection: Connection, action: str, *, names: Sequence[str], value: str = ""
) -> OverrideEffect:
    """Return what an override would change.

    Raises:
        GraphInputError: a name that is unknown or means several things, or a decision that would
            change nothing; one line that says what to do instead.
    """
    now = resolve_facts(connection)
    keys = tuple(dict.fromkeys(find_key(name, now.entities) for name in names))
    value = " ".join(value.split())[:_LONGEST]
    if action == RETYPE:
        value = _known_type(value, now.entities)
    _check(action, keys, value=value, entities=now.entities)
    curation = Curation(
        number=next_number(connection),
        action=action,
        keys=keys,
        names=tuple(dict.fromkeys(" ".join(name.split())[:_LONGEST] for name in names)),
        value=value,
    )
    after = resolve_facts(connection, curations=[*read_curations(connection), curation])
    return _effect(curation, now, after)


def plan_undo(connection: Connection, number: int) -> OverrideEffect:
    """Return what undoing an override would change.

    Raises:
        GraphInputError: no decision has this number.
    """
    held = read_curations(connection)
    undone = next((each for each in held if each.number == number), None)
    if undone is None:
        known = ", ".join(str(each.number) for each in held) or "none"
        raise GraphInputError(f"no decision {number}: use one of {known}")
    left = [each for each in held if each.number != number]
    return _effect(undone, resolve_facts(connection), resolve_facts(connection, curations=left))


def standing_decisions(connection: Connection) -> list[OverrideState]:
    """Every decision with what it acts on, the earliest first; reads what is derived."""
    held = read_curations(connection)
    entity_of: dict[str, str] = {}
    query = select(name_table.c.key, name_table.c.entity_id)
    keys = (key for curation in held for key in curation.keys)
    for row in rows_in(connection, query, name_table.c.key, keys):
        entity_of[row.key] = row.entity_id
    known = {each.entity.id: each.entity for each in _by_id(connection, entity_of.values())}
    found = []
    for curation in held:
        ids = sorted({entity_of[key] for key in curation.keys if key in entity_of})
        found.append(
            OverrideState(
                curation=curation,
                entities=tuple(known[each] for each in ids if each in known),
                missing=tuple(key for key in curation.keys if key not in entity_of),
            )
        )
    return found


def find_entities(connection: Connection, query: str = "", *, limit: int) -> list[NamedEntity]:
    """Entities one of whose names contains the query, the most mentioned first."""
    clean = select(entity_table.c.id).where(entity_table.c.dirty.is_(False))
    key = name_key(query)
    if query.strip():
        meant = select(name_table.c.entity_id).where(
            name_table.c.key.contains(key or query.casefold(), autoescape=True)
        )
        called = entity_table.c.name.contains(query.strip(), autoescape=True)
        clean = clean.where(entity_table.c.id.in_(meant) | called)
    order = (entity_table.c.mention_count.desc(), entity_table.c.name, entity_table.c.id)
    ids = list(connection.execute(clean.order_by(*order).limit(limit)).scalars())
    found = {each.entity.id: each for each in _by_id(connection, ids)}
    return [found[each] for each in ids]


def _by_id(connection: Connection, ids: Iterable[str]) -> list[NamedEntity]:
    """Return the derived entities of these ids, sorted by id."""
    reasons: dict[str, dict[str, str]] = defaultdict(dict)
    found: list[NamedEntity] = []
    for batch in in_batches(ids):
        inside = select(name_table).where(name_table.c.entity_id.in_(batch))
        for row in connection.execute(inside.order_by(name_table.c.key)):
            reasons[row.entity_id][row.key] = row.reason
        query = select(entity_table).where(entity_table.c.id.in_(batch))
        for row in connection.execute(query.order_by(entity_table.c.id)):
            entity = entity_of_row(row, keys=tuple(sorted(reasons[row.id])))
            found.append(NamedEntity(entity=entity, reasons=reasons[row.id]))
    return found


def find_key(text: str, entities: Iterable[Entity]) -> str:
    """Resolve a text to a name key: a key, an entity id, or a label.

    Raises:
        GraphInputError: none, or several; the message names what comes near.
    """
    known = list(entities)
    key = name_key(text)
    owners = {each: entity for entity in known for each in entity.keys}
    if key in owners:
        return key
    folded = " ".join(text.split()).casefold()
    called = [each for each in known if folded in {each.id, each.name.casefold()}]
    if len(called) == 1:
        return _own_key(called[0])
    if called:
        choice = ", ".join(f"{each.id} ({_own_key(each)!r})" for each in called[:SUGGESTIONS])
        raise GraphInputError(f"{text!r} names several entities: use one of the ids {choice}")
    near = ", ".join(repr(name) for name in _suggestions(key or folded, owners))
    advice = f"; similar names are {near}" if near else ""
    raise GraphInputError(f"no document has the name {text!r}{advice}")


def _own_key(entity: Entity) -> str:
    """Return an entity's most stable key."""
    own = (key for key in entity.keys if content_id("e", key) == entity.id)
    return next(own, entity.keys[0])


def _suggestions(key: str, owners: dict[str, Entity]) -> list[str]:
    """Return labels of entities with the most similar keys, best first."""
    from rapidfuzz import fuzz, process

    # Words apart from their order; in Chinese, which has no spaces, a part of the name is enough.
    scorer = fuzz.WRatio if any(map(has_han, key)) else fuzz.token_set_ratio
    scored = process.extract(
        key, sorted(owners), scorer=scorer, limit=3 * SUGGESTIONS, score_cutoff=_LIKE_ENOUGH
    )
    ordered = sorted(scored, key=lambda one: (-one[1], one[0]))
    return list(dict.fromkeys(owners[match].name for match, *_ in ordered))[:SUGGESTIONS]


def _known_type(value: str, entities: Iterable[Entity]) -> str:
    """Validate an entity type.

    Raises:
        GraphInputError: neither one that the library has nor one that it could have by itself.
    """
    known = {*ENTITY_TYPES, *(entity.type for entity in entities)}
    for each in sorted(known):
        if each.casefold() == value.casefold():
            return each
    raise GraphInputError(f"unknown entity type {value!r}: use one of {', '.join(sorted(known))}")


def _check(action: str, keys: Sequence[str], *, value: str, entities: Iterable[Entity]) -> None:
    """Refuse what would change nothing, with what is so already."""
    owners = {key: entity for entity in entities for key in entity.keys}
    meant = [owners[key] for key in keys]
    first = meant[0]
    if action == MERGE and len(keys) < 2:
        raise GraphInputError("a merge needs two or more different names")
    if action == MERGE and len({entity.id for entity in meant}) < 2:
        raise GraphInputError(f"these names belong to one entity already: {first.name!r}")
    if action == SPLIT and len({entity.id for entity in meant}) > 1:
        others = ", ".join(sorted({repr(entity.name) for entity in meant}))
        raise GraphInputError(f"these names belong to different entities already: {others}")
    if action == SPLIT and set(keys) == set(first.keys):
        raise GraphInputError(f"{first.name!r} has no other names: there is nothing to split")
    if action == RENAME and not value:
        raise GraphInputError("the new name is empty: give a name")
    if action == RENAME and value == first.name:
        raise GraphInputError(f"it is called {value!r} already")
    if action == RETYPE and value == first.type:
        raise GraphInputError(f"{first.name!r} is a {value} already")


def _effect(curation: Curation, now: Resolution, then: Resolution) -> OverrideEffect:
    before, after = set(now.entities), set(then.entities)
    return OverrideEffect(
        curation=curation,
        before=_explained(before - after, now.merges),
        after=_explained(after - before, then.merges),
    )


def _explained(some: Iterable[Entity], merges: Iterable[Merge]) -> tuple[NamedEntity, ...]:
    reasons = {merge.key: merge.reason for merge in merges}
    return tuple(
        NamedEntity(entity=entity, reasons={key: reasons[key] for key in entity.keys})
        for entity in sorted(some, key=lambda each: (each.name, each.id))
    )


def uncertain_pairs(
    connection: Connection, *, limit: int, embed: Embed | None = None
) -> list[PairQuestion]:
    """Return unjudged pairs, most similar first, one per pair of entities."""
    now = resolve_facts(connection)
    profiles = {name.key: name_profile(name) for name in now.names}
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
    keys = (key for each in values for key in (each.first_key, each.second_key))
    known = {row.key for row in rows_in(connection, select(names.c.key), names.c.key, keys)}
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
    for batch in in_batches(keys):
        said = select(descriptions).where(descriptions.c.key.in_(batch))
        for row in connection.execute(said.order_by(descriptions.c.key, descriptions.c.chunk_id)):
            found.setdefault(row.key, row.text)
        placed = select(mentions.c.key, mentions.c.chunk_id, mentions.c.start)
        order = (mentions.c.key, mentions.c.chunk_id, mentions.c.start)
        for row in connection.execute(placed.where(mentions.c.key.in_(batch)).order_by(*order)):
            if row.key not in found and row.key not in placed_keys:
                placed_keys.add(row.key)
                places[row.chunk_id][row.key] = row.start
    texts = select(chunks.c.id, chunks.c.text)
    for row in rows_in(connection, texts, chunks.c.id, places):
        for key, start in sorted(places[row.id].items()):
            found[key] = _sentence_at(row.text, start)
    return found


def _sentence_at(text: str, offset: int) -> str:
    """Return the sentence around an offset."""
    for start, end in sentence_spans(text):
        if start <= offset < end:
            return text[start:end]
    return ""
