"""Entity resolution: names to entities, conservatively, with reasons.

A pure function of the set of names, the stated aliases and the user's decisions, in any order. Each
merge has a reason that a reader can check; ambiguous names stay apart. Links proposed by `rules`
and `person_rules` are carried out strongest first, unless numbers, gender titles or types conflict.
A user's decisions beat all rules, later ones beat earlier ones; they outlive documents and raise
the generation when they change.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, delete, func, insert, select

from ..errors import GraphInputError
from ..model import ENTITY_TYPES, Entity, Judgement, Merge, Name, content_id
from ..storage.facts import raise_generation, read_judgements, value_of_row
from ..storage.schema import curations
from ..text.names import JOINTS
from .clusters import MERGED_BY_HAND as MERGED_BY_HAND
from .clusters import Clusters
from .name_facts import read_names, read_neighbours, read_stated_aliases
from .name_forms import with_persons
from .rules import Link, Profile, name_profile
from .similarity import Neighbours
from .stages import STAGES, Inputs, carry_out_stages

MERGE, SPLIT, RENAME, RETYPE = "merge", "split", "rename", "retype"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Curation:
    """One decision. `keys` are name keys, `names` the same as they were typed.

    - merge: all keys are one thing; the first one's name is the name of it.
    - split: the keys leave what they belonged to, together; no rule joins them with others again.
    - rename: the thing of the first key is called `value`.
    - retype: the thing of the first key is a `value`.

    `number` counts decisions: the higher, the later.
    """

    number: int
    action: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Combined effect of all overrides.

    `groups` are keys that are one thing, two or more, the one that names it first; `apart` are the
    keys that no rule may join with others; `names` and `types` hold by key (number, text), the
    highest number counts for an entity of several keys.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    apart: frozenset[str] = frozenset()
    names: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    types: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def apply_overrides(curations: Iterable[Curation]) -> Overrides:
    """Apply overrides in numeric order."""
    group_of: dict[str, list[str]] = {}
    apart: set[str] = set()
    names: dict[str, tuple[int, str]] = {}
    types: dict[str, tuple[int, str]] = {}
    for curation in sorted(curations):
        match curation.action:
            case "merge":
                _join(group_of, curation.keys)
            case "split":
                _leave(group_of, curation.keys)
                _join(group_of, curation.keys)
                apart.update(curation.keys)
            case "rename":
                names[curation.keys[0]] = (curation.number, curation.value)
            case "retype":
                types[curation.keys[0]] = (curation.number, curation.value)
            case _:
                raise ValueError(f"no such decision: {curation.action!r}")
    groups = {tuple(group) for group in group_of.values() if len(group) > 1}
    return Overrides(groups=tuple(sorted(groups)), apart=frozenset(apart), names=names, types=types)


def latest_override(known: Mapping[str, tuple[int, str]], keys: Iterable[str]) -> str | None:
    """Return the last entity override about any of the keys; None without one."""
    found = [known[key] for key in keys if key in known]
    return max(found)[1] if found else None


def _join(group_of: dict[str, list[str]], keys: Sequence[str]) -> None:
    """Join the groups of all keys, the first key's in front."""
    group = group_of.setdefault(keys[0], [keys[0]])
    for key in keys[1:]:
        other = group_of.get(key, [key])
        if other is group:
            continue
        group.extend(other)
        group_of.update((member, group) for member in other)


def _leave(group_of: dict[str, list[str]], keys: Iterable[str]) -> None:
    for key in keys:
        group = group_of.pop(key, None)
        if group is not None:
            group.remove(key)


def read_curations(connection: Connection) -> list[Curation]:
    """Every decision, the earliest first."""
    rows = connection.execute(select(curations).order_by(curations.c.number))
    return [
        value_of_row(
            Curation, row, keys=tuple(json.loads(row.keys)), names=tuple(json.loads(row.names))
        )
        for row in rows
    ]


def next_number(connection: Connection) -> int:
    """Return the next override number."""
    highest = connection.execute(select(func.max(curations.c.number))).scalar()
    return int(highest or 0) + 1


def put_curation(connection: Connection, curation: Curation) -> None:
    """Keep a decision under its number, and let all that is derived follow it."""
    connection.execute(
        insert(curations).values(
            number=curation.number,
            action=curation.action,
            keys=json.dumps(curation.keys, ensure_ascii=False),
            names=json.dumps(curation.names, ensure_ascii=False),
            value=curation.value,
        )
    )
    raise_generation(connection)


