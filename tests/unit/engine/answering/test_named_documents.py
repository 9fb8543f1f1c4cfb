from __future__ import annotations

import pytest

from engine.answering.named_documents import NamedSource, named_source


@pytest.mark.parametrize(
    ("question", "name", "asked"),
    [
        (
            "According to the tide report, how high was the flood?",
            "tide report",
            "how high was the flood?",
        ),
        (
            "In the keeper's diary, when was the lamp lost?",
            "keeper's diary",
            "when was the lamp lost?",
        ),
        (
            "How high was the flood according to the tide report?",
            "tide report",
            "How high was the flood",
        ),
        (
            "What does the harbour guide say about mooring?",
            "harbour guide",
            "What does it say about mooring?",
        ),
        (
            "Summarise what the harbour guide says about mooring",
            "harbour guide",
            "What does it say about mooring",
        ),
        ("根据《潮汐协议》，谁付钱？", "《潮汐协议》", "谁付钱？"),
        ("《灯塔日志》里灯是哪天丢的？", "《灯塔日志》", "灯是哪天丢的？"),
    ],
)
def test_a_source_is_named_beside_what_is_asked_of_it(question: str, name: str, asked: str) -> None:
    source = named_source(question)

    assert source is not None
    assert (source.name, source.asked) == (name, asked)


@pytest.mark.parametrize(
    "question",
    [
        "In the end, who won the vote?",
        "According to the mayor, who won the vote?",
        "Who wrote the tide report?",
        "Who disagrees with what the tide report says about fog?",
        "In Microsoft Exchange, how do I add a mailbox?",
        "据说谁赢了投票？",
    ],
)
def test_no_source_is_named_where_nothing_is_called_a_document(question: str) -> None:
    assert named_source(question) is None


@pytest.mark.parametrize(
    ("title", "document", "is_of"),
    [
        ("Tide report 2016", "notes.md", True),
        ("Frequently asked questions", "papers/tide-report.html", True),
        ("The report of the inquiry", "inquiry.md", False),
        ("Tide tables", "tables.md", True),
    ],
)
def test_a_document_has_the_words_of_the_name_in_its_title_or_path(
    title: str, document: str, is_of: bool
) -> None:
    source = NamedSource(name="tide report", asked="")

    assert source.is_of(title, document, weight=lambda _word: 1.0) is is_of


def test_a_word_that_most_documents_have_may_be_missing() -> None:
    source = NamedSource(name="Debian policy manual", asked="")
    weights = {"debian": 0.1, "polici": 3.0}

    assert source.is_of("4. Scripts", "policy/ch-scripts.html", weight=weights.__getitem__)
    assert not source.is_of("Debian", "debian.html", weight=weights.__getitem__)
