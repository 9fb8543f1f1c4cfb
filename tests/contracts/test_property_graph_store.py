"""What LlamaIndex expects of a `PropertyGraphStore`, asked of every store that we can name.

LlamaIndex's own `SimplePropertyGraphStore` takes part where it keeps the clause. Where it does not,
the test is marked `only_ours`:

- it deletes both ends with a relation, even such as other relations still hold on to, and then
  fails with KeyError in `get_triplets` and in every later deletion;
- deleting an entity by name leaves a node that has no relation;
- a relation read in two places keeps the first place alone;
- anything goes in without evidence, and a node put in again replaces what was known of it;
- `get(ids=[])` gives everything;
- several properties are any of them, not all of them;
- a chunk that is deleted leaves the entities that only it named.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from graph import SqlGraphStore
from graph.errors import GraphInputError
from graph.storage.database import Database

TEXTS = {
    "c1": "Ada Brine met Tomas Reed at Gull Quay.",
    "c2": "Tomas Reed chairs the Gull Quay Society. Ada Brine knows Orrin Vale.",
    "c3": "Orrin Vale repaired the Petrel.",
}
FACTS = [
    ("c1", "Ada Brine", "met", "Tomas Reed"),
    ("c1", "Ada Brine", "visited", "Gull Quay"),
    ("c2", "Tomas Reed", "chairs", "Gull Quay Society"),
    ("c2", "Ada Brine", "knows", "Orrin Vale"),
    ("c3", "Orrin Vale", "repaired", "Petrel"),
]

MakeStore = Callable[[Path], PropertyGraphStore]


def _in_memory(_: Path) -> PropertyGraphStore:
    return SqlGraphStore(Database("sqlite://"))


def _in_a_file(folder: Path) -> PropertyGraphStore:
    return SqlGraphStore(Database(f"sqlite:///{folder / 'graph.db'}"))


def _simple(_: Path) -> PropertyGraphStore:
    return SimplePropertyGraphStore()


OURS = [pytest.param(_in_memory, id="SQLite in memory"), pytest.param(_in_a_file, id="SQLite file")]
EVERY = [*OURS, pytest.param(_simple, id="SimplePropertyGraphStore")]

only_ours = pytest.mark.parametrize("make", OURS)
of_every_store = pytest.mark.parametrize("make", EVERY)


@pytest.fixture
def empty(make: MakeStore, tmp_path: Path) -> PropertyGraphStore:
    return make(tmp_path)


@pytest.fixture
def store(empty: PropertyGraphStore) -> PropertyGraphStore:
    """Three chunks of two documents, six entities, five relations."""
    empty.upsert_llama_nodes([_chunk(name) for name in TEXTS])
    names = sorted({name for _, source, _, target in FACTS for name in (source, target)})
    chunk_of = {name: c for c, source, _, target in reversed(FACTS) for name in (source, target)}
    empty.upsert_nodes([_entity(name, chunk_of[name]) for name in names])
    empty.upsert_relations([_relation(*fact) for fact in FACTS])
    return empty


def _chunk(name: str) -> TextNode:
    node = TextNode(id_=name, text=TEXTS[name], metadata={"title": f"Section {name[1:]}"})
    document = "first" if name == "c1" else "second"
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return node


def _entity(name: str, chunk: str, label: str = "NAME") -> EntityNode:
    return EntityNode(name=name, label=label, properties={TRIPLET_SOURCE_KEY: chunk})


def _relation(chunk: str, source: str, predicate: str, target: str) -> Relation:
    properties = {TRIPLET_SOURCE_KEY: chunk}
    return Relation(label=predicate, source_id=source, target_id=target, properties=properties)


def facts(triplets) -> set[tuple[str, str, str]]:
    """Triplets by the names of their ends, whatever a store takes for ids."""
    return {(source.name, relation.label, target.name) for source, relation, target in triplets}


def entity_names(store: PropertyGraphStore) -> set[str]:
    return {node.name for node in store.get() if isinstance(node, EntityNode)}


# --- in ---------------------------------------------------------------------------------------


@of_every_store
def test_an_empty_store_gives_nothing(empty: PropertyGraphStore) -> None:
    assert empty.get() == []
    assert empty.get(ids=["nobody"]) == []
    assert empty.get_triplets(entity_names=["nobody"]) == []
    assert empty.get_rel_map([]) == []
    assert empty.get_llama_nodes(["nobody"]) == []
    empty.delete(ids=["nobody"])
    empty.delete_llama_nodes(node_ids=["nobody"], ref_doc_ids=["nobody"])


@of_every_store
def test_what_is_put_in_is_there(store: PropertyGraphStore) -> None:
    assert entity_names(store) == {
        "Ada Brine",
        "Gull Quay",
        "Gull Quay Society",
        "Orrin Vale",
        "Petrel",
        "Tomas Reed",
    }
    names = sorted(entity_names(store))
    assert facts(store.get_triplets(entity_names=names)) == {fact[1:] for fact in FACTS}


@of_every_store
def test_putting_the_same_in_again_changes_nothing(store: PropertyGraphStore) -> None:
    before = [node.id for node in store.get()], facts(store.get_triplets(relation_names=["met"]))
    store.upsert_llama_nodes([_chunk(name) for name in TEXTS])
    store.upsert_nodes([_entity("Ada Brine", "c1")])
    store.upsert_relations([_relation(*FACTS[0])])
    after = [node.id for node in store.get()], facts(store.get_triplets(relation_names=["met"]))
    assert after == before


@of_every_store
def test_a_relation_brings_the_ends_that_are_not_there_yet(empty: PropertyGraphStore) -> None:
    empty.upsert_llama_nodes([_chunk("c3")])
    empty.upsert_relations([_relation(*FACTS[4])])
    assert {"Orrin Vale", "Petrel"} <= entity_names(empty)


@of_every_store
def test_a_chunk_put_in_again_with_another_text_has_that_text(store: PropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(id_="c3", text="The Petrel sank.")])
    (chunk,) = store.get_llama_nodes(["c3"])
    assert chunk.get_content() == "The Petrel sank."


@of_every_store
def test_graph_nodes_of_chunks_go_in_and_come_out(store: PropertyGraphStore) -> None:
    (chunk,) = store.get(ids=["c1"])
    assert isinstance(chunk, ChunkNode)
    assert chunk.text == TEXTS["c1"]
    store.upsert_nodes([chunk, ChunkNode(id_="c4", text="Port Merrow sleeps.")])
    assert store.get(ids=["c1"]) == [chunk]
    (new,) = store.get(ids=["c4"])
    assert new.text == "Port Merrow sleeps."


@only_ours
def test_a_type_that_is_known_replaces_one_that_is_not(store: PropertyGraphStore) -> None:
    store.upsert_nodes([_entity("Tomas Reed", "c1", "PERSON")])
    store.upsert_nodes([_entity("Tomas Reed", "c1", "NAME")])
    assert {node.label for node in store.get(ids=["Tomas Reed"])} == {"PERSON"}


@only_ours
@pytest.mark.parametrize(
    ("part", "message"),
    [
        pytest.param(EntityNode(name="Ada Brine"), "triplet_source_id", id="no source"),
        pytest.param(_entity("Ada Brine", "c9"), "no chunk 'c9'", id="unknown chunk"),
        pytest.param(_entity("Zeus", "c1"), "'Zeus' does not occur", id="not in the text"),
        pytest.param(_entity("Gull Qua", "c1"), "does not occur", id="half a word"),
        pytest.param(_relation("c1", "Ada Brine", "rules", "Zeus"), "'Zeus'", id="no such end"),
        pytest.param(
            Relation(label="met", source_id="Ada Brine", target_id="Tomas Reed"),
            "triplet_source_id",
            id="relation without source",
        ),
        pytest.param(_relation("c1", "Ada Brine", " ", "Gull Quay"), "a label", id="no label"),
    ],
)
def test_nothing_goes_in_without_evidence(
    store: PropertyGraphStore, part: EntityNode | Relation, message: str
) -> None:
    before = store.get()
    with pytest.raises(GraphInputError, match=message):
        if isinstance(part, Relation):
            store.upsert_relations([part])
        else:
            store.upsert_nodes([ChunkNode(id_="new", text="Half done."), part])
    assert store.get() == before
    assert store.get_llama_nodes(["new"]) == [], "all of it or nothing"


@only_ours
def test_a_relation_between_ids_finds_the_name_that_stands_in_the_chunk(
    empty: PropertyGraphStore,
) -> None:
    text = "Lothair II of Lorraine ruled. He, Lothair II, left Teutberga."
    empty.upsert_llama_nodes([TextNode(id_="c", text=text)])
    empty.upsert_nodes([_entity("Lothair II", "c"), _entity("Teutberga", "c")])
    ids = {node.name: node.id for node in empty.get()}
    empty.upsert_relations([_relation("c", ids["Lothair II"], "left", ids["Teutberga"])])
    (triplet,) = empty.get_triplets(relation_names=["left"])
    assert (triplet[0].id, triplet[2].id) == (ids["Lothair II"], ids["Teutberga"])
    start, end = triplet[1].properties["evidences"][0][1:]
    assert "Teutberga" in text[start:end]


# --- out --------------------------------------------------------------------------------------


@of_every_store
def test_nodes_come_by_id(store: PropertyGraphStore) -> None:
    wanted = [node for node in store.get() if getattr(node, "name", "") == "Ada Brine"]
    assert store.get(ids=[wanted[0].id]) == wanted
    assert {node.id for node in store.get(ids=["c1", "c3", "nobody"])} == {"c1", "c3"}


@of_every_store
def test_nodes_come_by_property(store: PropertyGraphStore) -> None:
    found = store.get(properties={"ref_doc_id": "second"})
    assert {node.id for node in found} == {"c2", "c3"}
    assert store.get(properties={"ref_doc_id": "third"}) == []


@only_ours
def test_several_properties_must_all_be_there(store: PropertyGraphStore) -> None:
    found = store.get(properties={"ref_doc_id": "second", "title": "Section 3"})
    assert [node.id for node in found] == ["c3"]


@only_ours
def test_no_ids_are_no_nodes(store: PropertyGraphStore) -> None:
    assert store.get(ids=[]) == []


@of_every_store
def test_a_name_may_stand_for_an_id_as_llama_index_takes_it(store: PropertyGraphStore) -> None:
    assert [node.name for node in store.get(ids=["Ada Brine"])] == ["Ada Brine"]


@of_every_store
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param({"entity_names": ["Petrel"]}, {4}, id="an entity"),
        pytest.param({"entity_names": ["Ada Brine", "Petrel"]}, {0, 1, 3, 4}, id="two entities"),
        pytest.param({"relation_names": ["met", "chairs"]}, {0, 2}, id="relations"),
        pytest.param(
            {"entity_names": ["Ada Brine"], "relation_names": ["met"]}, {0}, id="both at once"
        ),
        pytest.param({"entity_names": ["Zeus"]}, set(), id="an unknown entity"),
        pytest.param({"relation_names": ["rules"]}, set(), id="an unknown relation"),
        pytest.param({"ids": ["nobody"]}, set(), id="an unknown id"),
        pytest.param({"properties": {TRIPLET_SOURCE_KEY: "c3"}}, {4}, id="a property"),
        pytest.param({}, set(), id="nothing asked for"),
    ],
)
def test_triplets_come_by_what_is_asked(
    store: PropertyGraphStore, asked: dict, expected: set[int]
) -> None:
    assert facts(store.get_triplets(**asked)) == {FACTS[number][1:] for number in expected}


@of_every_store
def test_triplets_come_by_the_id_of_an_end(store: PropertyGraphStore) -> None:
    (petrel,) = store.get(ids=["Petrel"])
    assert facts(store.get_triplets(ids=[petrel.id])) == {FACTS[4][1:]}


@only_ours
def test_a_name_without_letters_asks_for_nothing(store: PropertyGraphStore) -> None:
    assert store.get_triplets(entity_names=["…"]) == []


@of_every_store
def test_a_relation_map_grows_with_its_depth(store: PropertyGraphStore) -> None:
    start = store.get(ids=["Ada Brine"])
    near = facts(store.get_rel_map(start, depth=1))
    assert near == {FACTS[number][1:] for number in (0, 1, 3)}
    assert facts(store.get_rel_map(start, depth=2)) == {fact[1:] for fact in FACTS}
    assert store.get_rel_map(start, depth=0) == []


@of_every_store
def test_a_relation_map_keeps_its_limit_and_leaves_out_what_is_ignored(
    store: PropertyGraphStore,
) -> None:
    start = store.get(ids=["Ada Brine"])
    assert len(store.get_rel_map(start, limit=2)) == 2
    found = facts(store.get_rel_map(start, depth=1, ignore_rels=["met", "knows"]))
    assert found == {FACTS[1][1:]}


@only_ours
def test_predicates_may_be_asked_for_in_llama_indexs_capitals(store: PropertyGraphStore) -> None:
    store.upsert_relations([_relation("c2", "Tomas Reed", "PRESIDES_OVER", "Gull Quay Society")])
    expected = {("Tomas Reed", "presides over", "Gull Quay Society")}
    assert facts(store.get_triplets(relation_names=["PRESIDES_OVER"])) == expected
    assert facts(store.get_triplets(relation_names=["presides over"])) == expected
    store.delete(relation_names=["Presides_Over"])
    assert store.get_triplets(relation_names=["presides over"]) == []


@of_every_store
def test_chunks_come_back_as_they_went_in(store: PropertyGraphStore) -> None:
    (node,) = store.get_llama_nodes(["c2"])
    assert node.node_id == "c2"
    assert node.get_content() == TEXTS["c2"]
    assert node.metadata["title"] == "Section 2"
    assert node.ref_doc_id == "second"
    assert {n.node_id for n in store.get_llama_nodes(["c1", "nobody", "c3"])} == {"c1", "c3"}


@only_ours
def test_every_place_where_a_relation_was_read_is_kept(store: PropertyGraphStore) -> None:
    store.upsert_llama_nodes([TextNode(id_="c4", text="Ada Brine met Tomas Reed again.")])
    store.upsert_relations([_relation("c4", "Ada Brine", "met", "Tomas Reed")])
    (triplet,) = store.get_triplets(relation_names=["met"])
    assert [place[0] for place in triplet[1].properties["evidences"]] == ["c1", "c4"]


# --- away -------------------------------------------------------------------------------------


@only_ours
def test_relations_are_deleted_by_their_name(store: PropertyGraphStore) -> None:
    store.delete(relation_names=["met"])
    assert store.get_triplets(relation_names=["met"]) == []
    assert facts(store.get_triplets(relation_names=["chairs"])) == {FACTS[2][1:]}


@only_ours
def test_deleting_a_relation_leaves_its_ends(store: PropertyGraphStore) -> None:
    before = entity_names(store)
    store.delete(relation_names=["met"])
    assert entity_names(store) == before


@only_ours
def test_an_entity_is_deleted_by_its_name_with_its_relations(store: PropertyGraphStore) -> None:
    store.delete(entity_names=["Ada Brine"])
    assert "Ada Brine" not in entity_names(store)
    assert store.get_triplets(entity_names=["Ada Brine"]) == []


@only_ours
def test_an_entity_is_deleted_by_its_id_and_the_others_stay(store: PropertyGraphStore) -> None:
    (brine,) = store.get(ids=["Ada Brine"])
    others = entity_names(store) - {"Ada Brine"}
    store.delete(ids=[brine.id])
    assert entity_names(store) == others
    assert facts(store.get_triplets(entity_names=sorted(others))) == {
        fact[1:] for fact in FACTS if "Ada Brine" not in fact
    }


@only_ours
def test_an_entity_that_is_a_title_too_can_be_deleted(empty: PropertyGraphStore) -> None:
    node = TextNode(id_="c", text="It lies in the north.", metadata={"title": "Port Merrow"})
    empty.upsert_llama_nodes([node])
    assert entity_names(empty) == {"Port Merrow"}
    empty.delete(entity_names=["port merrow"])
    assert entity_names(empty) == set()
    assert empty.get_llama_nodes(["c"])[0].metadata["title"] == "Port Merrow"


@of_every_store
def test_nodes_are_deleted_by_property(store: PropertyGraphStore) -> None:
    store.delete(properties={"title": "Section 3"})
    assert store.get_llama_nodes(["c3"]) == []
    assert store.get(ids=["c3"]) == []
    assert store.get_llama_nodes(["c1"]) != []


@only_ours
def test_chunks_are_deleted_by_their_id_and_by_their_document(store: PropertyGraphStore) -> None:
    store.delete_llama_nodes(node_ids=["c1"])
    assert {node.node_id for node in store.get_llama_nodes(sorted(TEXTS))} == {"c2", "c3"}
    store.delete_llama_nodes(ref_doc_ids=["second"])
    assert store.get_llama_nodes(sorted(TEXTS)) == []


@only_ours
def test_a_deleted_chunk_takes_along_what_only_it_said(store: PropertyGraphStore) -> None:
    store.delete_llama_nodes(node_ids=["c3"])
    assert "Petrel" not in entity_names(store)
    assert "Orrin Vale" in entity_names(store), "another chunk names him"
    assert store.get_triplets(relation_names=["repaired"]) == []


@only_ours
def test_many_chunks_are_deleted_at_once(empty: PropertyGraphStore) -> None:
    ids = [f"n{number}" for number in range(1_200)]
    empty.upsert_llama_nodes([TextNode(id_=name, text=f"Ada Brine {name}") for name in ids])
    empty.delete_llama_nodes(node_ids=ids)
    assert empty.get_llama_nodes(ids) == []


# --- what is not offered says so --------------------------------------------------------------


@of_every_store
def test_what_a_store_does_not_support_it_neither_claims_nor_pretends(
    empty: PropertyGraphStore,
) -> None:
    assert not empty.supports_structured_queries
    assert not empty.supports_vector_queries
    with pytest.raises(NotImplementedError):
        empty.structured_query("MATCH (n) RETURN n")
    with pytest.raises(NotImplementedError):
        empty.vector_query(VectorStoreQuery(query_embedding=[0.0]))


@only_ours
def test_the_schema_lists_types_and_predicates(store: PropertyGraphStore) -> None:
    schema = store.get_schema()
    assert schema["entity_types"] == ["NAME", "ORGANISATION"]  # a name's own words tell its type
    assert schema["predicates"] == sorted(fact[2] for fact in FACTS)
