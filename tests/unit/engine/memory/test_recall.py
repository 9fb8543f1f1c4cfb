"""Ranking of what a user said: sessions, days, speakers, and windows."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from engine.memory.recall import linked, read_units, rescored, spoken, windows
from engine.types import Passage

MAY, JUNE = "memory/ann/a/2023-05-10-100000-aa", "memory/ann/b/2023-06-20-100000-bb"
TEXT = (
    "User (2023-05-10 10:00): My dog is old.\nAssistant (2023-05-10 10:00): I see.\n\n"
    "User (2023-05-10 10:00): I sold the boat.\nAssistant (2023-05-10 10:00): Good.\n\n"
    "User (2023-05-10 10:00): How are boats built?\nAssistant (2023-05-10 10:00): Of wood.\n"
)


def passage(text: str, *, start: int = 0, score: float = 1.0, document: str = MAY) -> Passage:
    return Passage(
        text=text,
        score=score,
        relevance=1.0,
        document_id=document,
        chunk_id=f"{document}#{start}",
        title="a",
        start=start,
        end=start + len(text),
    )


def order(question: str, documents: list[str], scores: list[float]) -> list[int]:
    found = rescored(documents, np.array(scores), question=question, asked=date(2023, 8, 1))
    return np.argsort(-found, kind="stable").tolist()


def test_of_equal_exchanges_the_one_in_the_better_session_is_first() -> None:
    assert order("boats?", [MAY, JUNE, JUNE], [0.8, 0.8, 0.7]) == [1, 0, 2]


def test_a_session_on_the_day_that_is_asked_about_counts_more() -> None:
    assert order("What did I sell last May?", [JUNE, MAY], [0.8, 0.7]) == [1, 0]
    assert order("What did I sell?", [JUNE, MAY], [0.8, 0.7]) == [0, 1]


def test_nothing_found_stays_nothing() -> None:
    found = rescored([MAY], np.zeros(1), question="boats?", asked=date(2023, 8, 1))
    assert found.tolist() == [0.0]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        pytest.param("Which boat did I sell?", "User (2023-05-10): I sold the boat.", id="user"),
        pytest.param("What did you recommend?", "Assistant (2023-05-10): A kayak.", id="assistant"),
        pytest.param("What did Tom sell?", "User (2023-05-10): Tom: I sold it.", id="named"),
    ],
)
def test_what_the_one_asked_about_said_counts_more(question: str, text: str) -> None:
    others = "User (2023-05-10): Ann: How is a boat sold?\nAssistant (2023-05-10): Tom: Slowly."
    if "recommend" in question:
        others = "User (2023-05-10): I want a boat."
    said, other = spoken([passage(text), passage(others)], question)
    assert said.score > other.score


def test_a_request_states_nothing() -> None:
    asks = passage("User (2023-05-10): Tell me how I can sell a boat.")
    said = passage("User (2023-05-10): I sold a boat.", start=1)
    assert spoken([asks, said], "Which boat is mine?") == [
        replace(said, score=said.score + 0.5),
        asks,
    ]


def test_a_name_in_a_first_passage_leads_to_another_session() -> None:
    first = passage("User (2023-05-10): My brother Neil met Elke.", score=1.0)
    other = passage("User (2023-06-20): Elke got married in Ghent.", score=0.5, document=JUNE)
    plain = passage("User (2023-06-20): They married in Bruges.", score=0.6, document=JUNE, start=9)
    order = linked([first, plain, other], "Where did my brother marry?")
    assert [each.chunk_id for each in order] == [p.chunk_id for p in (first, other, plain)]


def test_windows_are_whole_exchanges_within_the_room() -> None:
    start = TEXT.index("I sold")
    (found,) = windows(
        [passage("I sold", start=start)],
        text_of=lambda _: TEXT,
        count=lambda text: len(text.split()),
        most=5,
        room=20,
    )
    assert found.text == TEXT[found.start : found.end]
    assert found.text.startswith("User (2023-05-10 10:00): I sold the boat.")
    assert len(found.text.split()) <= 20


def test_units_cover_what_was_said_and_are_short() -> None:
    long = "User (2023-05-10 10:00): " + "A sentence of some words. " * 60
    text = f"{TEXT}\n{long.strip()}\n"
    units = read_units(text)
    covered = "\n".join(text[start:end] for start, end in units)
    assert covered.split() == text.split()
    assert max(end - start for start, end in units) <= 600
