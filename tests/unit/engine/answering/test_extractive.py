"""Answers without a language model: sentences that answer, cited exactly, or an abstention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.answering.extractive.answer import extractive_answer
from engine.answering.extractive.evidence import unsaid_codes
from engine.answering.extractive.question_type import (
    answer_types,
    has_answer_type,
    strip_question_words,
)
from engine.answering.extractive.sentence_scoring import amount_bonus, counted_things
from engine.answering.packing import Draft
from engine.plain_text import strip_markdown
from engine.prompts import ABSTENTION
from engine.retrieval.passages import led_by, split_passages, with_neighbours
from engine.storage.tokenization import tokens
from engine.types import Passage

DOCUMENTS = {
    "Maren Holt": (
        "# Maren Holt\n\n**Maren Holt** (1931–2009) was a botanist on the isle of Vey. "
        "She founded the [Vey Station](../vey.md) on 1 June 1974 with Jon Abara. "
        "Visitors liked her tea."
    ),
    "Jon Abara": "Jon Abara was an engineer. He was born in Trieste in 1928. He built winches.",
    "Vey Station": (
        "The Vey Station keeps 61 notebooks. Its glider carried the serial number GL-PIL-02. "
        "The station closed in 2011."
    ),
    "维岛站": "维岛站建于1974年，位于北角。站长沈望舒毕业于临澜大学。该站共有61本笔记。",
}


def passages(*titles: str, shift: int = 0, relevance: float = 0.9) -> list[Passage]:
    return [
        Passage(
            text=DOCUMENTS[title],
            score=1.0 / place,
            relevance=relevance,
            document_id=title,
            chunk_id=f"c{place}",
            title=title,
            start=shift,
            end=shift + len(DOCUMENTS[title]),
            page=2,
        )
        for place, title in enumerate(titles or DOCUMENTS, start=1)
    ]


@cache
def weight(term: str) -> float:
    held = sum(term in tokens(f"{title} {text}") for title, text in DOCUMENTS.items())
    return math.log(1 + (len(DOCUMENTS) - held + 0.5) / (held + 0.5))


def answer(question: str, found: Sequence[Passage] | None = None, **options: Any) -> Draft:
    return extractive_answer(
        question, passages() if found is None else found, weight=weight, **options
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("Who founded the Vey Station?", "founded the Vey Station", id="who"),
        pytest.param("When was the Vey Station founded?", "1 June 1974", id="when"),
        pytest.param("How many notebooks does the station keep?", "61 notebooks", id="how-many"),
        pytest.param("What is the glider's serial number?", "GL-PIL-02", id="code"),
        pytest.param("Where was Jon Abara born?", "Trieste", id="where"),
        pytest.param("维岛站的站长是谁？", "沈望舒", id="who-chinese"),
        pytest.param("维岛站建于何时？", "1974年", id="when-chinese"),
        pytest.param("维岛站有多少本笔记？", "61本", id="how-many-chinese"),
    ],
)
def test_the_first_sentence_is_the_direct_one(question: str, expected: str) -> None:
    draft = answer(question)

    assert not draft.abstained
    assert expected in draft.text.splitlines()[0]


@pytest.mark.parametrize(
    ("question", "unsaid"),
    [
        pytest.param("What does dpkg --configure do?", ["--configure"], id="option"),
        pytest.param("When was Debian 1.1 released?", ["1.1"], id="version"),
        pytest.param("When was Debian 12.11 released?", [], id="told"),
        pytest.param("When was v12.11 released, or 3.2?", [], id="v-before-a-version"),
        pytest.param("What is new in v1.2b, or in rc.d?", ["rc.d"], id="v-before-a-letter"),
        pytest.param("Why /etc/fstab or core.autocrlf?", ["core.autocrlf"], id="path-told"),
        pytest.param("用--no-act和-i选项做什么？", ["--no-act"], id="chinese"),
        pytest.param("--purge和2.4版是什么？", [], id="told-in-chinese"),
        pytest.param("Did the U.S. Ph.D. buy and/or sell a .deb?", [], id="no-codes"),
        pytest.param("What does cannot find -lxxx mean?", [], id="any-code"),
    ],
)
def test_what_has_not_the_code_that_is_asked_about_is_told(
    question: str, unsaid: list[str]
) -> None:
    told = (
        "Debian 12.11 (not v3.2; v1.2b): see /etc/fstab; dpkg -i does. 可用--purge选项，见2.4版。"
    )

    assert unsaid_codes(question, told) == unsaid


def test_an_answer_without_the_version_that_is_asked_about_is_doubted() -> None:
    draft = answer("When was the Vey Station 1.1 founded?")

    assert draft.text.startswith("This may not answer the question:") or draft.abstained
    assert draft.short is None


def test_a_bridge_leads_to_the_second_passage() -> None:
    question = "Where was the man born who founded the Vey Station with Maren Holt?"

    assert "Trieste" in answer(question, passages("Maren Holt", "Vey Station", "Jon Abara")).text


@settings(deadline=None)
@given(st.integers(0, 10_000), st.permutations(sorted(DOCUMENTS)))
def test_every_quote_stands_at_its_offsets_in_the_document(shift: int, order: list[str]) -> None:
    draft = answer("When was the Vey Station founded?", passages(*order, shift=shift))

    assert draft.citations
    for citation in draft.citations:
        text = " " * shift + DOCUMENTS[citation.document_id]
        assert text[citation.start : citation.end] == citation.quote
        assert f"[{citation.number}]" in draft.text


def test_the_text_reads_plainly_while_the_quote_is_exact() -> None:
    draft = answer("When was the Vey Station founded?", max_sentences=1)

    assert "She founded the Vey Station on 1 June 1974 with Jon Abara. [1]" in draft.text
    assert draft.text.startswith("Maren Holt: She")
    assert "[Vey Station](../vey.md)" in draft.citations[0].quote


@pytest.mark.parametrize(
    ("question", "language"),
    [
        pytest.param("What is the boiling point of tungsten?", "en", id="nothing-in-common"),
        pytest.param("What is Rosalind Kerr's passport number?", "en", id="unknown-name"),
        pytest.param("电动自行车的电池应该怎样更换？", "zh", id="chinese"),
    ],
)
def test_it_abstains_in_the_language_of_the_question(question: str, language: str) -> None:
    draft = answer(question)

    assert draft.abstained
    assert draft.citations == ()
    assert draft.text == ABSTENTION[language]  # type: ignore[index]


@pytest.mark.parametrize("question", ["", "   ", "???", "the of and", "是什么？"])
def test_a_question_without_words_is_abstained_from(question: str) -> None:
    assert answer(question).abstained


def test_no_passages_no_answer() -> None:
    assert answer("Who founded the Vey Station?", []).abstained


def test_irrelevant_passages_weaken_the_evidence() -> None:
    question = "Who founded the Vey Station?"

    strong = answer(question, passages(relevance=0.9)).evidence
    weak = answer(question, passages(relevance=0.01))
    assert weak.evidence < strong
    assert weak.abstained


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        pytest.param("When did Maren Holt die?", "When did Jon Abara die?", id="no-death"),
        pytest.param("维岛站建于哪一年？", "维岛站关闭于哪一年？", id="chinese"),
    ],
)
def test_a_fact_that_is_nowhere_said_of_a_known_thing_weakens_the_evidence(
    question: str, missing: str
) -> None:
    """Another one's death beside it is none of its own."""
    told, untold = answer(question, min_evidence=0.0), answer(missing, min_evidence=0.0)

    assert untold.figures["bound"] < told.figures["bound"]
    assert untold.evidence < told.evidence


