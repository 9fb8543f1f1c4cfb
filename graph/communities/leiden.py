"""Hierarchy of communities from entities and weighted edges, by Leiden.

The same graph gives the same communities, in any order of entities and edges, and a change leaves
communities elsewhere alone as far as it can: components are clustered one by one, and below the
coarsest level on a *backbone* (each entity's strongest ties) instead of all edges. Leiden itself
is the compiled core of graspologic, `graspologic-native`.

    all edges ─→ components ─→ backbone ─→ Leiden = level 1 ─→ Leiden inside what is too large …
                                              └→ merged along all edges by Leiden = level 0
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import GraphInputError
from ..model import Community, content_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    Labels = NDArray[np.int64]

ITERATIONS = 3
"""Leiden iterations; the second and third still improve, later ones change nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edges:
    """Undirected edges between node numbers, `a < b`, sorted by (a, b), unique."""

    a: Labels
    b: Labels
    weight: NDArray[np.float64]

    def where(self, chosen: NDArray[np.bool_] | Labels) -> _Edges:
        return _Edges(a=self.a[chosen], b=self.b[chosen], weight=self.weight[chosen])


def cluster_communities(
    entity_ids: Sequence[str],
    edges: Sequence[tuple[str, str, float]],
    *,
    max_size: int = 20,
    resolution: float = 1.0,
    neighbours: int = 3,
    seed: int,
) -> list[Community]:
    """Cluster entities by Leiden into the community hierarchy, sorted by level, size, members.

    Every entity is in exactly one community of every level (`partition`), children refine their
    parents, and no community reaches over two components of the graph. A community of at most
    `max_size` members is final: it has no children and stands for itself on all deeper levels,
    under the one id and level at which it first appears. A larger one without children is one
    that Leiden finds no seam in. An entity without edges is a community of its own on level 0.

    Edges are undirected: weights of the same pair are summed, self-loops and zero weights ignored.
    `neighbours` is how many of its strongest ties an entity keeps in the backbone; strength is
    the weight over the root of the product of both ends' total weight. On co-occurrence graphs a
    document less of 6,119 then changes 3 % of the communities, where it is 70 % without a backbone.
    Level 0 maximises modularity over all edges, started from the backbone's communities.

    Sources: Traag, Waltman & van Eck 2019, "From Louvain to Leiden" (algorithm); Edge et al. 2024,
    "From Local to Global", section 3.1.4 (the hierarchy by repeated splitting).

    Raises:
        GraphInputError: a weight that is negative or not finite, an edge to an entity that is not
            in `entity_ids`, or a parameter out of range.
    """
    _check(max_size=max_size, resolution=resolution, neighbours=neighbours, seed=seed)
    ids = sorted(set(entity_ids))
    if not ids:
        return []
    numbered = _numbered(ids, edges)
    levels = _levels(
        len(ids),
        numbered,
        max_size=max_size,
        neighbours=neighbours,
        leiden=_Leiden(resolution=resolution, seed=seed),
    )
    return _as_communities(ids, levels)


def partition_at_level(hierarchy: Iterable[Community], level: int) -> list[Community]:
    """Return the partition of all entities into communities at `level`, in the given order.

    These are the ones of that level and, where nothing was split further, the final ones above.
    A level deeper than the hierarchy gives its finest partition.
    """
    reached = [community for community in hierarchy if community.level <= level]
    split = {community.parent_id for community in reached}
    return [community for community in reached if community.id not in split]


def community_depth(hierarchy: Iterable[Community]) -> int:
    """Return the number of community levels; 0 without communities."""
    return max((community.level + 1 for community in hierarchy), default=0)


def _check(*, max_size: int, resolution: float, neighbours: int, seed: int) -> None:
    if max_size < 1:
        raise GraphInputError(f"max_size must be at least 1, not {max_size!r}")
    if not (math.isfinite(resolution) and resolution > 0):
        raise GraphInputError(f"resolution must be a positive number, not {resolution!r}")
    if neighbours < 1:
        raise GraphInputError(f"neighbours must be at least 1, not {neighbours!r}")
    if seed < 0:
        raise GraphInputError(f"seed must not be negative, not {seed!r}")


