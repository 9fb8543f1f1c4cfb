"""Relations as arrays: distances and paths as networkx has them, and always in one order."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.explore.paths import FAR, Adjacency, best_paths, neighbourhood_hops

Edges = list[tuple[int, int, float]]
NODES = 9


def build(edges: Edges, nodes: int = NODES) -> Adjacency:
    return Adjacency.build(
        np.array([edge[0] for edge in edges], dtype=np.int64),
        np.array([edge[1] for edge in edges], dtype=np.int64),
        np.array([edge[2] for edge in edges], dtype=np.float64),
        nodes=nodes,
    )


def paths(edges: Edges, start: int, end: int, **options: int) -> list[tuple[int, ...]]:
    return best_paths(
        build(edges), start, end, **{"max_hops": 4, "limit": 5} | options, shares=[1.0] * NODES
    )


ends = st.integers(0, NODES - 1)
graphs = st.lists(
    st.tuples(ends, ends, st.sampled_from([0.5, 1.0, 2.0])).filter(lambda edge: edge[0] != edge[1]),
    max_size=24,
)


def as_networkx(edges: Edges) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from(range(NODES))
    for source, target, weight in edges:
        held = graph.get_edge_data(source, target, {"weight": 0.0})["weight"]
        graph.add_edge(source, target, weight=held + weight)
    return graph


@given(graphs, ends)
def test_distances_are_those_of_networkx(edges: Edges, node: int) -> None:
    known = networkx.single_source_shortest_path_length(as_networkx(edges), node, cutoff=3)
    found = build(edges).distances(node, most=3)
    assert {n: int(hops) for n, hops in enumerate(found) if hops != FAR} == dict(known)


@given(graphs, ends, ends)
def test_paths_are_all_simple_paths_shortest_and_then_strongest_first(
    edges: Edges, start: int, end: int
) -> None:
    graph = as_networkx(edges)
    strength = dict(graph.degree(weight="weight"))

    def cost(path: tuple[int, ...]) -> float:
        return sum(
            -math.log(graph[a][b]["weight"] / math.sqrt(strength[a] * strength[b]))
            for a, b in pairwise(path)
        )

    simple = networkx.all_simple_paths(graph, start, end, cutoff=4) if start != end else ()
    expected = sorted((len(path), round(cost(tuple(path)), 6)) for path in simple)
    found = paths(edges, start, end, limit=1000)
    assert [(len(path), round(cost(path), 6)) for path in found] == expected


@given(graphs, st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_the_order_of_relations_changes_no_path(edges: Edges, random: object) -> None:
    mixed = list(edges)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert paths(mixed, 0, 1) == paths(edges, 0, 1)
    assert neighbourhood_hops(build(mixed), 0, hops=2, limit=5) == neighbourhood_hops(
        build(edges), 0, hops=2, limit=5
    )


def test_what_is_joined_with_everything_joins_little() -> None:
    hub = [(2, other, 1.0) for other in range(3, NODES)]
    assert paths([(0, 2, 1.0), (2, 1, 1.0), (0, 3, 1.0), (3, 1, 1.0), *hub], 0, 1)[0] == (0, 3, 1)


def test_no_path_is_longer_than_asked_for() -> None:
    chain = [(0, 2, 1.0), (2, 3, 1.0), (3, 1, 1.0)]
    assert paths(chain, 0, 1, max_hops=2) == []
    assert paths(chain, 0, 1, max_hops=3) == [(0, 2, 3, 1)]


def test_the_nearest_and_strongest_lie_about_a_node() -> None:
    edges = [(0, 1, 1.0), (0, 2, 3.0), (3, 0, 2.0), (2, 4, 9.0), (1, 5, 1.0)]
    assert neighbourhood_hops(build(edges), 0, hops=2, limit=5) == [
        (0, 0),
        (2, 1),
        (3, 1),
        (1, 1),
        (4, 2),
    ]
    assert neighbourhood_hops(build(edges), 0, hops=1, limit=3) == [(0, 0), (2, 1), (3, 1)]
    assert neighbourhood_hops(build([]), 4, hops=2, limit=3) == [(4, 0)]


def test_relations_inside_some_nodes_are_those_with_both_ends_there() -> None:
    graph = build([(0, 1, 1.0), (1, 0, 2.0), (1, 2, 5.0), (2, 3, 1.0)])
    assert graph.inside([0, 1]) == [1, 0]
    assert graph.inside([0, 1, 2]) == [2, 1, 0]
    assert graph.between(0, 1) == [1, 0]
    assert graph.inside([7]) == []


def test_paths_between_hubs_of_a_large_graph_stay_bounded() -> None:
    random = np.random.default_rng(7)
    nodes, count = 20_000, 200_000
    hub = (random.random(count) ** 3 * nodes).astype(np.int64)  # few nodes have most relations
    other = random.integers(0, nodes, count)
    keep = hub != other
    graph = Adjacency.build(hub[keep], other[keep], np.ones(int(keep.sum())), nodes=nodes)
    found = best_paths(graph, 0, 1, max_hops=4, limit=5, shares=[1.0] * nodes)
    assert [len(path) for path in found] == sorted(len(path) for path in found)
    assert len(found) == 5
