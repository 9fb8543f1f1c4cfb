"""Entity resolution: names to entities, conservatively, with reasons.

A pure function of the set of names, the stated aliases and the user's decisions, in any order. Each
merge has a reason that a reader can check; ambiguous names stay apart. Links proposed by `rules`
and `person_rules` are carried out strongest first, unless numbers, gender titles or types conflict.
A user's decisions beat all rules, later ones beat earlier ones; they outlive documents and raise
the generation when they change.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, case, delete, func, insert, select

from ..errors import GraphInputError
from ..model import (
    ALSO_KNOWN_AS,
    ENTITY_TYPES,
    OF_TYPE,
    SPEAKS_OF_A_NAME,
    Entity,
    Judgement,
    Merge,
    Name,
    content_id,
)
from ..storage.facts import raise_generation, read_judgements, rows_in, value_of_row
from ..storage.schema import chunks, curations, mentions, statements
from ..text.cjk import has_han
from ..text.common_words import is_common
from ..text.names import name_key
from .entity_types import FEWEST, TITLE_WEIGHT, is_namelike, settle_types, title_type
from .name_forms import initial_links, titled_name_links, translated_part_links, with_persons
from .name_parsing import NameParts
from .person_rules import begun_name_links, full_name_links, honorific_links, short_name_links
from .rules import (
    Link,
    Profile,
    acronym_links,
    alias_links,
    is_owner,
    judged_links,
    known_links,
    name_profile,
    part_links,
    surname_links,
    types_conflict,
    variant_links,
)
from .similarity import Neighbours, similar_links

MERGE, SPLIT, RENAME, RETYPE = "merge", "split", "rename", "retype"
MERGED_BY_HAND = "merged by hand"


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
    stated = sorted({(a, b) for a, b in aliases if a != b and a in profiles and b in profiles})
    clusters = _Clusters(profiles, decisions.apart)
    clusters.carry_out(variant_links(profiles))
    clusters.carry_out(similar_links(profiles, neighbours=neighbours))
    clusters.carry_out(known_links(profiles))
    clusters.carry_out(honorific_links(profiles))
    full = full_name_links(profiles, clusters.root)
    clusters.carry_out(link for link in full if not _is_relative(link, profiles, neighbours or {}))
    clusters.carry_out(titled_name_links(profiles, clusters.root))
    clusters.carry_out(initial_links(profiles, clusters.root))
    clusters.carry_out(translated_part_links([*stated, *_bilingual(profiles)], profiles))
    clusters.carry_out(surname_links(stated, profiles, root=clusters.root))
    for _ in range(2):  # 孔明 and 诸葛亮 are two owners of 卧龙 until they are known to be one
        clusters.carry_out(alias_links(stated, profiles, root=clusters.root))
    clusters.carry_out(acronym_links(profiles, clusters.root))
    clusters.carry_out(begun_name_links(profiles, clusters.root))
    parts = part_links(profiles, clusters.root)
    clusters.carry_out(link for link in parts if not _is_beside(link, profiles, neighbours or {}))
    short = short_name_links(profiles, clusters.root)
    clusters.carry_out(link for link in short if not _is_beside(link, profiles, neighbours or {}))
    clusters.carry_out(judged_links(judgements, profiles))
    clusters.join_by_hand(decisions.groups)
    entities: list[Entity] = []
    merges: list[Merge] = []
    for keys in clusters.members():
        entity = _entity([profiles[key] for key in keys], clusters.demoted)
        canonical = _canonical([profiles[key] for key in keys], clusters.demoted).name.key
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


def _bilingual(profiles: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    """Yield the Han spellings of names whose key is in Latin letters, with the key."""
    for key, profile in profiles.items():
        if not profile.is_han:
            yield from ((name_key(s), key) for s in profile.name.surfaces if has_han(s))


def _is_beside(link: Link, profiles: Mapping[str, Profile], neighbours: Neighbours) -> bool:
    """Check whether a short name occurs once beside the full one, as relatives' names do.

    Or beside another part of the full one: no sentence calls one person first "Franck", then
    "Piccard". In Chinese the given name alone often follows the full one.
    """
    profile = profiles[link.key]
    if profile.count != 1 or profile.is_han:
        return False
    near = neighbours.get(link.key, ())
    rest = {*profiles[link.other].parts.words} - {*profile.parts.words}
    return link.other in near or not rest.isdisjoint(near)


def _is_relative(link: Link, profiles: Mapping[str, Profile], neighbours: Neighbours) -> bool:
    """Check whether a similar full name is said beside it, or once among others of its surname.

    So children are told of: "Lilianne Roche, Marcel Roche and Luis Armando Roche" in the life of
    their father, Luis Roche. A single other may be wife or husband; an initial tells nobody apart.
    """
    pair = (link.key, link.other)
    if link.other in neighbours.get(link.key, ()):
        return True
    if any(len(word) == 1 for key in pair for word in profiles[key].parts.words):
        return False
    shorter, longer = sorted(pair, key=lambda key: len(profiles[key].parts.words))
    if (
        profiles[longer].name.titles
        & profiles[shorter].name.documents - profiles[shorter].name.titles
    ):
        return profiles[shorter].count == 1  # the father, in the life of the son
    once = [key for key in pair if profiles[key].count == 1]
    near = {other for key in once for other in neighbours.get(key, ())} - {*pair}
    after_the_first = [profiles[other].parts.words[1:] for other in near if other in profiles]
    surname = profiles[link.key].parts.words[-1]
    return sum(words[-1:] == (surname,) for words in after_the_first) > 1


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


@dataclass(slots=True)
class _Facts:
    """Constraints against merging clusters."""

    genders: set[str]
    numbers: set[tuple[str, ...]]
    types: Counter[str]
    keys: list[str]
    relational: list[str]
    """Those of the keys that are relational names."""


@dataclass(slots=True)
class _Clusters:
    """Union-find over keys; joins what no member speaks against, and remembers why."""

    profiles: dict[str, Profile]
    apart: frozenset[str] = frozenset()
    """Keys a user split off; rules never rejoin them."""
    demoted: set[str] = field(default_factory=set)
    """Keys that a rule knows to be the lesser name of their entity."""
    _parent: dict[str, str] = field(default_factory=dict)
    _facts: dict[str, _Facts] = field(default_factory=dict)
    _links: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, profile in self.profiles.items():
            self._parent[key] = key
            parts: NameParts = profile.parts
            genders = {parts.gender} if parts.gender else set()
            types = Counter(profile.name.types)
            relational = [key] if profile.is_relational else []
            self._facts[key] = _Facts(genders, {parts.numbers}, types, [key], relational)

    def root(self, key: str) -> str:
        """Return the key that represents the cluster of `key`."""
        while self._parent[key] != key:
            self._parent[key] = self._parent[self._parent[key]]
            key = self._parent[key]
        return key

    def carry_out(self, links: Iterable[Link]) -> None:
        """Apply links in sorted order where nothing forbids them."""
        for link in sorted(links):
            if not self.apart.isdisjoint((link.key, link.other)):
                continue
            one, other = self.root(link.key), self.root(link.other)
            if one != other and not self._join(one, other, link):
                continue
            self._remember(link.key, link.other, link.reason)
            if link.lesser:
                self.demoted.add(link.lesser)

    def join_by_hand(self, groups: Iterable[Sequence[str]]) -> None:
        """Join the keys of each group regardless of constraints; the first gives the label."""
        for group in groups:
            present = [key for key in group if key in self.profiles]
            for key in present[1:]:
                one, other = self.root(present[0]), self.root(key)
                if one != other:
                    self.demoted.update(self._facts[other].keys)
                    self._unite(one, other)
                self._remember(present[0], key, MERGED_BY_HAND)

    def _remember(self, one: str, other: str, reason: str) -> None:
        self._links.setdefault(one, []).append((other, reason))
        self._links.setdefault(other, []).append((one, reason))

    def _join(self, one: str, other: str, link: Link) -> bool:
        first, second = self._facts[one], self._facts[other]
        if len(first.genders | second.genders) > 1:
            return False
        if first.numbers != second.numbers and not (
            link.stated and () in first.numbers | second.numbers
        ):
            return False
        if not link.any_type and types_conflict(first.types, second.types):
            return False
        if self._joins_owner(first, second) or self._joins_owner(second, first):
            return False
        self._unite(one, other)
        return True

    def _joins_owner(self, first: _Facts, second: _Facts) -> bool:
        """Check whether the second cluster names an owner of a relational name of the first."""
        return any(
            is_owner(self.profiles[key], self.profiles[other])
            for key in first.relational
            for other in second.keys
        )

    def _unite(self, one: str, other: str) -> None:
        keep, gone = sorted((one, other))
        facts, lost = self._facts[keep], self._facts.pop(gone)
        facts.genders |= lost.genders
        facts.numbers |= lost.numbers
        facts.types += lost.types
        facts.keys += lost.keys
        facts.relational += lost.relational
        self._parent[gone] = keep

    def members(self) -> list[list[str]]:
        """Return the clusters, each sorted, by first key."""
        return sorted(sorted(facts.keys) for facts in self._facts.values())

    def reason(self, key: str, canonical: str) -> str:
        """Explain why `key` belongs to `canonical`: the chain of links."""
        before: dict[str, tuple[str, str]] = {key: ("", "")}
        queue = [key]
        for current in queue:
            for other, reason in sorted(self._links.get(current, ())):
                if other not in before:
                    before[other] = (current, reason)
                    queue.append(other)
        steps = []
        place = canonical
        while place != key:
            place, reason = before[place]
            steps.append(reason)
        return "; ".join(dict.fromkeys(reversed(steps)))


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
    types = sum((Counter(p.name.types) for p in profiles), Counter[str]())
    return Entity(
        id=content_id("e", canonical.key),
        name=name,
        type=majority_type(types),
        keys=tuple(sorted(p.name.key for p in profiles)),
        aliases=tuple(surface for surface in surfaces if surface != name),
        mention_count=sum(p.count for p in profiles),
        document_count=len(frozenset().union(*(p.name.documents for p in profiles))),
    )


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


def read_names(connection: Connection, documents: Collection[str] | None = None) -> list[Name]:
    """Read every name with facts, sorted by key; document titles included.

    With `documents`, as if the library held no others.
    """
    surfaces: dict[str, Counter[str]] = defaultdict(Counter)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    named_by: dict[str, set[str]] = defaultdict(set)
    titles: dict[str, set[str]] = defaultdict(set)
    cues = read_type_cues(connection, documents)
    counted = (
        select(
            mentions.c.key,
            mentions.c.surface,
            mentions.c.type,
            chunks.c.document_id,
            func.count().label("times"),
        )
        .join(chunks, chunks.c.id == mentions.c.chunk_id)
        .group_by(mentions.c.key, mentions.c.surface, mentions.c.type, chunks.c.document_id)
    )
    for row in _of_documents(connection, counted, documents):
        surfaces[row.key][row.surface] += row.times
        types[row.key][row.type] += row.times
        named_by[row.key].add(row.document_id)
    titled = select(chunks.c.title_key, chunks.c.title, chunks.c.document_id).distinct()
    titled = titled.where(chunks.c.title_key != "").order_by(chunks.c.title, chunks.c.document_id)
    for row in _of_documents(connection, titled, documents):
        surfaces[row.title_key][row.title] += 0 if surfaces[row.title_key] else 1
        titles[row.title_key].add(row.document_id)
        if kind := title_type(row.title):
            cues[row.title_key][kind] = max(cues[row.title_key].get(kind, 0.0), TITLE_WEIGHT)
        named_by[row.title_key].add(row.document_id)
    spoken_of = _keys_of_statements(connection, documents)
    described = _keys_of_statements(connection, documents, statements.c.description != "")
    types = settle_types(types, cues, surfaces)
    return [
        Name(
            key=key,
            surfaces=dict(sorted(surfaces[key].items())),
            types=dict(sorted(types[key].items())),
            documents=frozenset(named_by[key]),
            titles=frozenset(titles[key]),
        )
        for key in sorted(surfaces)
        # A noun phrase of one document of which nothing is said would only be noise, and so would
        # a common word that no model describes.
        if (titles[key] and (types[key] or is_namelike(surfaces[key])))
        or types[key].keys() - {"CONCEPT"}
        or (types[key]["CONCEPT"] and key in described)
        or (
            types[key]["CONCEPT"] >= _fewest_mentions(key)
            and (key in spoken_of or len(named_by[key]) > 1)
        )
    ]


def _fewest_mentions(key: str) -> float:
    """Return how often a noun phrase has to be said to be a concept of a library.

    A single noun, and a phrase of common words, more often than a term of several; a common word
    alone never.
    """
    words = [*key] if has_han(key) else key.split()
    is_plain = len(words) < 2 + has_han(key) or all(map(is_common, words))
    return inf if is_common(key) else FEWEST * (1 + is_plain)


def read_type_cues(
    connection: Connection, documents: Collection[str] | None = None
) -> defaultdict[str, dict[str, float]]:
    """Read what speaks for each type of a name; a text about the name counts twice."""
    found: defaultdict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    table = statements.c
    is_own = case((chunks.c.title_key == table.subject, 2.0), else_=1.0)
    query = (
        select(table.subject, table.object, func.sum(table.strength * is_own).label("weight"))
        .join(chunks, chunks.c.id == table.chunk_id)
        .where(table.predicate == OF_TYPE)
        .group_by(table.subject, table.object, chunks.c.document_id)
        .order_by(table.subject, table.object, chunks.c.document_id)
    )
    for row in _of_documents(connection, query, documents):
        found[row.subject][row.object] = round(found[row.subject][row.object] + row.weight, 6)
    return found


def read_stated_aliases(
    connection: Connection, documents: Collection[str] | None = None
) -> list[tuple[str, str]]:
    """Read the pairs `(name, alias)` that documents state, for entity resolution, sorted."""
    query = select(statements.c.subject, statements.c.object).distinct()
    query = query.where(statements.c.predicate == ALSO_KNOWN_AS)
    rows = _of_documents(connection, _placed(query, documents), documents)
    return sorted({(row.subject, row.object) for row in rows})


def read_neighbours(connection: Connection) -> dict[str, set[str]]:
    """Read which keys share a statement, both ways; aliases excluded."""
    found: dict[str, set[str]] = defaultdict(set)
    query = select(statements.c.subject, statements.c.object).distinct()
    for row in connection.execute(query.where(statements.c.predicate.not_in(SPEAKS_OF_A_NAME))):
        found[row.subject].add(row.object)
        found[row.object].add(row.subject)
    return dict(found)


def _keys_of_statements(
    connection: Connection, documents: Collection[str] | None, *only: ColumnElement[bool]
) -> set[str]:
    found: set[str] = set()
    for column in (statements.c.subject, statements.c.object):
        query = (
            select(column.label("key")).where(statements.c.predicate != OF_TYPE, *only).distinct()
        )
        query = _placed(query, documents)
        found.update(row.key for row in _of_documents(connection, query, documents))
    return found


def _placed(query: Select[Any], documents: Collection[str] | None) -> Select[Any]:
    """Join a query of statements with their documents if needed."""
    if documents is None:
        return query
    return query.join(chunks, chunks.c.id == statements.c.chunk_id)


def _of_documents(
    connection: Connection, query: Select[Any], documents: Collection[str] | None
) -> Iterator[Row[Any]]:
    """Run a query over `chunks` for these documents or all."""
    if documents is None:
        yield from connection.execute(query)
        return
    yield from rows_in(connection, query, chunks.c.document_id, documents)
