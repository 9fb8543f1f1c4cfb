"""Further names of Chinese persons: nicknames, pen names, what people call them."""

from __future__ import annotations

import pytest

from graph.extraction.chinese_aliases import Introduction, appellation_aliases
from graph.text.sentences import lay_out


def second_names(
    text: str, *names: str, introduced: tuple[Introduction, ...] = ()
) -> list[tuple[str, str]]:
    """`(name, second name)` of what a text calls its persons, in the order of the text."""
    found = [
        each
        for segment in lay_out(text).segments
        for each in appellation_aliases(segment, names, introduced=introduced)
    ]
    return [(i.key, i.second_key) for i in sorted(found, key=lambda i: i.second)]


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        pytest.param("林川，笔名白鹭，诗人。", ("林川",), [("林川", "白鹭")], id="behind the name"),
        pytest.param(
            "林川（1900—1980），本名林大川，诗人。",
            ("林川",),
            [("林川", "林大川")],
            id="the years of a life between",
        ),
        pytest.param(
            "林川是本市的诗人，笔名白鹭。", ("林川",), [("林川", "白鹭")], id="later in a sentence"
        ),
        pytest.param(
            "陈涛见过林川，绰号“大头”的那人。",
            ("陈涛", "林川"),
            [("林川", "大头")],
            id="beside the label, though another stands before",
        ),
        pytest.param(
            "王芳是班主任。同学们都称她为“芳姐”。",
            ("王芳",),
            [("王芳", "芳姐")],
            id="what they call her, a sentence later",
        ),
        pytest.param(
            "街坊们都叫林川“老林头”。", ("林川",), [("林川", "老林头")], id="whom they call"
        ),
        pytest.param(
            "江东之民，人皆呼川为“林郎”。", ("林川",), [("林川", "林郎")], id="by the given name"
        ),
        pytest.param("林川人称海龙王。", ("林川",), [("林川", "海龙王")], id="no comma"),
        pytest.param("林川，号逸海，诗人。", ("林川",), [("林川", "逸海")], id="a pen name"),
        pytest.param("林川被称为“闪电”。", ("林川",), [("林川", "闪电")], id="is called"),
        pytest.param(
            "林川，道号潮生先生。", ("林川",), [("林川", "潮生")], id="without the honorific"
        ),
        pytest.param(
            "林川，綽號海鷗，善游。", ("林川",), [("林川", "海鸥")], id="traditional characters"
        ),
    ],
)
def test_a_further_name_belongs_to_the_person_named_before(
    text: str, names: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    assert expected == second_names(text, *names)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("林川之子，乳名阿潮。", ("林川",), id="of a relative"),
        pytest.param("林川在狱，有一狱卒，姓吴，人皆称为“吴押狱”。", ("林川",), id="of a newcomer"),
        pytest.param("林川和陈涛来了，人称双雄。", ("林川", "陈涛"), id="of two"),
        pytest.param("众人都到了，人称双雄。", (), id="of nobody"),
        pytest.param("人皆呼川为“林郎”。", ("林川", "陈川"), id="two of that given name"),
        pytest.param("林川被称为一代宗师。", ("林川",), id="a description"),
        pytest.param("林川请他报名参加，姓名不详。", ("林川",), id="no label"),
        pytest.param("林川来了，众将都称赞不已。", ("林川",), id="praise"),
        pytest.param("林川用第三人称写作。", ("林川",), id="a grammatical person"),
        pytest.param("林川，号称天下第一。", ("林川",), id="a boast"),
        pytest.param("林教授来了，人称铁面。", ("林教授",), id="a title is nobody's full name"),
    ],
)
def test_nothing_is_said_where_it_is_not_sure(text: str, names: tuple[str, ...]) -> None:
    assert second_names(text, *names) == []


def test_a_second_name_known_already_is_no_second_person() -> None:
    text = "林川，字伯海，人皆呼为林郎。"
    known = Introduction((0, 2), "林川", (4, 6), "伯海")
    assert second_names(text, "林川", "字伯海", introduced=(known,)) == [("伯海", "林郎")]


def test_a_person_who_is_told_of_a_new_name_does_not_bear_it() -> None:
    assert second_names("遂回明林川，更名小海。", "林川") == []


def test_a_name_behind_another_child_is_not_the_parents() -> None:
    assert second_names("只有林川一子，还有一女，比林川小两岁，乳名小海。", "林川") == []
