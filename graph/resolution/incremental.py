"""Incremental entity resolution: only what a change of facts can have changed.

Names whose facts changed are aggregated again (`name_changes`). All names that read one of them by
a block are asked by the rules again; of every other name the links stored last time are taken. The
clusters of all these names are built as the stages of a whole resolution build them, with the
names and links of before and with those of now: where a cluster differs at any stage, the names
that read its members are asked again, too, until nothing differs. So the result is that of a whole
resolution, and its cost that of the names within reach.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from sqlalchemy import Connection, func, select

from ..isolation import product_version
from ..model import SPEAKS_OF_A_NAME, Entity, Merge
from ..storage.facts import (
    forget_changes,
    has_rows,
    hashed,
    noted_changes,
    read_judgements,
    read_state,
    write_state,
)
from ..storage.schema import chunks, kept_names, mentions, statements
from ..text.cjk import has_han
from .clusters import Clusters
from .kept_names import (
    NOTHING,
    KeptName,
    KeptNames,
    Proposals,
    links_of_stage,
    read_proposals,
    write_proposals,
)
from .name_changes import BILINGUAL, all_names, changed_names
from .name_facts import read_neighbours, read_stated_aliases
from .name_forms import beginnings, is_common_ground, translated_part_links
from .name_parsing import NameParts
from .resolver import (
    Curation,
    Overrides,
    apply_overrides,
    entities_of,
    read_curations,
    resolved_clusters,
)
from .rules import CROWD, IDENTITY, MEMBER, READER, Link, Profile, Root
from .similarity import HUB
from .stages import (
    AMONG,
    BESIDE,
    COMPACT,
    DOCUMENT,
    STAGES,
    Inputs,
    carry_out_stages,
    han_spellings,
    identities_of,
    owner_of,
    translated_pairs,
)

T = TypeVar("T")

KEPT = "names"
"""Key of the state table: the version and the overrides that kept names rest on."""

BLOCKS = "2"
"""Version of the blocks of names."""

MOST = 5
"""Share of all names, one in so many, above which all are resolved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Resolution of all names, or of those that changed.

    Args:
        entities: the entities of the names `keys`, by id.
        merges: the entity of each of these, by key.
        profiles: their profiles; a key without one is no name any more.
        is_whole: these are all names.
    """

    entities: list[Entity]
    merges: list[Merge]
    profiles: Mapping[str, Profile]
    keys: frozenset[str]
    is_whole: bool


def resolve_changes(connection: Connection) -> Resolved:
    """Resolve the names that noted changes may touch; all if nothing is kept, or many changed."""
    curations = read_curations(connection)
    seeds = noted_changes(connection, "name")
    version, _, before = (read_state(connection, KEPT) or "").partition("\n")
    if version == _version() and has_rows(connection, kept_names, len(seeds) * MOST):
        found = _Changes(connection, curations, _overrides(before)).resolve(seeds)
    else:
        found = _resolve_all(connection, curations)
    forget_changes(connection, "name")
    told = json.dumps([asdict(one) for one in curations], ensure_ascii=False)
    write_state(connection, KEPT, f"{_version()}\n{told}")
    return found


def _version() -> str:
    return f"{product_version()} {BLOCKS}"


def forget_names(connection: Connection) -> None:
    """Delete all that is kept, so that the next resolution is of all names."""
    KeptNames(connection).forget()
    write_state(connection, KEPT, "")


def _overrides(text: str) -> list[Curation]:
    rows = json.loads(text or "[]")
    return [
        Curation(**{**row, "keys": tuple(row["keys"]), "names": tuple(row["names"])})
        for row in rows
    ]


def _resolve_all(connection: Connection, curations: Sequence[Curation]) -> Resolved:
    names = all_names(connection)
    profiles = {key: profile for key, kept in names.items() if (profile := kept.profile)}
    stated = [
        (one, other)
        for one, other in read_stated_aliases(connection)
        if one != other and one in profiles and other in profiles
    ]
    given = Inputs(
        profiles=profiles,
        stated=stated,
        neighbours=read_neighbours(connection),
        judgements=read_judgements(connection),
        look_up=profiles.get,
    )
    decisions = apply_overrides(curations)
    clusters, proposed = resolved_clusters(given, decisions)
    kept = KeptNames(connection)
    kept.forget()
    kept.write({key: _with_reads(value, given.reads.get(key)) for key, value in names.items()})
    links = {(stage, owner_of(stage, link), link) for stage in proposed for link in proposed[stage]}
    write_proposals(connection, before=(), after=links)
    entities, merges = entities_of(clusters, decisions)
    return Resolved(
        entities=entities,
        merges=merges,
        profiles=profiles,
        keys=frozenset(profiles),
        is_whole=True,
    )


def _with_reads(kept: KeptName, reads: Iterable[str] | None) -> KeptName:
    return KeptName(
        base=kept.base,
        is_turned=kept.is_turned,
        is_person=kept.is_person,
        blocks=kept.blocks,
        reads=frozenset(map(hashed, reads or ())),
    )


Signature = Mapping[str, tuple[tuple[str, ...], ...]]
"""For a key that is not alone at some stage, the clusters it is in from stage to stage."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One build of clusters: how, from which links, and with which reads."""

    clusters: Clusters
    signature: Signature
    links: set[tuple[str, str, Link]]
    reads: Mapping[str, set[str]] = field(default_factory=dict)


