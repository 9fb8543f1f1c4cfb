"""Relations as arrays: neighbours, distances and paths. Pure.

Nodes and relations are numbers here; a relation can be walked both ways. Every order is by weight,
then by number, so the same graph always gives the same answer.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]

FAR = 127
"""A distance that means: not reached."""
MOST_STEPS = 5_000
"""Maximum partial paths expanded in a path search."""
MOST_BRANCHES = 32
"""Maximum next steps tried from a partial path, likeliest first."""


@dataclass(frozen=True)
class Adjacency:
    """Relations by number.

    `sources`, `targets` and `weights` have the shape `(relations,)`.

    For node `n`, `others[starts[n]:starts[n + 1]]` are its neighbours, strongest relation first,
    one for each relation, and `rows` at the same places the relations' numbers.
    """

    sources: Numbers
    targets: Numbers
    weights: Weights
    starts: Numbers
    others: Numbers
    rows: Numbers

    @classmethod
    def build(
        cls, sources: Numbers, targets: Numbers, weights: Weights, *, nodes: int
    ) -> Adjacency:
        """Build the adjacency of these relations between `nodes` nodes."""
        count = len(sources)
        here = np.concatenate([sources, targets])
        there = np.concatenate([targets, sources])
        rows = np.concatenate([np.arange(count), np.arange(count)])
        order = np.lexsort((rows, -weights[rows], here))
        starts = np.zeros(nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(here, minlength=nodes), out=starts[1:])
        return cls(sources, targets, weights, starts, there[order], rows[order])

    @cached_property
    def strengths(self) -> Weights:
        """Return the total relation weight of each node: `(nodes,)`."""
        nodes = len(self.starts) - 1
        out = np.bincount(self.sources, weights=self.weights, minlength=nodes)
        return np.asarray(out + np.bincount(self.targets, weights=self.weights, minlength=nodes))

    def relations_of(self, node: int) -> Numbers:
        """Return a node's relation numbers, strongest first."""
        return self.rows[self.starts[node] : self.starts[node + 1]]

    def neighbours(self, node: int) -> dict[int, float]:
        """Return a node's neighbours and the summed weight with each."""
        found: defaultdict[int, float] = defaultdict(float)
        part = slice(self.starts[node], self.starts[node + 1])
        weights = self.weights[self.rows[part]]
        for other, weight in zip(self.others[part].tolist(), weights.tolist(), strict=True):
            found[other] += weight
        return dict(found)

    def between(self, one: int, other: int) -> list[int]:
        """Return the relations between two nodes, strongest first."""
        small, large = sorted((one, other), key=lambda node: len(self.relations_of(node)))
        part = slice(self.starts[small], self.starts[small + 1])
        return [int(row) for row in self.rows[part][self.others[part] == large]]

    def inside(self, nodes: Iterable[int]) -> list[int]:
        """Return the relations inside these nodes, strongest first."""
        wanted = sorted(set(nodes))
        chosen = np.zeros(len(self.starts) - 1, dtype=bool)
        chosen[wanted] = True
        found = [self.relations_of(node) for node in wanted]
        rows = np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)
        rows = rows[chosen[self.sources[rows]] & chosen[self.targets[rows]]]
        return [int(row) for row in rows[np.lexsort((rows, -self.weights[rows]))]]

    def distances(self, node: int, *, most: int) -> NDArray[np.int8]:
        """Return each node's distance in relations, up to `most`; `FAR` beyond."""
        found = np.full(len(self.starts) - 1, FAR, dtype=np.int8)
        found[node] = 0
        edge = np.array([node], dtype=np.int64)
        for hops in range(1, most + 1):
            near = np.unique(self._all_neighbours(edge))
            edge = near[found[near] == FAR]
            if not len(edge):
                break
            found[edge] = hops
        return found

    def _all_neighbours(self, nodes: Numbers) -> Numbers:
        sizes = self.starts[nodes + 1] - self.starts[nodes]
        if not sizes.sum():
            return np.zeros(0, dtype=np.int64)
        first = np.repeat(self.starts[nodes] - np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
        return np.asarray(self.others[first + np.arange(int(sizes.sum()))], dtype=np.int64)


def neighbourhood_hops(
    graph: Adjacency, node: int, *, hops: int, limit: int
) -> list[tuple[int, int]]:
    """Return an entity's neighbourhood as `(node, hops)`.

    Itself, then nearest and strongest first.

    Strength is what all relations with the nodes one hop nearer weigh. At most `limit` nodes.
    """
    found = {node: 0}
    edge = [node]
    for hop in range(1, hops + 1):
        joined: defaultdict[int, float] = defaultdict(float)
        for one in edge:
            for other, weight in graph.neighbours(one).items():
                if other not in found:
                    joined[other] += weight
        ranked = sorted(joined, key=lambda other: (-joined[other], other))
        edge = ranked[: limit - len(found)]
        found.update(dict.fromkeys(edge, hop))
    return list(found.items())


def best_paths(
    graph: Adjacency,
    start: int,
    end: int,
    *,
    max_hops: int,
    limit: int,
    shares: Sequence[float] | Weights,
) -> list[tuple[int, ...]]:
    """Ways from one node to another that visit no node twice: the shortest first.

    Of equally long ones first that whose steps are the strongest: a step weighs what its relations
    do, divided by the geometric mean of what all relations of its two ends weigh, so that what is
    joined with everything joins little; `shares` (0–1, by node) says how much a node counts as a
    place to pass through. A* over the exact number of hops that are left; work is bounded by
    `MOST_STEPS` and `MOST_BRANCHES`, beyond which a weaker way can stand for a stronger one.
    """
    left = graph.distances(end, most=max_hops)
    if start == end or left[start] == FAR:
        return []
    waiting: list[tuple[int, float, tuple[int, ...]]] = [(int(left[start]), 0.0, (start,))]
    found: list[tuple[int, ...]] = []
    for _ in range(MOST_STEPS):
        if not waiting or len(found) == limit:
            break
        _, cost, path = heapq.heappop(waiting)
        if path[-1] == end:
            found.append(path)
            continue
        for hops, step, node in _next_steps(graph, path, left, max_hops=max_hops, shares=shares):
            heapq.heappush(waiting, (hops, round(cost + step, 9), (*path, node)))
    return found


def _next_steps(
    graph: Adjacency,
    path: tuple[int, ...],
    left: NDArray[np.int8],
    *,
    max_hops: int,
    shares: Sequence[float] | Weights,
) -> list[tuple[int, float, int]]:
    """Return the likeliest next steps: total hops, cost, node."""
    here, strengths = path[-1], graph.strengths
    steps = []
    for node, weight in graph.neighbours(here).items():
        hops = len(path) + int(left[node])
        if hops > max_hops or node in path:
            continue
        share = 1.0 if left[node] == 0 else float(shares[node])
        step = weight * share / float(np.sqrt(strengths[here] * strengths[node]))
        steps.append((hops, -float(np.log(max(step, 1e-12))), node))
    return sorted(steps)[:MOST_BRANCHES]
