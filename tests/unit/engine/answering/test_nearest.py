"""A question without an answer is told what stands nearest to it in the library."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from engine import Answer, KnowledgeEngine, Settings, query
from engine.answering.nearest import (
    LONGEST_CHARACTERS,
    NEAREST,
    apart,
    nearest_passages,
    quoted_passages,
)
from engine.answering.packing import cite_span
from engine.api.routes.chat_completions import _nearest
from engine.plain_text import HEADINGS, nearest_lines, without_marks
from engine.prompts import is_abstention
from engine.tools.definitions import answer_lines, answer_value
from engine.types import Citation, Passage

TEXTS = {
    "Berths": "The harbour has nine berths. Berth 4 takes the ferry to Vey.",
    "Ferry": "The ferry to Vey sails at noon. It carries <b>forty</b> cars across the sound.",
    "Lighthouse": "The lighthouse was built in 1851. Its lamp burns oil.",
    "Museum": "The museum keeps old charts of the harbour and of the ferry.",
    "渡轮": "渡轮每天中午开往维岛。船上可载四十辆车。",
}


def passage(
    title: str, *, text: str = "", headings: tuple[str, ...] = (), start: int = 0
) -> Passage:
    text = text or TEXTS[title]
    return Passage(
        text=text, score=1.0, relevance=0.4, document_id=title, chunk_id=f"{title}#0", title=title,
        start=start, end=start + len(text), headings=headings,
    )  # fmt: skip


def test_three_sections_are_shown_best_passage_first() -> None:
    found = nearest_passages(
        "Who steers the ferry?", [passage(title) for title in TEXTS], weight=lambda _: 1.0
    )
    assert [each.title for each in found] == ["Berths", "Ferry", "Lighthouse"][:NEAREST]


def test_the_text_is_the_sentence_that_shares_most_with_the_question_at_its_place() -> None:
    one = passage("Berths", headings=("Harbour", "Berths"), start=100)
    (found,) = nearest_passages("Where does the ferry land?", [one], weight=lambda _: 1.0)
    assert found.text == "Berth 4 takes the ferry to Vey."
    assert (found.heading, found.score) == ("Berths", 0.4)
    assert one.text[found.start - 100 : found.end - 100] == found.text


def test_a_section_in_two_passages_is_shown_once() -> None:
    twice = [passage("Ferry"), passage("Ferry", text="The ferry is white.", start=200)]
    found = nearest_passages("Who steers the ferry?", twice, weight=lambda _: 1.0)
    assert len(found) == 1


def cited(one: Passage, start: int, end: int) -> Citation:
    return cite_span(one, start, end, number=1)


def test_what_was_read_best_is_told_at_its_place_and_its_end_left_out() -> None:
    long = passage("Ferry", text="The ferry sails. " * 60, headings=("Sound", "Ferry"), start=40)
    short, whole = cited(long, 17, 33), cited(long, 0, len(long.text))

    first, second = quoted_passages([short, whole], [long])

    assert (first.text, first.start, first.end) == ("The ferry sails.", 57, 73)
    assert (first.heading, first.score) == ("Ferry", 0.4)
    assert len(second.text) == second.end - second.start == LONGEST_CHARACTERS


def test_what_is_shown_is_not_shown_again() -> None:
    berths, ferry = passage("Berths"), passage("Ferry")
    found = nearest_passages("Who steers the ferry?", [berths, ferry], weight=lambda _: 1.0)

    assert [one.title for one in apart(found, [cited(berths, 20, 40)])] == ["Ferry"]
    assert apart(found, [cited(passage("Museum"), 0, 10)]) == found


def test_a_long_sentence_is_cut() -> None:
    long = passage("Ferry", text=f"The ferry {'and the ferry ' * 200}sails.")
    (found,) = nearest_passages("Who steers the ferry?", [long], weight=lambda _: 1.0)
    assert len(found.text) == LONGEST_CHARACTERS


def test_nothing_found_shows_nothing() -> None:
    assert nearest_passages("Who steers the ferry?", [], weight=lambda _: 1.0) == ()


@pytest.fixture(scope="module")
def declined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """Answers to questions that the library declines, by language and way."""
    settings = Settings.model_validate({"answer": {"min_evidence": 1.0}})
    folder: Path = tmp_path_factory.mktemp("nearest")
    with KnowledgeEngine.open(folder / "library", settings=settings) as engine:
        engine.add([Document(id_=t, text=TEXTS[t], metadata={"title": t}) for t in TEXTS])
        english, chinese = "Who painted the ferry?", "谁油漆了渡轮？"
        return {
            "en": engine.ask(english, mode="local"),
            "zh": engine.ask(chinese, mode="local"),
            "again": engine.ask(english, mode="local"),
        }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_declined_question_says_so_and_shows_the_nearest(
    declined: dict[str, Answer], language: str
) -> None:
    answer = declined[language]
    assert answer.abstained
    assert is_abstention(answer.text)
    assert all(f"[{each.number}]" in answer.text for each in answer.citations)
    assert 0 < len(answer.nearest) <= NEAREST
    cited = {
        (each.document_id, place)
        for each in answer.citations
        for place in range(each.start, each.end)
    }
    assert not any((each.document_id, each.start) in cited for each in answer.nearest)
    assert all(each.text in TEXTS[each.document_id] for each in answer.nearest)
    assert nearest_lines(answer)[0] == HEADINGS[language]  # type: ignore[index]


def test_what_would_have_been_told_is_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "nearest_passages", lambda *_given, **_named: ())
    settings = Settings.model_validate({"answer": {"min_evidence": 1.0}})
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        engine.add([Document(id_=t, text=TEXTS[t], metadata={"title": t}) for t in TEXTS])
        answer = engine.ask("Why did nobody paint the quay?", mode="local")

    assert answer.abstained
    assert not answer.citations
    assert answer.nearest
    assert all(TEXTS[one.document_id][one.start : one.end] == one.text for one in answer.nearest)


def test_the_nearest_come_again_from_the_cache(declined: dict[str, Answer]) -> None:
    assert declined["again"].nearest == declined["en"].nearest


def test_tools_and_chats_show_the_nearest(declined: dict[str, Answer]) -> None:
    answer = declined["en"]
    shown = nearest_lines(answer)
    assert answer_value(answer).nearest == answer.nearest
    assert "\n".join(shown) in "\n".join(answer_lines(answer))
    assert _nearest(answer) == ["\n".join(shown)]


def test_an_answered_question_shows_none(declined: dict[str, Answer]) -> None:
    answered = Answer(question="Who?", text="Ada.", mode="local")
    assert nearest_lines(answered) == []
    assert _nearest(answered) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```\nboat[1]\n```\nSee [1].", "```\nboat[1]\n```\nSee (1)."),
        ("- ```\n  boat[1]\n  ```\nSee [1].", "- ```\n  boat[1]\n  ```\nSee (1)."),
        ("- ```boat``` is seen [1].", "- ```boat``` is seen (1)."),
        ("Boats\n~~~~~\nSee [1].", "Boats\n~~~~~\nSee (1)."),
    ],
)
def test_marks_of_a_source_are_no_citations_but_in_code(text: str, shown: str) -> None:
    assert without_marks(text) == shown
