"""Rules that make questions of sentences and of a document's structure."""

from __future__ import annotations

import pytest

from engine.evaluation.datasets import GoldSpan
from engine.evaluation.gold import GoldQuestion, gold_question
from engine.evaluation.questions.chinese import clause_questions
from engine.evaluation.questions.combined import (
    PlacedFact,
    absent,
    bridges,
    comparisons,
    events,
    two_facts,
    two_hops,
)
from engine.evaluation.questions.english import Clause, Fact, is_usable, parse_english
from engine.evaluation.questions.entries import entry_questions, makers
from engine.evaluation.questions.structure import SourceDocument, structure_questions


def asked(sentence: str) -> dict[str, tuple[str, str]]:
    (doc,) = parse_english([sentence])
    clause = Clause(doc, people=("Ada Brine",))
    if not clause.is_usable:
        return {}
    return {one.kind: (one.text, one.value) for one in clause.questions()}


@pytest.mark.parametrize(
    ("sentence", "kind", "text", "value"),
    [
        pytest.param(
            "Ada Brine founded Gull Quay Museum in 1901.",
            "when",
            "When did Ada Brine found Gull Quay Museum?",
            "1901",
            id="when",
        ),
        pytest.param(
            "The observatory was commissioned by Isla Eck on 1 September 2014.",
            "when",
            "When was the observatory commissioned by Isla Eck?",
            "1 September 2014",
            id="passive",
        ),
        pytest.param(
            "Old Bess is the tide gauge on the harbour wall of Port Ansgar.",
            "what is",
            "What is Old Bess?",
            "the tide gauge on the harbour wall of Port Ansgar",
            id="definition",
        ),
        pytest.param(
            "The island burns nine million litres of diesel a year.",
            "how many",
            "How many litres of diesel does the island burn a year?",
            "nine million",
            id="how many",
        ),
    ],
)
def test_english_sentences_are_asked_for_one_part(
    sentence: str, kind: str, text: str, value: str
) -> None:
    assert asked(sentence)[kind] == (text, value)


@pytest.mark.parametrize(
    "sentence",
    ["He was born in London in 1901.", "This station was then opened in 1901.", "See Table 3."],
)
def test_sentences_that_lean_on_others_are_not_used(sentence: str) -> None:
    assert not is_usable(sentence) or asked(sentence) == {}


@pytest.mark.parametrize(
    ("sentence", "text", "value"),
    [
        pytest.param(
            "刘节于1977年7月21日因喉癌在广州病逝。",
            "刘节在什么时候因喉癌在广州病逝？",
            "1977年7月21日",
            id="when",
        ),
        pytest.param(
            "沈望舒出生于临澜市旧港区。", "沈望舒出生于哪里？", "临澜市旧港区", id="where"
        ),
        pytest.param(
            "云南省公安厅悬红10万元人民币缉凶。",
            "云南省公安厅悬红多少元人民币缉凶？",
            "10万元",
            id="how many",
        ),
    ],
)
def test_chinese_clauses_are_asked_in_place(sentence: str, text: str, value: str) -> None:
    assert (text, value) in [(one.text, one.value) for one in clause_questions(sentence)]


def test_a_chinese_clause_that_leans_on_another_is_not_used() -> None:
    assert list(clause_questions("他于1977年7月21日因喉癌在广州病逝。")) == []


TEXT = """# Nodes of the cable

Owner: Gull Quay Trust
Version: 4.2

## How to reset a node

Press the red button for five seconds and wait until the lamp turns green again.

## Is the cable insured?

The cable is insured for two million euros until 2030.

## Spare parts

- Fuse box
- Pressure case
- Cable drum

## Depths

| Node | Depth | Instrument |
|---|---|---|
| 1 | 40 m | Camera |
| 2 | 210 m | Sensor |
"""


def test_structure_gives_questions_with_exact_spans() -> None:
    document = SourceDocument(id="d", title="Nodes of the cable", text=TEXT, language="en")
    found = {one.kind: one for one in structure_questions(document)}
    assert set(found) == {"overview", "how to", "faq", "list", "table", "comparison", "field"}
    for one in found.values():
        for span in one.query.gold_spans:
            held = TEXT[span.start : span.end]
            assert held == held.strip()
            if one.kind in ("table", "field", "faq"):
                assert one.answers[0] in held
    assert found["faq"].text == "According to “Nodes of the cable”, is the cable insured?"
    assert found["comparison"].answers == ("node 2",)
    assert found["list"].points == ("Fuse box", "Pressure case", "Cable drum")


def test_two_events_with_one_verb_are_compared() -> None:
    facts = [
        PlacedFact(
            fact=Fact(
                subject=name, is_person=False, lemma="found", date=date,
                event="was founded",
            ),
            span=GoldSpan(document_id="d", start=n, end=n + 1),
        )
        for n, (name, date) in enumerate([("Gull Trust", "1901"), ("Reed Club", "May 1880")])
    ]  # fmt: skip
    (question,) = comparisons(events(facts, ()))
    assert question.text == "Which was founded earlier, Gull Trust or Reed Club?"
    assert question.answers == ("Reed Club",)


BRINE = SourceDocument(
    id="brine",
    title="Ada Brine",
    text="Ada Brine (3 March 1850 – 9 May 1931) was a Cornish director. She kept the lamp.",
    language="en",
)
QUAY = SourceDocument(
    id="quay",
    title="Gull Quay (film)",
    text="Gull Quay is a 1911 silent film directed by Ada Brine and starring Orrin Vale.",
    language="en",
)


