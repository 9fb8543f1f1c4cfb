"""Facts by rules: which sentences of a user state something, and which replace which."""

from __future__ import annotations

import pytest

from engine.memory.facts import about, classify, find_facts, settled, without_statements
from engine.memory.records import Message
from engine.memory.transcript import render


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("My favourite colour is teal.", "preference"),
        ("I don't like tea.", "preference"),
        ("By the way, I'm allergic to nuts.", "knowledge"),
        ("I work as an archivist.", "knowledge"),
        ("My sister lives in Bergen.", "knowledge"),
        ("Please always answer in French.", "feedback"),
        ("That answer was wrong.", "feedback"),
        ("I adopted a dog last week.", "event"),
        ("Yesterday we visited Gull Quay.", "event"),
        ("我最喜欢的水果是芒果。", "preference"),
        ("我住在上海。", "knowledge"),
        ("你的回答不对。", "feedback"),
        ("我昨天去了北京。", "event"),
    ],
)
def test_first_person_statements_are_facts_of_their_kind(sentence: str, kind: str) -> None:
    read = classify(sentence)
    assert read is not None
    assert read[0] == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "What is my name?",
        "我叫什么名字吗",
        "If I lived in Rome I would like it.",
        "“I love tea,” she said.",
        "I think the station was founded in 1901.",
        "I would like to know who founded the station.",
        "The station was founded in 1901.",
        "Tell me about the station.",
        "我想知道车站是谁建的。",
    ],
)
def test_questions_suppositions_and_quotations_are_no_facts(sentence: str) -> None:
    assert classify(sentence) is None


def test_facts_come_from_the_user_alone_and_stand_in_the_document() -> None:
    text = render(
        [
            Message(role="user", text="My dog is called Biscuit. Nice.", at="2024-05-01T10:00:00"),
            Message(role="assistant", text="I like dogs.", at="2024-05-01T10:00:00"),
        ]
    )
    (fact,) = find_facts("memory/ann/s/1", text)
    assert text[fact.start : fact.end] == fact.text == "My dog is called Biscuit."
    assert (fact.slot, fact.valid_from, fact.session) == ("dog", "2024-05-01", "s")


def test_a_later_fact_replaces_an_earlier_one_and_equal_ones_are_one() -> None:
    said = [
        ("2024-06-01", "I moved to Bergen."),
        ("2024-05-01", "I live in Oslo."),
        ("2024-05-02", "I adopted a dog."),
        ("2024-05-03", "I adopted a dog!"),
    ]
    facts = [
        fact
        for number, (date, text) in enumerate(said)
        for fact in find_facts(
            f"memory/ann/s/{number}", render([Message(role="user", text=text, at=f"{date}T10:00")])
        )
    ]
    known = settled(facts)
    assert [fact.text for fact in known] == [
        "I live in Oslo.",
        "I adopted a dog.",
        "I moved to Bergen.",
    ]
    assert known[0].superseded_by == known[2].id
    assert about("Where do I live?", known) == known[2]
    assert about("Where does Ada live?", known) is None


def test_only_the_question_among_statements_is_asked() -> None:
    assert without_statements("My name is Ann. Who founded it?") == "Who founded it?"
    assert without_statements("I moved to Bergen.") == ""
    assert without_statements("Who founded it?") == "Who founded it?"
