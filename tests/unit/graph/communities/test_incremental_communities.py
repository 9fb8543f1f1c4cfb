"""Communities that are kept: only what a change touches becomes another, until it has drifted."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.communities.incremental import (
    GROWTH,
    IncrementalState,
    count_astray,
    tie_strengths,
    update_communities,
)
from graph.communities.leiden import cluster_communities, community_depth, partition_at_level
from graph.errors import GraphInputError
from graph.model import Community, content_id

Edge = tuple[str, str, float]

names = st.integers(0, 30).map(lambda number: f"e{number:02}")
graphs = st.dictionaries(
    st.tuples(names, names).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    max_size=90,
).map(lambda weights: [(a, b, weight) for (a, b), weight in sorted(weights.items())])


def ends(edges: list[Edge]) -> set[str]:
    return {end for edge in edges for end in edge[:2]}


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


def kept(
    previous: list[Community],
    edges: list[Edge],
    *,
    ids: set[str] | None = None,
    drift: float = 99,
) -> list[Community]:
    found = update_communities(
        previous,
        ids or ends(edges),
        edges,
        anchor=IncrementalState(),
        max_size=8,
        drift=drift,
        seed=1,
    )
    assert found is not None
    return list(found.communities)


def without(edges: list[Edge], *gone: str) -> list[Edge]:
    return [edge for edge in edges if not {*edge[:2]} & {*gone}]


RING = cliques(12, 6)
WHOLE = cluster_communities(sorted(ends(RING)), RING, max_size=8, seed=1)


def test_one_that_all_others_left_joins_who_comes() -> None:
    edges = [("a", "b", 1.0), ("a", "c", 0.5), ("b", "d", 0.5)]
    was = cluster_communities(["a", "b", "c", "d"], edges, max_size=1, seed=1)
    found = kept(was, [("a", "e", 1.0)], ids={"a", "e"})
    assert [one.entity_ids for one in found] == [("a", "e")]


def test_nothing_changes_where_nothing_changed() -> None:
    assert kept(WHOLE, RING) == WHOLE


@given(before=graphs, after=graphs, size=st.integers(1, 9))
def test_every_level_divides_all_entities_and_refines_the_one_above(
    before: list[Edge], after: list[Edge], size: int
) -> None:
    was = cluster_communities(sorted({*ends(before), "alone"}), before, max_size=size, seed=1)
    now = {*ends(after), "alone", "new"}
    found = update_communities(
        was, now, after, anchor=IncrementalState(), max_size=size, drift=99.0, seed=1
    )
    assert found is not None
    hierarchy = found.communities
    by_id = {community.id: community for community in hierarchy}
    assert len(by_id) == len(hierarchy)
    for level in range(community_depth(hierarchy) + 1):
        members = [one for part in partition_at_level(hierarchy, level) for one in part.entity_ids]
        assert sorted(members) == sorted(now)
    for community in hierarchy:
        assert community.id == content_id("c", str(community.level), *community.entity_ids)
        if community.parent_id is not None:
            parent = by_id[community.parent_id]
            assert parent.level < community.level
            assert len(parent.entity_ids) > size
            assert set(community.entity_ids) < set(parent.entity_ids)


@given(before=graphs, after=graphs, order=st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_does_not_matter(
    before: list[Edge], after: list[Edge], order: random.Random
) -> None:
    was = cluster_communities(sorted({*ends(before), "alone"}), before, max_size=5, seed=1)
    now = sorted({*ends(after), "alone"})
    turned = [(b, a, w) if order.random() < 0.5 else (a, b, w) for a, b, w in after]
    order.shuffle(turned)
    first = update_communities(
        was, now, after, anchor=IncrementalState(), max_size=5, drift=99.0, seed=1
    )
    second = update_communities(
        order.sample(was, len(was)),
        now[::-1],
        turned,
        anchor=IncrementalState(),
        max_size=5,
        drift=99.0,
        seed=1,
    )
    assert first == second


def test_only_the_line_that_a_newcomer_joins_changes() -> None:
    more = [*RING, ("new", "c03n02", 1.0), ("new", "c03n04", 1.0), ("c07n05", "new", 0.1)]
    after = kept(WHOLE, more)
    gone = {c.id for c in WHOLE} - {c.id for c in after}
    come = [c for c in after if c.id not in {one.id for one in WHOLE}]
    assert len(gone) == len(come) == len([c for c in WHOLE if "c03n02" in c.entity_ids])
    assert all({"new", "c03n02"} <= set(c.entity_ids) for c in come)


def test_only_the_line_of_one_who_goes_changes() -> None:
    after = kept(WHOLE, without(RING, "c05n03"))
    changed = {c.id for c in WHOLE} - {c.id for c in after}
    assert changed == {c.id for c in WHOLE if "c05n03" in c.entity_ids}
    assert not any("c05n03" in c.entity_ids for c in after)


def test_a_community_whose_members_are_all_gone_is_gone() -> None:
    gone = {f"c04n{number:02}" for number in range(6)}
    after = kept(WHOLE, without(RING, *gone))
    assert not any(set(c.entity_ids) & gone for c in after)
    assert all(c.entity_ids for c in after)


def test_newcomers_with_ties_among_themselves_alone_are_a_community() -> None:
    after = kept(WHOLE, [*RING, ("x", "y", 1.0), ("y", "z", 1.0)], ids={*ends(RING), *"xyzq"})
    fresh = [c.entity_ids for c in after if c.id not in {one.id for one in WHOLE}]
    assert fresh == [("x", "y", "z"), ("q",)]


def test_a_newcomer_may_be_tied_to_the_others_by_another_newcomer() -> None:
    after = kept(WHOLE, [*RING, ("x", "c02n00", 1.0), ("x", "y", 1.0), ("y", "z", 1.0)])
    (home,) = [c for c in partition_at_level(after, community_depth(after)) if "z" in c.entity_ids]
    assert {"x", "y", "c02n00"} <= set(home.entity_ids)


def test_one_who_was_alone_joins_those_it_is_tied_to_now() -> None:
    was = cluster_communities([*ends(RING), "alone"], RING, max_size=8, seed=1)
    assert any(c.entity_ids == ("alone",) for c in was)
    after = kept(was, [*RING, ("alone", "c01n02", 3.0)])
    assert not any(c.entity_ids == ("alone",) for c in after)
    assert any(
        {"alone", "c01n02"} <= set(c.entity_ids)
        for c in partition_at_level(after, community_depth(after))
    )


def test_a_community_that_has_grown_too_large_is_divided_alone() -> None:
    one, other = cliques(2, 7)[:-2], [(f"f{a}", f"f{b}", 1.0) for a in range(4) for b in range(a)]
    was = cluster_communities(sorted(ends(one + other)), one + other, max_size=8, seed=1)
    second = [("c00n00", "g0", 9.0), *((f"g{a}", f"g{b}", 5.0) for a in range(8) for b in range(a))]
    after = kept(was, one + other + second)
    (large,) = [c for c in after if {"c00n00", "g7"} <= set(c.entity_ids) and c.level == 0]
    assert len(large.entity_ids) > GROWTH * 8
    parts = [set(c.entity_ids) for c in after if c.parent_id == large.id]
    assert len(parts) > 1
    assert set().union(*parts) == set(large.entity_ids)
    untouched = {c.id for c in was if "c00n00" not in c.entity_ids}
    assert untouched <= {c.id for c in after}


def test_what_has_moved_too_far_is_clustered_anew() -> None:
    few = [*RING, ("new", "c03n02", 1.0)]
    many = [*RING, *((f"new{number}", "c03n02", 1.0) for number in range(9))]
    arguments = {"anchor": IncrementalState(), "max_size": 8, "drift": 0.1, "seed": 1}
    assert update_communities(WHOLE, ends(few), few, **arguments) is not None  # type: ignore[arg-type]
    assert update_communities(WHOLE, ends(many), many, **arguments) is None  # type: ignore[arg-type]
    assert update_communities([], ends(few), few, **arguments) is None  # type: ignore[arg-type]


def test_small_changes_add_up() -> None:
    edges, hierarchy, anchor = list(RING), list(WHOLE), IncrementalState()
    steps = 0
    while True:
        edges.append((f"new{steps}", f"c{steps % 12:02}n03", 1.0))
        found = update_communities(
            hierarchy, ends(edges), edges, anchor=anchor, max_size=8, drift=0.1, seed=1
        )
        if found is None:
            break
        hierarchy, anchor = list(found.communities), found.anchor
        steps += 1
        assert anchor.moved == steps
    assert steps == 8  # 9 of 81 are more than a tenth


def test_ties_that_come_to_lead_elsewhere_are_drift() -> None:
    torn = [(a, b, 0.01 if a[:3] == b[:3] and a[:3] < "c04" else w) for a, b, w in RING]
    torn += [(f"c{c:02}n{n:02}", f"c09n{n:02}", 9.0) for c in range(4) for n in range(6)]
    assert count_astray(WHOLE, tie_strengths(RING)) == 0
    assert count_astray(WHOLE, tie_strengths(torn)) > 7
    arguments = {"max_size": 8, "drift": 0.1, "seed": 1}
    assert (
        update_communities(WHOLE, ends(torn), torn, anchor=IncrementalState(), **arguments) is None
    )  # type: ignore[arg-type]
    used = IncrementalState(astray=count_astray(WHOLE, tie_strengths(torn)))
    assert update_communities(WHOLE, ends(torn), torn, anchor=used, **arguments) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "edge",
    [
        pytest.param(("c00n00", "nobody", 1.0), id="an end nobody knows"),
        pytest.param(("c00n00", "c01n00", -1.0), id="negative"),
        pytest.param(("c00n00", "c01n00", float("nan")), id="not a number"),
    ],
)
def test_edges_that_cannot_be_used_are_refused(edge: Edge) -> None:
    with pytest.raises(GraphInputError):
        update_communities(WHOLE, ends(RING), [*RING, edge], anchor=IncrementalState(), seed=1)
