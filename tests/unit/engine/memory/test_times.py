"""Time expressions in questions."""

from __future__ import annotations

from datetime import date

import pytest

from engine.memory.times import date_ranges

ASKED = date(2023, 11, 24)


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        pytest.param("What did I buy in April 2023?", "2023-04-01", "2023-04-30", id="month"),
        pytest.param("What did I do last May?", "2023-05-01", "2023-05-31", id="last-may"),
        pytest.param("Where was I last December?", "2022-12-01", "2022-12-31", id="year-before"),
        pytest.param("Whom did I meet on 7 May 2023?", "2023-05-07", "2023-05-07", id="day-first"),
        pytest.param("What was on May 7th?", "2023-05-07", "2023-05-07", id="month-first"),
        pytest.param("What was on 2023-05-07?", "2023-05-07", "2023-05-07", id="iso"),
        pytest.param("What did I cook two weeks ago?", "2023-11-07", "2023-11-13", id="weeks-ago"),
        pytest.param("Who called yesterday?", "2023-11-23", "2023-11-23", id="yesterday"),
        pytest.param("Where was I last Tuesday?", "2023-11-21", "2023-11-21", id="weekday"),
        pytest.param("What did I read last month?", "2023-10-01", "2023-10-31", id="last-month"),
        pytest.param("Where did I go last summer?", "2023-06-01", "2023-08-31", id="season"),
        pytest.param("What happened in 2022?", "2022-01-01", "2022-12-31", id="year"),
        pytest.param("上个月我去了哪里？", "2023-10-01", "2023-10-31", id="zh-last-month"),
        pytest.param("去年三月我买了什么？", "2022-03-01", "2022-03-31", id="zh-month"),
        pytest.param("2023年5月7日我见了谁？", "2023-05-07", "2023-05-07", id="zh-day"),
        pytest.param("两个星期前我做了什么？", "2023-11-07", "2023-11-13", id="zh-ago"),
        pytest.param("去年我住在哪里？", "2022-01-01", "2022-12-31", id="zh-year"),
    ],
)
def test_a_time_expression_is_a_range_of_days(question: str, first: str, last: str) -> None:
    assert date_ranges(question, ASKED) == [(date.fromisoformat(first), date.fromisoformat(last))]


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "May I go?",
        "What came the week before the race?",
        "2月30日？",
        "我住在哪里？",
    ],
)
def test_a_question_without_a_time_has_no_range(question: str) -> None:
    assert date_ranges(question, ASKED) == []
