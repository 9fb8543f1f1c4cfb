"""Looking around: every sentence stands in its source, and nothing of others' documents shows."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from two_owners import NORTH, SECRETS, SOUTH, fill

from engine import KnowledgeEngine
from engine.errors import QuestionError, UnknownName


@pytest.fixture(scope="module")
def sample(
    tmp_path_factory: pytest.TempPathFactory, open_engine: object, corpus: Path
) -> Iterator[KnowledgeEngine]:
    with open_engine(tmp_path_factory.mktemp("sample") / "library") as engine:
        engine.add(corpus)
        yield engine


def quotes_in(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        if "quote" in value:
            yield value
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from quotes_in(part)


def plain(text: str) -> str:
    return " ".join(text.split())


def everything(engine: KnowledgeEngine, namespace: str | None) -> list[object]:
    """All that exploring can give out."""
    graph, found = engine.graph, []
    listed = graph.entities(limit=1000, namespace=namespace)
    found.append(listed)
    for entity in listed.items:
        found.append(graph.entity(entity.id, evidences=100, limit=1000, namespace=namespace))
        found.append(graph.neighbourhood(entity.id, hops=3, limit=1000, namespace=namespace))
        found += [
            graph.paths(entity.id, other.id, evidences=9, namespace=namespace)
            for other in listed.items[:6]
        ]
    communities = graph.communities(limit=1000, namespace=namespace)
    found.append(communities)
    found += [
        graph.community(community.id, limit=1000, namespace=namespace)
        for community in communities.items
    ]
    return [
        [asdict(part) for part in each] if isinstance(each, tuple) else asdict(each)
        for each in found
    ]


# --- nothing of others ------------------------------------------------------------------------


def test_nothing_of_another_namespace_shows_anywhere(shared: KnowledgeEngine) -> None:
    seen = json.dumps(everything(shared, "north"), ensure_ascii=False).casefold()
    assert [secret for secret in SECRETS if secret in seen] == []
    assert "quillfeather" in json.dumps(everything(shared, None)).casefold()


def test_a_namespace_has_the_entities_of_a_library_of_its_own(
    shared: KnowledgeEngine, alone: KnowledgeEngine
) -> None:
    def told(engine: KnowledgeEngine, namespace: str | None) -> list[object]:
        listed = engine.graph.entities(limit=1000, namespace=namespace)
        return sorted((e.name, e.type, e.aliases, e.mention_count, e.weight) for e in listed.items)

    assert told(shared, "north") == told(alone, None)


def test_a_namespace_has_the_relations_of_a_library_of_its_own(
    shared: KnowledgeEngine, alone: KnowledgeEngine
) -> None:
    def told(engine: KnowledgeEngine, namespace: str | None) -> list[object]:
        return sorted(
            (r.source_name, r.predicate, r.target_name, r.weight, len(r.evidence))
            for entity in engine.graph.entities(limit=1000, namespace=namespace).items
            for r in engine.graph.entity(entity.id, limit=1000, namespace=namespace).relations
        )

    assert told(shared, "north") == told(alone, None)


def test_an_entity_of_another_namespace_is_unknown_and_not_suggested(
    shared: KnowledgeEngine,
) -> None:
    theirs = shared.graph.entity("Xenia Morrow").id
    for name in ("Xenia Morrow", theirs, "Quillfeather", "Zanzara"):
        with pytest.raises(UnknownName) as told:
            shared.graph.entity(name, namespace="north")
        said = str(told.value).replace(repr(name), "").casefold()
        assert [secret for secret in SECRETS if secret in said] == []


def test_a_community_of_another_namespace_is_unknown(shared: KnowledgeEngine) -> None:
    seen = {c.id for c in shared.graph.communities(limit=1000, namespace="north").items}
    for hidden in {c.id for c in shared.graph.communities(limit=1000).items} - seen:
        with pytest.raises(UnknownName):
            shared.graph.community(hidden, namespace="north")


def test_filters_confine_as_namespaces_do(shared: KnowledgeEngine) -> None:
    by_filter = shared.graph.entities(limit=1000, filters=["document_id~north/"])
    assert by_filter == shared.graph.entities(limit=1000, namespace="north")
    assert shared.graph.entities(namespace="nowhere").items == ()
    assert shared.graph.communities(namespace="nowhere").items == ()


def test_what_is_removed_is_gone_from_every_picture(tmp_path: Path, open_engine: object) -> None:
    with open_engine(tmp_path / "library") as engine:
        fill(engine, NORTH | SOUTH, "")
        assert engine.graph.entity("Xenia Morrow").document_count == 2
        engine.remove(["south/a", "south/b"])
        seen = json.dumps(everything(engine, None), ensure_ascii=False).casefold()
    assert [secret for secret in SECRETS if secret in seen] == []


@pytest.mark.parametrize("part", [0, 1], ids=["even", "odd"])
def test_every_word_that_shows_stands_in_a_document_that_may_be_seen(
    sample: KnowledgeEngine, part: int
) -> None:
    rows = sample.documents()
    seen = {row.id: row.title for number, row in enumerate(rows) if number % 2 == part}
    texts = [plain(sample.document_text(name)) for name in seen]
    said = "\n".join([*texts, *map(plain, seen.values())]).casefold()
    confined = {"filters": {"document_id": sorted(seen)}, "limit": 1000}
    graph = sample.graph
    listed = graph.entities(**confined).items
    names = {name for entity in listed for name in (entity.name, *entity.aliases)}
    assert len(listed) > 100
    assert [name for name in names if plain(name).casefold() not in said] == []
    details = [graph.entity(entity.id, **confined) for entity in listed[:60]]
    communities = graph.communities(**confined).items
    details += [graph.community(one.id, **confined) for one in communities]
    told = list(quotes_in([asdict(detail) for detail in details]))
    assert {str(quote["document_id"]) for quote in told} <= seen.keys()
    titles = {name for one in communities for name in re.split(r", | and |: |、|与|：", one.title)}
    assert [name for name in titles if plain(name).casefold() not in said] == []


# --- what stands where ------------------------------------------------------------------------


def test_every_quote_stands_at_its_offsets(sample: KnowledgeEngine) -> None:
    graph = sample.graph
    names = [entity.id for entity in graph.entities(limit=40).items]
    found: list[object] = [asdict(graph.entity(name)) for name in names]
    found += [asdict(graph.neighbourhood(name)) for name in names[:10]]
    found += [asdict(path) for name in names[1:9] for path in graph.paths(names[0], name)]
    found += [asdict(graph.community(c.id)) for c in graph.communities(limit=20).items]
    told = list(quotes_in(found))
    texts = {name: sample.document_text(name) for name in {str(q["document_id"]) for q in told}}
    assert len(told) > 300
    for quote in told:
        text = texts[str(quote["document_id"])]
        assert text[quote["start"] : quote["end"]] == quote["quote"]  # type: ignore[misc]


def test_an_entity_is_found_by_any_name_and_says_why_they_are_one(alone: KnowledgeEngine) -> None:
    graph = alone.graph
    detail = graph.entity("greywing")
    assert detail == graph.entity(detail.id) == graph.entity("Ida  Brandt")
    assert detail.aliases == ("Greywing",)
    assert {name.name for name in detail.names} == {"ida brandt", "greywing"}
    assert all(name.reason for name in detail.names)
    assert {quote.document_id for quote in detail.evidence} == {"north::north/a", "north::north/b"}
    assert all("Ida" in quote.quote or "Greywing" in quote.quote for quote in detail.evidence)
    assert detail.relation_count == len(detail.relations) > 0
    assert all(detail.id in (r.source, r.target) for r in detail.relations)
    weights = [relation.weight for relation in detail.relations]
    assert weights == sorted(weights, reverse=True)


def test_the_document_about_a_thing_speaks_of_it_first(tmp_path: Path, open_engine: object) -> None:
    with open_engine(tmp_path / "library") as engine:
        engine.add_text("They say Ida Brandt sang.", document_id="a", title="Songs")
        engine.add_text("Once Ida Brandt met Ida Brandt.", document_id="b", title="Mirrors")
        engine.add_text("Here is Ida Brandt. Ida Brandt!", document_id="z", title="Ida Brandt")
        told = engine.graph.entity("Ida Brandt", evidences=4).evidence
    assert [quote.document_id for quote in told] == ["z", "b", "a", "z"]


def test_a_merge_by_hand_shows_at_once(tmp_path: Path, open_engine: object) -> None:
    with open_engine(tmp_path / "library") as engine:
        fill(engine, NORTH, "")
        graph = engine.graph
        assert graph.entity("Oslo").id != graph.entity("Port Ellery").id
        engine.entities.merge(["Oslo", "Port Ellery"])
        merged = graph.entity("Port Ellery")
        assert merged == graph.entity("oslo")
        assert {name.reason for name in merged.names} >= {"merged by hand"}


def test_pictures_are_shared_by_threads_while_documents_come(
    tmp_path: Path, open_engine: object
) -> None:
    with open_engine(tmp_path / "library") as engine:
        fill(engine, NORTH, "north")
        ended = threading.Event()

        def look(namespace: str | None) -> int:
            count = 0
            while not ended.is_set() or count == 0:
                for entity in engine.graph.entities(namespace=namespace).items[:3]:
                    with suppress(UnknownName):  # what rests on a change is not read before it is
                        engine.graph.entity(entity.id, namespace=namespace)  # derived anew
                engine.graph.communities(namespace=namespace)
                count += 1
            return count

        with ThreadPoolExecutor(3) as pool:
            looking = [pool.submit(look, namespace) for namespace in (None, "north", "south")]
            try:
                fill(engine, SOUTH, "south")
                engine.remove("north::north/b")
            finally:
                ended.set()
            assert all(each.result() > 0 for each in looking)
        names = {entity.name for entity in engine.graph.entities(namespace="south").items}
    assert "Xenia Morrow" in names


def test_a_path_is_told_step_by_step_with_the_sentences(alone: KnowledgeEngine) -> None:
    paths = alone.graph.paths("Ida Brandt", "Maeve Tolland")
    assert paths
    for path in paths:
        assert (path.nodes[0].name, path.nodes[-1].name) == ("Ida Brandt", "Maeve Tolland")
        for number, edge in enumerate(path.edges):
            pair = {path.nodes[number].id, path.nodes[number + 1].id}
            assert {edge.source, edge.target} == pair
            assert edge.evidence[0].quote in alone.document_text(edge.evidence[0].document_id)
    lengths = [len(path.edges) for path in paths]
    assert lengths == sorted(lengths)


def test_a_misspelt_name_names_what_comes_near(alone: KnowledgeEngine) -> None:
    with pytest.raises(UnknownName, match="Maeve Tolland"):
        alone.graph.entity("Maeve Toland")
    with pytest.raises(UnknownName, match="'Ida Brandt'"):
        alone.graph.paths("Oslo", "Ida Brant")
    with pytest.raises(UnknownName, match="list of communities"):
        alone.graph.community("c0")


def test_entities_are_found_by_part_of_a_name_by_kind_and_page_by_page(
    sample: KnowledgeEngine,
) -> None:
    graph = sample.graph
    everything_ = graph.entities(limit=1000)
    assert everything_.total == len(everything_.items)
    assert graph.entities(limit=7, offset=7).items == everything_.items[7:14]
    following = graph.entities(limit=7, after=everything_.items[6].id, offset=3)  # not at 3
    assert (following.items, following.begin) == (everything_.items[7:14], 7)
    assert graph.entities(limit=7, after="gone", offset=7) == following
    first = everything_.items[0]
    assert graph.entities(first.name.upper()).items[0] == first
    for kind in {entity.type for entity in everything_.items}:
        found = graph.entities(type=kind.lower(), limit=1000)
        assert {entity.type for entity in found.items} == {kind}
    assert graph.entities("ﷺ no such thing at all").total == 0


def test_communities_are_a_tree_with_reports(sample: KnowledgeEngine) -> None:
    graph = sample.graph
    listed = graph.communities(limit=1000)
    known = {community.id: community for community in listed.items}
    second = graph.communities(limit=2, after=listed.items[1].id)
    assert (second.items, second.begin) == (listed.items[2:4], 2)
    assert listed.levels == len({community.level for community in listed.items}) > 1
    for community in listed.items:
        detail = graph.community(community.id, limit=1000)
        assert (detail.title, detail.size) == (community.title, len(detail.entities))
        assert all(known[child].parent == community.id for child in community.children)
        if community.parent is not None:
            assert community.id in known[community.parent].children
            assert known[community.parent].level < community.level
    top = graph.community(graph.communities(0).items[0].id)
    assert top.findings
    assert all(plain(finding.evidence[0].quote) == plain(finding.text) for finding in top.findings)
    assert 0 < (top.rating or 0) <= 10
    member = graph.entity(top.entities[0].id)
    assert member.communities[0].id == top.id


@pytest.mark.parametrize(
    "arguments",
    [{"limit": 0}, {"limit": 1001}, {"offset": -1}],
    ids=["no limit", "too many", "before the first"],
)
def test_limits_are_refused_in_words(alone: KnowledgeEngine, arguments: dict[str, int]) -> None:
    with pytest.raises(QuestionError):
        alone.graph.entities(**arguments)
    with pytest.raises(QuestionError):
        alone.graph.neighbourhood("Oslo", hops=7)


def test_an_export_holds_the_claims_of_the_documents_that_are_seen_and_no_others(
    tmp_path: Path, open_engine: object
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for space in ("north", "south"):
            engine.add_text("Ada Brine owed Orrin Vale a boat.", document_id=space, namespace=space)
        keys = [e.keys[0] for e in engine.graph.export().entities if e.name == "Ada Brine"]
        with sqlite3.connect(tmp_path / "library" / "library.db") as database:
            for row in database.execute("SELECT id, document_id FROM chunks").fetchall():
                claim = (row[0], 0, 33, keys[0], "", "DEBT", "TRUE", "", "", f"said in {row[1]}")
                database.execute("INSERT INTO claims VALUES (?,?,?,?,?,?,?,?,?,?)", claim)
        database.close()
        whole, north = engine.graph.export(), engine.graph.export(namespace="north")
    assert {one.claim.text for one in whole.claims} == {
        "said in north::north",
        "said in south::south",
    }
    (only,) = north.claims
    assert only.claim.text == "said in north::north"
    assert only.subject_id in {entity.id for entity in north.entities}
