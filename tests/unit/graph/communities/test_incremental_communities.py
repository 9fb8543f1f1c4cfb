"""Communities that are kept: only what a change touches becomes another, until it has drifted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, insert

from graph.communities.incremental import (
    GROWTH,
    Anchor,
    Parameters,
    change_locally,
    read_anchor,
    write_anchor,
)
from graph.communities.leiden import cluster_communities, community_depth, partition_at_level
from graph.model import Community, content_id
from graph.storage.database import Database
from graph.storage.schema import communities, members, metadata, relations

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
    max_size: int = 8,
    moved: int = 0,
) -> list[Community]:
    """Return what a library of stored communities has after its entities and edges changed."""
    found = changed(previous, edges, ids=ids, drift=drift, max_size=max_size, moved=moved)
    assert found is not None
    return found[0]


def changed(
    previous: list[Community],
    edges: list[Edge],
    *,
    ids: set[str] | None = None,
    related: set[str] | None = None,
    drift: float = 0.1,
    max_size: int = 8,
    moved: int = 0,
) -> tuple[list[Community], int | None] | None:
    """Return the communities and the drift; None where everything is to be clustered anew."""
    before, now = {one for each in previous for one in each.entity_ids}, ids or ends(edges)
    parameters = Parameters(max_size=max_size, resolution=1.0, seed=1, drift=drift)
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        store(connection, previous, edges)
        write_anchor(connection, parameters, Anchor(moved=moved, of=len(now)))
        change = change_locally(
            connection,
            came=now - before,
            gone=before - now,
            related=related or ends(edges),
            parameters=parameters,
        )
        anchor = read_anchor(connection, parameters)
    database.close()
    if change is None or anchor is None:
        return None
    touched = {one.id for one in change.before}
    found = [*(one for one in previous if one.id not in touched), *change.after]
    return sorted(
        found, key=lambda one: (one.level, -len(one.entity_ids), one.entity_ids)
    ), anchor.moved


def store(connection: Connection, hierarchy: list[Community], edges: list[Edge]) -> None:
    for one in hierarchy:
        row = {"id": one.id, "level": one.level, "parent_id": one.parent_id, "dirty": False}
        connection.execute(insert(communities).values(row))
        for entity_id in one.entity_ids:
            row = {"community_id": one.id, "entity_id": entity_id}
            connection.execute(insert(members).values(row))
    for number, (source, target, weight) in enumerate(edges):
        row = {"id": f"r{number}", "source_id": source, "target_id": target, "weight": weight}
        connection.execute(insert(relations).values(row | {"predicate": "knows"}))


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
    hierarchy = kept(was, after, ids=now, max_size=size)
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
    assert changed(WHOLE, few, related=ends(few[-1:])) is not None
    assert changed(WHOLE, many, related=ends(many[-9:])) is None


def test_small_changes_add_up() -> None:
    edges, hierarchy, moved, steps = list(RING), list(WHOLE), 0, 0
    while True:
        edges.append((f"new{steps}", f"c{steps % 12:02}n03", 1.0))
        found = changed(hierarchy, edges, related=ends(edges[-1:]), moved=moved)
        if found is None:
            break
        hierarchy, moved = found[0], found[1] or 0
        steps += 1
        assert moved == 2 * steps  # one that came, one that it is tied to
    assert steps == 3  # 8 of 76 are more than a tenth
