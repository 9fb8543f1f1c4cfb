"""A user's decisions: what they come to, that no rule undoes them, that they are remembered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.errors import GraphInputError
from graph.model import Chunk, Entity, Extraction, Mention, Name
from graph.pipeline import DeriveOptions, derive_graph
from graph.resolution.resolver import (
    MERGED_BY_HAND,
    Curation,
    apply_overrides,
    delete_curation,
    put_curation,
    read_curations,
    resolve_names,
)
from graph.resolution.review import (
    find_entities,
    find_key,
    plan_decision,
    plan_undo,
    standing_decisions,
)
from graph.storage.database import Database, is_fresh, read_entities
from graph.storage.facts import delete_document, put_chunks, put_extractions
from graph.storage.schema import metadata


def name(key: str, kind: str = "PERSON", count: int = 3) -> Name:
    return Name(
        key=key, surfaces={key.title(): count}, types={kind: count}, documents=frozenset({"d"})
    )


def curation(number: int, action: str, *keys: str, value: str = "") -> Curation:
    return Curation(number=number, action=action, keys=keys, names=keys, value=value)


def groups(names: list[Name], *curations: Curation) -> set[tuple[str, ...]]:
    return {entity.keys for entity in resolve_names(names, curations=curations)[0]}


HOLMES = [name("sherlock holmes"), name("mr. holmes"), name("holmes"), name("mycroft vale")]


def test_a_merge_beats_whatever_speaks_against_it() -> None:
    names = [name("henry vii"), name("henry viii"), name("mrs. pell"), name("oslo", "PLACE")]
    by_hand = curation(1, "merge", "henry viii", "henry vii", "mrs. pell", "oslo")
    entities, merges = resolve_names(names, curations=[by_hand])
    assert len(entities) == 1
    assert entities[0].name == "Henry Viii"
    assert {merge.reason for merge in merges if merge.key != "henry viii"} == {MERGED_BY_HAND}


def test_a_merge_joins_all_names_of_both() -> None:
    found = groups(HOLMES, curation(1, "merge", "mycroft vale", "holmes"))
    assert found == {("holmes", "mr. holmes", "mycroft vale", "sherlock holmes")}
    entities, _ = resolve_names(HOLMES, curations=[curation(1, "merge", "mycroft vale", "holmes")])
    assert entities[0].name == "Mycroft Vale"


def test_a_split_is_never_undone_by_a_rule() -> None:
    assert groups(HOLMES) == {("holmes", "mr. holmes", "sherlock holmes"), ("mycroft vale",)}
    found = groups(HOLMES, curation(1, "split", "holmes"))
    assert ("holmes",) in found
    stated = resolve_names(
        HOLMES, [("sherlock holmes", "holmes")], curations=[curation(1, "split", "holmes")]
    )
    assert ("holmes",) in {entity.keys for entity in stated[0]}


def test_names_that_are_split_off_together_stay_together() -> None:
    found = groups(HOLMES, curation(1, "split", "holmes", "mr. holmes"))
    assert found == {("holmes", "mr. holmes"), ("sherlock holmes",), ("mycroft vale",)}


def test_a_later_decision_beats_an_earlier_one() -> None:
    merge, split = ("merge", "mycroft vale", "holmes"), ("split", "holmes")
    assert ("holmes",) in groups(HOLMES, curation(1, *merge), curation(2, *split))
    found = groups(HOLMES, curation(1, *split), curation(2, *merge))
    assert ("holmes", "mycroft vale") in found


def test_names_stay_merged_when_one_between_them_is_gone() -> None:
    names = [name("ada"), name("orrin"), name("tomas")]
    by_hand = [curation(1, "merge", "ada", "orrin"), curation(2, "merge", "ada", "tomas")]
    assert groups(names[1:], *by_hand) == {("orrin", "tomas")}


def test_the_last_name_and_type_count() -> None:
    names = [name("ada brine"), name("brine")]
    decisions = [
        curation(1, "rename", "ada brine", value="A. Brine"),
        curation(2, "rename", "brine", value="Captain Brine"),
        curation(3, "retype", "brine", value="ORGANISATION"),
    ]
    (entity,), _ = resolve_names(names, curations=decisions)
    assert (entity.name, entity.type) == ("Captain Brine", "ORGANISATION")
    assert entity.aliases == ("Ada Brine", "Brine")


def test_a_decision_about_names_that_are_gone_changes_nothing() -> None:
    gone = [curation(1, "merge", "x", "y"), curation(2, "rename", "x", value="z")]
    assert resolve_names(HOLMES, curations=gone) == resolve_names(HOLMES)


_KEYS = st.sampled_from(["holmes", "mr. holmes", "sherlock holmes", "mycroft holmes", "vale"])
_CURATIONS = st.lists(
    st.tuples(st.sampled_from(["merge", "split"]), st.lists(_KEYS, min_size=1, max_size=3)),
    max_size=6,
).map(
    lambda rows: [
        curation(number, action, *dict.fromkeys(keys)) for number, (action, keys) in enumerate(rows)
    ]
)


@given(_CURATIONS, st.randoms(use_true_random=False))
def test_decisions_act_in_the_order_of_their_numbers(
    curations: list[Curation], random: object
) -> None:
    names = [name(key) for key in ("holmes", "mr. holmes", "sherlock holmes", "vale")]
    shuffled = list(curations)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert resolve_names(names, curations=shuffled) == resolve_names(names, curations=curations)
    apart = apply_overrides(curations).apart
    together = {key: set(group) for group in apply_overrides(curations).groups for key in group}
    for entity in resolve_names(names, curations=curations)[0]:
        for key in apart & set(entity.keys):
            others = {e for group in together.values() if key in group for e in group}
            assert set(entity.keys) <= others | {key} or any(
                other in others for other in set(entity.keys) - {key}
            )


# --- in a library -------------------------------------------------------------------------------


TEXTS = {
    "a": ("Ada Brine met Orrin Vale.", ("Ada Brine", "Orrin Vale")),
    "b": ("Ada Brine met Tomas Reed.", ("Ada Brine", "Tomas Reed")),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'graph.db'}")
    with opened.write() as connection:
        metadata.create_all(connection)
    for document in TEXTS:
        add(opened, document)
    yield opened
    opened.close()


def add(database: Database, document: str) -> None:
    text, names = TEXTS[document]
    chunk = Chunk(id=f"c{document}", document_id=document, title="", text=text, end=len(text))
    found = tuple(
        Mention(
            start=text.index(name),
            end=text.index(name) + len(name),
            surface=name,
            key=name.casefold(),
            type="PERSON",
        )
        for name in names
    )
    with database.write() as connection:
        put_chunks(connection, [chunk])
        put_extractions(connection, {chunk.id: Extraction(mentions=found)}, extractor="test")
    refresh(database)


def refresh(database: Database) -> None:
    derive_graph(database, options=DeriveOptions())


def decide(database: Database, action: str, *names: str, value: str = "") -> None:
    with database.write() as connection:
        put_curation(
            connection, plan_decision(connection, action, names=names, value=value).curation
        )
    assert not is_fresh(database)
    refresh(database)


def entities(database: Database) -> set[tuple[str, tuple[str, ...]]]:
    with database.read() as connection:
        return {(entity.name, entity.keys) for entity in read_entities(connection)}


BOTH = ("Orrin Vale", ("orrin vale", "tomas reed"))


def test_a_decision_outlives_rebuilding_and_the_documents_it_is_about(database: Database) -> None:
    decide(database, "merge", "Orrin Vale", "Tomas Reed")
    assert BOTH in entities(database)
    with database.write() as connection:
        delete_document(connection, "b")
    refresh(database)
    assert ("Orrin Vale", ("orrin vale",)) in entities(database)
    with database.read() as connection:
        (standing,) = standing_decisions(connection)
    assert [entity.name for entity in standing.entities] == ["Orrin Vale"]
    assert standing.missing == ("tomas reed",)
    add(database, "b")
    assert BOTH in entities(database)


def test_a_decision_whose_names_are_all_gone_is_kept(database: Database) -> None:
    decide(database, "rename", "Tomas Reed", value="T. Reed")
    with database.write() as connection:
        delete_document(connection, "b")
    refresh(database)
    with database.read() as connection:
        (standing,) = standing_decisions(connection)
    assert standing.entities == ()
    assert standing.missing == ("tomas reed",)


def test_a_plan_writes_nothing_and_shows_what_would_change(database: Database) -> None:
    before = entities(database)
    with database.read() as connection:
        effect = plan_decision(connection, "merge", names=["tomas reed", "Orrin  Vale"])
    assert [each.entity.name for each in effect.before] == ["Orrin Vale", "Tomas Reed"]
    assert [each.entity.keys for each in effect.after] == [("orrin vale", "tomas reed")]
    assert effect.after[0].reasons["orrin vale"] == MERGED_BY_HAND
    assert is_fresh(database)
    assert entities(database) == before


def test_taking_a_decision_back_restores_what_was(database: Database) -> None:
    before = entities(database)
    decide(database, "merge", "Orrin Vale", "Tomas Reed")
    with database.write() as connection:
        effect = plan_undo(connection, 1)
        delete_curation(connection, 1)
    refresh(database)
    assert len(effect.after) == 2
    assert entities(database) == before
    with database.read() as connection:
        assert read_curations(connection) == []


def test_entities_are_listed_with_why_each_name_belongs(database: Database) -> None:
    decide(database, "merge", "Orrin Vale", "Tomas Reed")
    with database.read() as connection:
        (found,) = find_entities(connection, "REED", limit=5)
        everything = find_entities(connection, limit=5)
    assert found.reasons["tomas reed"] == MERGED_BY_HAND
    assert {each.entity.name for each in everything} == {"Ada Brine", "Orrin Vale"}


@pytest.mark.parametrize(
    ("action", "names", "value", "message"),
    [
        pytest.param("merge", ["Ada Brien", "Orrin Vale"], "", "similar names are 'Ada", id="typo"),
        pytest.param("merge", ["Ada Brine"], "", "two or more different", id="one name"),
        pytest.param(
            "merge", ["Ada Brine", "ADA BRINE"], "", "two or more different", id="the same twice"
        ),
        pytest.param("split", ["Ada Brine"], "", "nothing to split", id="nothing to split"),
        pytest.param("split", ["Ada Brine", "Orrin Vale"], "", "already", id="apart already"),
        pytest.param("rename", ["Ada Brine"], " ", "empty", id="empty name"),
        pytest.param("rename", ["Ada Brine"], "Ada Brine", "already", id="called so"),
        pytest.param("retype", ["Ada Brine"], "robot", "PERSON", id="no such type"),
        pytest.param("retype", ["Ada Brine"], "person", "already", id="of that type"),
    ],
)
def test_what_cannot_be_decided_is_said_in_one_line(
    database: Database, action: str, names: list[str], value: str, message: str
) -> None:
    with database.read() as connection, pytest.raises(GraphInputError, match=message) as caught:
        plan_decision(connection, action, names=names, value=value)
    assert "\n" not in str(caught.value)


def test_an_undo_of_nothing_says_what_there_is(database: Database) -> None:
    decide(database, "rename", "Ada Brine", value="A. B.")
    with database.read() as connection, pytest.raises(GraphInputError, match="use one of 1"):
        plan_undo(connection, 7)


def an_entity(number: int, name: str, *keys: str) -> Entity:
    return Entity(
        id=f"e{number}",
        name=name,
        type="NAME",
        keys=keys,
        aliases=(),
        mention_count=1,
        document_count=1,
    )


def test_a_name_that_two_things_have_is_asked_for_by_id() -> None:
    both = [an_entity(1, "The Bee", "bee a"), an_entity(2, "The Bee", "bee b")]
    with pytest.raises(GraphInputError, match=r"e1 \('bee a'\), e2"):
        find_key("the bee", both)
    assert find_key("e2", both) == "bee b"
    assert find_key("Bee A", both) == "bee a"


def test_an_entity_stands_for_the_name_that_it_is_known_by() -> None:
    (entity,), _ = resolve_names([name("ada brine"), name("brine")])
    called = [replace(entity, name="The keeper")]
    assert find_key("the keeper", called) == find_key(entity.id, called) == "ada brine"
    (entity,), _ = resolve_names([name("vale"), name("orrin vale")])
    assert find_key(entity.id, [entity]) == "orrin vale"
