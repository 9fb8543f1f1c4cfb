"""Incremental communities: stable while the graph changes little.

Clustering anew may move what no change came near, and every community that moved asks for another
report. Here stored communities stay: entities that went leave them, newcomers join those that
their ties lead to, and one that has grown too large is divided alone. The price is that the
**order of arrival matters**: the same graph reached by another way may have other communities.
Beyond a share of drift since the last full clustering, everything is clustered anew.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, text, update

from ..model import Community, content_id
from ..storage.database import write_difference_at
from ..storage.facts import in_batches, read_state, rows_in, write_state
from ..storage.schema import communities as community_table
from ..storage.schema import members, relations, reports
from .leiden import cluster_communities

GROWTH = 1.5
"""Factor over `max_size` at which a leaf community is divided."""

Edge = tuple[str, str, float]
Ties = Mapping[str, Mapping[str, float]]
"""For an entity its neighbours and the strength of each tie."""


@dataclass(slots=True, eq=False)
class _Node:
    """A community while it changes."""

    level: int
    members: set[str]
    parent: _Node | None = None
    parts: list[_Node] = field(default_factory=list)
    has_grown: bool = False


@dataclass(slots=True)
class _Tree:
    """The hierarchy, and for every entity the finest community it is in."""

    nodes: list[_Node]
    home: dict[str, _Node]

    @classmethod
    def of(cls, hierarchy: Sequence[Community], now: Collection[str]) -> _Tree:
        """Return the hierarchy without deleted entities."""
        ordered = sorted(hierarchy, key=lambda community: (community.level, community.id))
        nodes: dict[str, _Node] = {}
        tree = cls(nodes=[], home={})
        for community in ordered:
            above = nodes.get(community.parent_id or "")
            members = {one for one in community.entity_ids if one in now}
            node = _Node(level=community.level, members=members, parent=above)
            nodes[community.id] = node
            tree._put(node)
        return tree

    def _put(self, node: _Node) -> None:
        self.nodes.append(node)
        self.home.update(dict.fromkeys(node.members, node))
        if node.parent is not None:
            node.parent.parts.append(node)

    def alone(self) -> list[str]:
        """Entities that are, or were left, communities of their own, under no other."""
        return [
            one
            for node in self.nodes
            if node.parent is None and len(node.members) == 1
            for one in node.members
        ]

    def take_out(self, entity_ids: Iterable[str]) -> None:
        for one in entity_ids:
            node: _Node | None = self.home.pop(one)
            while node is not None:
                node.members.discard(one)
                node = node.parent

    def settle(self, came: Collection[str], ties: Ties) -> None:
        """Place new entities: those tied to existing ones first, then those tied to them."""
        waiting = sorted(came)
        while waiting:
            chosen = [(one, self._best(one, ties)) for one in waiting]
            placed = [(one, node) for one, node in chosen if node is not None]
            if not placed:
                break
            for one, node in placed:
                self._join(one, node)
            waiting = [one for one, node in chosen if node is None]
        self._settle_apart(waiting, ties)

    def _best(self, one: str, ties: Ties) -> _Node | None:
        """Return the finest community reached by the strongest ties from the top."""
        pull: dict[int, float] = defaultdict(float)
        reached: dict[int, _Node] = {}
        for other, strength in sorted(ties.get(one, {}).items()):
            node = self.home.get(other)
            while node is not None:
                pull[id(node)] += strength
                reached[id(node)] = node
                node = node.parent
        here: _Node | None = None
        choice = [node for node in reached.values() if node.parent is None]
        while choice:
            most = max(round(pull[id(node)], 9) for node in choice)
            alike = [node for node in choice if round(pull[id(node)], 9) == most]
            here = alike[0] if len(alike) == 1 else min(alike, key=lambda node: min(node.members))
            choice = [part for part in here.parts if id(part) in reached]
        return here

    def _join(self, one: str, node: _Node) -> None:
        self.home[one] = node
        above: _Node | None = node
        while above is not None:
            above.members.add(one)
            above.has_grown = True
            above = above.parent

    def _settle_apart(self, waiting: Sequence[str], ties: Ties) -> None:
        """Place groups of new entities tied only to each other as communities of their own."""
        left = dict.fromkeys(waiting)
        while left:
            first = next(iter(left))
            group, queue = {first}, [first]
            for one in queue:
                fresh = sorted(ties.get(one, {}).keys() - group)
                group.update(fresh)
                queue.extend(fresh)
            for one in group:
                del left[one]
            self._put(_Node(level=0, members=group, has_grown=True))

    def tidy(self, max_size: int) -> None:
        """Remove empty communities, parts of small ones, and single parts."""
        roots = [node for node in self.nodes if node.parent is None and node.members]
        queue = list(roots)
        for node in queue:
            parts = [part for part in node.parts if part.members]
            while len(parts) == 1 and parts[0].members == node.members:
                parts = [part for part in parts[0].parts if part.members]
            node.parts = parts if len(node.members) > max_size else []
            for part in node.parts:
                part.parent = node
            queue += node.parts
        self.nodes = [node for root in roots for node in _line(root)]

    def large(self, max_size: int) -> list[_Node]:
        """Return the communities without parts that have grown too large."""
        return [
            node
            for node in self.nodes
            if node.has_grown and not node.parts and len(node.members) > GROWTH * max_size
        ]

    def grow(self, edges: Sequence[Edge], *, max_size: int, resolution: float, seed: int) -> None:
        """Divide by Leiden, alone, each community without parts that has grown too large."""
        large = self.large(max_size)
        home = {one: number for number, node in enumerate(large) for one in node.members}
        inside: dict[int, list[Edge]] = defaultdict(list)
        for edge in edges if large else ():
            number = home.get(edge[0])
            if number is not None and number == home.get(edge[1]):
                inside[number].append(edge)
        for number, node in enumerate(large):
            found = cluster_communities(
                sorted(node.members),
                inside[number],
                max_size=max_size,
                resolution=resolution,
                seed=seed,
            )
            self._divide(node, found)

    def _divide(self, node: _Node, found: Sequence[Community]) -> None:
        parts = [one for one in found if len(one.entity_ids) < len(node.members)]
        shift = node.level + 1 - min((one.level for one in parts), default=0)
        made: dict[str | None, _Node] = {}
        for one in parts:
            above = made.get(one.parent_id, node)
            made[one.id] = _Node(level=one.level + shift, members=set(one.entity_ids), parent=above)
            self._put(made[one.id])

    def communities(self) -> list[Community]:
        """Return the hierarchy as values: by level, larger first, then by members."""
        names = {id(node): tuple(sorted(node.members)) for node in self.nodes}
        ids = {id(node): content_id("c", str(node.level), *names[id(node)]) for node in self.nodes}
        found = [
            Community(
                id=ids[id(node)],
                level=node.level,
                parent_id=None if node.parent is None else ids[id(node.parent)],
                entity_ids=names[id(node)],
            )
            for node in self.nodes
        ]
        return sorted(found, key=lambda one: (one.level, -len(one.entity_ids), one.entity_ids))


def _line(root: _Node) -> Iterator[_Node]:
    """Return a community and all below it."""
    yield root
    for part in root.parts:
        yield from _line(part)


ANCHOR = "anchor"
"""Key of the state table: parameters of the last full clustering and the drift since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Parameters of clustering; with others than those stored everything is clustered anew."""

    max_size: int
    resolution: float
    seed: int
    drift: float

    def __str__(self) -> str:
        return f"{self.max_size} {self.resolution!r} {self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalChange:
    """Top communities that a change touched, with all below them, as they were and are."""

    before: tuple[Community, ...]
    after: tuple[Community, ...]


def change_locally(
    connection: Connection,
    *,
    came: Collection[str],
    gone: Collection[str],
    related: Collection[str],
    parameters: Parameters,
) -> LocalChange | None:
    """Take newcomers in and leave out what is gone, within the communities that these touch.

    Newcomers join, level by level, the community to which their ties are strongest: a tie's
    strength is its weight over the root of the product of both ends' total weight. Those with ties
    among themselves alone are a community. An entity that was alone and now has ties is a newcomer,
    too. A community that falls to `max_size` members loses its parts, one without parts that grows
    beyond `GROWTH` times that is divided by Leiden. None where everything is to be clustered:
    nothing is stored of these parameters, or more than a share `drift` has come, gone or had ties
    changed since the last time (who stays may belong elsewhere by now). The result depends on what
    is stored, and so on the order in which documents came.

    Args:
        connection: to a library whose entities and relations are as they are now.
        came: entities that are new.
        gone: entities that are no more.
        related: entities of which relations changed.
        parameters: of clustering.
    """
    anchor = read_anchor(connection, parameters)
    if anchor is None:
        return None
    lonely = _alone(connection, {*related} - {*came})
    edges = edges_of(connection, {*came} | lonely)
    tied = {end for source, target, _ in edges for end in (source, target)}
    came = {*came} | (lonely & tied)
    moved = anchor.moved + len({*came, *gone, *related})
    if moved > parameters.drift * anchor.of:
        return None
    before = _subtrees(connection, {*gone} | came | tied)
    now = {one for each in before for one in each.entity_ids} - {*gone} - came
    tree = _Tree.of(before, now)
    tree.settle(came, _strengths(connection, edges))
    tree.tidy(parameters.max_size)
    grown = {one for node in tree.large(parameters.max_size) for one in node.members}
    tree.grow(
        edges_of(connection, grown),
        max_size=parameters.max_size,
        resolution=parameters.resolution,
        seed=parameters.seed,
    )
    write_anchor(connection, parameters, replace(anchor, moved=moved))
    return LocalChange(before=tuple(before), after=tuple(tree.communities()))


def write_change(connection: Connection, change: LocalChange) -> tuple[set[str], int]:
    """Replace the communities that changed; return the new ids and the number of changed rows.

    All others are clean again. Members of one that a new one takes after move there at once.
    """
    before, after = ({one.id: one for one in some} for some in (change.before, change.after))
    gone, fresh = before.keys() - after.keys(), after.keys() - before.keys()
    rows = {
        one.id: {"id": one.id, "level": one.level, "parent_id": one.parent_id, "dirty": False}
        for one in after.values()
    }
    if fresh:
        connection.execute(insert(community_table), [rows[key] for key in sorted(fresh)])
    heirs = _heirs([before[key] for key in gone], [after[key] for key in sorted(fresh)])
    table = members.c
    for old, new in heirs.items():
        moved = update(members).where(table.community_id == old)
        connection.execute(moved.values(community_id=new))
    written = len(fresh)
    for batch in in_batches(gone):
        for owned in (members, reports):
            away = delete(owned).where(owned.c.community_id.in_(batch))
            written += connection.execute(away).rowcount
    dirty = update(community_table).where(text("communities.dirty"))
    connection.execute(dirty.values(dirty=False))
    written += write_difference_at(
        connection,
        community_table,
        rows=rows.values(),
        at=(community_table.c.id,),
        values={*before, *after},
    ).count
    held = {(new, one) for old, new in heirs.items() for one in before[old].entity_ids}
    wanted = {(key, one) for key in fresh for one in after[key].entity_ids}
    if left := [{"at": home, "one": one} for home, one in sorted(held - wanted)]:
        place = (table.community_id == bindparam("at"), table.entity_id == bindparam("one"))
        connection.execute(delete(members).where(*place), left)
    if come := [{"community_id": at, "entity_id": one} for at, one in sorted(wanted - held)]:
        connection.execute(insert(members), come)
    return fresh, written + len(left) + len(come)


def _heirs(gone: Iterable[Community], fresh: Iterable[Community]) -> dict[str, str]:
    """Return for communities that are gone the new one that took over most of it, each once."""
    home = {(old.level, one): old.id for old in gone for one in old.entity_ids}
    found = dict[str, str]()
    for new in sorted(fresh, key=lambda one: (-len(one.entity_ids), one.id)):
        from_ = Counter(home.get((new.level, one)) for one in new.entity_ids)
        (old, count), *_ = from_.most_common(1)
        if old is not None and old not in found and 2 * count > len(new.entity_ids):
            found[old] = new.id
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Number of entities at the last full clustering, and how many have changed since."""

    moved: int
    of: int