class _Changes:
    """Resolution of what changed within one transaction."""

    def __init__(
        self, connection: Connection, curations: Sequence[Curation], before: Sequence[Curation]
    ) -> None:
        self._connection = connection
        self._decisions = apply_overrides(curations)
        self._decisions_before = apply_overrides(before)
        self._curated = {
            key
            for one in (*curations, *before)
            if (one in curations) != (one in before)
            for key in one.keys
        }
        if self._curated:  # a split takes a name out of what another decision joined
            groups = (*self._decisions.groups, *self._decisions_before.groups)
            self._curated.update(key for group in groups for key in group)
        self._kept = KeptNames(connection)
        self._old: dict[str, KeptName] = {}
        self._neighbours = _Neighbours(connection)
        self._named: _Documents[set[str]] = _Documents(self._keys_of, self._common_among)
        self._told: _Documents[list[NameParts]] = _Documents(self._title_keys_of, self._parts_among)
        self._judgements = read_judgements(connection)

    def resolve(self, seeds: set[str]) -> Resolved:
        """Resolve what the changed names reach."""
        changed = self._renew(seeds) | self._curated
        stored = {stage: links_of_stage(self._connection, stage) for stage in COMPACT}
        compact = self._compact_links(changed, stored)
        changed |= {
            key
            for stage in COMPACT
            for link in compact[stage] ^ stored[stage]
            for key in (link.key, link.other)
        }
        asked = changed | self._readers(changed, self._reads_of_change(changed))
        asked |= self._told_by_titles(changed)
        while True:
            held, loaded = self._load(asked, compact)
            before = self._replay(held, loaded)
            now = self._run(held, loaded, asked, compact)
            moved = _moved(before, now, changed)
            more = moved | self._readers(moved, ())
            if more <= asked:
                break
            asked |= more
        self._write(held, now, asked)
        return self._resolved(now, asked)

    # --- names ------------------------------------------------------------------------------------

    def _renew(self, seeds: set[str]) -> set[str]:
        """Aggregate what changed again; return all names that differ, and the seeds."""
        found = changed_names(self._connection, self._kept, seeds)
        self._kept.load(found)
        changed: dict[str, KeptName] = {}
        for key, value in found.items():
            old = self._kept[key]
            new = KeptName(
                base=value.base,
                is_turned=value.is_turned,
                is_person=value.is_person,
                blocks=value.blocks,
                reads=old.reads,
            )
            if key in seeds or new != old:
                self._old[key] = old
                changed[key] = new
        self._kept.write(changed)
        return set(changed)

    def _readers(self, keys: Collection[str], more: Iterable[int]) -> set[str]:
        """Return the names for which rules read one of these names, as it was or is.

        Of a crowd, as it was and is, rules read nothing.
        """
        self._kept.load(keys)
        blocks: set[int] = set()
        for key in keys:
            blocks.update(self._kept[key].held())
            if key in self._old:
                blocks.update(self._old[key].held())
        lost = Counter(block for old in self._old.values() for block in old.held())
        lost.subtract(block for key in self._old for block in self._kept[key].held())
        counts = self._kept.counts_in(blocks)
        blocks -= {b for b in blocks if counts[b] + min(0, lost[b]) > CROWD}
        blocks |= {hashed(IDENTITY + key) for key in keys} | {*more}
        return self._kept.keys_in(blocks, READER)

    def _reads_of_change(self, changed: Collection[str]) -> set[int]:
        """Return the blocks of neighbours and documents that changed names touch."""
        blocks: set[str] = set()
        hubs = self._hubs(changed)
        for key in changed:
            now, old = self._kept.profile(key), self._old.get(key, self._kept[key]).profile
            if (now and now.parts) != (old and old.parts):
                blocks.add(AMONG + key)
            if key not in hubs:
                blocks.add(BESIDE + key)
            for profile in (now, old):
                if profile is not None and is_common_ground(profile):
                    blocks.update(DOCUMENT + one for one in profile.name.documents)
        return {hashed(block) for block in blocks}

    def _hubs(self, changed: Collection[str]) -> set[str]:
        """Return the names that have, and had, so many neighbours that these tell nothing.

        They can have lost no more than all that changed.
        """
        most = HUB + len(changed) + 1
        asked = self._neighbours.with_many(changed, most)
        return {key for key in asked if len(self._neighbours.some_of(key, most + 1)) > most}

    def _told_by_titles(self, changed: set[str]) -> set[str]:
        """Return the names in documents that one of the changed ones is or was a title of."""
        found: set[str] = set()
        for key in changed & self._old.keys():
            old, new = self._old[key].profile, self._kept.profile(key)
            if old is not None and new is not None and old.parts == new.parts:
                continue
            for profile in (old, new):
                for document_id in sorted(profile.name.titles) if profile is not None else ():
                    found |= self._keys_of(document_id)
        return found

    # --- links ------------------------------------------------------------------------------------

    def _compact_links(
        self, changed: Collection[str], stored: Mapping[str, set[Link]]
    ) -> dict[str, set[Link]]:
        """Return the links of the stages that are run whole, over the few names they rest on."""
        judged = {key for one in self._judgements for key in (one.first_key, one.second_key)}
        self._kept.load(judged)
        known = {key: p for key in sorted(judged) if (p := self._kept.profile(key))}
        keys = self._kept.keys_in((hashed(BILINGUAL),), MEMBER)
        is_touched = self._touches_bilingual(changed, keys)
        return {
            "translated": self._translated(keys) if is_touched else stored["translated"],
            "judged": {*STAGES["judged"](self._given(known), lambda key: key)},
        }

    def _touches_bilingual(self, changed: Collection[str], keys: set[str]) -> bool:
        """Check whether a name is or was among the bilingual ones, or one of these begins so."""
        block = hashed(BILINGUAL)
        if any(key in keys or block in self._old.get(key, NOTHING).blocks for key in changed):
            return True
        called = {*keys}
        if any(map(has_han, changed)):  # the others' spellings in Han characters are no keys
            self._kept.load(keys)
            called.update(
                name for key in keys if (p := self._kept.profile(key)) for name in han_spellings(p)
            )
        return any(each in changed for name in called for each in beginnings(name))

    def _translated(self, keys: set[str]) -> set[Link]:
        self._kept.load(keys)
        profiles = {key: p for key in sorted(keys) if (p := self._kept.profile(key))}
        pairs = translated_pairs(profiles, self._stated(profiles))
        self._kept.load(one for pair in pairs for name in pair for one in beginnings(name))
        return {*translated_part_links(pairs, _Lazy(profiles, self._kept.profile))}

    def _load(
        self, asked: Collection[str], compact: Mapping[str, Collection[Link]]
    ) -> tuple[Proposals, set[str]]:
        """Return the stored links, and all names, that the names asked for rest on."""
        self._kept.load(asked)
        blocks = {block for key in asked for block in self._kept[key].read()}
        wanted = {*asked} | self._kept.members_of(blocks) | self._identities(asked)
        groups = (*self._decisions.groups, *self._decisions_before.groups)
        ties = [*groups, *((o.key, o.other) for links in compact.values() for o in links)]
        while True:
            stored, reached = read_proposals(self._connection, wanted)
            for tie in ties:
                if not reached.isdisjoint(tie):
                    reached |= {*tie}
            if reached <= wanted:
                break
            wanted |= reached
        self._kept.load(wanted)
        return stored, wanted

    def _identities(self, keys: Collection[str]) -> set[str]:
        """Return the keys that rules look up for these by name."""
        aliases: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for pair in read_stated_aliases(self._connection, keys=keys):
            for key in pair:
                aliases[key].append(pair)
        found: set[str] = set()
        for key in keys:
            if (profile := self._kept.profile(key)) is not None:
                found |= identities_of(profile, aliases.get(key, ()))
        return found

    def _replay(self, stored: Proposals, keys: Collection[str]) -> _Run:
        """Build the clusters of before from the stored links."""
        profiles: dict[str, Profile] = {}
        for key in sorted(keys):
            old = self._old.get(key)
            profile = self._kept.profile(key) if old is None else old.profile
            if profile is not None:
                profiles[key] = profile
        clusters = Clusters(profiles, self._decisions_before.apart)
        links = {
            stage: [link for owner in stored[stage] for link in stored[stage][owner]]
            for stage in STAGES
        }
        return _followed(clusters, lambda stage, _: links[stage], self._decisions_before)

    def _run(
        self,
        stored: Proposals,
        keys: Collection[str],
        asked: Collection[str],
        compact: Mapping[str, Collection[Link]],
    ) -> _Run:
        """Build the clusters of now: rules propose for the names asked, the others' are stored."""
        profiles = {key: p for key in sorted(keys) if (p := self._kept.profile(key))}
        given = self._given(profiles, asked)

        def links_of(stage: str, root: Root) -> list[Link]:
            if stage in COMPACT:
                return [link for link in compact[stage] if link.key in profiles]
            found = [link for link in STAGES[stage](given, root) if owner_of(stage, link) in asked]
            held = stored[stage]
            return found + [link for owner in held if owner not in asked for link in held[owner]]

        clusters = Clusters(profiles, self._decisions.apart)
        return _followed(clusters, links_of, self._decisions, reads=given.reads)

    def _given(
        self, profiles: Mapping[str, Profile], asked: Collection[str] | None = None
    ) -> Inputs:
        return Inputs(
            profiles=profiles,
            stated=[pair for pair in self._stated(profiles) if profiles.keys() >= {*pair}],
            neighbours=self._neighbours,
            judgements=self._judgements,
            look_up=self._kept.profile,
            named=self._named,
            told=self._told,
            asked=asked,
        )

    def _stated(self, profiles: Mapping[str, Profile]) -> list[tuple[str, str]]:
        pairs = read_stated_aliases(self._connection, keys=profiles.keys())
        return [
            (one, other)
            for one, other in pairs
            if one != other and all(self._kept.profile(key) for key in (one, other))
        ]

    def _keys_of(self, document_id: str) -> set[str]:
        """Return the keys that a document mentions, or has for a title."""
        inside = select(chunks.c.id).where(chunks.c.document_id == document_id)
        query = select(mentions.c.key).where(mentions.c.chunk_id.in_(inside)).distinct()
        found = set(self._connection.execute(query).scalars())
        return found | self._title_keys_of(document_id)

    def _title_keys_of(self, document_id: str) -> set[str]:
        query = select(chunks.c.title_key).where(chunks.c.document_id == document_id).distinct()
        return {*self._connection.execute(query).scalars()} - {""}

    def _common_among(self, keys: set[str]) -> set[str]:
        self._kept.load(keys)
        return {key for key in keys if (p := self._kept.profile(key)) and is_common_ground(p)}

    def _parts_among(self, keys: set[str]) -> list[NameParts]:
        return [p.parts for key in sorted(keys) if (p := self._kept.profile(key)) is not None]

    # --- results ----------------------------------------------------------------------------------

    def _write(self, stored: Proposals, now: _Run, asked: Collection[str]) -> None:
        before = {
            (stage, owner, link)
            for stage, owners in stored.items()
            for owner, links in owners.items()
            for link in links
        }
        write_proposals(self._connection, before=before, after=now.links)
        reads = {key: _with_reads(self._kept[key], now.reads.get(key)) for key in asked}
        self._kept.write({key: value for key, value in reads.items() if value != self._kept[key]})

    def _resolved(self, now: _Run, asked: Collection[str]) -> Resolved:
        known = now.clusters.profiles
        touched = {tuple(now.clusters.cluster_of(key)) for key in asked if key in known}
        entities, merges = entities_of(now.clusters, self._decisions, sorted(touched))
        keys = frozenset(asked).union(*touched)
        return Resolved(
            entities=entities,
            merges=merges,
            profiles={key: known[key] for key in keys if key in known},
            keys=keys,
            is_whole=False,
        )