def delete_curation(connection: Connection, number: int) -> None:
    """Take a decision back.

    Raises:
        GraphInputError: no decision has this number.
    """
    gone = connection.execute(delete(curations).where(curations.c.number == number))
    if not gone.rowcount:
        raise GraphInputError(f"no decision {number}")
    raise_generation(connection)


_LONGEST_ACRONYM = 6
OWN_NAME = "the entity's own name"


def resolve_names(
    names: Sequence[Name],
    aliases: Sequence[tuple[str, str]] = (),
    *,
    neighbours: Neighbours | None = None,
    judgements: Sequence[Judgement] = (),
    curations: Sequence[Curation] = (),
) -> tuple[list[Entity], list[Merge]]:
    """Resolve names to entities: entities sorted by id, and each key's entity, sorted by key.

    `aliases` are pairs of keys `(name, second name)` that a text states; pairs with unknown keys
    are ignored. Names of one key are taken together. An entity's id comes from its canonical key.
    `neighbours` (which keys stand beside a key) speak for names that are spelt much alike,
    `judgements` are what a model said of such pairs; `curations`, the user's own decisions, come
    last and beat everything.
    """
    decisions = apply_overrides(curations)
    profiles = with_persons({name.key: name_profile(name) for name in _unique(names)})
    given = Inputs(
        profiles=profiles,
        stated=sorted({(a, b) for a, b in aliases if a != b and a in profiles and b in profiles}),
        neighbours=neighbours or {},
        judgements=judgements,
        look_up=profiles.get,
    )
    return entities_of(resolved_clusters(given, decisions)[0], decisions)


def resolved_clusters(
    given: Inputs, decisions: Overrides
) -> tuple[Clusters, dict[str, list[Link]]]:
    """Run all rules over all names; return the clusters and the links of each stage."""
    clusters = Clusters(given.profiles, decisions.apart)
    proposed = carry_out_stages(
        clusters,
        lambda stage, root: list(STAGES[stage](given, root)),
        groups=decisions.groups,
    )
    return clusters, {stage: list(links) for stage, links in proposed if stage}


def entities_of(
    clusters: Clusters, decisions: Overrides, among: Iterable[Sequence[str]] | None = None
) -> tuple[list[Entity], list[Merge]]:
    """Return the entities of all clusters, or of those `among` them, with their names."""
    entities: list[Entity] = []
    merges: list[Merge] = []
    for keys in clusters.members() if among is None else among:
        profiles = [clusters.profiles[key] for key in keys]
        entity = _entity(profiles, clusters.demoted)
        canonical = _canonical(profiles, clusters.demoted).name.key
        entities.append(_as_decided(entity, decisions))
        merges.extend(
            Merge(
                key=key,
                entity_id=entity.id,
                reason=OWN_NAME if key == canonical else clusters.reason(key, canonical),
            )
            for key in keys
        )
    return sorted(entities, key=lambda e: e.id), sorted(merges, key=lambda m: m.key)


def _unique(names: Iterable[Name]) -> list[Name]:
    """One name a key, sorted by key."""
    known: dict[str, Name] = {}
    for name in names:
        other = known.get(name.key)
        known[name.key] = name if other is None else _together(other, name)
    return [known[key] for key in sorted(known)]


def _together(one: Name, other: Name) -> Name:
    return replace(
        one,
        surfaces=dict(Counter(one.surfaces) + Counter(other.surfaces)),
        types=dict(Counter(one.types) + Counter(other.types)),
        documents=one.documents | other.documents,
        titles=one.titles | other.titles,
    )


def _canonical(profiles: Sequence[Profile], demoted: set[str]) -> Profile:
    """Return the canonical name, the first of all."""
    return _ranked(profiles, demoted)[0]


def _ranked(profiles: Sequence[Profile], demoted: set[str]) -> list[Profile]:
    """Return the names best first.

    Not a rule's lesser one, and no surname of a person whose full name is known; then most
    frequent, then fullest.
    """
    surnames = {_surname_in(p.name.key) for p in profiles if p.name.key not in demoted}
    return sorted(
        profiles,
        key=lambda p: (
            p.name.key in demoted or (p.may_be_person and p.name.key in surnames),
            -p.count,
            -len(p.parts.words),
            -len(p.name.key),
            p.name.key,
        ),
    )