def _numbered(ids: list[str], edges: Sequence[tuple[str, str, float]]) -> _Edges:
    """Return edges by rank of their ends' ids, summed in sorted order."""
    import numpy as np

    number = {entity_id: index for index, entity_id in enumerate(ids)}
    rows: list[tuple[int, int, float]] = []
    for source, target, weight in edges:
        if not (math.isfinite(weight) and weight >= 0):
            raise GraphInputError(
                f"edge {source!r} – {target!r} has weight {weight!r}; expected a finite number ≥ 0"
            )
        if source not in number or target not in number:
            missing = target if source in number else source
            raise GraphInputError(f"edge {source!r} – {target!r}: unknown entity {missing!r}")
        a, b = number[source], number[target]
        if a != b and weight > 0:
            rows.append((min(a, b), max(a, b), float(weight)))
    rows.sort()
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    pairs = table[:, 0].astype(np.int64) * len(ids) + table[:, 1].astype(np.int64)
    return _summed(pairs, table[:, 2], len(ids))


def _summed(pairs: Labels, weights: NDArray[np.float64], count: int) -> _Edges:
    """Build edges from pair codes `a * count + b`, summing equal codes in order."""
    import numpy as np

    codes, place = np.unique(pairs, return_inverse=True)
    total = np.bincount(place, weights=weights, minlength=len(codes)).astype(np.float64)
    return _Edges(a=codes // count, b=codes % count, weight=total)


def _levels(
    count: int, edges: _Edges, *, max_size: int, neighbours: int, leiden: _Leiden
) -> list[Labels]:
    """Return label arrays, coarsest first; each refines the previous, all distinct."""
    components = _components(count, edges)
    backbone = _backbone(count, edges, neighbours)
    fine = _split(_split(components, backbone, max_size=max_size), backbone, max_size=max_size)
    fine = _split(fine, backbone, max_size=max_size, leiden=leiden)
    top = _merged(components, fine, edges, max_size=max_size, leiden=leiden)
    levels = [top, _compact(top, _kept(top, fine, max_size))]
    while True:
        deeper = _split(levels[-1], backbone, max_size=max_size, leiden=leiden)
        if deeper.max() == levels[-1].max():
            break
        levels.append(deeper)
    return [
        labels
        for index, labels in enumerate(levels)
        if index == 0 or labels.max() > levels[index - 1].max()
    ]


def _components(count: int, edges: _Edges) -> Labels:
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    matrix = coo_array((np.ones(len(edges.a)), (edges.a, edges.b)), shape=(count, count))
    labels: Labels = connected_components(matrix, directed=False)[1].astype(np.int64)
    return labels


def _backbone(count: int, edges: _Edges, neighbours: int) -> _Edges:
    """Return edges among the `neighbours` strongest of either end.

    Of equally strong ones those to the lower number stay.
    """
    import numpy as np

    total = np.bincount(edges.a, edges.weight, count) + np.bincount(edges.b, edges.weight, count)
    strength = edges.weight / np.sqrt(total[edges.a] * total[edges.b])
    node = np.concatenate([edges.a, edges.b])
    other = np.concatenate([edges.b, edges.a])
    order = np.lexsort((other, -np.concatenate([strength, strength]), node))
    first = np.searchsorted(node[order], np.arange(count))
    rank = np.arange(len(order)) - first[node[order]]
    chosen = np.zeros(len(edges.a), dtype=np.bool_)
    if len(chosen):
        chosen[order[rank < neighbours] % len(chosen)] = True
    return _Edges(a=edges.a, b=edges.b, weight=strength).where(chosen)


def _split(
    labels: Labels, edges: _Edges, *, max_size: int, leiden: _Leiden | None = None
) -> Labels:
    """Divide groups of `labels` above `max_size`, by Leiden or else by components."""
    import numpy as np

    sizes = np.bincount(labels)
    large = sizes[labels] > max_size
    inside = edges.where((labels[edges.a] == labels[edges.b]) & large[edges.a])
    if leiden is None:
        return _compact(labels, np.where(large, _components(len(labels), inside), 0))
    divided = np.zeros(len(labels), dtype=np.int64)
    group = labels[inside.a]
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    for rows in np.split(order, cuts) if len(order) else ():
        members, found = leiden.groups(inside.where(rows))
        divided[members] = found + 1
    return _compact(labels, divided)


def _merged(
    components: Labels, fine: Labels, edges: _Edges, *, max_size: int, leiden: _Leiden
) -> Labels:
    """Merge groups of `fine` by Leiden inside components above `max_size`.

    A group becomes one node. The compiled Leiden drops self-loops, so the weight inside a group
    hangs on it as an edge to a node of its own, which has the same modularity and never leaves.
    """
    import numpy as np

    count = int(fine.max()) + 1
    large = np.bincount(components)[components] > max_size
    used = edges.where(large[edges.a])
    low = np.minimum(fine[used.a], fine[used.b])
    high = np.maximum(fine[used.a], fine[used.b])
    high = np.where(low == high, low + count, high)
    between = _summed(low * (2 * count) + high, used.weight, 2 * count)
    component_of = np.zeros(count, dtype=np.int64)
    component_of[fine] = components
    group = np.zeros(count, dtype=np.int64)
    home = component_of[between.a]
    for component in np.unique(home):
        members, found = leiden.groups(between.where(home == component))
        real = members < count
        group[members[real]] = found[real] + 1
    return _compact(components, group[fine])


def _kept(top: Labels, fine: Labels, max_size: int) -> Labels:
    """`fine` inside the groups of `top` that are too large; one group elsewhere."""
    import numpy as np

    return np.where(np.bincount(top)[top] > max_size, fine, 0)


def _compact(outer: Labels, inner: Labels) -> Labels:
    """Return the common refinement of both labels, numbered by first member."""
    import numpy as np

    codes = outer * (int(inner.max()) + 1) + inner
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leiden:
    """Compiled Leiden with its parameters; deterministic for sorted edges and one seed."""

    resolution: float
    seed: int

    def groups(self, edges: _Edges) -> tuple[Labels, Labels]:
        """Return the nodes of `edges`, ascending, and the group of each."""
        import graspologic_native
        import numpy as np

        rows = [
            (str(a), str(b), weight)
            for a, b, weight in zip(
                edges.a.tolist(), edges.b.tolist(), edges.weight.tolist(), strict=True
            )
        ]
        _, found = graspologic_native.leiden(
            rows, resolution=self.resolution, seed=self.seed, iterations=ITERATIONS
        )
        pairs = sorted((int(node), group) for node, group in found.items())
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]