def _followed(
    clusters: Clusters,
    links_of: Callable[[str, Root], list[Link]],
    decisions: Overrides,
    reads: Mapping[str, set[str]] | None = None,
) -> _Run:
    """Carry out all stages, and note in which clusters keys were."""
    seen: defaultdict[str, list[tuple[str, ...]]] = defaultdict(list)
    proposed: set[tuple[str, str, Link]] = set()
    for stage, links in carry_out_stages(clusters, links_of, groups=decisions.groups):
        proposed.update((stage, owner_of(stage, link), link) for link in links)
        for keys in clusters.joined():
            for key in keys:
                seen[key].append(keys)
    signature = {key: tuple(some) for key, some in seen.items()}
    return _Run(clusters, signature, proposed, reads or {})


def _moved(before: _Run, now: _Run, changed: Collection[str]) -> set[str]:
    """Return the keys whose clusters differ, and those that were or are in one of changed names."""
    found = {
        key
        for key in before.signature.keys() | now.signature.keys()
        if before.signature.get(key) != now.signature.get(key)
    }
    for run in (before, now):
        for key in changed:
            for keys in run.signature.get(key, ()):
                found |= {*keys}
    return found


class _Lazy(Mapping[str, Profile]):
    """Some profiles to walk over, and all others to look up."""

    def __init__(
        self, profiles: Mapping[str, Profile], look_up: Callable[[str], Profile | None]
    ) -> None:
        self._profiles, self._look_up = profiles, look_up

    def __getitem__(self, key: str) -> Profile:
        found = self._look_up(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._profiles)

    def __len__(self) -> int:
        return len(self._profiles)


