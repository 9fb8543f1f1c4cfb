"""Resolving what a change may touch ends as resolving everything does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from graph.model import ALSO_KNOWN_AS, OCCURS_WITH, Chunk, Extraction, Mention, Statement
from graph.resolution import (
    incremental,
    kept_names,
    name_forms,
    person_rules,
    rules,
    similarity,
)
from graph.resolution.incremental import forget_names, resolve_changes
from graph.resolution.resolver import (
    MERGE,
    RENAME,
    SPLIT,
    Curation,
    delete_curation,
    next_number,
    put_curation,
    resolve_facts,
)
from graph.resolution.rules import CROWD
from graph.storage import schema
from graph.storage.database import Database
from graph.storage.facts import delete_document, put_chunks, put_extractions, write_state
from graph.text.names import name_key

NAMES = (
    "John Smith", "John Q. Smith", "J. Smith", "Smith", "John", "Mr. Smith", "Mrs. Smith",
    "Smith, John", "Dr. Maeve Tolland", "Maeve Tolland", "M. Tolland", "Tolland", "Tolland, Maeve",
    "Ingrid Maeve Tolland", "Gull Quay Society", "GQS", "Society", "The Gull Quay Society",
    "Gregorio Pacheco", "Gregorio Pacheco Leyes", "Duke of Burgundy", "Burgundy", "United States",
    "US", "Tolstoy Museum", "Tolstoi Museum", "Scrooge", "Scrooge's nephew", "Debian",
    "Debian system", "关羽", "云长", "关云长", "诸葛亮", "孔明", "曹操", "曹丞相", "临澜", "Linlan",
    "临澜海洋大学", "Linlan Ocean University", "奎伦公司", "Quillon", "Ada Quillon",
)  # fmt: skip
KINDS = ("PERSON", "ORGANISATION", "PLACE", "NAME", "CONCEPT")

mention = st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS))
statement = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from([OCCURS_WITH, ALSO_KNOWN_AS, ALSO_KNOWN_AS]),
    st.sampled_from(NAMES),
)
document = st.tuples(
    st.sampled_from(("", *NAMES)),
    st.lists(mention, min_size=1, max_size=9),
    st.lists(statement, max_size=4),
)
curation = st.tuples(
    st.sampled_from([MERGE, SPLIT, RENAME]),
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("document"), st.integers(0, 7), st.none() | document),
        st.tuples(st.just("curation"), st.integers(0, 2), st.none() | curation),
    ),
    min_size=1,
    max_size=12,
)


def put_document(connection: Connection, number: int, value: object) -> None:
    delete_document(connection, f"d{number}")
    if value is None:
        return
    title, mentions, statements = value  # type: ignore[misc]
    chunk = Chunk(id=f"c{number}", document_id=f"d{number}", title=title, text="…")
    found = {
        Mention(start=at, end=at + 1, surface=name, key=name_key(name), type=kind)
        for at, (name, kind) in enumerate(mentions)
    }
    said = {
        Statement(start=at, end=at + 1, subject=name_key(a), predicate=what, object=name_key(b))
        for at, (a, what, b) in enumerate(statements)
        if a != b
    }
    extraction = Extraction(mentions=tuple(sorted(found)), statements=tuple(sorted(said)))
    put_chunks(connection, [chunk])
    put_extractions(connection, {chunk.id: extraction}, extractor="test")


def decide(connection: Connection, held: dict[int, int], number: int, value: object) -> None:
    if number in held:
        delete_curation(connection, held.pop(number))
    if value is not None:
        action, names = value  # type: ignore[misc]
        held[number] = next_number(connection)
        keys = tuple(map(name_key, names[:1] if action == RENAME else names))
        told = Curation(
            number=held[number],
            action=action,
            keys=keys,
            names=tuple(names),
            value="Renamed" if action == RENAME else "",
        )
        put_curation(connection, told)


def kept(connection: Connection) -> list[list[tuple[object, ...]]]:
    tables = (schema.kept_names, schema.name_blocks, schema.proposed_links)
    return [sorted(map(tuple, connection.execute(select(table)))) for table in tables]


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    database = Database("sqlite://")
    with database.write() as opened:
        schema.metadata.create_all(opened)
        yield opened


@pytest.mark.parametrize("crowd", [2, CROWD])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(taken=steps)
def test_any_changes_of_documents_and_decisions_resolve_as_everything_does(
    connection: Connection, taken: Sequence[tuple[str, int, object]], crowd: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, connection.begin_nested() as savepoint:
        for module in (incremental, kept_names, name_forms, person_rules, rules, similarity):
            patch.setattr(module, "CROWD", crowd)
        patch.setattr(incremental, "MOST", 0)  # never everything, however much changes
        write_state(connection, "derived", "0")
        resolve_changes(connection)
        entities, merges, held = {}, {}, dict[int, int]()
        for what, number, value in taken:
            if what == "document":
                put_document(connection, number, value)
            else:
                decide(connection, held, number, value)
            found = resolve_changes(connection)
            assert not found.is_whole
            for key in found.keys:
                merges.pop(key, None)
            merges |= {merge.key: merge for merge in found.merges}
            entities |= {entity.id: entity for entity in found.entities}
            used = {merge.entity_id for merge in merges.values()}
            expected = resolve_facts(connection)
            assert {key: merges[key] for key in sorted(merges)} == {
                merge.key: merge for merge in expected.merges
            }
            assert {one: entities[one] for one in sorted(used)} == {
                entity.id: entity for entity in expected.entities
            }
        step_by_step = kept(connection)
        forget_names(connection)
        resolve_changes(connection)
        assert kept(connection) == step_by_step
        savepoint.rollback()


def test_an_alias_of_two_things_stands_beside_a_change_of_one(connection: Connection) -> None:
    with pytest.MonkeyPatch.context() as patch, connection.begin_nested() as savepoint:
        patch.setattr(incremental, "MOST", 0)  # never everything, however much changes
        write_state(connection, "derived", "0")
        people = [(name, "PERSON") for name in ("Smith", "Maeve Tolland", "Ada Quillon")]
        said = [(name, ALSO_KNOWN_AS, "Smith") for name in ("Maeve Tolland", "Ada Quillon")]
        put_document(connection, 0, ("", people, said))
        resolve_changes(connection)
        put_document(connection, 1, ("", [("Ingrid Maeve Tolland", "PERSON")], []))
        resolve_changes(connection)
        step_by_step = kept(connection)
        forget_names(connection)
        resolve_changes(connection)
        assert kept(connection) == step_by_step
        savepoint.rollback()