def test_the_dates_behind_a_name_are_asked_for() -> None:
    found = {one.text: one.answers for one in entry_questions(BRINE)}
    assert found == {
        "When was Ada Brine born?": ("3 March 1850",),
        "When did Ada Brine die?": ("9 May 1931",),
    }


def test_a_maker_is_asked_for_by_the_work_alone() -> None:
    (maker,) = makers([BRINE, QUAY])
    assert (maker.name, maker.span.document_id) == ("Ada Brine", "quay")
    first, _ = two_hops([maker], list(entry_questions(BRINE)))
    assert first.text == "When was the person who directed “Gull Quay (film)” born?"
    assert [span.document_id for span in first.query.gold_spans] == ["quay", "brine"]


@pytest.mark.parametrize(
    "text",
    [
        "Gull Quay is a 1911 film about a house built by Ada Brine.",
        "Gull Quay is a 1911 film directed by Ada Brine and Orrin Vale.",
        "Gull Quay is a 1911 film produced by Brine Pictures.",
    ],
)
def test_a_sentence_that_names_no_single_maker_gives_none(text: str) -> None:
    document = SourceDocument(id="q", title="Gull Quay", text=text, language="en")
    assert list(makers([document])) == []


def asked_in(document: str, text: str, kind: str, value: str, start: int = 0) -> GoldQuestion:
    return gold_question(
        text, kind=kind, language="en", answers=[value],
        spans=[GoldSpan(document_id=document, start=start, end=start + 30)],
    )  # fmt: skip


def test_two_facts_about_one_name_are_asked_for_together() -> None:
    (found,) = two_facts(
        [
            asked_in("a", "When did Orrin Vale visit Ada Brine?", "when", "1901"),
            asked_in("b", "Where was Ada Brine born?", "where", "Truro"),
            asked_in("c", "Where did Kit Marl meet Jem Rowe in May?", "where", "Bude"),
        ]
    )
    assert found.text == "When did Orrin Vale visit Ada Brine, and where was Ada Brine born?"
    assert (found.points, found.hops) == (("1901", "Truro"), 2)


def test_two_facts_of_one_document_name_it_once() -> None:
    (found,) = two_facts(
        [
            asked_in("a", "According to “The lamp”, when was the wick cut?", "when", "1901"),
            asked_in("a", "According to “The lamp”, who cut it?", "who", "Ada", start=5_000),
        ]
    )
    assert found.text == "According to “The lamp”, when was the wick cut, and who cut it?"


def test_the_second_fact_of_a_long_table_is_looked_for_among_the_next_rows_alone() -> None:
    colours = ["red"] * 400 + ["blue"]
    rows = [
        asked_in(f"d{number}", f"What does “No. {number}” give as colour?", "field", colour)
        for number, colour in enumerate(colours)
    ]
    (found,) = two_facts(rows)
    assert found.text == "What do “No. 200” and “No. 400” each give as colour?"
    assert list(two_facts(rows[:400])) == []


def test_a_name_that_a_table_gives_is_asked_for_by_its_place_in_the_table() -> None:
    maker = asked_in("a", "What is the maker of Old Bess?", "table", "Brine & Sons")
    born = asked_in("b", "When was Brine & Sons founded?", "when", "1880")
    (found,) = two_hops(bridges([maker], []), [born])
    assert found.text == "When was the maker of Old Bess founded?"
    assert [span.document_id for span in found.query.gold_spans] == ["a", "b"]


LAMP = SourceDocument(
    id="lamp",
    title="The lamp",
    text="## Trimming the wick\n\nThe wick is trimmed daily. Sand lies beneath.\n\n"
    + "Oil. " * 300,
    language="en",
)
BOAT = SourceDocument(id="boat", title="The boat", text="The boat leaks. " * 200, language="en")


def test_a_heading_is_asked_for_by_all_that_stands_below_and_of_no_other_document() -> None:
    (found,) = [one for one in structure_questions(LAMP) if one.kind == "section"]
    assert found.text == "What does “The lamp” say about “Trimming the wick”?"
    assert found.points == ("The wick is trimmed daily.", "Sand lies beneath.")
    (lacking,) = absent([found], [LAMP, BOAT])
    assert lacking.text == "What does “The boat” say about “Trimming the wick”?"
    assert not lacking.answerable


def test_a_command_is_asked_for_by_what_it_does() -> None:
    sentence = "The keelcheck command lists all planks of a hull."
    assert asked(sentence)["which"] == ("Which command lists all planks of a hull?", "keelcheck")


def test_an_unnamed_thing_is_not_asked_for_its_reason() -> None:
    assert "why" not in asked("The procedure is simple because the images are hybrid ones.")


def test_an_opinion_with_its_reason_is_no_definition() -> None:
    found = asked("Gull Quay Museum is a burden to the town because the roof leaks.")
    assert set(found) == {"why"}


def test_a_cell_of_commas_is_no_figure() -> None:
    text = "| Name | Cost |\n|---|---|\n| Alpha | -, |\n| Beta | -, |\n| Gamma | 3 |\n"
    document = SourceDocument(id="d", title="Harbour Works", text=text, language="en")
    assert "comparison" not in {one.kind for one in structure_questions(document)}