def read_anchor(connection: Connection, parameters: Parameters) -> Anchor | None:
    """Return the last full clustering; None without one of these parameters."""
    told = json.loads(read_state(connection, ANCHOR) or "{}")
    if told.get("parameters") != str(parameters) or "of" not in told:
        return None
    return Anchor(moved=int(told["moved"]), of=int(told["of"]))


def write_anchor(connection: Connection, parameters: Parameters, anchor: Anchor) -> None:
    """Store the last full clustering, and how many entities have changed since."""
    told = {"parameters": str(parameters), "moved": anchor.moved, "of": anchor.of}
    write_state(connection, ANCHOR, json.dumps(told))


def _alone(connection: Connection, entity_ids: Collection[str]) -> set[str]:
    """Return those of the entities that are communities of their own, under no other."""
    homes, other = members.c, members.alias().c
    beside = other.community_id == homes.community_id, other.entity_id != homes.entity_id
    query = select(homes.entity_id).join(community_table)
    query = query.where(
        community_table.c.level == 0, ~select(other.entity_id).where(*beside).exists()
    )
    return {row[0] for row in rows_in(connection, query, homes.entity_id, entity_ids)}


def edges_of(connection: Connection, entity_ids: Collection[str]) -> list[Edge]:
    """Return the edges of these entities, sorted; each pair once."""
    table = relations.c
    query = select(table.id, table.source_id, table.target_id, table.weight)
    rows = {
        tuple(row)
        for side in (table.source_id, table.target_id)
        for row in rows_in(connection, query, side, entity_ids)
    }
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for _, source, target, weight in sorted(rows):
        weights[(source, target) if source < target else (target, source)] += weight
    return [(source, target, weights[source, target]) for source, target in sorted(weights)]


