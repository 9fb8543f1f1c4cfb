"""Windows of narratives and talk: chosen by characters, names and a reader, shown with context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from engine.answering.extractive.answer import HESITANT, extractive_answer
from engine.answering.extractive.known_as import UNKNOWN, KnownAs
from engine.answering.extractive.windows import (
    CLOSE,
    WINDOW_WORDS,
    is_narrative,
    rank_windows,
    told_excerpts,
    windows_first,
)
from engine.retrieval.passages import split_passages
from engine.types import Passage

STORY = (
    "林海在店中饮酒，忽报山贼来劫。林海大怒，拍案而起。左右曰：“贼势甚大，不可轻出。”"
    "林海不听，提刀上马而去。行至山下，贼首迎战。两马相交，林海一刀斩贼首于马下。其酒尚温。"
    "众贼皆散。林海收兵回店，与众人痛饮至晚。次日，乡民牵羊担酒来谢。林海曰：“此吾分内之事。”"
)


def _passage(text: str, *, name: str = "a.txt", headings: tuple[str, ...] = ()) -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=0.9,
        document_id=name,
        chunk_id=name,
        title="故事",
        start=0,
        end=len(text),
        headings=headings,
    )


def _best(question: str, *texts: str, known_as: KnownAs = UNKNOWN) -> str:
    passages = [_passage(text, name=f"{row}.txt") for row, text in enumerate(texts)]
    sentences = split_passages(passages)
    best = rank_windows(question, sentences, passages, known_as=known_as)[0]
    return "".join(each.text for each in sentences[best.first : best.last + 1])


@pytest.mark.parametrize(
    ("texts", "is_told"),
    [
        pytest.param([STORY], True, id="曰"),
        pytest.param(["“I will not go,” said Fred. He sat down."], True, id="quotes"),
        pytest.param(["Ann Lee: Shall we begin?\nBob Ray: Yes.\n"], True, id="turns"),
        pytest.param(["The tower is forty metres high. Its lamp is electric."], False, id="facts"),
        pytest.param(["灯塔高四十米。守塔人叫王海。"], False, id="Chinese facts"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_a_text_in_which_people_speak_is_a_narrative(texts: Sequence[str], is_told: bool) -> None:
    assert is_narrative([_passage(text) for text in texts]) is is_told


def test_a_chinese_window_is_found_by_single_characters_of_the_same_meaning() -> None:
    assert "一刀斩贼首" in _best("林海温酒杀的是谁？", STORY)


def test_a_chinese_window_is_found_by_another_name_of_the_person() -> None:
    known = KnownAs((("林伯远", ("林海",)),))

    assert "提刀上马" in _best("林伯远上马去了哪里？", "李四上马而去。", STORY, known_as=known)


def test_an_english_window_is_found_by_another_form_of_the_word() -> None:
    told = _best("Who sold the boat?", "The boat was red.", "Ann had to sell her boat to Bob.")

    assert told == "Ann had to sell her boat to Bob."


def test_windows_neither_overlap_nor_exceed_their_length() -> None:
    passages = [_passage(STORY * 3)]
    sentences = split_passages(passages)

    ranked = rank_windows("林海斩了谁？", sentences, passages, known_as=UNKNOWN)

    rows = [row for each in ranked for row in range(each.first, each.last + 1)]
    assert len(rows) == len(set(rows))
    assert all(
        sum(len(each.text) for each in sentences[one.first : one.last + 1]) <= 2 * WINDOW_WORDS + 40
        for one in ranked
    )


def test_passages_are_packed_by_their_best_windows() -> None:
    told, other = _passage(STORY, name="b"), _passage("次日天晴。众人皆喜。", name="a")

    assert windows_first("林海斩了谁？", [other, told], known_as=UNKNOWN) == [told, other]


def _told(question: str, logits: dict[str, float], *texts: str) -> list[str]:
    passages = [_passage(text, name=f"{row}.txt") for row, text in enumerate(texts)]

    def read(_question: str, parts: Sequence[str]) -> np.ndarray:
        return np.array([max(v for key, v in logits.items() if key in part) for part in parts])

    found = told_excerpts(
        question, split_passages(passages), passages, known_as=UNKNOWN, read=read, text_at=None
    )
    return [each.text for each in found]


def test_a_reader_decides_between_windows_and_a_close_second_is_shown() -> None:
    texts = ("林海曰：“吾去也。”遂斩一人。", "林海大怒，斩张三于市。")

    first = _told("林海斩了谁？", {"": 5.0, "张三": 9.0}, *texts)
    both = _told("林海斩了谁？", {"": 9.0, "张三": 9.0 + CLOSE}, *texts)

    assert first == [texts[1]]
    assert both == [texts[1], texts[0]]


def test_a_reason_is_shown_with_what_was_told_before_it() -> None:
    why = _told("林海为什么斩了贼首？", {"": 1.0}, STORY)
    who = _told("林海一刀斩了谁？", {"": 1.0}, STORY)

    assert "山贼来劫" in why[0]
    assert len(why[0]) >= len(who[0])


def test_a_window_inside_a_turn_names_its_speaker() -> None:
    turn = "Ann Lee: We met on Monday. " + "It was a long day for us. " * 12
    text = f"{turn}The harbour grant was refused by the council.\nBob Ray: Why?\n"
    passages = [_passage(text, headings=("Minutes",))]

    found = told_excerpts(
        "Who refused the harbour grant?",
        split_passages(passages),
        passages,
        known_as=UNKNOWN,
        read=None,
        text_at=None,
    )

    assert found[0].heading == "Minutes · Ann Lee"


@pytest.mark.parametrize(
    ("logit", "is_doubted", "is_declined"),
    [(9.5, False, False), (6.5, True, False), (5.0, False, True)],
)
def test_a_narrative_answer_is_doubted_or_declined_by_its_likeness(
    logit: float, is_doubted: bool, is_declined: bool
) -> None:
    draft = extractive_answer(
        "林海一刀斩了谁？",
        [_passage(STORY)],
        weight=lambda _token: 1.0,
        one_excerpt=True,
        likeness=lambda _question, texts: np.full(len(texts), logit),
    )

    assert draft.abstained is is_declined
    assert draft.text.startswith("以下内容不一定") is is_doubted
    assert (draft.figures["held"] < HESITANT) is (is_doubted or is_declined)
