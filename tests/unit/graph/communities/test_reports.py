"""What a report promises: true places, one thread back for each sentence, nothing written twice."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.communities.leiden import cluster_communities
from graph.communities.reports import (
    LARGE,
    MAX_FINDINGS,
    EntityMention,
    ReportInput,
    parts_of,
    report_rating,
    write_reports,
)
from graph.model import Chunk, Community, Entity, Evidence, Finding, Relation, Report, content_id
from graph.text import sentences
from graph.text.sentences import (
    sentence_quality,
    sentence_spans,
    sentences_at,
    sentences_with_entities,
)

STATION = {
    "doc1": (
        "# Petrel Station\n\nPetrel Station was founded in 1961 by Lin Ruoxi on Skerravane. "
        "It rained. Lin Ruoxi later joined the Kestrel Cable project from Petrel Station. "
        "- Lin Ruoxi\n\nNobody at Petrel Station had seen the cable before the storm came."
    ),
    "doc2": (
        "The Kestrel Cable was laid by Lin Ruoxi and a crew of nine in the summer of 1974. "
        "In winter the Kestrel Cable broke, and Petrel Station lost its only line to the mainland."
    ),
    "doc3": (
        "In winter the Kestrel Cable broke, and Petrel Station lost its only line to the mainland. "
        "Old Mill stands elsewhere. Old Mill has a wheel. The wheel of Old Mill turns every day."
    ),
    "doc4": "海燕站由林若溪于一九六一年创建。林若溪后来加入红隼电缆项目，并离开了海燕站。",
}
NAMES = ("Petrel Station", "Lin Ruoxi", "Kestrel Cable", "Old Mill", "海燕站", "林若溪", "红隼电缆")


def graph_of(texts: dict[str, str], names: tuple[str, ...] = NAMES) -> ReportInput:
    """A chunk a document, mentions wherever a name stands, relations within sentences."""
    chunks = {
        f"{key}#0": Chunk(id=f"{key}#0", document_id=key, title=key, text=text, end=len(text))
        for key, text in texts.items()
    }
    ids = {name: content_id("e", name) for name in names}
    mentions, places = [], {}
    for chunk in chunks.values():
        for start, end in sentence_spans(chunk.text):
            inside = sorted(name for name in names if name in chunk.text[start:end])
            for name in inside:
                at = chunk.text.index(name, start, end)
                mentions.append(
                    EntityMention(
                        chunk_id=chunk.id, start=at, end=at + len(name), entity_id=ids[name]
                    )
                )
            for left in inside:
                for right in (name for name in inside if name > left):
                    evidence = Evidence(chunk_id=chunk.id, start=start, end=end)
                    places.setdefault((left, right), []).append(evidence)
    relations = tuple(
        Relation(
            id=content_id("r", left, right),
            source_id=ids[left],
            predicate="occurs with",
            target_id=ids[right],
            weight=float(len(evidences)),
            evidences=tuple(evidences),
        )
        for (left, right), evidences in sorted(places.items())
    )
    entities = {
        ids[name]: Entity(
            id=ids[name],
            name=name,
            type="NAME",
            keys=(name.lower(),),
            aliases=(),
            mention_count=1,
            document_count=1,
        )
        for name in names
    }
    edges = [(r.source_id, r.target_id, r.weight) for r in relations]
    return ReportInput(
        communities=tuple(cluster_communities(list(entities), edges, seed=1)),
        entities=entities,
        relations=relations,
        chunks=chunks,
        mentions=tuple(mentions),
    )


def by_title(reports: list[Report]) -> dict[str, Report]:
    return {report.title: report for report in reports}


@pytest.fixture(scope="module")
def station() -> ReportInput:
    return graph_of(STATION)


def test_titles_name_the_most_central_members_in_their_own_language(station: ReportInput) -> None:
    titles = set(by_title(write_reports(station, previous={})))
    assert titles == {
        "Petrel Station, Kestrel Cable and Lin Ruoxi",
        "林若溪、海燕站与红隼电缆",
        "Old Mill",
    }


def test_every_finding_stands_at_its_first_place(station: ReportInput) -> None:
    for report in write_reports(station, previous={}):
        assert report.findings
        for finding in report.findings:
            place = finding.evidences[0]
            text = station.chunks[place.chunk_id].text[place.start : place.end]
            assert " ".join(text.split()) == finding.text


def test_a_summary_is_made_of_findings(station: ReportInput) -> None:
    for report in write_reports(station, previous={}):
        left = report.summary
        for finding in report.findings:
            left = left.replace(finding.text, "")
        assert left.strip() == ""
        assert report.summary


def test_a_sentence_that_two_documents_share_is_one_finding_with_two_places(
    station: ReportInput,
) -> None:
    report = by_title(write_reports(station, previous={}))[
        "Petrel Station, Kestrel Cable and Lin Ruoxi"
    ]
    broke = [finding for finding in report.findings if "broke" in finding.text]
    assert [[place.chunk_id for place in one.evidences] for one in broke] == [["doc2#0", "doc3#0"]]


def test_headings_and_list_fragments_are_no_findings(station: ReportInput) -> None:
    said = [f.text for report in write_reports(station, previous={}) for f in report.findings]
    assert not [text for text in said if text.startswith(("#", "- "))]


def test_findings_are_few_and_come_from_several_documents() -> None:
    texts = {
        f"doc{number:02}": f"Report {number} says that Petrel Station paid Lin Ruoxi "
        f"{number} crowns in the spring of {1900 + number}."
        for number in range(30)
    }
    (report,) = write_reports(graph_of(texts, ("Petrel Station", "Lin Ruoxi")), previous={})
    places = [finding.evidences[0].chunk_id for finding in report.findings]
    assert len(places) <= MAX_FINDINGS
    assert len(set(places)) == len(places)


def test_reports_do_not_depend_on_the_order_of_anything(station: ReportInput) -> None:
    chance = random.Random(3)  # noqa: S311 - a fixed shuffle
    shuffled = ReportInput(
        communities=tuple(chance.sample(station.communities, len(station.communities))),
        entities=dict(reversed(list(station.entities.items()))),
        relations=tuple(chance.sample(station.relations, len(station.relations))),
        chunks=dict(reversed(list(station.chunks.items()))),
        mentions=tuple(chance.sample(station.mentions, len(station.mentions))),
    )
    assert write_reports(shuffled, previous={}) == write_reports(station, previous={})


def test_known_reports_are_returned_as_they_are(station: ReportInput) -> None:
    first = write_reports(station, previous={})
    again = write_reports(station, previous={report.fingerprint: report for report in first})
    assert [id(report) for report in again] == [id(report) for report in first]


def test_a_new_document_rewrites_only_the_reports_it_speaks_to(station: ReportInput) -> None:
    first = write_reports(station, previous={})
    known = {report.fingerprint: report for report in first}
    more = {**STATION, "doc5": "A painter came to Old Mill in 1990 and never left it again."}
    after = by_title(write_reports(graph_of(more), previous=known))
    kept = {title for title, report in after.items() if report.fingerprint in known}
    assert kept == {"Petrel Station, Kestrel Cable and Lin Ruoxi", "林若溪、海燕站与红隼电缆"}
    assert all(after[title] is known[after[title].fingerprint] for title in kept)
    assert after["Old Mill"] == by_title(write_reports(graph_of(more), previous={}))["Old Mill"]


def changed_name(graph: ReportInput) -> ReportInput:
    return replace(
        graph,
        entities={key: replace(e, name=e.name + " II") for key, e in graph.entities.items()},
    )


def changed_text(graph: ReportInput) -> ReportInput:
    return replace(
        graph,
        chunks={
            key: replace(c, text=c.text.replace(".", "!").replace("。", "！"))
            for key, c in graph.chunks.items()
        },
    )


def changed_weight(graph: ReportInput) -> ReportInput:
    return replace(
        graph,
        relations=tuple(replace(r, weight=r.weight + 1) for r in graph.relations),
        communities=tuple(c for c in graph.communities if len(c.entity_ids) > 1),
    )


def changed_predicate(graph: ReportInput) -> ReportInput:
    return replace(
        graph,
        relations=tuple(replace(r, predicate="founded") for r in graph.relations),
        communities=tuple(c for c in graph.communities if len(c.entity_ids) > 1),
    )


@pytest.mark.parametrize("change", [changed_name, changed_text, changed_weight, changed_predicate])
def test_a_fingerprint_changes_with_what_the_report_rests_on(
    station: ReportInput, change: object
) -> None:
    assert callable(change)
    before = {report.fingerprint for report in write_reports(station, previous={})}
    after = {report.fingerprint for report in write_reports(change(station), previous={})}
    assert after
    assert not before & after


def test_fingerprints_of_different_communities_differ(station: ReportInput) -> None:
    reports = write_reports(station, previous={})
    assert len({report.fingerprint for report in reports}) == len(reports)


def test_an_entity_alone_is_reported_only_when_enough_is_said_of_it() -> None:
    little = graph_of({"doc1": "Old Mill stands elsewhere. Old Mill has a wheel."}, ("Old Mill",))
    much = graph_of({"doc1": STATION["doc3"]}, ("Old Mill",))
    assert write_reports(little, previous={}) == []
    assert [report.title for report in write_reports(much, previous={})] == ["Old Mill"]


def test_a_community_that_no_sentence_names_has_a_report_without_findings(
    station: ReportInput,
) -> None:
    two = sorted(station.entities)[:2]
    bare = ReportInput(
        communities=(Community(id="c1", level=0, parent_id=None, entity_ids=tuple(two)),),
        entities=station.entities,
        chunks={},
    )
    (report,) = write_reports(bare, previous={})
    assert (report.summary, report.findings, report.rating) == ("", (), 0.0)
    assert report.title


def test_an_empty_graph_has_no_reports() -> None:
    assert write_reports(ReportInput(entities={}, chunks={}), previous={}) == []


@pytest.mark.parametrize("weight", [0.0, 1.0, 40.0, 1e7])
def test_ratings_grow_with_weight_and_documents_and_stay_within_ten(weight: float) -> None:
    assert 0 <= report_rating(weight, documents=3) <= 10
    assert (
        report_rating(weight + 5, documents=3) > report_rating(weight, documents=3) or weight == 1e7
    )
    assert report_rating(weight, documents=9) > report_rating(weight, documents=3) or weight in (
        0.0,
        1e7,
    )


def test_a_sentence_in_two_overlapping_chunks_is_one() -> None:
    text = "Lin Ruoxi came. Petrel Station was hers. The end was near."
    whole = Chunk(id="a", document_id="d", title="d", text=text[:40], start=0, end=40, position=0)
    rest = Chunk(id="b", document_id="d", title="d", text=text[16:], start=16, end=58, position=1)
    found = sentences_with_entities(
        [rest, whole],
        spans=[("a", 16, ("e1",)), ("b", 0, ("e1", "e2"))],
        statements=[("b", 0, "e1", "e3", True)],
    )
    assert [(s.chunk_id, s.text, s.entity_ids, s.stated) for s in found] == [
        ("a", "Petrel Station was hers.", ("e1", "e2", "e3"), (("e1", "e3"),))
    ]


FRAGMENTS = st.sampled_from(
    ["Ada Brine", " came", ". ", "\n", "\n\n", "# Isles", "- ", "1. ", "。", "”", " ", "Dr. ", "?!"]
)


@given(
    text=st.lists(FRAGMENTS, max_size=40).map("".join),
    places=st.sets(st.integers(0, 200), max_size=4),
)
def test_a_sentence_found_by_its_place_is_the_one_found_by_reading_all(
    text: str, places: set[int]
) -> None:
    offsets = {place % len(text) for place in places if text}
    spans = sentence_spans(text)
    starts = [start for start, _ in spans]
    expected = {one: spans[max(0, bisect_right(starts, one) - 1)] for one in offsets if spans}
    assert sentences_at(text, offsets) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "FEW", 0)  # never all of it
        patch.setattr(sentences, "LOOK_BACK", 5)
        assert sentences_at(text, offsets) == expected


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param("Lin founded the station in 1961 on an island.", "## Lin", id="heading"),
        pytest.param("Lin founded the station in 1961 on an island.", "| Lin | 1961 |", id="table"),
        pytest.param(
            "Lin founded the station in 1961 on an island.",
            "He founded the station in 1961 on an island.",
            id="pronoun",
        ),
        pytest.param(
            "Lin founded the station in 1961 on an island.",
            "founded the station in 1961 on an island",
            id="fragment",
        ),
        pytest.param(
            "林若溪于一九六一年在岛上创建了海燕站并担任站长。", "他来了。", id="short Chinese"
        ),
        pytest.param(
            "Lin founded the station in 1961 on an island.",
            'Lin said, "the station was founded in 1961.',
            id="torn quotation",
        ),
    ],
)
def test_sentences_that_read_alone_are_preferred(better: str, worse: str) -> None:
    assert sentence_quality(better) > sentence_quality(worse)


# --- large communities ----------------------------------------------------------------------------


def report(part: str, *findings: str, stars: float = 5.0) -> Report:
    return Report(
        community_id=part,
        level=1,
        title=part,
        summary="",
        rating=stars,
        findings=tuple(
            Finding(text=text, evidences=(Evidence(chunk_id="k", start=n, end=n + 1),))
            for n, text in enumerate(findings)
        ),
        fingerprint=f"f-{part}",
    )


def large_graph(*told: Report) -> ReportInput:
    names = [f"Keeper {number}" for number in range(LARGE + 1)]
    entities = {
        name: Entity(
            id=name,
            name=name,
            type="PERSON",
            keys=(name,),
            aliases=(),
            mention_count=number,
            document_count=1,
        )
        for number, name in enumerate(names)
    }
    whole = Community(id="whole", level=0, parent_id=None, entity_ids=tuple(names))
    return ReportInput(
        communities=(whole,),
        entities=entities,
        chunks={},
        parts={"whole": tuple(part.community_id for part in told)},
        told={part.community_id: part for part in told},
    )


def test_a_large_community_is_told_from_its_parts_the_weightier_first() -> None:
    small = report("small", "The lamp was lit.", "The oil came in spring.", stars=2.0)
    big = report("big", "The harbour froze over.", "A whale was seen.", stars=8.0)
    (whole,) = write_reports(large_graph(small, big), previous={})
    said = [finding.text for finding in whole.findings]
    assert said[0] == "The harbour froze over."
    assert set(said) == {finding.text for part in (small, big) for finding in part.findings}
    assert whole.rating > big.rating
    assert whole.title == "Keeper 40, Keeper 39 and Keeper 38"


def test_what_two_parts_say_in_the_same_words_is_said_once() -> None:
    parts = report("a", "The lamp was lit in May."), report("b", "The lamp was lit in May.")
    (whole,) = write_reports(large_graph(*parts), previous={})
    assert [finding.text for finding in whole.findings] == ["The lamp was lit in May."]


def test_a_composed_report_is_written_again_only_when_a_part_is_another() -> None:
    parts = report("a", "The lamp was lit."), report("b", "A whale was seen.")
    (before,) = write_reports(large_graph(*parts), previous={})
    known = {before.fingerprint: before}
    (same,) = write_reports(large_graph(*reversed(parts)), previous=known)
    (other,) = write_reports(
        large_graph(parts[0], replace(parts[1], fingerprint="f-else")), previous=known
    )
    assert same is before
    assert other.fingerprint != before.fingerprint


def test_only_communities_that_are_large_and_divided_are_told_from_parts() -> None:
    names = tuple(f"e{number}" for number in range(LARGE + 1))
    whole = Community(id="whole", level=0, parent_id=None, entity_ids=names)
    part = Community(id="part", level=1, parent_id="whole", entity_ids=names[:30])
    leaf = Community(id="leaf", level=2, parent_id="part", entity_ids=names[:9])
    alone = Community(id="alone", level=0, parent_id=None, entity_ids=names)
    assert parts_of([whole, part, leaf, alone]) == {"whole": ("part",)}
