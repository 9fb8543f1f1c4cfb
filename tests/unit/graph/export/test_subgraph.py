"""Which part of a graph is chosen: around an entity, inside a community, behind an answer."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from graph.communities.leiden import cluster_communities
from graph.errors import GraphInputError
from graph.export.subgraph import (
    Quote,
    list_communities,
    neighbourhood_subgraph,
    part_of_answer,
    part_of_community,
    restrict_graph,
)
from graph.model import Chunk, Entity, Evidence, Finding, GraphExport, Relation, Report, content_id
from graph.text.names import name_key

NAMES = ("Maeve Tolland", "Jory Pell", "林若溪", "Port Ansgar", "Old Bess", "Solway Grace")


def entity_id(name: str) -> str:
    return content_id("e", name_key(name))


def chain(*more: tuple[str, str, float]) -> GraphExport:
    """Six things, each linked with the next; each link in a chunk of its own, weights falling."""
    ties = [(NAMES[n], NAMES[n + 1], 6.0 - n) for n in range(5)] + list(more)
    chunks, relations, places = {}, [], {name: set() for name in NAMES}
    for a, b, weight in ties:
        text = f"{a} knows {b}."
        key = content_id("c", a, b)
        chunks[key] = Chunk(id=key, document_id=f"doc {a}", title=a, text=text, end=len(text))
        relations.append(
            Relation(
                id=content_id("r", a, b),
                source_id=entity_id(a),
                predicate="knows",
                target_id=entity_id(b),
                weight=weight,
                evidences=(Evidence(chunk_id=key, start=0, end=len(text)),),
            )
        )
        places[a].add(key)
        places[b].add(key)
    entities = [
        Entity(
            id=entity_id(name),
            name=name,
            type="PERSON",
            keys=(name_key(name),),
            aliases=(name,),
            mention_count=1,
            document_count=1,
        )
        for name in NAMES
    ]
    found = cluster_communities(
        [one.id for one in entities],
        [(r.source_id, r.target_id, r.weight) for r in relations],
        max_size=3,
        seed=1,
    )
    names = {one.id: one.name for one in entities}
    reports = [
        Report(
            community_id=one.id,
            level=one.level,
            title=f"About {names[one.entity_ids[0]]}",
            summary="",
            rating=1.0,
            findings=(Finding(text="x", evidences=relations[0].evidences),),
            fingerprint=one.id,
        )
        for one in found
    ]
    return GraphExport(
        entities=tuple(sorted(entities, key=lambda e: e.id)),
        relations=tuple(sorted(relations, key=lambda r: r.id)),
        communities=tuple(found),
        reports=tuple(reports),
        chunks=chunks,
        appearances={entity_id(name): tuple(sorted(found)) for name, found in places.items()},
    )


def names_of(export: GraphExport) -> set[str]:
    return {entity.name for entity in export.entities}


@pytest.mark.parametrize("hops", [0, 1, 2, 5])
def test_around_an_entity_is_what_that_many_relations_reach(hops: int) -> None:
    part = neighbourhood_subgraph(chain(), "Maeve Tolland", hops=hops)
    assert names_of(part.export) == set(NAMES[: hops + 1])
    assert part.centre == entity_id("Maeve Tolland")


def test_relations_are_followed_against_their_direction_too() -> None:
    assert names_of(neighbourhood_subgraph(chain(), "林若溪").export) == {
        "Jory Pell",
        "林若溪",
        "Port Ansgar",
    }


def test_where_room_is_short_the_nearest_and_strongest_stay() -> None:
    export = chain(("林若溪", "Solway Grace", 9.0), ("林若溪", "Old Bess", 0.5))
    part = neighbourhood_subgraph(export, "林若溪", hops=3, limit=3)
    assert names_of(part.export) == {"林若溪", "Solway Grace", "Jory Pell"}


def test_an_entity_is_found_by_id_and_in_any_case() -> None:
    export = chain()
    for called in (entity_id("Jory Pell"), "jory  pell", "JORY PELL"):
        assert neighbourhood_subgraph(export, called).centre == entity_id("Jory Pell")


def test_an_unknown_entity_is_refused_with_names_that_come_near() -> None:
    with pytest.raises(GraphInputError, match="Maeve Tolland"):
        neighbourhood_subgraph(chain(), "Maeve Toland")


@pytest.mark.parametrize("hops", [-1, 7])
def test_a_distance_out_of_range_is_refused(hops: int) -> None:
    with pytest.raises(GraphInputError, match="hops"):
        neighbourhood_subgraph(chain(), "Jory Pell", hops=hops)


def test_a_part_holds_only_what_it_needs_and_its_order_does_not_matter() -> None:
    export = chain()
    chosen = [entity_id(name) for name in NAMES[:3]]
    part = restrict_graph(export, chosen)
    assert {one.source_id for one in part.relations} <= set(chosen)
    assert all(set(one.entity_ids) <= set(chosen) for one in part.communities)
    assert {one.community_id for one in part.reports} == {one.id for one in part.communities}
    assert content_id("c", "Old Bess", "Solway Grace") not in part.chunks
    random.Random(1).shuffle(chosen)  # noqa: S311 - a fixed shuffle
    assert restrict_graph(export, chosen) == part


def test_a_community_is_found_by_id_number_and_title() -> None:
    export = chain()
    first = list_communities(export)[0]
    title = next(one.title for one in export.reports if one.community_id == first.id)
    expected = restrict_graph(export, first.entity_ids)
    for called in (first.id, 1, "1", "#1", title, f" {title.upper()} "):
        assert part_of_community(export, called).export == expected


def test_an_unknown_community_is_refused_with_what_there_is() -> None:
    with pytest.raises(GraphInputError, match="give a number from 1 to"):
        part_of_community(chain(), 99)
    with pytest.raises(GraphInputError, match="About"):
        part_of_community(chain(), "Abut Jory")
    with pytest.raises(GraphInputError, match="no community"):
        part_of_community(replace(chain(), reports=()), "Abut Jory")


def test_behind_an_answer_stand_the_entities_of_its_chunks_the_quoted_ones_first() -> None:
    export = chain()
    quoted = content_id("c", "Jory Pell", "林若溪")
    part = part_of_answer(
        export,
        question="Who knows 林若溪?",
        answer="Jory Pell knows her. [1]",
        quotes=[Quote(number=1, title="Jory Pell", text="knows 林若溪.", chunk_id=quoted)],
        read=[content_id("c", "Port Ansgar", "Old Bess")],
        names=["solway grace"],
    )
    assert names_of(part.export) == set(NAMES) - {"Maeve Tolland"}
    assert part.strong == (entity_id("林若溪"),)
    assert part.quotes[0].number == 1
