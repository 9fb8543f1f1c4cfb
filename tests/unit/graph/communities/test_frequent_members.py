"""What stands everywhere tells a community only beside others, however a library came about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from graph.communities import report_input as reading
from graph.communities import reports as reporting
from graph.communities import touched as touching
from graph.communities.report_input import report_input
from graph.communities.reports import chosen_members, parts_of, write_reports
from graph.linking import stated_relations
from graph.model import Chunk, Extraction, Mention, Report, Statement, content_id
from graph.pipeline import DeriveOptions, derive_graph
from graph.storage.database import Database, derived_reports, read_communities
from graph.storage.facts import delete_document, put_chunks, put_extractions
from graph.storage.schema import communities, entities, members, metadata, relations, reports
from graph.text.names import name_key

NAMES = ("Norland", "Sudland", "Ada Brine", "Gull Quay", "Petrel", "Orrin Vale", "Tomas Reed")
"""The first two stand in every document that is there from the start."""
FIRST = [("Norland", "Sudland", "Ada Brine"), ("Norland", "Sudland"), ("Norland", "Gull Quay")]


def put(connection: Connection, document_id: str, sentences: Sequence[Sequence[str]]) -> None:
    """Replace a document: the names of each sentence, each of which knows the next one."""
    delete_document(connection, document_id)
    text, mentions, statements = "", list[Mention](), list[Statement]()
    for some in sentences:
        begun = len(text)
        found = list[Mention]()
        for name in some:
            at = len(text)
            text += f"{name} was often seen near "
            key, end = name_key(name), at + len(name)
            found.append(Mention(start=at, end=end, key=key, surface=name, type="NAME"))
        text += f"the old harbour of {document_id} in those years. "
        mentions += found
        statements += [
            Statement(start=begun, end=two.end, subject=one.key, predicate="knows", object=two.key)
            for one, two in pairwise(found)
            if one.key != two.key
        ]
    chunk = Chunk(id=f"{document_id} {text}", document_id=document_id, title="", text=text)
    put_chunks(connection, [chunk])
    extraction = Extraction(mentions=tuple(sorted(mentions)), statements=tuple(sorted(statements)))
    put_extractions(connection, {chunk.id: extraction}, extractor="test")


def written_at_once(connection: Connection) -> list[Report]:
    """Reports of all communities as they are, nothing of before being known."""
    clusters = read_communities(connection)
    given_all = report_input(connection, clusters, said={}, parts=parts_of(clusters), told={})
    return write_reports(given_all, previous={})


changes = st.tuples(
    st.sampled_from(["a", "b", "c", "first0"]),
    st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), max_size=2),
)


@settings(max_examples=12, deadline=None)
@example(
    [[("a", [["Norland", "Petrel"]])], [("a", [["Norland", "Sudland"]])], [("a", [["Norland"]])]]
)
@given(st.lists(st.lists(changes, min_size=1, max_size=2), min_size=1, max_size=4))
def test_what_steady_entities_leave_alone_is_as_it_would_be_written_now(
    taken: list[list[tuple[str, list[list[str]]]]],
) -> None:
    database = Database("sqlite://")
    options = DeriveOptions(max_community_size=2, communities="anchored", drift=100)
    with pytest.MonkeyPatch.context() as patch:
        for module in (reporting, touching):
            patch.setattr(module, "FREQUENT", 2)
            patch.setattr(module, "LARGE", 4)
        patch.setattr(reporting, "TELLING", 2)
        with database.write() as connection:
            metadata.create_all(connection)
            for number, some in enumerate(FIRST):
                put(connection, f"first{number}", [some, some])
            put(connection, "other", [["Orrin Vale", "Tomas Reed"], ["Gull Quay", "Tomas Reed"]])
        derive_graph(database, options=options)
        for step in taken:
            with database.write() as connection:
                for document_id, sentences in step:
                    put(connection, document_id, sentences)
            derive_graph(database, options=options)
            with database.read() as connection:
                assert derived_reports(connection) == written_at_once(connection)
                for one in read_communities(connection):
                    assert one.id == content_id("c", str(one.level), *one.entity_ids)
                is_dirty = connection.execute(select(reports.c.dirty)).scalars()
                assert not any(is_dirty)
                weights = {one.id: one.weight for one in stated_relations(connection, said={})}
                query = select(relations.c.id, relations.c.weight)
                assert dict(map(tuple, connection.execute(query))) == weights
    database.close()


def test_members_beyond_the_most_mentioned_and_frequent_ones_do_not_tell() -> None:
    counts = {f"e{number:03}": 1 + number % 3 for number in range(150)} | {"often": 101, "o": 500}
    telling, beside = chosen_members(counts)
    assert beside == {"often", "o"}
    assert len(telling) == reporting.TELLING
    assert {one for one, count in counts.items() if count == 3} <= telling
    assert chosen_members({"often": 101, "o": 500}) == ({"often"}, {"o"})


@given(
    st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), min_size=1, max_size=20),
    st.integers(1, 21),
)
@settings(deadline=None)
def test_the_most_mentioned_members_are_the_same_wherever_they_are_looked_for(
    given_entities: list[tuple[int, bool, bool]], first_asked: int
) -> None:
    database = Database("sqlite://")
    rows = [
        {
            "id": f"e{number}",
            "name": f"name {number % 4}",
            "type": "CONCEPT" if is_concept else "NAME",
            "aliases": "[]",
            "mention_count": count,
            "document_count": 1,
        }
        for number, (count, is_concept, _) in enumerate(given_entities)
    ]
    inside = [row for row, (_, _, is_member) in zip(rows, given_entities, strict=True) if is_member]
    with pytest.MonkeyPatch.context() as patch, database.write() as connection:
        metadata.create_all(connection)
        connection.execute(insert(entities), rows)
        connection.execute(insert(communities), [{"id": "c", "level": 0, "parent_id": None}])
        if inside:
            at = [{"community_id": "c", "entity_id": row["id"]} for row in inside]
            connection.execute(insert(members), at)
        patch.setattr(reading, "LEADING", 3)
        every = reading._leading(connection, ["c"])
        patch.setattr(reading, "FIRST_ASKED", first_asked)
        assert reading._leading(connection, ["c"]) == every
    database.close()
