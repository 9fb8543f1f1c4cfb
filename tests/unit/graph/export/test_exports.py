"""What the files promise: equal graphs give equal bytes, and nothing in a name can do harm."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import xml.etree.ElementTree as ElementTree
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import networkx
import pytest

from graph.communities.leiden import cluster_communities, partition_at_level
from graph.errors import GraphInputError
from graph.export.html import evidence_spans, readable_text, to_html
from graph.export.layout import heaviest_communities, layout_graph, pack_discs
from graph.export.subgraph import to_graphml, to_json
from graph.model import Chunk, Entity, Evidence, Finding, GraphExport, Relation, Report, content_id

HOSTILE = (
    "<script>alert(1)</script>",
    '"></script><img src=x onerror=alert(1)>',
    "</title><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{DATA}} {% raw %} ${1} \\u003c",
    "line\u2028separator\u2029 \x00\x0b\ud800 end",
    "__proto__",
    "林若溪 & 海燕站",
    "-->",
)


def example(count: int = 12, names: tuple[str, ...] = ()) -> GraphExport:
    """A ring of entities; a third of the links are stated relations."""
    chosen = [names[i] if i < len(names) else f"Name {i}" for i in range(count)]
    ids = [content_id("e", str(number)) for number in range(count)]
    text = " ".join(f"{name} stands here." for name in chosen)
    chunk = Chunk(id="k1", document_id="d1", title=chosen[0], text=text, end=len(text))
    place = Evidence(chunk_id="k1", start=0, end=min(200, len(text)))
    relations = [
        Relation(
            id=content_id("r", str(number)),
            source_id=ids[number],
            predicate="occurs with" if number % 3 else f"knows {chosen[0]}",
            target_id=ids[(number + 1) % count],
            weight=1.0 + number % 5,
            evidences=(place,),
        )
        for number in range(count)
    ]
    entities = [
        Entity(
            id=ids[number],
            name=chosen[number],
            type="PERSON",
            keys=(chosen[number].lower(),),
            aliases=(chosen[number], f"alias {chosen[number]}"),
            mention_count=number,
            document_count=1,
        )
        for number in range(count)
    ]
    found = cluster_communities(
        ids, [(r.source_id, r.target_id, r.weight) for r in relations], max_size=5, seed=1
    )
    reports = [
        Report(
            community_id=community.id,
            level=community.level,
            title=chosen[0],
            summary=chosen[0],
            rating=5.0,
            findings=(Finding(text=chosen[0], evidences=(place,)),),
            fingerprint=community.id,
        )
        for community in found
    ]
    return GraphExport(
        entities=tuple(entities),
        relations=tuple(relations),
        communities=tuple(found),
        reports=tuple(reports),
        chunks={"k1": chunk},
    )


def shuffled(export: GraphExport) -> GraphExport:
    chance = random.Random(5)  # noqa: S311 - a fixed shuffle
    return GraphExport(
        entities=tuple(chance.sample(export.entities, len(export.entities))),
        relations=tuple(chance.sample(export.relations, len(export.relations))),
        communities=tuple(chance.sample(export.communities, len(export.communities))),
        reports=tuple(chance.sample(export.reports, len(export.reports))),
        chunks=export.chunks,
    )


@pytest.mark.parametrize("write", [to_json, to_graphml, to_html])
def test_equal_graphs_give_equal_text_in_any_order(write: object) -> None:
    assert callable(write)
    export = example(30, HOSTILE)
    assert write(shuffled(export)) == write(export)


@pytest.mark.parametrize("write", [to_json, to_graphml, to_html])
def test_every_export_can_be_written_as_utf8(write: object) -> None:
    assert callable(write)
    assert write(example(12, HOSTILE)).encode("utf8")


@pytest.mark.parametrize("write", [to_json, to_graphml, to_html])
def test_an_empty_graph_can_be_exported(write: object) -> None:
    assert callable(write)
    assert write(GraphExport())


def test_json_holds_the_graph_with_places_but_without_texts() -> None:
    export = example(12, ("林若溪",))
    read = json.loads(to_json(export))
    assert [entity["name"] for entity in read["entities"]] == [
        entity.name for entity in sorted(export.entities, key=lambda e: e.id)
    ]
    assert {relation["id"] for relation in read["relations"]} == {r.id for r in export.relations}
    assert read["relations"][0]["evidences"][0]["chunk_id"] == "k1"
    assert {one["id"] for one in read["communities"]} == {c.id for c in export.communities}
    assert read["reports"][0]["findings"][0]["evidences"][0]["start"] == 0
    assert read["chunks"][0].keys() == {"id", "document_id", "title", "start", "end"}
    assert "林若溪" in to_json(export)
    assert "stands here" not in to_json(export)


def test_graphml_reads_back_as_the_same_graph() -> None:
    export = example(12, HOSTILE)
    read = networkx.parse_graphml(to_graphml(export), force_multigraph=True)
    assert set(read) == {entity.id for entity in export.entities}
    assert {(a, b) for a, b in read.edges()} == {
        (r.source_id, r.target_id) for r in export.relations
    }
    first = export.entities[0]
    assert read.nodes[first.id]["name"] == first.name
    assert read.nodes[first.id]["community_0"] in {c.id for c in export.communities if c.level == 0}


def test_graphml_is_well_formed_whatever_the_names_hold() -> None:
    text = to_graphml(example(12, HOSTILE))
    assert ElementTree.fromstring(text) is not None  # noqa: S314
    assert "\x00" not in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [
            value or "" for name, value in attrs if name in ("src", "href", "action", "data")
        ]


def tags_of(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    return tags


def test_hostile_names_add_no_element_to_the_page() -> None:
    calm = tags_of(to_html(example(12), title="Calm"))
    hostile = tags_of(to_html(example(12, HOSTILE), title=HOSTILE[1]))
    assert hostile.tags == calm.tags


def test_the_page_points_nowhere_and_forbids_requests() -> None:
    page = to_html(example(12, HOSTILE))
    assert tags_of(page).addresses == ["data:,", "#panel"]
    assert "default-src &#x27;none&#x27;" in page
    assert "cdn" not in page.split("<script", 1)[0]
    assert "cdnjs" not in page
    assert "bootstrap" not in page


def scripts_of(page: str) -> dict[str, str]:
    """The data of the page by id."""
    pattern = r'<script type="[^"]+" id="([^"]+)">(.*?)</script>'
    return dict(re.findall(pattern, page, re.DOTALL))


def unpacked(text: str) -> dict[str, object]:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def test_what_documents_say_stands_in_the_page_as_ascii() -> None:
    data = scripts_of(to_html(example(12, HOSTILE)))
    assert sorted(data) == ["columns", "first", "texts-0"]
    for text in data.values():
        assert text.isascii()
        assert not re.search(r"[<>&']", text)
    entities = unpacked(data["columns"])["entities"]
    assert HOSTILE[0] in entities["name"]
    assert any("stands here" in text for text in unpacked(data["texts-0"])["text"])


def test_no_script_runs_but_those_whose_hashes_the_policy_names() -> None:
    page = to_html(example(12, HOSTILE), title=HOSTILE[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "unsafe-inline" not in policy.group(1).split("script-src")[1].split(";")[0]
    allowed = set(re.findall(r"sha256-([A-Za-z0-9+/=]+)", policy.group(1)))
    run = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in run}
    assert hashes == allowed


def test_a_larger_graph_is_cut_to_the_heaviest_and_says_so() -> None:
    export = example(300)
    data = scripts_of(to_html(export, max_nodes=50))
    totals = json.loads(data["first"])["totals"]
    assert (totals["entities"], totals["held"]) == (300, 50)
    assert len(unpacked(data["columns"])["entities"]["name"]) == 50


def test_a_graph_without_communities_is_drawn() -> None:
    data = scripts_of(to_html(replace(example(9), communities=(), reports=())))
    assert json.loads(data["first"])["is_flat"]
    assert "Name 8" in unpacked(data["columns"])["entities"]["name"]


def test_sentences_are_kept_first_of_every_relation_then_second_until_the_room_is_full() -> None:
    places = [Evidence(chunk_id="k", start=10 * n, end=10 * n + 10) for n in range(4)]

    def relation(name: str, weight: float, *evidences: Evidence) -> Relation:
        return Relation(
            id=name,
            source_id="a",
            predicate="knows",
            target_id="b",
            weight=weight,
            evidences=evidences,
        )

    light, heavy = relation("l", 1.0, places[0]), relation("h", 5.0, places[1], places[2])
    both = evidence_spans([light, heavy], max_characters=20)
    assert both == {"l": [places[0]], "h": [places[1]]}
    shared = evidence_spans([light, relation("h", 5.0, places[0], places[3])], max_characters=20)
    assert shared == {"l": [places[0]], "h": [places[0], places[3]]}


def test_the_overview_is_wider_than_high_and_its_bubbles_do_not_touch() -> None:
    export = example(400)
    found = heaviest_communities(export, limit=12)
    bubbles = found.bubbles
    assert (len(bubbles), found.further > 0) == (12, True)
    assert overlaps([(one.x, one.y) for one in bubbles], [one.radius for one in bubbles]) == 0
    assert [one.weight for one in bubbles] == sorted((b.weight for b in bubbles), reverse=True)
    assert len(bubbles) + found.further == sum(
        len(one.entity_ids) > 1 for one in partition_at_level(export.communities, 0)
    )


def test_no_room_for_a_node_is_refused() -> None:
    with pytest.raises(GraphInputError, match="max_nodes"):
        to_html(example(3), max_nodes=0)


def overlaps(positions: list[tuple[float, float]], radii: list[float]) -> int:
    count = 0
    for one, ((x, y), r) in enumerate(zip(positions, radii, strict=True)):
        for (u, v), s in zip(positions[:one], radii[:one], strict=True):
            count += (x - u) ** 2 + (y - v) ** 2 < (r + s - 0.1) ** 2
    return count


def test_no_two_nodes_overlap_and_groups_stand_apart() -> None:
    chance = random.Random(2)  # noqa: S311 - a fixed example
    radii = [5 + 20 * chance.random() ** 3 for _ in range(240)]
    paths = [(number % 7, number % 21) for number in range(240)]
    pairs = {tuple(sorted(chance.sample(range(240), 2))) for _ in range(500)}
    placed = layout_graph(radii, paths, edges=dict.fromkeys(sorted(pairs), 1.0))
    assert overlaps(placed.positions, radii) == 0
    discs = [disc for key, disc in sorted(placed.discs.items()) if len(key) == 1]
    assert overlaps([(x, y) for x, y, _ in discs], [radius for _, _, radius in discs]) == 0
    for (x, y), radius, path in zip(placed.positions, radii, paths, strict=True):
        u, v, room = placed.discs[path[:1]]
        assert ((x - u) ** 2 + (y - v) ** 2) ** 0.5 + radius <= room + 0.1


@pytest.mark.parametrize("count", [1, 2, 95, 300])
def test_discs_of_any_number_are_packed_without_overlap(count: int) -> None:
    sizes = [10.0 + number % 9 for number in range(count)]
    names = [(number,) for number in range(count)]
    links = {(names[0], name): 1.0 for name in names[1:]}
    assert overlaps(pack_discs(sizes, links, names=names), sizes) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("The **Tolland Station** is old.", "The Tolland Station is old.", id="bold"),
        pytest.param("The ship *Ursula* sank.", "The ship Ursula sank.", id="italics"),
        pytest.param(
            "- See [the log](notes.md)\n today.", "See the log today.", id="list and link"
        ),
        pytest.param("3 * 4 and 2 * 6", "3 * 4 and 2 * 6", id="times"),
        pytest.param("海燕站（**旧**）很小。", "海燕站（旧）很小。", id="Chinese"),
    ],
)
def test_sentences_are_shown_without_marks_of_markdown(text: str, expected: str) -> None:
    assert readable_text(text) == expected
