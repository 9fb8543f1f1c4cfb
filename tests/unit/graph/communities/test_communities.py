"""What the hierarchy of communities promises, on made graphs and on two well-known ones."""

from __future__ import annotations

import math
import random
from collections import Counter

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.communities.leiden import cluster_communities, community_depth, partition_at_level
from graph.errors import GraphInputError

Edge = tuple[str, str, float]

names = st.integers(0, 40).map(lambda number: f"e{number:02}")
graphs = st.lists(
    st.tuples(names, names, st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 7.25])), max_size=160
)


def entities_of(edges: list[Edge]) -> list[str]:
    """The ends of the edges and some that stand alone."""
    return sorted({end for edge in edges for end in edge[:2]} | {"alone 1", "alone 2"})


def cliques(count: int, size: int) -> list[Edge]:
    """A ring of `count` cliques joined by single weak edges."""
    edges = [
        (f"c{clique:02}n{a:02}", f"c{clique:02}n{b:02}", 1.0)
        for clique in range(count)
        for a in range(size)
        for b in range(a)
    ]
    return edges + [
        (f"c{clique:02}n00", f"c{(clique + 1) % count:02}n01", 0.2) for clique in range(count)
    ]


@given(edges=graphs, max_size=st.integers(1, 12), neighbours=st.integers(1, 4))
def test_every_entity_is_in_exactly_one_community_of_every_level(
    edges: list[Edge], max_size: int, neighbours: int
) -> None:
    ids = entities_of(edges)
    found = cluster_communities(ids, edges, max_size=max_size, neighbours=neighbours, seed=1)
    for level in range(community_depth(found) + 1):
        members = [
            one for community in partition_at_level(found, level) for one in community.entity_ids
        ]
        assert sorted(members) == ids


@given(edges=graphs, max_size=st.integers(1, 12))
def test_children_refine_their_parents(edges: list[Edge], max_size: int) -> None:
    found = cluster_communities(entities_of(edges), edges, max_size=max_size, seed=1)
    by_id = {community.id: community for community in found}
    assert len(by_id) == len(found)
    children: dict[str, list[str]] = {}
    for community in found:
        if community.parent_id is None:
            assert community.level == 0
            continue
        parent = by_id[community.parent_id]
        assert parent.level < community.level
        assert len(community.entity_ids) < len(parent.entity_ids)
        children.setdefault(parent.id, []).extend(community.entity_ids)
    for parent_id, members in children.items():
        assert sorted(members) == list(by_id[parent_id].entity_ids)


@given(edges=graphs, order=st.randoms(use_true_random=False))
def test_the_order_and_direction_of_edges_do_not_matter(
    edges: list[Edge], order: random.Random
) -> None:
    ids = entities_of(edges)
    turned = [(b, a, w) if order.random() < 0.5 else (a, b, w) for a, b, w in edges]
    order.shuffle(turned)
    shuffled = order.sample(ids, len(ids))
    assert cluster_communities(ids, edges, max_size=5, seed=1) == cluster_communities(
        shuffled, turned, max_size=5, seed=1
    )


@given(edges=graphs)
def test_no_community_reaches_over_two_components(edges: list[Edge]) -> None:
    graph = networkx.Graph()
    graph.add_nodes_from(entities_of(edges))
    graph.add_edges_from((a, b) for a, b, weight in edges if weight > 0)
    component = {
        node: number
        for number, nodes in enumerate(networkx.connected_components(graph))
        for node in nodes
    }
    for community in cluster_communities(sorted(graph), edges, max_size=4, seed=1):
        assert len({component[one] for one in community.entity_ids}) == 1


@settings(max_examples=30)
@given(edges=graphs)
def test_a_change_in_one_component_leaves_the_others_as_they_are(edges: list[Edge]) -> None:
    elsewhere = [(f"x{a}", f"x{b}", weight) for a, b, weight in cliques(4, 6)]
    both = cluster_communities(
        [*entities_of(edges), *{end for edge in elsewhere for end in edge[:2]}],
        [*edges, *elsewhere],
        max_size=5,
        seed=1,
    )
    alone = cluster_communities(
        sorted({end for edge in elsewhere for end in edge[:2]}), elsewhere, max_size=5, seed=1
    )
    assert {c.id for c in both if c.entity_ids[0].startswith("x")} == {c.id for c in alone}


def test_communities_of_at_most_the_limit_are_final() -> None:
    found = cluster_communities(entities_of(cliques(12, 6)), cliques(12, 6), max_size=6, seed=1)
    sizes = {community.id: len(community.entity_ids) for community in found}
    assert all(sizes[c.parent_id] > 6 for c in found if c.parent_id is not None)
    assert max(len(c.entity_ids) for c in partition_at_level(found, community_depth(found))) <= 6


