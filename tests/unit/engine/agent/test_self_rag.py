"""What needs no library, what a model decides, and sums."""

from __future__ import annotations

import time

import pytest

from engine.agent.direct import answer_without_retrieval, evaluate_arithmetic
from engine.agent.self_rag import answer_score, read_decision, read_query
from engine.answering.packing import Draft


@pytest.mark.parametrize(
    "question",
    [
        "Hi",
        "hello there!",
        "Thank you very much.",
        "你好！",
        "谢谢",
        "What did I just ask?",
        "3+4=?",
    ],
)
def test_greetings_sums_and_talk_are_spared(question: str) -> None:
    draft = answer_without_retrieval(question)
    assert draft is not None
    assert draft.text
    assert not draft.abstained


@pytest.mark.parametrize(
    "question",
    [
        "Hi, who lit the lamp?",
        "What did Ada Brine say?",
        "How many lamps are there?",
        "1901",
        "1901-1907",
        "24/7",
        "What is 12 August 1901?",
        "你好吗是谁写的歌？",
        "我们之前的协议说了什么？",
        "2 + 2 = 4 in which novel?",
    ],
)
def test_all_else_is_looked_up(question: str) -> None:
    assert answer_without_retrieval(question) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 * (3 + 4)", "84"),
        ("1,200 / 7", "171.4285714286"),
        ("-(2-5)*1.5", "4.5"),
        ("2×3÷4", "1.5"),
        ("0.1+0.2", "0.3"),
        ("1/0", None),
        ("0/0", None),
        ("2**9", None),
        ("(1+2", None),
        ("1+", None),
        ("9" * 200 + "+1", None),
        ("(" * 60 + "1+1" + ")" * 60, None),
        ("__import__('os')+1", None),
    ],
)
def test_sums_are_exact_and_bounded(text: str, value: str | None) -> None:
    assert evaluate_arithmetic(text) == value


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"retrieve": false, "reply": "You are welcome!"}', "You are welcome!"),
        ('Sure:\n```json\n{"retrieve": false, "reply": "Good morning!"', "Good morning!"),
        ('{"retrieve": true}', None),
        ('{"retrieve": false}', None),
        ('{"retrieve": "false", "reply": "Hello"}', None),
        ('{"retrieve": false, "reply": "It was lit in 1901."}', None),
        ('{"retrieve": false, "reply": "It was lit by Ada Brine."}', None),
        ('{"retrieve": false, "reply": "See [1]"}', None),
        ("No need to look.", None),
        ("", None),
        ("[" * 5_000, None),
    ],
)
def test_a_model_may_spare_small_talk_alone(reply: str, text: str | None) -> None:
    draft = read_decision(reply)
    assert (draft.text if draft else None) == text


def test_a_query_is_one_line_and_new() -> None:
    assert read_query('{"query": "lamp\\n keeper"}', ["lamp"]) == "lamp keeper"
    assert read_query('{"query": "LAMP"}', ["lamp"]) == ""
    assert read_query('{"query": 7}', []) == ""
    assert len(read_query('{"query": "' + "a " * 5_000 + '"}', [])) <= 300


def test_rounds_compare_by_what_is_borne_out() -> None:
    assert answer_score(Draft(text="x", abstained=True, evidence=0.9)) == 0.0
    assert answer_score(Draft(text="x", grounding=0.5, evidence=0.9)) == 0.5
    assert answer_score(Draft(text="x", evidence=0.9)) == 0.9
    assert answer_score(Draft(text="x")) == 1.0


def test_a_long_question_is_told_from_a_sum_quickly() -> None:
    started = time.process_time()
    assert answer_without_retrieval("1+" * 2_000) is None
    assert answer_without_retrieval("(" * 4_000) is None
    assert answer_without_retrieval("1 " * 2_000 + "?") is None
    assert time.process_time() - started < 20
