from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.communities.llm_reports import (
    MAX_EVIDENCES,
    ReportBasis,
    ReportMaterial,
    read_written,
    report_material,
    report_prompt,
)
from graph.model import Community, Entity, Evidence, Finding, Relation, Report


def _entity(number: int) -> Entity:
    return Entity(
        id=f"e{number}",
        name=f"Name {number}",
        type="PERSON",
        keys=(f"name {number}",),
        aliases=(),
        mention_count=10 - number,
        document_count=1,
        description="keeps the light" if number == 1 else "",
    )


def _report(key: str, *texts: str, rating: float = 4.0) -> Report:
    return Report(
        community_id=key,
        level=1,
        title=f"Title of {key}",
        summary="",
        rating=rating,
        findings=tuple(
            Finding(text=text, evidences=(Evidence(chunk_id=f"{key}{n}", start=0, end=9),))
            for n, text in enumerate(texts)
        ),
        fingerprint=f"f{key}",
    )


def _basis(key: str = "c1", *children: Report) -> ReportBasis:
    entities = (_entity(1), _entity(2))
    relation = Relation(
        id="r1",
        source_id="e1",
        predicate="relieves",
        target_id="e2",
        weight=2.0,
        evidences=tuple(Evidence(chunk_id=f"x{n}", start=0, end=5) for n in range(9)),
    )
    return ReportBasis(
        community=Community(id=key, level=0, parent_id=None, entity_ids=("e1", "e2")),
        derived=_report(key, "Name 1 lit the lamp.", "Name 2 came in 1902."),
        entities=entities,
        relations=(relation,),
        children=children,
    )


def _words(text: str) -> int:
    return len(text.split())


def _shown(*bases: ReportBasis) -> list[ReportMaterial]:
    shown: list[ReportMaterial] = []
    for basis in bases:
        first = 1 + sum(len(one.places) for one in shown)
        shown.append(report_material(basis, budget_tokens=500, count=_words, first=first))
    return shown


def _answer(**changes: object) -> dict[str, object]:
    finding = {"text": "The lamp was lit. [1]", "sources": [1]}
    return {
        "n": 1,
        "title": "The lamp",
        "summary": "A lamp and its keepers.",
        "rating": 7,
        "reason": "Much rests on it.",
        "findings": [finding],
    } | changes


def test_everything_numbered_has_its_places_and_numbers_run_through() -> None:
    first, second = _shown(_basis("c1"), _basis("c2"))
    assert sorted(first.places) == [1, 2, 3]
    assert sorted(second.places) == [4, 5, 6]
    assert "[1] Name 1 lit the lamp." in first.text
    assert "- Name 1 (PERSON): keeps the light" in first.text
    assert "[3] Name 1 – relieves – Name 2" in first.text
    assert len(first.places[3]) == MAX_EVIDENCES


def test_a_large_community_is_shown_by_the_reports_of_its_parts() -> None:
    (shown,) = _shown(_basis("c1", _report("p", "Part one."), _report("q", "Part two.", rating=9)))
    assert shown.text.splitlines() == [
        "* Title of q",
        "[1] Part two.",
        "* Title of p",
        "[2] Part one.",
    ]


def test_the_budget_is_kept() -> None:
    shown = report_material(_basis(), budget_tokens=9, count=_words)
    assert shown.tokens <= 9
    assert shown.text == "[1] Name 1 lit the lamp."


def test_the_request_is_in_the_language_of_the_text_and_fenced() -> None:
    chinese = ReportBasis(
        community=Community(id="c", level=0, parent_id=None, entity_ids=()),
        derived=_report("c", "刘备在涿郡起兵，关羽与张飞跟随他。"),
        entities=(),
        relations=(),
    )
    prompt = report_prompt(_shown(chinese))
    assert "报告" in prompt.system
    first, *_, last = prompt.user.splitlines()
    assert first.startswith("<quoted ") and last == first.replace("<", "</")
    assert "community" not in report_prompt(_shown(_basis())).user


def test_a_good_answer_becomes_a_report_whose_findings_keep_their_places() -> None:
    shown = _shown(_basis())
    found, unusable = read_written(json.dumps({"reports": [_answer()]}), shown)
    assert not unusable
    report = found["c1"]
    assert (report.title, report.rating) == ("The lamp", 7.0)
    assert report.findings[0].text == "The lamp was lit."
    assert report.findings[0].evidences == shown[0].places[1]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param("I cannot help with that.", "no JSON", id="refusal"),
        pytest.param(json.dumps({"reports": []}), "missing in the reply", id="left out"),
        pytest.param(
            json.dumps({"reports": [_answer(n=5), _answer(n=6)]}),
            "missing in the reply",
            id="others",
        ),
        pytest.param(json.dumps([_answer(summary="")]), "no summary", id="no summary"),
        pytest.param(json.dumps([_answer(findings=[])]), "names its evidence", id="no finding"),
        pytest.param(
            json.dumps([_answer(findings=[{"text": "All is well.", "sources": [99]}])]),
            "names its evidence",
            id="a number from nowhere",
        ),
    ],
)
def test_an_answer_that_cannot_be_used_has_its_reason(reply: str, reason: str) -> None:
    found, unusable = read_written(reply, _shown(_basis()))
    assert not found
    assert reason in unusable["c1"]


@pytest.mark.parametrize(
    ("rating", "read"),
    [("8", 8.0), ("9/10", 9.0), (55, 10.0), (-3, 0.0), ("high", 4.0), (float("nan"), 4.0)],
)
def test_a_rating_is_read_as_far_as_it_is_one(rating: object, read: float) -> None:
    found, _ = read_written(json.dumps([_answer(rating=rating)]), _shown(_basis()))
    assert found["c1"].rating == read


def test_an_answer_cut_off_keeps_the_reports_that_are_whole() -> None:
    whole = json.dumps({"reports": [_answer(), _answer(n=2, findings=[])]})
    found, unusable = read_written(
        whole[: whole.index('"n": 2') + 30], _shown(_basis(), _basis("c2"))
    )
    assert set(found) == {"c1"}
    assert set(unusable) == {"c2"}


@given(st.text(max_size=300))
def test_no_answer_raises(reply: str) -> None:
    found, unusable = read_written(reply, _shown(_basis()))
    assert found.keys() | unusable.keys() == {"c1"}
