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
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from ..errors import GraphInputError
from ..model import Community, content_id
from ..storage.facts import read_state, write_state
from ..storage.schema import communities as community_table
from ..storage.schema import members
from .leiden import cluster_communities

GROWTH = 1.5
"""Factor over `max_size` at which a leaf community is divided."""

Edge = tuple[str, str, float]
Ties = Mapping[str, Mapping[str, float]]
"""For an entity its neighbours and the strength of each tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalState:
    """State of the last full clustering, and the drift since.

    `astray` is how many entities had their strongest tie outside their community then, `moved` how
    many have come, gone or left a community of their own since.
    """

    astray: int = 0
    moved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IncrementalCommunities:
    """Communities in the order of `communities`, and the state for the next update."""

    communities: tuple[Community, ...]
    anchor: IncrementalState


def update_communities(
    previous: Sequence[Community],
    entity_ids: Collection[str],
    edges: Sequence[Edge],
    *,
    anchor: IncrementalState,
    max_size: int = 20,
    drift: float = 0.1,
    resolution: float = 1.0,
    seed: int,
) -> IncrementalCommunities | None:
    """Update existing communities to the graph; None if a full clustering is due.

    Only communities that lose or gain a member change, and those above them. Newcomers join, level
    by level, the community to which their ties are strongest (as in `communities`, a tie's strength
    is its weight over the root of the product of both ends' total weight); those with ties among
    themselves alone are clustered by themselves. An entity that was alone and now has ties is a
    newcomer, too. A community that falls to `max_size` members loses its parts, one without parts
    that grows beyond `GROWTH` times that is divided by Leiden.

    None is returned when there is nothing to hold on to, or when more than `drift` (a share of
    `entity_ids`) have moved since the last full clustering or have their strongest tie outside
    their community, those apart that had it there then.

    Args:
        previous: a hierarchy as `communities` or this function gave it; its entities may be gone.
        entity_ids: the entities there are now.
        edges: as in `communities`; each pair once.
        anchor: of the last time; after a full clustering `IncrementalState(astray=astray(...))`.
        max_size: as in `communities`.
        drift: the share beyond which everything is to be clustered anew.
        resolution: of the Leiden that divides what has grown too large.
        seed: of the same.

    Raises:
        GraphInputError: an edge that `communities` would not take.
    """
    if not previous:
        return None
    now = frozenset(entity_ids)
    _check(edges, now)
    ties = tie_strengths(edges)
    tree = _Tree.of(previous, now)
    before = {one for community in previous for one in community.entity_ids}
    lonely = {one for one in tree.alone() if ties.get(one)}
    tree.take_out(lonely)
    came = (now - before) | lonely
    moved = anchor.moved + len(before - now) + len(came)
    if moved > drift * len(now):
        return None
    tree.settle(came, ties)
    tree.tidy(max_size)
    tree.grow(edges, max_size=max_size, resolution=resolution, seed=seed)
    found = tree.communities()
    stray = count_astray(found, ties)
    if moved + max(0, stray - anchor.astray) > drift * len(now):
        return None
    return IncrementalCommunities(
        communities=tuple(found), anchor=IncrementalState(astray=anchor.astray, moved=moved)
    )


def _check(edges: Iterable[Edge], known: Collection[str]) -> None:
    for source, target, weight in edges:
        if not (math.isfinite(weight) and weight >= 0):
            raise GraphInputError(
                f"edge {source!r} – {target!r} has weight {weight!r}; expected a finite number ≥ 0"
            )
        if source not in known or target not in known:
            missing = target if source in known else source
            raise GraphInputError(f"edge {source!r} – {target!r}: unknown entity {missing!r}")


def tie_strengths(edges: Iterable[Edge]) -> dict[str, dict[str, float]]:
    """Return the tie strength of each entity, both directions, without self-loops."""
    known = [edge for edge in edges if edge[0] != edge[1] and edge[2] > 0]
    total: dict[str, float] = defaultdict(float)
    for source, target, weight in known:
        total[source] += weight
        total[target] += weight
    found: dict[str, dict[str, float]] = {one: {} for one in total}
    for source, target, weight in known:
        strength = round(weight / math.sqrt(total[source] * total[target]), 9)
        found[source][target] = found[target][source] = strength
    return found


def count_astray(hierarchy: Iterable[Community], ties: Ties) -> int:
    """Count entities whose strongest tie leaves their finest community."""
    home: dict[str, str] = {}
    for community in hierarchy:  # coarser ones come first
        home.update(dict.fromkeys(community.entity_ids, community.id))
    count = 0
    for one, own in home.items():
        inside = outside = 0.0
        for other, strength in ties.get(one, {}).items():
            if home.get(other) == own:
                inside = max(inside, strength)
            else:
                outside = max(outside, strength)
        count += outside > inside
    return count


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

    def grow(self, edges: Sequence[Edge], *, max_size: int, resolution: float, seed: int) -> None:
        """Divide by Leiden, alone, each community without parts that has grown too large."""
        large = [
            node
            for node in self.nodes
            if node.has_grown and not node.parts and len(node.members) > GROWTH * max_size
        ]
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


def stable_communities(
    connection: Connection,
    entity_ids: Sequence[str],
    edges: Sequence[Edge],
    *,
    drift: float,
    max_size: int,
    resolution: float,
    seed: int,
) -> Sequence[Community]:
    """Update the stored hierarchy, or cluster anew where none of these parameters is stored.

    The result depends on what is stored, and so on the order in which documents came.
    """
    parameters = f"{max_size} {resolution!r} {seed}"
    anchor = _anchor(connection, parameters)
    if anchor is not None:
        kept = update_communities(
            _held(connection),
            entity_ids,
            edges,
            anchor=anchor,
            max_size=max_size,
            drift=drift,
            resolution=resolution,
            seed=seed,
        )
        if kept is not None:
            _remember(connection, parameters, kept.anchor)
            return kept.communities
    found = cluster_communities(
        entity_ids, edges, max_size=max_size, resolution=resolution, seed=seed
    )
    _remember(
        connection, parameters, IncrementalState(astray=count_astray(found, tie_strengths(edges)))
    )
    return found


def _anchor(connection: Connection, parameters: str) -> IncrementalState | None:
    """Return the stored state; None if absent or of other parameters."""
    told = json.loads(read_state(connection, ANCHOR) or "{}")
    if told.get("parameters") != parameters:
        return None
    return IncrementalState(astray=told["astray"], moved=told["moved"])


def _remember(connection: Connection, parameters: str, anchor: IncrementalState) -> None:
    told = {"parameters": parameters, "astray": anchor.astray, "moved": anchor.moved}
    write_state(connection, ANCHOR, json.dumps(told))


def _held(connection: Connection) -> list[Community]:
    """Every community there is, stale ones too."""
    inside: dict[str, list[str]] = defaultdict(list)
    for community_id, entity_id in connection.execute(select(members)).all():
        inside[community_id].append(entity_id)
    query = select(community_table.c.id, community_table.c.level, community_table.c.parent_id)
    return [
        Community(id=key, level=level, parent_id=parent, entity_ids=tuple(sorted(inside[key])))
        for key, level, parent in connection.execute(query).all()
    ]