def test_a_question_of_one_word_about_a_known_thing_is_declined_where_nothing_says_it() -> None:
    assert answer("When did Jon Abara die?").abstained
    assert not answer("When did Maren Holt die?").abstained


def test_sentences_are_added_for_words_that_the_likeliest_one_lacks() -> None:
    """The first step of two is the likeliest; what is asked of it stands elsewhere."""
    question = "Who is the head of the station that Maren Holt founded?"
    texts = {
        "Maren Holt": "Maren Holt founded the Vey Station on 1 June 1974. She liked tea.",
        "Vey": "Vey has a church. The head of the Vey Station is Ada Roe.",
    }
    found = [
        replace(
            passages()[0], text=text, title=title, document_id=title, chunk_id=title, end=len(text)
        )
        for title, text in texts.items()
    ]

    draft = answer(question, found, sure=0.0, max_sentences=2)

    assert "founded the Vey Station" in draft.text
    assert "Ada Roe" in draft.text


@pytest.mark.parametrize(
    ("question", "text", "is_counted"),
    [
        pytest.param("How many nodes are there?", "for six instrument nodes", True, id="word"),
        pytest.param("How many people work there?", "It employs 46 people.", True, id="verb"),
        pytest.param("How many of the plants lived?", "84 of 300 plants", True, id="of"),
        pytest.param("How many nodes are there?", "Node 4 fell silent in 2018.", False, id="other"),
        pytest.param("How many are there?", "six nodes", None, id="no-noun"),
        pytest.param("When did it open?", "six nodes", None, id="no-count"),
    ],
)
def test_a_number_of_the_things_asked_for_counts(
    question: str, text: str, is_counted: bool | None
) -> None:
    counted = counted_things(question)
    assert (counted and bool(counted.search(text))) == is_counted


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("LANTERN is a cabled observatory running 142 km from the port.", True),
        ("In 2014 the ship laid the 142 km LANTERN observatory cable.", True),
        ("The shed is 212 metres long and is the landing place of the LANTERN cable.", False),
        ("The LANTERN cable carries power and data.", False),
    ],
)
def test_a_measure_of_the_thing_asked_for_counts(text: str, is_meant: bool) -> None:
    bonus = amount_bonus("How long is the LANTERN cable?")
    (sentence,) = split_passages([replace(passages()[0], text=text, title="")])
    assert bonus is not None
    assert (bonus(sentence) > 0) == is_meant