def _strengths(connection: Connection, edges: Sequence[Edge]) -> dict[str, dict[str, float]]:
    """Return the strength of these ties, by all that their ends are tied with."""
    ends = {end for source, target, _ in edges for end in (source, target)}
    total: dict[str, float] = defaultdict(float)
    table = relations.c
    for side in (table.source_id, table.target_id):
        for batch in in_batches(ends):
            summed = select(side, func.sum(table.weight)).where(side.in_(batch)).group_by(side)
            for one, weight in connection.execute(summed):
                total[one] += weight
    found: dict[str, dict[str, float]] = {one: {} for one in ends}
    for source, target, weight in edges:
        if source != target and weight > 0:
            strength = round(weight / math.sqrt(total[source] * total[target]), 9)
            found[source][target] = found[target][source] = strength
    return found


def _subtrees(connection: Connection, entity_ids: Collection[str]) -> list[Community]:
    """Return the top communities of these entities, with all communities below them."""
    table, homes = community_table.c, members.c
    query = select(homes.community_id).join(community_table, table.id == homes.community_id)
    tops = rows_in(connection, query.where(table.level == 0), homes.entity_id, entity_ids)
    columns = select(table.id, table.level, table.parent_id)
    found = list(rows_in(connection, columns, table.id, {row[0] for row in tops}))
    parts = found
    while parts:
        parts = list(rows_in(connection, columns, table.parent_id, {row.id for row in parts}))
        found = [*found, *parts]
    return communities_of_rows(connection, found)


def communities_of_rows(connection: Connection, rows: Iterable[Row[Any]]) -> list[Community]:
    """Return communities of rows with id, level and parent_id, with their members."""
    known = {row.id: row for row in rows}
    inside = dict[str, tuple[str, ...]]()
    home = members.c.community_id
    # One string a community: of thousands of rows each costs more than what stands in it.
    joined = select(home, func.aggregate_strings(members.c.entity_id, "\n")).group_by(home)
    for community_id, entity_ids in rows_in(connection, joined, home, known):
        inside[community_id] = tuple(sorted(entity_ids.split("\n")))
    return [
        Community(id=key, level=row.level, parent_id=row.parent_id, entity_ids=inside.get(key, ()))
        for key, row in known.items()
    ]
