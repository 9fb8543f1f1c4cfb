"""Effects of a planned override, and what existing ones act on.

A name is looked up by its key, by an entity's id, or by what an entity is called. Nothing is
written here (see `curation_store`): a plan shows entities before and after, each name with why it
belongs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from .curation import MERGE, RENAME, RETYPE, SPLIT, Curation
from .curation_store import next_number, read_curations
from .errors import GraphInputError
from .extract.segments import has_han
from .facts import batches
from .model import ENTITY_TYPES, Entity, Merge, content_id
from .name_facts import Resolution, resolution
from .names import name_key
from .read import entity_of_row
from .schema import entities as entity_table
from .schema import names as name_table

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
    now = resolution(connection)
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
    after = resolution(connection, curations=[*read_curations(connection), curation])
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
        raise GraphInputError(f"there is no decision {number} (there are: {known})")
    left = [each for each in held if each.number != number]
    return _effect(undone, resolution(connection), resolution(connection, curations=left))


def standing_decisions(connection: Connection) -> list[OverrideState]:
    """Every decision with what it acts on, the earliest first; reads what is derived."""
    held = read_curations(connection)
    entity_of: dict[str, str] = {}
    for batch in batches(key for curation in held for key in curation.keys):
        query = select(name_table.c.key, name_table.c.entity_id)
        rows = connection.execute(query.where(name_table.c.key.in_(batch)))
        entity_of.update((row.key, row.entity_id) for row in rows)
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
    for batch in batches(ids):
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
        raise GraphInputError(
            f"{text!r} is the name of several things: name one by its id: {choice}"
        )
    near = ", ".join(repr(name) for name in _suggestions(key or folded, owners))
    advice = f"; near it are {near}" if near else ""
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
    raise GraphInputError(f"{value!r} is no type; there are {', '.join(sorted(known))}")


def _check(action: str, keys: Sequence[str], *, value: str, entities: Iterable[Entity]) -> None:
    """Refuse what would change nothing, with what is so already."""
    owners = {key: entity for entity in entities for key in entity.keys}
    meant = [owners[key] for key in keys]
    first = meant[0]
    if action == MERGE and len(keys) < 2:
        raise GraphInputError("a merge needs two names or more that are not the same")
    if action == MERGE and len({entity.id for entity in meant}) < 2:
        raise GraphInputError(f"these names already mean one thing: {first.name!r}")
    if action == SPLIT and len({entity.id for entity in meant}) > 1:
        others = ", ".join(sorted({repr(entity.name) for entity in meant}))
        raise GraphInputError(f"these names mean different things already: {others}")
    if action == SPLIT and set(keys) == set(first.keys):
        raise GraphInputError(f"{first.name!r} has no other names: there is nothing to split")
    if action == RENAME and not value:
        raise GraphInputError("the new name is empty")
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