def test_an_unknown_code_weakens_the_evidence() -> None:
    known = answer("Which glider has the serial number GL-PIL-02?")
    unknown = answer("Which glider has the serial number ZZ-QRS-77?")

    assert known.figures["unknown"] == 0.0
    assert unknown.figures["unknown"] == 1.0
    assert unknown.abstained


def test_no_more_sentences_than_asked_for_and_none_twice() -> None:
    for limit in (1, 2, 3):
        draft = answer("Maren Holt and the Vey Station", max_sentences=limit, min_evidence=0.0)
        spans = [(c.document_id, c.start, c.end) for c in draft.citations]
        assert 1 <= len(spans) <= limit
        assert len(set(spans)) == len(spans)


def test_the_same_question_gives_the_same_answer() -> None:
    assert answer("Who founded the Vey Station?") == answer("Who founded the Vey Station?")


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        pytest.param("When did it open?", "It opened on 3 May 1990.", 1.0, id="date"),
        pytest.param("When did it open?", "It opened with a feast.", 0.0, id="no-date"),
        pytest.param("谁写的？", "由沈望舒写成。", 1.0, id="person-chinese"),
        pytest.param("Tell me more.", "Anything 1990.", 0.0, id="nothing-expected"),
    ],
)
def test_kinds_are_asked_for_and_shown(question: str, text: str, share: float) -> None:
    assert has_answer_type(text, answer_types(question)) == share


def test_words_that_only_ask_are_taken_out() -> None:
    assert strip_question_words("Who founded the club?") == "founded the club?"
    assert strip_question_words("这家公司是谁创立的？") == "这家公司 创立 ？"
    assert strip_question_words("董卓是怎么死的？") == "董卓 ？"


def test_markdown_and_marks_of_the_source_do_not_reach_the_answer() -> None:
    assert (
        strip_markdown("- **Bold** and *soft* `code` [link](a.md) [3]")
        == "Bold and soft code link (3)"
    )
    assert strip_markdown("a * b * c and snake_case_name") == "a * b * c and snake_case_name"
    assert with_neighbours("It sank.", title="The Wren") == "The Wren: It sank."
    assert with_neighbours("Italy won.", title="The Wren") == "Italy won."


def test_a_heading_in_capitals_is_no_answer() -> None:
    text = "NOTES TO THE SONG SHEET\n\nMaren Holt wrote the song at the Vey Station in 1974."
    (known,) = passages("Jon Abara")
    sheet = replace(known, text=text, end=len(text))
    found = split_passages([sheet])
    assert [sentence.text for sentence in found] == [text.split("\n\n")[1]]


def test_a_sentence_that_is_a_question_is_no_answer() -> None:
    (known,) = passages("Jon Abara")
    text = "Where do the names of the boats come from? They come from birds of the bay."
    draft = answer("Where do the names of the boats come from?", [replace(known, text=text)])
    assert draft.text == "Jon Abara: They come from birds of the bay. [1]"


LIST = (
    "Boats of the port:\n\n- The ferry is white.\n- Room depends on the deck:\n"
    "  - upper deck: 40 seats\n    which are dry\n  - lower deck: 60 seats\n- The tug is red.\n\n"
    "Others are kept in the shed.\n"
)


@pytest.mark.parametrize(
    ("item", "lead"),
    [
        ("The ferry", "Boats of the port:"),
        ("upper deck", "- Room depends on the deck:"),
        ("lower deck", "- Room depends on the deck:"),
        ("The tug", "Boats of the port:"),
        ("Others", ""),
        ("Boats", ""),
    ],
)
def test_an_item_is_led_to_by_what_ends_in_a_colon_above_it(item: str, lead: str) -> None:
    assert led_by(LIST, LIST.index(item)) == lead


def test_what_leads_to_a_list_is_the_context_of_its_items() -> None:
    source = Passage(
        text=LIST, score=1.0, relevance=1.0, document_id="d", chunk_id="c", title="Port",
        start=0, end=len(LIST),
    )  # fmt: skip
    found = {each.text: each.context for each in split_passages([source])}
    seats = next(context for text, context in found.items() if "60 seats" in text)
    assert {"room", "depend", "port"} <= seats
    assert "room" not in next(context for text, context in found.items() if "shed" in text)
