"""Parts of documents that questions name by their numbers and titles."""

from __future__ import annotations

import pytest

from engine.answering.global_search.references import (
    _likeness,
    _number_of,
    asks_for_part,
    for_each_part,
    read_reference,
)


@pytest.mark.parametrize(
    ("question", "kind", "number", "titles"),
    [
        ('Summarise chapter 7 of the Lamp Guide, "Wicks".', "chapter", ("7",), ("Wicks",)),
        ("Summarise section 5.2, Masts, of the guide.", "section", ("5", "2"), ()),
        ("What happens in chapter three?", "chapter", ("3",), ()),
        ("What is the third stave about?", "chapter", ("3",), ()),
        ("What does part II say?", "part", ("2",), ()),
        ("Sum up appendix C.", "appendix", ("C",), ()),
        ("Sum up Appendix D.3, please.", "appendix", ("D", "3"), ()),
        ("Can you sum up 3.2 for me?", "", ("3", "2"), ()),
        ("第四回主要写了什么事？", "chapter", ("4",), ()),
        ("用几句话归纳第二十五回《灯下》。", "chapter", ("25",), ("灯下",)),
        ("附录A说了什么？", "appendix", ("A",), ()),
        ("概括5.2节。", "section", ("5", "2"), ()),
    ],
)
def test_a_part_is_named_by_its_number_and_its_title(
    question: str, kind: str, number: tuple[str, ...], titles: tuple[str, ...]
) -> None:
    found = read_reference(question)

    assert found is not None
    assert (found.kind, found.number, found.titles) == (kind, number, titles)


@pytest.mark.parametrize(
    "question",
    [
        "What are the main topics?",
        "Who lit the lamp?",
        "Act now: what is to be done?",
        "Summarise chapter 2 and 3.",
        "总结一下第二章和第五章的区别",
        'What do the documents say about "Risk"?',
        "What is the FİRST part?",
    ],
)
def test_a_question_without_a_number_or_quotation_names_no_part(question: str) -> None:
    assert read_reference(question) is None


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [
        ("What happens in chapter 3 of the Lamp Guide?", True),
        ("What does section 5.2, Masts, of the guide say?", True),
        ("What happens in chapter 12? A paragraph will do.", True),
        ("第四回主要写了什么事？", True),
        ("第三十七回讲了些什么？", True),
        ("附录C讲灯塔的，主要说了什么", True),
        ("In chapter 5, who runs away?", False),
        ("How do I fit part 2 of the kit?", False),
        ("第十二回中曹操杀了谁？", False),
        ("What does “wick” mean?", False),
        ("What is Section 230?", False),
        ("What does the first part of the name mean?", False),
        ("Is part ill of the plan?", False),
        ("What does leſſon 3 say?", False),
        ("What is in part 2 of " + "a" * 200 + " (the second half)?", False),
    ],
)
def test_a_part_is_asked_for_where_nothing_else_is(question: str, is_asked: bool) -> None:
    assert asks_for_part(question) is is_asked


@pytest.mark.parametrize(
    ("heading", "kind", "number"),
    [
        ("Chapter 7. Wicks", "chapter", ("7",)),
        ("5.2. Masts", "", ("5", "2")),
        ("D.3. Sails", "", ("D", "3")),
        ("IV. The Quay", "", ("4",)),
        ("Appendix C. Ropes", "appendix", ("C",)),
        ("第二十一回 灯下", "chapter", ("21",)),
        ("Wicks", "", ()),
        ("Ill. Notes", "", ()),
        ("29 June", "", ("29",)),
    ],
)
def test_a_heading_begins_with_its_number(heading: str, kind: str, number: tuple[str, ...]) -> None:
    assert _number_of(heading) == (kind, number)


@pytest.mark.parametrize(
    ("question", "book"),
    [
        ("What happens in chapter 2 of Moby Dick?", {"mobi", "dick"}),
        ("Summarise section 2 of the report.", set()),
        ("Summarise chapter 3 of this contract in plain English.", set()),
        ("Please summarise chapter 3 for a beginner.", set()),
        ("What does chapter 2 of the Sails Guide say?", {"sail"}),
    ],
)
def test_the_book_of_a_part_is_named_behind_it(question: str, book: set[str]) -> None:
    found = read_reference(question)

    assert found is not None
    assert found.book == book


def test_a_quoted_title_is_a_heading_without_its_number_or_a_good_part_of_one() -> None:
    assert _likeness("Checking the lamp", "Chapter 7. Checking the lamp") == 1.0
    assert _likeness("煮酒论英雄", "第二十一回 煮酒论英雄 赚城斩车胄") >= 0.75
    assert _likeness("Checking the mast", "Chapter 7. Checking the lamp") < 0.75


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Summarise chapters 2 and 3", ["2", "3"]),
        ("Summarise chapters 2 to 4 of the guide.", ["2", "3", "4"]),
        ("What do sections 4.1-4.3 cover?", ["4.1", "4.2", "4.3"]),
        ("What happens in staves two and three?", ["2", "3"]),
        ("What do part 1 and part 2 say?", ["1", "2"]),
        ("Sum up appendices A and B", ["A", "B"]),
        ("概括第三回到第五回的内容", ["3", "4", "5"]),
        ("第三、四回讲了什么？", ["3", "4"]),
        ("概括第 3 章到第 5 章", ["3", "4", "5"]),
        ("Summarise chapters I to III", ["1", "2", "3"]),
        ("Summarise chapter 1-3", ["1", "2", "3"]),
        ("Summarise chapters 1-3 and 5", ["1", "2", "3", "5"]),
        ("Summarise appendices A to C", ["A", "B", "C"]),
    ],
)
def test_several_parts_are_each_referred_to(question: str, parts: list[str]) -> None:
    found = [read_reference(one) for one in for_each_part(question)]

    assert [".".join(one.number) for one in found if one is not None] == parts
    assert asks_for_part(question)


@pytest.mark.parametrize(
    "question",
    [
        "Sum up chapter 2 and I will read it.",
        "Summarise chapters 2 to 900",
        "What happens in Act 3, Scene 1?",
        "What does Section 4, part 2 say?",
        "第三章、第二节讲了什么？",
        "总结第一、第二季度的业绩",
        "总结第一和第二次世界大战的原因",
        "Summarise chapter 3 - 2 sentences.",
        "Summarise chapter 3, 5 lines",
        "Summarise part 2 and 3 things to remember",
        "Summarise chapter 4 and one example from it",
        "Summarise section 3 and two of its arguments",
        "Summarise chapter 3, 4 of them matter",
    ],
)
def test_what_stands_behind_a_number_is_no_second_part(question: str) -> None:
    assert for_each_part(question) == [question]
