"""Deriving only what changed comes to what deriving everything comes to, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from graph.communities.descriptions import collect_descriptions, save_summaries
from graph.explore.explorer import Explorer
from graph.explore.visible_graph import read_seen
from graph.model import ALSO_KNOWN_AS, Chunk, Extraction, Mention, Statement
from graph.pipeline import LAYOUTS, Derived, DeriveOptions, derive_graph, rechunked_documents
from graph.resolution.resolver import resolve_facts
from graph.storage.database import Database, read_entities, read_relations, read_reports
from graph.storage.facts import delete_chunks, put_chunks, put_extractions, read_state, write_state
from graph.storage.schema import metadata
from graph.text.names import name_key

NAMES = ("Ada Brine", "Gull Quay", "Petrel", "Orrin Vale", "Tomas Reed", "Port Merrow")
TEXTS = (
    "Ada Brine moored the Petrel at Gull Quay in the long and quiet autumn of that year. "
    "Orrin Vale bought the Petrel from Ada Brine and sailed her to Port Merrow.",
    "Orrin Vale bought the Petrel from Ada Brine and sailed her to Port Merrow. "
    "Tomas Reed was born in Port Merrow and wrote of the Petrel for many years.",
    "Tomas Reed was born in Port Merrow and wrote of the Petrel for many years. "
    "Gull Quay was rebuilt by Tomas Reed after the great storm had taken it away.",
)
"""Each begins with the sentence that the one before ends with: chunks of a text that overlap."""


def document(key: str, numbers: Sequence[int]) -> list[Chunk]:
    """Overlapping chunks of one document, the places they have in the whole of it."""
    starts = [0, TEXTS[0].index("Orrin"), 0]
    starts[2] = starts[1] + TEXTS[1].index("Tomas")
    return [
        Chunk(
            id=f"{key}#{number}",
            document_id=key,
            title="",
            text=TEXTS[number],
            start=starts[number],
            end=starts[number] + len(TEXTS[number]),
            position=number,
        )
        for number in numbers
    ]


def read(chunk: Chunk, *left_out: str, said: str = "", type_: str = "NAME") -> Extraction:
    """Every name where it stands, but for some; those that follow each other are related."""
    found = sorted(
        Mention(start=at, end=at + len(name), surface=name, key=name_key(name), type=type_)
        for name in NAMES
        if name not in left_out
        for at in range(len(chunk.text))
        if chunk.text.startswith(name, at)
    )
    statements = {
        Statement(
            start=one.start,
            end=other.end,
            subject=one.key,
            predicate="knows",
            object=other.key,
            description=said,
        )
        for one, other in pairwise(found)
        if one.key != other.key
    }
    return Extraction(mentions=tuple(found), statements=tuple(sorted(statements)))


def put(
    connection: Connection, chunk: Chunk, *left_out: str, said: str = "", type_: str = "NAME"
) -> None:
    put_chunks(connection, [chunk])
    extractions = {chunk.id: read(chunk, *left_out, said=said, type_=type_)}
    put_extractions(connection, extractions, extractor="test")


def derived_rows(
    database: Database,
    options: DeriveOptions = DeriveOptions(),  # noqa: B008 - frozen
) -> dict[str, list[tuple[object, ...]]]:
    derive_graph(database, options=options)
    with database.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in metadata.sorted_tables
            if table.name != "state"
        }


def derived_from_nothing(
    database: Database,
    options: DeriveOptions = DeriveOptions(),  # noqa: B008 - frozen
) -> dict[str, list[tuple[object, ...]]]:
    """The same, with nothing known of the last time."""
    with database.write() as connection:
        write_state(connection, LAYOUTS, "")
        generation = int(read_state(connection, "generation") or 0)
        write_state(connection, "generation", str(generation + 1))
    return derived_rows(database, options)


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database("sqlite://")
    with opened.write() as connection:
        metadata.create_all(connection)
    yield opened
    opened.close()


steps = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 2),
    st.sampled_from([*NAMES, "", "gone"]),
)


@settings(max_examples=20)
@given(taken=st.lists(st.lists(steps, min_size=1, max_size=3), min_size=1, max_size=4))
def test_what_is_derived_step_by_step_is_what_is_derived_at_once(
    taken: list[list[tuple[str, int, str]]],
) -> None:
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
    options = DeriveOptions(max_community_size=2)
    for some in taken:
        with database.write() as connection:
            for key, number, left_out in some:
                (chunk,) = document(key, [number])
                if left_out == "gone":
                    delete_chunks(connection, [chunk.id])
                else:
                    put(connection, chunk, left_out)
        after = derived_rows(database, options)
    with database.write() as connection:
        write_state(connection, LAYOUTS, "")
        generation = int(read_state(connection, "generation") or 0)
        write_state(connection, "generation", str(generation + 1))
    assert derived_rows(database, options) == after
    database.close()


def test_a_sentence_in_two_overlapping_chunks_is_said_once(database: Database) -> None:
    """Counts, weights and quotations are those of the whole text, read as one chunk."""
    with database.write() as connection:
        for one in document("a", [0, 1, 2]):
            put(connection, one)
    derive_graph(database, options=DeriveOptions())
    with database.read() as connection:
        counts = {each.name: each.mention_count for each in read_entities(connection)}
        weights = [(each.weight, each.evidences) for each in read_relations(connection)]
        some = read_seen(connection, ["a"])
        detail = Explorer(connection, read_seen(connection), page_of=lambda *_: None).entity(
            "Petrel", communities=(), evidences=9, limit=99
        )
    whole = " ".join([TEXTS[0], TEXTS[1].split(". ")[1], TEXTS[2].split(". ")[1]])
    assert counts == {name: whole.count(name) for name in NAMES}
    assert counts["Petrel"] == 3
    assert all(weight == 2 * len(evidences) for weight, evidences in weights)
    assert sorted(some.adjacency.weights) == sorted(weight for weight, _ in weights)
    for quotes in (detail.evidence, *(each.evidence for each in detail.relations)):
        assert len({(quote.start, quote.end) for quote in quotes}) == len(quotes) > 0
    told = [
        each for each in detail.relations if "Ada Brine" in (each.source_name, each.target_name)
    ]
    assert [each.evidence_count for each in told] == [1, 1]


def test_a_sentence_that_loses_its_first_chunk_is_cited_from_the_second(
    database: Database,
) -> None:
    """So do reports of noun phrases that only the second chunk was read to name there."""
    with database.write() as connection:
        first, second = document("a", [0, 1])
        said = "They met at the pier."  # of a noun phrase that a model told of, one mention is kept
        put(connection, first, "Petrel", "Orrin Vale", "Port Merrow", said=said, type_="CONCEPT")
        put(connection, second, "Ada Brine", said=said, type_="CONCEPT")
    derive_graph(database, options=DeriveOptions())
    with database.write() as connection:
        delete_chunks(connection, ["a#0"])
    after = derived_rows(database)
    with database.read() as connection:
        places = [
            place.chunk_id
            for report in read_reports(connection)
            for finding in report.findings
            for place in finding.evidences
        ]
    assert set(places) == {"a#1"}
    assert derived_from_nothing(database) == after


def test_a_sentence_goes_from_a_report_with_the_other_end_of_its_relation(
    database: Database,
) -> None:
    texts = {"c": "She never knew him."}
    for number in range(4):
        texts[f"a{number}"] = f"Ada Brine moored the Petrel at Gull Quay, as letter {number} says."
        texts[f"b{number}"] = f"Orrin Vale and Tomas Reed left Port Merrow in year {number}."
    said = Statement(start=0, end=19, subject="ada brine", predicate="knows", object="orrin vale")
    with database.write() as connection:
        for key, text in texts.items():
            put(connection, Chunk(id=key, document_id=key, title="", text=text))
        put_extractions(connection, {"c": Extraction(statements=(said,))}, extractor="test")
    options = DeriveOptions(max_community_size=3)
    before = derived_rows(database, options)
    assert "She never knew him." in repr(before["reports"])
    with database.write() as connection:
        delete_chunks(connection, [key for key in texts if key.startswith("b")])
    after = derived_rows(database, options)
    assert {row[0] for row in after["communities"]} < {row[0] for row in before["communities"]}
    assert "She never knew him." not in repr(after["reports"])
    assert after == derived_from_nothing(database, options)


def test_a_sentence_comes_to_a_report_with_another_name_of_what_it_relates_to(
    database: Database,
) -> None:
    texts = {"c": "She never knew him.", "d": "Later she did."}
    for number in range(4):
        texts[f"a{number}"] = f"Ada Brine moored the Petrel at Gull Quay, as letter {number} says."
        texts[f"b{number}"] = f"Orrin Vale and Tomas Reed left Port Merrow in year {number}."
    options = DeriveOptions(max_community_size=3)
    with database.write() as connection:
        for key, text in texts.items():
            chunk = Chunk(id=key, document_id=key, title="", text=text)
            put(connection, chunk, type_="PERSON" if key < "c" and key[0] == "b" else "NAME")
        for key, other in (("c", "orrin vale"), ("d", "vale")):
            said = Statement(
                start=0, end=len(texts[key]), subject="ada brine", predicate="knows", object=other
            )
            put_extractions(connection, {key: Extraction(statements=(said,))}, extractor="test")
    assert "Later she did." not in repr(derived_rows(database, options)["reports"])
    with database.write() as connection:
        put_chunks(connection, [Chunk(id="e", document_id="e", title="", text="Vale left.")])
        extraction = Extraction(
            mentions=(Mention(start=0, end=4, surface="Vale", key="vale", type="PERSON"),),
            statements=(
                Statement(
                    start=0, end=4, subject="orrin vale", predicate=ALSO_KNOWN_AS, object="vale"
                ),
            ),
        )
        put_extractions(connection, {"e": extraction}, extractor="test")
    after = derived_rows(database, options)
    assert "Later she did." in repr(after["reports"])
    assert after == derived_from_nothing(database, options)


def test_a_relation_that_is_summarised_anew_makes_its_report_anew(database: Database) -> None:
    with database.write() as connection:
        for chunk in document("a", [0, 1, 2]):
            put(connection, chunk, "", said=f"They met, says {chunk.id}.")
    before = derived_rows(database)
    with database.write() as connection:
        named = resolve_facts(connection)
        entity_of = {merge.key: merge.entity_id for merge in named.merges}
        things = [
            thing
            for thing in collect_descriptions(
                connection, {one.id: one.name for one in named.entities}, entity_of
            )
            if len(thing.texts) > 1
        ]
        assert things
        save_summaries(connection, things, {one.id: "They know." for one in things}, model="m")
    after = derived_rows(database)
    assert before["relations"] != after["relations"]
    assert before["reports"] != after["reports"]
    assert derived_from_nothing(database) == after


def test_a_new_document_makes_only_the_reports_it_speaks_to(database: Database) -> None:
    with database.write() as connection:
        for number, name in enumerate(("Hedge Farm", "Old Mill")):
            text = f"{name} lies near {name} Wood, as all know. " * 3
            found = tuple(
                Mention(start=at, end=at + len(one), surface=one, key=name_key(one), type="PLACE")
                for one in (name, f"{name} Wood")
                for at in [text.index(f" {one}" if one != name else one) + (one != name)]
            )
            chunk = Chunk(id=f"far#{number}", document_id=f"far{number}", title="", text=text)
            put_chunks(connection, [chunk])
            stated = Statement(
                start=0, end=40, subject=found[0].key, predicate="near", object=found[1].key
            )
            extraction = Extraction(mentions=tuple(sorted(found)), statements=(stated,))
            put_extractions(connection, {chunk.id: extraction}, extractor="test")
        put(connection, document("a", [0])[0], "")
    first = derive_graph(database, options=DeriveOptions())
    with database.write() as connection:
        put(connection, document("b", [2])[0], "")
    second = derive_graph(database, options=DeriveOptions())
    assert isinstance(first, Derived)
    assert (first.reports_written, second.reports_written) == (3, 1)
    with database.read() as connection:
        assert len(read_reports(connection)) == 3


def test_documents_are_laid_anew_when_their_chunks_change(database: Database) -> None:
    with database.write() as connection:
        assert rechunked_documents(connection, version="1") is None
        put_chunks(connection, [*document("a", [0, 1]), *document("b", [0])])
        assert rechunked_documents(connection, version="1") == {"a", "b"}
        assert rechunked_documents(connection, version="1") == set()
        put_chunks(connection, [replace(document("a", [1])[0], position=7)])
        assert rechunked_documents(connection, version="1") == {"a"}
        delete_chunks(connection, ["b#0"])
        assert rechunked_documents(connection, version="1") == {"b"}
        assert rechunked_documents(connection, version="1") == set()
        assert rechunked_documents(connection, version="2") is None


def test_anchored_communities_stay_and_clustering_exactly_again_is_as_if_always(
    database: Database,
) -> None:
    with database.write() as connection:
        for key in "ab":
            for chunk in document(key, [0, 1, 2]):
                put(connection, chunk, "")
    exact = derived_rows(database)
    anchored = DeriveOptions(communities="anchored", drift=0.5)
    with database.write() as connection:
        put(connection, document("c", [0])[0], "Ada Brine")
    derived_rows(database, anchored)
    with database.write() as connection:
        delete_chunks(connection, ["c#0"])
    assert derived_rows(database, anchored) == exact
    with database.write() as connection:
        put(connection, document("c", [1])[0], "")
    after = derived_rows(database)
    assert derived_from_nothing(database) == after
