"""The forms of irregular verbs, as the answer's words are compared."""

from __future__ import annotations

import pytest

from engine.retrieval.lexical_variants import FORMS, lexical_variants, told_in_chinese
from engine.storage.tokenization import tokens


def _stem(word: str) -> str:
    (term,) = tokens(word)
    return term


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("light", "lit"),
        ("sells", "sold"),
        ("choose", "chosen"),
        ("arose", "arises"),
        ("gave", "given"),
        ("flew", "flying"),
        ("leave", "left"),
        ("become", "became"),
        ("underwent", "undergo"),
    ],
)
def test_forms_of_one_verb_say_the_same(asked: str, told: str) -> None:
    assert _stem(told) in lexical_variants(_stem(asked))
    assert _stem(asked) in lexical_variants(_stem(told))


def test_forms_stand_as_the_keyword_index_stems_them() -> None:
    assert [form for form in FORMS if form not in {*tokens(form), *tokens(f"{form}e")}] == []


def test_chinese_questions_are_searched_for_by_the_words_of_what_they_ask() -> None:
    assert {"身亡", "而死", "驾崩"} <= set(told_in_chinese("张飞是怎么死的？").split())
    assert "生擒" in told_in_chinese("關羽被誰活捉？").split()
    assert {"六岁", "年方"} <= set(told_in_chinese("他活了多少岁？").split())
    assert told_in_chinese("How did he die?") == told_in_chinese("灯塔建于哪一年？") == ""
    assert told_in_chinese("死锁怎么排查？") == told_in_chinese("怎么抓包、杀毒？") == ""
    assert told_in_chinese("软件激活了吗？") == told_in_chinese("过了多少岁月？") == ""