class _Neighbours(Mapping[str, Collection[str]]):
    """Neighbours of keys, read as they are asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, Collection[str]] = {}

    def __getitem__(self, key: str) -> Collection[str]:
        if key not in self._known:
            found = read_neighbours(self._connection, (key,))
            self._known[key] = found.get(key, ())
        return self._known[key]

    def with_many(self, keys: Collection[str], most: int) -> set[str]:
        """Return the keys with more neighbours than so many, those on both sides counted twice."""
        given = func.json_each(json.dumps(sorted(keys))).table_valued("value")
        ends, counts = (statements.c.subject, statements.c.object), []
        for near, far in (ends, ends[::-1]):
            query = select(far).distinct().limit(most + 1).correlate(given)
            query = query.where(
                near == given.c.value, statements.c.predicate.not_in(SPEAKS_OF_A_NAME)
            )
            counts.append(select(func.count()).select_from(query.subquery()).scalar_subquery())
        found = select(given.c.value, *counts)
        return {key for key, *some in self._connection.execute(found) if sum(some) > most}

    def some_of(self, key: str, most: int) -> set[str]:
        """Return the neighbours of a key, up to so many."""
        found: set[str] = set()
        ends = (statements.c.subject, statements.c.object)
        for near, far in (ends, ends[::-1]):
            query = select(far).distinct().limit(most)
            query = query.where(near == key, statements.c.predicate.not_in(SPEAKS_OF_A_NAME))
            found.update(self._connection.execute(query).scalars())
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Documents(Mapping[str, T]):
    """Something made of the keys that a document has, read as it is asked for."""

    def __init__(self, read: Callable[[str], set[str]], make: Callable[[set[str]], T]) -> None:
        self._read, self._make = read, make
        self._known: dict[str, T] = {}

    def __getitem__(self, document_id: str) -> T:
        if document_id not in self._known:
            self._known[document_id] = self._make(self._read(document_id))
        return self._known[document_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
