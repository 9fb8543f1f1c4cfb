"""Walks over sparse graphs, against NetworkX."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from scipy import sparse

from graph.errors import GraphInputError
from graph.search import walk
from graph.search.walk import random_walk, walk_step, with_neighbours


def random_graph(seed: int, size: int = 40) -> networkx.DiGraph:
    graph = networkx.gnp_random_graph(size, 0.1, seed=seed, directed=True)
    generator = np.random.default_rng(seed)
    for source, target in graph.edges:
        graph[source][target]["weight"] = float(generator.uniform(0.1, 5))
    for node in range(size):
        graph.add_edge(node, (node + 1) % size, weight=1.0)  # no dead ends
    return graph


def transitions(graph: networkx.DiGraph) -> sparse.csr_array:
    stochastic = networkx.stochastic_graph(graph)
    return networkx.to_scipy_sparse_array(stochastic, dtype=np.float32, format="csr")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_a_long_walk_is_personalised_pagerank(seed: int, damping: float) -> None:
    graph = random_graph(seed)
    restart = np.zeros(len(graph), dtype=np.float32)
    restart[[3, 7]] = 0.75, 0.25
    expected = networkx.pagerank(
        graph, alpha=damping, personalization={3: 0.75, 7: 0.25}, tol=1e-12, max_iter=1000
    )
    mass = random_walk(transitions(graph), restart, steps=200, damping=damping)
    np.testing.assert_allclose(mass, [expected[n] for n in range(len(graph))], atol=1e-5)


def test_each_step_halves_what_is_missing() -> None:
    matrix = transitions(random_graph(1))
    restart = np.full(matrix.shape[0], 1 / matrix.shape[0], dtype=np.float32)
    limit = random_walk(matrix, restart, steps=100)
    for steps in (1, 3, 5):
        missing = np.abs(random_walk(matrix, restart, steps=steps) - limit).sum()
        assert missing <= 2 * 0.5**steps


def test_without_edges_a_walk_keeps_the_order() -> None:
    restart = np.array([0.2, 0.5, 0.3], dtype=np.float32)
    mass = random_walk(sparse.csr_array((3, 3), dtype=np.float32), restart)
    assert np.argsort(-mass).tolist() == [1, 2, 0]


def test_a_walk_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(GraphInputError, match="3"):
        random_walk(sparse.csr_array((3, 3)), np.zeros(2, dtype=np.float32))


def test_following_only_what_has_mass_gives_the_same_bits() -> None:
    matrix = transitions(random_graph(2, size=200))
    mass = np.zeros(200, dtype=np.float32)
    mass[[5, 60, 61]] = 0.5, 0.3, 0.2
    nodes = np.array([5, 60, 61])
    given = np.zeros(200, dtype=np.float32)
    np.add.at(given, *walk_step(matrix, nodes, mass[nodes]))
    assert given.tobytes() == np.asarray(matrix.T @ mass).tobytes()


def test_in_a_large_graph_a_node_with_too_little_for_each_link_gives_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walk, "LEAST_A_LINK", 0.002)
    hub = sparse.coo_array(
        (
            np.array([0.5, 0.5, *[1 / 200] * 200], dtype=np.float32),
            ([0, 0, *[1] * 200], [1, 2, *range(3, 203)]),
        ),
        shape=(203, 203),
    ).tocsr()
    restart = np.zeros(203, dtype=np.float32)
    restart[0] = 1
    assert (random_walk(hub, restart) > 0).all()
    monkeypatch.setattr(walk, "FOLLOWED_WHOLE", 202)
    assert np.flatnonzero(random_walk(hub, restart)).tolist() == [0, 1, 2]
    monkeypatch.setattr(walk, "LEAST_A_LINK", 0.0005)
    assert (random_walk(hub, restart) > 0).all()


def test_a_passage_between_two_good_ones_gains_where_neighbours_agree() -> None:
    scores = np.zeros(60)
    scores[10:20] = 0.6
    scores[15] = 0.0
    scores[40] = 0.5
    lifted = with_neighbours(scores, np.ones(59, dtype=bool))
    assert lifted[15] > lifted[40] * 0.5
    assert lifted[30] == 0
    assert lifted.max() == pytest.approx(scores.max())


def test_rows_further_off_count_while_scores_agree_over_that_distance() -> None:
    scores = np.zeros(60)
    scores[10:20] = 0.6
    together = with_neighbours(scores, np.ones(59, dtype=bool))
    assert together[9] > together[8] > together[7] > together[6] == 0
    parted = np.ones(59, dtype=bool)
    parted[8] = False
    assert with_neighbours(scores, parted)[:9].tolist() == [0.0] * 9


@pytest.mark.parametrize(
    ("scores", "adjacent"),
    [
        pytest.param([0.9, 0.0] * 20, [True] * 39, id="neighbours that differ"),
        pytest.param([0.9, 0.8, 0.1] * 10, [False] * 29, id="no neighbours"),
        pytest.param([0.5] * 10, [True] * 9, id="all alike"),
        pytest.param([0.5], [], id="one passage"),
        pytest.param([], [], id="none"),
    ],
)
def test_strangers_beside_a_passage_do_not_count(scores: list[float], adjacent: list[bool]) -> None:
    lifted = with_neighbours(np.array(scores), np.array(adjacent, dtype=bool))
    assert lifted.tolist() == scores