def _as_communities(ids: list[str], levels: list[Labels]) -> list[Community]:
    result: list[Community] = []
    parents: list[Community | None] = [None] * len(ids)
    for level, labels in enumerate(levels):
        found = []
        for members in _members(labels):
            parent = parents[members[0]]
            if parent is not None and len(parent.entity_ids) == len(members):
                continue
            names = tuple(ids[member] for member in members)
            community = Community(
                id=content_id("c", str(level), *names),
                level=level,
                parent_id=parent.id if parent is not None else None,
                entity_ids=names,
            )
            found.append(community)
            for member in members:
                parents[member] = community
        result += sorted(found, key=lambda c: (-len(c.entity_ids), c.entity_ids))
    return result


def _members(labels: Labels) -> list[list[int]]:
    groups: list[list[int]] = [[] for _ in range(int(labels.max()) + 1)]
    for node, group in enumerate(labels.tolist()):
        groups[group].append(node)
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityTree:
    """Communities by id, the children of each, and the roots; ids sorted.

    A community whose parent is not there is a root: what is dirty is not read.
    """

    by_id: Mapping[str, Community]
    children: Mapping[str, tuple[str, ...]]
    roots: tuple[str, ...]

    @classmethod
    def build(cls, communities: Iterable[Community]) -> CommunityTree:
        """Build the tree of these communities, in any order."""
        by_id = {community.id: community for community in sorted(communities, key=lambda c: c.id)}
        below: dict[str, list[str]] = defaultdict(list)
        roots: list[str] = []
        for community in by_id.values():
            if community.parent_id in by_id:
                below[str(community.parent_id)].append(community.id)
            else:
                roots.append(community.id)
        children = {key: tuple(below[key]) for key in sorted(below)}
        return cls(by_id=by_id, children=children, roots=tuple(roots))

    def homes(self, entities: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Map chunk ids to the finest community holding most of their entities.

        Ties go to the lower id; a chunk that names no member of any community has no home.
        """
        finest: dict[str, str] = {}
        for community in sorted(self.by_id.values(), key=lambda c: (c.level, c.id)):
            finest.update(dict.fromkeys(community.entity_ids, community.id))
        found: dict[str, str] = {}
        for chunk_id in sorted(entities):
            held = Counter(finest[one] for one in entities[chunk_id] if one in finest)
            if held:
                found[chunk_id] = min(held, key=lambda key: (-held[key], key))
        return found

    def line(self, community_id: str) -> list[str]:
        """Return a community and its ancestors up to a root; empty for an unknown id."""
        found: list[str] = []
        key: str | None = community_id
        while key is not None and key in self.by_id:
            found.append(key)
            key = self.by_id[key].parent_id
        return found
