"""The picture a search walks over, and the names it sees in a question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, update

from graph.linking import write_links
from graph.model import Chunk
from graph.search.snapshot import LONG_DOCUMENT, MAX_QUESTION_CHARACTERS, WalkSnapshot, read_view
from graph.storage.database import Database
from graph.storage.facts import put_chunks
from graph.storage.schema import entities, links, metadata, names
from graph.text.names import NameMatcher, name_key

SURFACES = [
    "Ada Brine",
    "Brine",
    "St. Louis",
    "O'Neill",
    "AT&T",
    "Apollo 11",
    "U.S. Steel",
    "Lothair II of Lorraine",
    "Tides of Merrow",
    "José Álvarez",
    "GPT-4",
    "café de flore",
    "海鸥码头",
    "海鸥码头协会",
    "林若溪",
    "iPhone",
    "《潮汐志》",
]
CHUNKS = [
    Chunk(id="c1", document_id="a", title="Ada Brine", text="A life in the harbour."),
    Chunk(id="c2", document_id="a", title="Ada Brine", text="She knew O'Neill.", position=1),
    Chunk(id="c3", document_id="b", title="", text="Here Ada Brine wrote Tides of Merrow."),
    Chunk(id="c4", document_id="c", title="St. Louis", text="Nothing else."),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    database = Database("sqlite://")
    with database.write() as opened:
        metadata.create_all(opened)
        put_chunks(opened, CHUNKS)
        for surface in SURFACES:
            key = name_key(surface)
            kind = "title" if surface in {"Ada Brine", "St. Louis"} else "name"
            row = {"key": key, "entity_id": f"e-{key}", "reason": "", "kind": kind}
            opened.execute(insert(names).values(**row, dirty=False))
            entity = {"id": f"e-{key}", "name": surface, "type": "NAME", "aliases": "[]"}
            counts = {"mention_count": 1, "document_count": 1, "dirty": False}
            opened.execute(insert(entities).values(**entity, **counts))
        write_links(opened, lambda _stage, _done, _total: None)
        yield opened


@pytest.fixture(scope="module")
def view(connection: Connection) -> WalkSnapshot:
    return read_view(connection)


def labels(view: WalkSnapshot, connection: Connection, question: str) -> set[str]:
    return {label.removeprefix("e-") for label in view.names_in(connection, question).labels}


def test_rows_are_chunks_by_document_and_position(view: WalkSnapshot) -> None:
    assert view.chunk_ids == ("c1", "c2", "c3", "c4")
    assert view.titles == ("e-ada brine", "e-ada brine", "", "e-st. louis")
    assert view.labels[1] == ("e-o'neill",)
    assert view.labels[2] == ("e-ada brine", "e-tides of merrow")
    assert view.display["e-st. louis"] == "St. Louis"


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(
    "question",
    ["{}", "Who is {}?", "who knew {}, and why", "“{}”", "{}的作者是谁？", "关于{}。"],
)
def test_a_known_name_is_seen_in_a_question(
    view: WalkSnapshot, connection: Connection, surface: str, question: str
) -> None:
    if surface == "Brine":
        surface = "brine"
    found = labels(view, connection, question.format(surface))
    assert name_key(surface) in found


_pieces = st.sampled_from(
    [*SURFACES, *(s.casefold() for s in SURFACES), "the", "who", "是", " ", "?", "的", "(x)", "—"]
)


@given(pieces=st.lists(_pieces, max_size=8), separator=st.sampled_from([" ", "", ", "]))
def test_looking_up_what_may_be_a_name_finds_what_matching_all_names_finds(
    view: WalkSnapshot, connection: Connection, pieces: list[str], separator: str
) -> None:
    question = separator.join(pieces)
    every = NameMatcher(
        titles=[name_key("Ada Brine"), name_key("St. Louis")], names=map(name_key, SURFACES)
    )
    expected = {match.key for match in every.match(question, any_case=True)}
    assert labels(view, connection, question) == expected


def test_a_capitalised_name_that_nobody_knows_is_told(
    view: WalkSnapshot, connection: Connection
) -> None:
    found = view.names_in(connection, "Did Ada Brine meet Zebulon Pike?")
    assert found.labels == {"e-ada brine"}
    assert found.unknown == {"zebulon pike"}


@pytest.mark.parametrize("question", ["", " ", "?", "🦊", "\x00", "the of and", "了的是"])
def test_a_question_without_names_has_none(
    view: WalkSnapshot, connection: Connection, question: str
) -> None:
    assert view.names_in(connection, question).labels == frozenset()


def test_a_very_long_question_is_read_as_far_as_its_limit(
    view: WalkSnapshot, connection: Connection
) -> None:
    assert labels(view, connection, "Ada Brine " + "x " * MAX_QUESTION_CHARACTERS) == {"ada brine"}
    assert labels(view, connection, "x" * MAX_QUESTION_CHARACTERS + " Ada Brine") == set()


def test_what_a_chunk_opens_with_it_introduces_even_under_a_title() -> None:
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        put_chunks(
            connection, [Chunk(id="c", document_id="d", title="File 7", text="Ada (1815) …")]
        )
        row = {"key": "ada", "entity_id": "e-ada", "reason": "", "kind": "name", "dirty": False}
        connection.execute(insert(names).values(**row))
        entity = {"id": "e-ada", "name": "Ada", "type": "NAME", "aliases": "[]", "dirty": False}
        connection.execute(insert(entities).values(**entity, mention_count=1, document_count=1))
        connection.execute(insert(links).values(chunk_id="c", key="ada", opens=True))
        assert read_view(connection).introduced == (("e-ada",),)
        assert read_view(connection).walk_graph.homes == {"e-ada": (0,)}


def test_a_chunk_that_introduces_a_full_name_is_the_likely_home_of_a_shorter_one() -> None:
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        texts = {"c1": "Ada King Byron (1815) …", "c2": "Ada Byron wrote it.", "c3": "Ada Byron …"}
        put_chunks(
            connection,
            [Chunk(id=c, document_id=c, title="", text=text) for c, text in texts.items()],
        )
        for key, name in {"ada king byron": "Ada King Byron", "ada byron": "Ada Byron"}.items():
            row = {"key": key, "entity_id": f"e-{key}", "reason": "", "kind": "name"}
            connection.execute(insert(names).values(**row, dirty=False))
            entity = {"id": f"e-{key}", "name": name, "type": "NAME", "aliases": "[]"}
            counts = {"mention_count": 1, "document_count": 1}
            connection.execute(insert(entities).values(**entity, **counts, dirty=False))
        for chunk_id, key in {"c1": "ada king byron", "c2": "ada byron", "c3": "ada byron"}.items():
            row = {"chunk_id": chunk_id, "key": key, "opens": chunk_id == "c1"}
            connection.execute(insert(links).values(**row))
        view = read_view(connection)
    assert view.shortened == (("e-ada byron",), (), ())
    assert view.walk_graph.homes == {"e-ada king byron": (0,), "e-ada byron": (0,)}
    assert view.only([0]).walk_graph.homes == {"e-ada king byron": (0,)}
    assert view.path(0, [1]) == ("seed an untitled passage", "mentions", "'Ada King Byron'")


def test_only_chunks_of_long_documents_have_neighbours() -> None:
    documents = (*("x",) * (LONG_DOCUMENT - 1), *("y",) * LONG_DOCUMENT, "z")
    count = len(documents)
    some = WalkSnapshot(
        chunk_ids=tuple(map(str, range(count))), documents=documents, titles=("",) * count,
        labels=((),) * count, display={},
    )  # fmt: skip
    inside_y = [True] * (LONG_DOCUMENT - 1)
    assert some.adjacent.tolist() == [*([False] * (LONG_DOCUMENT - 1)), *inside_y, False]
    assert some.only([]).adjacent.tolist() == []


def test_names_lead_to_the_chunks_that_have_them_best_first(view: WalkSnapshot) -> None:
    found = view.from_labels({"e-o'neill"})
    assert [chunk_id for chunk_id, _ in found][:1] == ["c2"]
    masses = [mass for _, mass in found]
    assert masses == sorted(masses, reverse=True)
    assert "c4" not in dict(found)
    assert view.from_labels(set()) == []
    assert view.from_labels({"e-nobody"}) == []


def test_how_a_chunk_was_reached_is_told_in_names(view: WalkSnapshot) -> None:
    path = view.path(0, [2])
    assert path[0].startswith("seed ")
    assert any("Ada Brine" in step for step in path)
    assert view.path(3, [2]) == ()


def test_an_empty_library_is_an_empty_picture() -> None:
    database = Database("sqlite://")
    with database.write() as connection:
        metadata.create_all(connection)
        view = read_view(connection)
        assert view.chunk_ids == ()
        assert view.names_in(connection, "Ada Brine").labels == frozenset()
        assert view.from_labels({"e-ada brine"}) == []


def test_what_is_dirty_is_left_out(connection: Connection) -> None:
    savepoint = connection.begin_nested()
    connection.execute(update(names).where(names.c.key == "ada brine").values(dirty=True))
    dirty_entity = update(entities).where(entities.c.id == "e-st. louis")
    connection.execute(dirty_entity.values(dirty=True))
    view = read_view(connection)
    savepoint.rollback()
    assert view.titles == ("", "", "", "")
    assert view.labels[2] == ("e-tides of merrow",)
    assert "e-st. louis" not in view.display


def test_a_thing_with_a_second_name_is_told_with_all_of_them() -> None:
    database = Database("sqlite://")
    with database.write() as opened:
        metadata.create_all(opened)
        kinds = {"刘备": "title", "玄德": "name", "先主": "concept", "曹操": "name"}
        for key, kind in kinds.items():
            label = "e-曹操" if key == "曹操" else "e-刘备"
            row = {"key": key, "entity_id": label, "reason": "", "kind": kind, "dirty": False}
            opened.execute(insert(names).values(**row))
        view = WalkSnapshot((), (), (), (), {})
        found = view.names_in(opened, "劉備和曹操來了，刘备先到。")
        dirty = update(names).where(names.c.key == "玄德").values(dirty=True)
        opened.execute(dirty)
        alone = view.names_in(opened, "刘备先到。")
    assert [(thing.spans, thing.keys) for thing in found.things] == [
        (((0, 2), (8, 10)), ("刘备", "玄德"))
    ]
    assert found.labels == {"e-刘备", "e-曹操"}
    assert alone.things == ()


def test_a_thing_that_no_row_of_a_part_names_is_not_searched(
    view: WalkSnapshot, connection: Connection
) -> None:
    assert view.names_in(connection, "Ada Brine").things == ()
    assert view.only([]).names_in(connection, "Ada Brine").things == ()


def test_a_part_calls_things_by_names_of_its_own(
    connection: Connection, view: WalkSnapshot
) -> None:
    """Where the rows of a part do not hold the name that a thing goes by, another that they do."""
    alias = {"key": "tides of merrow", "entity_id": "e-o'neill", "reason": "", "kind": "name"}
    connection.execute(update(names).where(names.c.key == alias["key"]).values(**alias))
    try:
        called = view.only([2]).called_as_here(connection).display
    finally:
        own = {"entity_id": "e-tides of merrow"}
        connection.execute(update(names).where(names.c.key == alias["key"]).values(**own))
    assert called["e-o'neill"] == "tides of merrow"
    assert called["e-ada brine"] == "Ada Brine"
    assert "e-st. louis" not in called
