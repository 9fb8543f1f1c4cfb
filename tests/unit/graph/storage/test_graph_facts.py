"""Facts in and out: what is known of a chunk, and what of the derived rows rests on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Connection, Table, select

from graph.model import Chunk, Extraction, Mention, Statement
from graph.pipeline import DeriveOptions, derive_graph
from graph.search.snapshot import read_view
from graph.storage.database import (
    Database,
    is_fresh,
    read_chunks,
    read_entities,
    read_relations,
    read_reports,
)
from graph.storage.facts import (
    delete_chunks,
    delete_document,
    derived_generation,
    derived_stamp,
    extractions_by_text,
    facts_generation,
    forget_titles,
    in_batches,
    put_chunks,
    put_extractions,
    read_extractions,
    read_mentions,
    read_state,
    text_sha,
    title_key,
    unique_per_span,
    write_state,
)
from graph.storage.schema import chunks, communities, entities, metadata, names, reports
from graph.text.names import name_key

TEXTS = {
    "a1": "Ada Brine met Tomas Reed.",
    "a2": "Tomas Reed met Ada Brine. Ada Brine met Tomas Reed.",
    "b1": "Orrin Vale met Mira Solen.",
    "b2": "Mira Solen met Orrin Vale. Orrin Vale met Mira Solen.",
}
"""Two islands of two entities each: what happens on one must not touch the other."""
LEFT, RIGHT = {"Ada Brine", "Tomas Reed"}, {"Orrin Vale", "Mira Solen"}


def chunk(name: str, text: str = "", title: str = "") -> Chunk:
    content = text or TEXTS[name]
    return Chunk(id=name, document_id=name[0], title=title, text=content, end=len(content))


def extraction(text: str) -> Extraction:
    """Every known name that stands in the text, and a statement for each sentence."""
    mentions = []
    statements = set()
    for name in sorted(LEFT | RIGHT):
        start = text.find(name)
        while start >= 0:
            end = start + len(name)
            mentions.append(
                Mention(start=start, end=end, surface=name, key=name_key(name), type="PERSON")
            )
            start = text.find(name, end)
    start = 0
    for sentence in text.split(". "):
        ends = sentence.rstrip(".").split(" met ")
        if len(ends) == 2:
            statements.add(
                Statement(
                    start=start,
                    end=start + len(sentence),
                    subject=name_key(ends[0]),
                    predicate="met",
                    object=name_key(ends[1]),
                )
            )
        start += len(sentence) + 2
    return Extraction(mentions=tuple(sorted(mentions)), statements=tuple(sorted(statements)))


def put(connection: Connection, *values: Chunk) -> None:
    put_chunks(connection, values)
    put_extractions(connection, {c.id: extraction(c.text) for c in values}, extractor="test")


def refresh(database: Database) -> None:
    derive_graph(database, options=DeriveOptions(max_community_size=2))


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database("sqlite://")
    with opened.write() as connection:
        metadata.create_all(connection)
    yield opened
    opened.close()


@pytest.fixture
def derived(database: Database) -> Database:
    with database.write() as connection:
        put(connection, *(chunk(name) for name in TEXTS))
    refresh(database)
    with database.read() as connection:
        assert {e.name for e in read_entities(connection)} == LEFT | RIGHT
        assert len(read_reports(connection)) >= 2
    return database


def dirty_names(connection: Connection) -> set[str]:
    rows = connection.execute(select(names.c.key).where(names.c.dirty))
    return set(rows.scalars())


def clean_entities(connection: Connection) -> set[str]:
    return {entity.name for entity in read_entities(connection)}


# --- generations ------------------------------------------------------------------------------


def test_a_new_database_has_changed_never_and_derived_nothing(database: Database) -> None:
    with database.read() as connection:
        assert (facts_generation(connection), derived_generation(connection)) == (0, -1)
    assert not is_fresh(database)
    refresh(database)
    assert is_fresh(database)
    with database.read() as connection:
        assert derived_stamp(connection) == "0.0"


CHANGES: list = [
    pytest.param(lambda c: put_chunks(c, [chunk("a9", "New.")]), id="a chunk comes"),
    pytest.param(lambda c: put_chunks(c, [chunk("a1", "Other.")]), id="a chunk changes"),
    pytest.param(lambda c: put_chunks(c, [chunk("a1", title="T")]), id="a title changes"),
    pytest.param(lambda c: put_extractions(c, {"a1": Extraction()}, extractor="x"), id="read anew"),
    pytest.param(lambda c: delete_document(c, "a"), id="a document goes"),
    pytest.param(lambda c: delete_chunks(c, ["a1"]), id="a chunk goes"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_facts_raises_the_generation(
    derived: Database, change: Callable[[Connection], object]
) -> None:
    with derived.write() as connection:
        before = facts_generation(connection), derived_stamp(connection)
        change(connection)
        assert facts_generation(connection) > before[0]
        assert derived_stamp(connection) != before[1]
    assert not is_fresh(derived)
    refresh(derived)
    assert is_fresh(derived)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: put_chunks(c, [chunk("a1")]), id="a chunk that is there"),
        pytest.param(lambda c: put_chunks(c, []), id="no chunk"),
        pytest.param(lambda c: delete_document(c, "nobody"), id="an unknown document"),
        pytest.param(lambda c: delete_chunks(c, ["nobody"]), id="an unknown chunk"),
        pytest.param(lambda c: forget_titles(c, {"nobody", ""}), id="an unknown title"),
    ],
)
def test_what_changes_no_fact_leaves_everything_fresh(
    derived: Database, change: Callable[[Connection], object]
) -> None:
    with derived.write() as connection:
        change(connection)
    assert is_fresh(derived)


def test_a_change_that_is_taken_back_leaves_everything_fresh(derived: Database) -> None:
    with pytest.raises(KeyError), derived.write() as connection:
        delete_document(connection, "a")
        raise KeyError
    assert is_fresh(derived)


def test_state_is_read_as_it_was_written(database: Database) -> None:
    with database.write() as connection:
        assert read_state(connection, "x") is None
        write_state(connection, "x", "1")
        write_state(connection, "x", "2")
        assert read_state(connection, "x") == "2"


# --- what becomes dirty -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: delete_document(c, "a"), id="a document goes"),
        pytest.param(lambda c: delete_chunks(c, ["a2"]), id="a chunk goes"),
        pytest.param(
            lambda c: put_extractions(c, {"a1": Extraction()}, extractor="x"), id="read anew"
        ),
        pytest.param(lambda c: put_chunks(c, [chunk("a1", "Other.")]), id="a chunk changes"),
        pytest.param(lambda c: put(c, chunk("c1", TEXTS["a1"])), id="more evidence comes"),
    ],
)
def test_only_what_rests_on_the_change_is_dirty_and_unread(
    derived: Database, change: Callable[[Connection], object]
) -> None:
    with derived.read() as connection:
        untouched = [r for r in read_reports(connection) if "Orrin Vale" in r.summary]
        assert untouched
    with derived.write() as connection:
        change(connection)
        assert dirty_names(connection) == {name_key(name) for name in LEFT}
        assert clean_entities(connection) == RIGHT
        relations = read_relations(connection)
        assert relations
        right = {entity.id for entity in read_entities(connection)}
        assert all({r.source_id, r.target_id} <= right for r in relations)
        assert set(read_view(connection).display.values()) == RIGHT
        assert read_reports(connection) == untouched
        for table in (entities, communities, reports):
            assert _count(connection, table, dirty=True) > 0, table.name
            assert _count(connection, table, dirty=False) > 0, table.name


def _count(connection: Connection, table: Table, *, dirty: bool) -> int:
    return len(connection.execute(select(table).where(table.c.dirty.is_(dirty))).all())


def test_a_title_is_a_name_that_goes_with_its_chunk(database: Database) -> None:
    with database.write() as connection:
        put(connection, chunk("a1", "It lies far north.", title="Port Merrow"))
        put(connection, chunk("b1"))
    refresh(database)
    with database.write() as connection:
        assert clean_entities(connection) == RIGHT | {"Port Merrow"}
        delete_chunks(connection, ["a1"])
        assert clean_entities(connection) == RIGHT
    refresh(database)
    with database.read() as connection:
        assert clean_entities(connection) == RIGHT


def test_a_title_that_is_forgotten_stays_the_documents_title(database: Database) -> None:
    with database.write() as connection:
        put(connection, chunk("a1", "It lies far north.", title="Port Merrow"))
    refresh(database)
    with database.write() as connection:
        forget_titles(connection, {"port merrow"})
        assert clean_entities(connection) == set()
        assert read_chunks(connection)["a1"].title == "Port Merrow"
        assert read_view(connection).titles == ("",)


def test_a_statement_without_mentions_marks_its_ends(derived: Database) -> None:
    met = Statement(start=0, end=5, subject="ada brine", predicate="saw", object="orrin vale")
    with derived.write() as connection:
        put_extractions(connection, {"a1": Extraction(statements=(met,))}, extractor="x")
        assert dirty_names(connection) >= {"ada brine", "orrin vale"}
    refresh(derived)
    with derived.write() as connection:
        assert [r for r in read_relations(connection) if r.predicate == "saw"]
        delete_chunks(connection, ["a1"])
        assert not [r for r in read_relations(connection) if r.predicate == "saw"]


def test_titles_of_one_name_are_counted_the_same_in_any_order() -> None:
    def entity(titles: list[str]) -> object:
        database = Database("sqlite://")
        with database.write() as connection:
            metadata.create_all(connection)
            for number, title in enumerate(titles):
                name = f"{sorted(titles).index(title)}{number}"
                put_chunks(connection, [chunk(f"{name[0]}x", "Text.", title=title)])
        refresh(database)
        with database.read() as connection:
            return read_entities(connection)

    assert entity(["GULL QUAY", "Gull Quay"]) == entity(["Gull Quay", "GULL QUAY"])


# --- chunks and extractions -------------------------------------------------------------------


def test_chunks_come_back_as_they_went_in(database: Database) -> None:
    value = Chunk(
        id="x",
        document_id="d",
        title="《潮汐志》 “A”",
        text="Line\r\n\u2028 🦊 \x00 end",
        start=7,
        end=25,
        position=3,
        headings=("One", "Zwei", "三"),
        page=12,
    )
    with database.write() as connection:
        put_chunks(connection, [value])
        assert read_chunks(connection, ["x", "nobody"]) == {"x": value}


def test_of_two_chunks_with_one_id_the_last_counts(database: Database) -> None:
    with database.write() as connection:
        put_chunks(connection, [chunk("a1", "First."), chunk("a1", "Second.")])
        assert read_chunks(connection)["a1"].text == "Second."


def test_a_chunk_that_changes_loses_what_was_read_from_it(derived: Database) -> None:
    with derived.write() as connection:
        put_chunks(connection, [chunk("a1"), chunk("a2", "Other.")])
        found = read_extractions(connection, ["a1", "a2"])
        assert found["a1"] == extraction(TEXTS["a1"])
        assert found["a2"] == Extraction()
        row = connection.execute(select(chunks).where(chunks.c.id == "a2")).one()
        assert (row.extractor, bool(row.linked)) == (None, False)


def test_extractions_come_back_as_they_went_in(database: Database) -> None:
    with database.write() as connection:
        put(connection, *(chunk(name) for name in TEXTS))
        expected = {name: extraction(text) for name, text in TEXTS.items()}
        assert read_extractions(connection, TEXTS) == expected
        mentioned = {one: list(each.mentions) for one, each in expected.items()}
        assert read_mentions(connection, TEXTS) == mentioned
        assert read_extractions(connection, ["nobody"]) == {"nobody": Extraction()}


def test_what_was_read_is_found_again_by_text_for_the_same_extractor_only(
    database: Database,
) -> None:
    shas = {name: text_sha(text) for name, text in TEXTS.items()}
    with database.write() as connection:
        put(connection, chunk("a1"), chunk("b1"))
        put_chunks(connection, [chunk("b2")])
        found = extractions_by_text(connection, shas.values(), extractor="test")
        assert found == {shas[name]: extraction(TEXTS[name]) for name in ("a1", "b1")}
        assert extractions_by_text(connection, shas.values(), extractor="other") == {}


def test_more_chunks_than_a_database_takes_parameters(database: Database) -> None:
    many = [chunk(f"m{number}", f"Ada Brine {number}.") for number in range(2_100)]
    with database.write() as connection:
        put(connection, *many)
        assert len(read_chunks(connection, [c.id for c in many])) == 2_100
        assert delete_document(connection, "m") == 2_100
        assert read_chunks(connection) == {}


def _mention(kind: str, *, end: int = 9, surface: str = "Ada Brine") -> Mention:
    return Mention(start=0, end=end, surface=surface, key="ada brine", type=kind)


@pytest.mark.parametrize(
    ("types", "kept"),
    [
        pytest.param(["CONCEPT", "NAME"], "NAME", id="a name says more than a phrase"),
        pytest.param(["NAME", "PERSON"], "PERSON", id="a type says more than a name"),
        pytest.param(["PERSON", "NAME"], "PERSON", id="in any order"),
        pytest.param(["PERSON", "PLACE"], "PERSON", id="of equals the first"),
        pytest.param(["PLACE", "PERSON"], "PLACE", id="of equals the first, again"),
    ],
)
def test_one_name_in_one_place_has_one_type(
    database: Database, types: list[str], kept: str
) -> None:
    given = [_mention(kind) for kind in types]
    assert unique_per_span(given) == [_mention(kept)]
    assert unique_per_span([*given, _mention("CONCEPT", end=3)]) == sorted(
        [_mention(kept), _mention("CONCEPT", end=3)]
    )
    with database.write() as connection:
        put_chunks(connection, [chunk("a1")])
        put_extractions(connection, {"a1": Extraction(mentions=tuple(given))}, extractor="x")
        assert read_extractions(connection, ["a1"])["a1"].mentions == (_mention(kept),)


@pytest.mark.parametrize(
    ("title", "key"),
    [
        pytest.param("Port Merrow", "port merrow", id="a name"),
        pytest.param("Introduction", "", id="a heading of any document"),
        pytest.param("第三章", "", id="a Chinese heading"),
        pytest.param("", "", id="none"),
    ],
)
def test_a_title_is_a_name_unless_any_document_may_have_it(title: str, key: str) -> None:
    assert title_key(title) == key


def test_batches_hold_every_value_once_in_order() -> None:
    values = [f"{number:04d}" for number in range(1_203)]
    found = list(in_batches([*reversed(values), *values]))
    assert [len(batch) for batch in found] == [500, 500, 203]
    assert [value for batch in found for value in batch] == values
    assert list(in_batches([])) == []