def _surname_in(key: str) -> str:
    """Return the last part of a name of several, as of "莱昂内尔·加罗德-派克"; else ""."""
    parts = key.replace("·", " ").split()
    return parts[-1] if len(parts) > 1 else ""


def _entity(profiles: Sequence[Profile], demoted: set[str]) -> Entity:
    ranked = _ranked(profiles, demoted)
    canonical = ranked[0].name
    name = best_surface(canonical.surfaces)
    if len(name) < 2:  # "姓贾名化" names 贾化, and has no more than 化 in one piece
        name = canonical.key
    surfaces = dict.fromkeys(surface for p in ranked for surface in _surfaces(p.name))
    kind = majority_type(sum((Counter(p.name.types) for p in profiles), Counter[str]()))
    is_shouted = name.isupper() and len(name) > _LONGEST_ACRONYM and not any(map(str.isdigit, name))
    if kind == "PERSON" and is_shouted:
        name = _as_spoken(name)
    return Entity(
        id=content_id("e", canonical.key),
        name=name,
        type=kind,
        keys=tuple(sorted(p.name.key for p in profiles)),
        aliases=tuple(surface for surface in surfaces if surface != name),
        mention_count=sum(p.count for p in profiles),
        document_count=len(frozenset().union(*(p.name.documents for p in profiles))),
    )


def _as_spoken(name: str) -> str:
    """Return a person's name in capitals, as a letter is signed, as sentences write it."""
    first, *rest = name.split(" ")
    words = (
        word if _ROMAN.fullmatch(word) else word.lower() if word.lower() in JOINTS else word.title()
        for word in rest
    )
    return " ".join((first.title(), *words))


_ROMAN = re.compile(r"[IVX]+")


def _surfaces(name: Name) -> list[str]:
    """Return a name's spellings with plain spaces, the best first, then in code order."""
    spelt = sorted({" ".join(surface.split()) for surface in name.surfaces})
    best = best_surface(name.surfaces)
    return sorted(spelt, key=lambda surface: surface != best)


def _as_decided(entity: Entity, decisions: Overrides) -> Entity:
    """Apply a user's label and type to an entity."""
    if not decisions.names and not decisions.types:
        return entity
    name = latest_override(decisions.names, entity.keys) or entity.name
    return replace(
        entity,
        name=name,
        type=latest_override(decisions.types, entity.keys) or entity.type,
        aliases=tuple(other for other in (entity.name, *entity.aliases) if other != name),
    )


def best_surface(surfaces: dict[str, int]) -> str:
    """Return the most frequent surface with plain spaces; ties in code order.

    Long words all in capitals are layout, and give way to any other spelling.
    """
    counts: Counter[str] = Counter()
    for surface, count in surfaces.items():
        counts[" ".join(surface.split())] += count
    shouted = {s for s in counts if s.isupper() and len(s) > _LONGEST_ACRONYM}
    spoken = counts.keys() - shouted or counts.keys()
    return min(spoken, key=lambda s: (-counts[s], s), default="")


def majority_type(types: Counter[str]) -> str:
    """Return the majority type; CONCEPT yields unless far ahead, NAME to all but a few mentions."""
    strong = {kind: n for kind, n in types.items() if kind not in {"NAME", "CONCEPT"} and n > 0}
    told = sum(strong.values())
    if strong and 2 * told >= types["CONCEPT"] and _FEW_TOLD * told > types["NAME"]:
        return min(strong, key=lambda kind: (-strong[kind], _type_order(kind)))
    return "CONCEPT" if types["CONCEPT"] > types["NAME"] else "NAME"


_FEW_TOLD = 12


def _type_order(kind: str) -> tuple[int, str]:
    return (ENTITY_TYPES.index(kind) if kind in ENTITY_TYPES else len(ENTITY_TYPES), kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Entities of a library, and each name key's entity with the reason."""

    names: list[Name]
    entities: list[Entity]
    merges: list[Merge]


def resolve_facts(
    connection: Connection, *, curations: Iterable[Curation] | None = None
) -> Resolution:
    """Resolve the present facts to entities, optionally with other overrides."""
    known = read_names(connection)
    kept = read_curations(connection) if curations is None else list(curations)
    entities, merges = resolve_names(
        known,
        read_stated_aliases(connection),
        neighbours=read_neighbours(connection),
        judgements=read_judgements(connection),
        curations=kept,
    )
    return Resolution(names=known, entities=entities, merges=merges)