def test_cliques_in_a_ring_are_the_communities() -> None:
    edges = cliques(8, 6)
    found = cluster_communities(sorted({end for edge in edges for end in edge[:2]}), edges, seed=1)
    finest = partition_at_level(found, community_depth(found))
    assert {frozenset(one[:3] for one in c.entity_ids) for c in partition_at_level(found, 0)} == {
        frozenset([f"c{clique:02}"]) for clique in range(8)
    }
    assert all(len({one[:3] for one in c.entity_ids}) == 1 for c in finest)


def test_a_clique_without_a_seam_stays_whole_above_the_limit() -> None:
    edges = cliques(1, 30)[:-1]
    found = cluster_communities(sorted({end for edge in edges for end in edge[:2]}), edges, seed=1)
    assert [len(c.entity_ids) for c in partition_at_level(found, 0)] == [30]


def test_no_entities_have_no_communities() -> None:
    assert cluster_communities([], [], seed=1) == []
    assert community_depth([]) == 0


def test_entities_without_edges_are_communities_of_their_own() -> None:
    found = cluster_communities(["b", "a", "b"], [("a", "a", 3.0), ("a", "b", 0.0)], seed=1)
    assert [(c.level, c.parent_id, c.entity_ids) for c in found] == [
        (0, None, ("a",)),
        (0, None, ("b",)),
    ]


def test_an_id_comes_from_the_level_and_the_members_alone() -> None:
    small = cluster_communities(["a", "b", "c"], [("a", "b", 1.0)], seed=1)
    other = cluster_communities(["a", "b", "d"], [("a", "b", 9.0)], seed=2)
    pair = [c.id for c in small if c.entity_ids == ("a", "b")]
    assert pair == [c.id for c in other if c.entity_ids == ("a", "b")]


@pytest.mark.parametrize(
    ("edges", "word"),
    [
        pytest.param([("a", "b", -1.0)], "-1.0", id="negative"),
        pytest.param([("a", "b", math.nan)], "nan", id="not a number"),
        pytest.param([("a", "b", math.inf)], "inf", id="infinite"),
        pytest.param([("a", "z", 1.0)], "'z'", id="an end nobody knows"),
    ],
)
def test_edges_that_cannot_be_used_are_refused_by_name(edges: list[Edge], word: str) -> None:
    with pytest.raises(GraphInputError, match=word):
        cluster_communities(["a", "b"], edges, seed=1)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        pytest.param({"max_size": 0}, "max_size", id="size"),
        pytest.param({"resolution": 0.0}, "resolution", id="resolution"),
        pytest.param({"resolution": math.nan}, "resolution", id="resolution not a number"),
        pytest.param({"neighbours": 0}, "neighbours", id="neighbours"),
        pytest.param({"seed": -1}, "seed", id="seed"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(arguments: dict[str, int], word: str) -> None:
    with pytest.raises(GraphInputError, match=word):
        cluster_communities(["a", "b"], [("a", "b", 1.0)], **{"seed": 1, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(networkx.karate_club_graph(), id="karate club"),
        pytest.param(networkx.les_miserables_graph(), id="les miserables"),
    ],
)
def test_modularity_is_not_below_what_networkx_finds(graph: networkx.Graph) -> None:
    graph = networkx.relabel_nodes(graph, str)
    edges = [(a, b, float(weight)) for a, b, weight in graph.edges(data="weight", default=1)]
    modularity = networkx.community.modularity
    ours = modularity(
        graph,
        [
            c.entity_ids
            for c in partition_at_level(cluster_communities(list(graph), edges, seed=1), 0)
        ],
    )
    greedy = modularity(graph, networkx.community.greedy_modularity_communities(graph, "weight"))
    louvain = modularity(graph, networkx.community.louvain_communities(graph, seed=1))
    assert ours >= max(greedy, louvain) - 0.02


def test_a_backbone_makes_the_hierarchy_steadier_when_a_document_goes() -> None:
    """Names of 60 topics that co-occur in documents, with a stray name and a hub in each."""
    chance = random.Random(8)  # noqa: S311 - a fixed example
    documents = []
    for _ in range(700):
        topic = chance.randrange(60)
        own = {f"t{topic:02}n{int(chance.expovariate(0.1)):02}" for _ in range(5)}
        stray = f"t{chance.randrange(60):02}n{int(chance.expovariate(0.1)):02}"
        documents.append(sorted(own | {stray, f"hub{chance.randrange(6)}"}))

    def ids_without(left_out: int | None, neighbours: int) -> set[str]:
        weights: Counter[tuple[str, str]] = Counter()
        for number, document in enumerate(documents):
            if number != left_out:
                weights.update((a, b) for a in document for b in document if a < b)
        entities = sorted({end for pair in weights for end in pair})
        edges = [(a, b, float(weight)) for (a, b), weight in weights.items()]
        found = cluster_communities(entities, edges, neighbours=neighbours, seed=1)
        return {community.id for community in found}

    def changed(neighbours: int) -> float:
        whole = ids_without(None, neighbours)
        lost = [len(whole - ids_without(number, neighbours)) for number in (3, 77, 191, 404)]
        return sum(lost) / len(lost) / len(whole)

    assert changed(3) < 0.9 * changed(100)
