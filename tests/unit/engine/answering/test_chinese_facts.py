"""Facts asked of Chinese persons, and the form of Chinese short answers."""

from __future__ import annotations

import time

import pytest

from engine.agent.direct import answer_without_retrieval
from engine.answering.extractive.chinese.fact_questions import FactQuestion, fact_question
from engine.answering.extractive.chinese.facts import mentions_fact, stated_facts
from engine.answering.extractive.chinese.short_answers import bounds_of_short, is_short_answer
from engine.answering.extractive.question_type import classify_question
from engine.types import Passage
from graph.text.cjk import in_script_of


def _passage(text: str) -> Passage:
    return Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id="d",
        chunk_id="c",
        title="",
        start=0,
        end=len(text),
    )


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("谁是林如海的女儿？", "林如海之女林黛玉自幼多病。", "林黛玉"),
        ("贾宝玉的父亲是谁？", "原来贾政之子贾宝玉不爱读书。贾政大怒。", "贾政"),
        ("王进的母亲是谁？", "王进的母亲李氏年过六旬。", "李氏"),
        ("陈明的妻子是谁？", "陈明娶周兰为妻。", "周兰"),
        ("宋江的字是什么？", "那人姓宋名江，字公明，郓城县人。", "公明"),
        ("高俅被封为什么？", "徽宗封高俅为殿帅府太尉，掌管禁军。", "殿帅府太尉"),
        ("誰是林如海的女兒？", "林如海之女林黛玉自幼多病。", "林黛玉"),
        ("宋江的义弟是谁？", "宋江、武松虽然异姓，既结为兄弟，则同心协力。", "武松"),
        ("武松的结拜兄弟是谁？", "宋江与武松结拜为兄弟。", "宋江"),
        ("王安的义父是谁？", "李成有一义子，姓王，名安，骁勇异常。", "李成"),
    ],
)
def test_a_stated_fact_is_read_from_its_sentence(question: str, text: str, answer: str) -> None:
    asked = fact_question(question)
    assert asked is not None
    found = stated_facts(asked, [text], [_passage(text)])
    assert found[0].text == answer
    assert text[found[0].start :].startswith(answer)


def test_another_question_asks_for_no_fact_of_a_person() -> None:
    assert fact_question("如何安装软件包？") is None
    assert fact_question("临澜海洋大学位于哪里？") is None


def test_kin_that_no_sentence_mentions_is_not_stated() -> None:
    text = "华雄引兵出战，被斩于马下。"
    asked = FactQuestion("华雄", "父")
    assert not stated_facts(asked, [text], [_passage(text)])
    assert not mentions_fact(asked, [text], [_passage(text)])


@pytest.mark.parametrize(
    ("question", "said", "is_shown"),
    [
        ("总统是谁？", "没有争取连任", False),
        ("总统是谁？", "布兰科·茨尔文科夫斯基", True),
        ("车站共有几座？", "61公里", False),
        ("车站共有几座？", "7座", True),
        ("为什么改名？", "算命先生说他缺金", False),
        ("它哪一年独立？", "1966年", True),
        ("它在哪里？", "2002年时入选百选", False),
        ("它在哪里？", "6.3", False),
        ("苏轼是谁？", "苏洵", False),
        ("校长是谁？", "苏轼", True),
    ],
)
def test_a_short_answer_has_the_form_asked_for(question: str, said: str, is_shown: bool) -> None:
    assert is_short_answer(said, question, classify_question(question)) is is_shown


@pytest.mark.parametrize(
    ("question", "sentence", "said", "short"),
    [
        ("公司哪年成立？", "成立于1994年5月30日。", "1994年5月30日", "1994年"),
        ("他是第多少代国王？", "百济第22代国王。", "22", "22代"),
        ("车站在哪里？", "车站位于临澜市。", "位于临澜市", "临澜市"),
    ],
)
def test_a_short_answer_is_cut_to_what_was_asked(
    question: str, sentence: str, said: str, short: str
) -> None:
    start = sentence.index(said)
    asked = classify_question(question)
    first, last = bounds_of_short(sentence, start, start + len(said), question, asked)
    assert sentence[first:last] == short


def test_a_message_is_in_the_script_of_the_question() -> None:
    assert in_script_of("誰是她的母親？", "资料库中没有足够的依据") == "資料庫中沒有足夠的依據"
    assert in_script_of("谁是她的母亲？", "资料库") == "资料库"


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("周海的妻子是谁？", "镇上住着一人，姓周，名海，字伯川。嫡妻封氏，情性温和。", "封氏"),
        ("周伯川的妻子是谁？", "镇上住着一人，姓周，名海，字伯川。嫡妻封氏，情性温和。", "封氏"),
        ("周海的女儿是谁？", "这周海不爱功名。如今年已半百，只有一女，乳名小莲。", "小莲"),
        ("周兰的父亲是谁？", "周川早年进学。川虽早亡，幸存一子，取名周兰，今方五岁。", "川"),
        ("林小玉的母亲是谁？", "只有嫡妻贾氏，生得一女，乳名小玉。林小玉年方五岁。", "贾氏"),
        ("板儿的父亲是谁？", "狗儿亦生一子，小名板儿。", "狗儿"),
        ("狗儿的岳母是谁？", "无人看管，狗儿遂将岳母刘氏接来。", "刘氏"),
        ("李氏的父亲是谁？", "这李氏亦系名宦之女，父名李守山，曾为祭酒。", "李守山"),
        ("秦小钟的父亲是谁？", "方知他名唤秦小钟。他父亲秦业现任营缮郎。", "秦业"),
        ("秦业任什么官职？", "他父亲秦业现任营缮郎，年近七十。", "营缮郎"),
        ("林海是哪里人？", "这人姓林名海，表字如川。乃是前科的探花，本贯姑苏人氏。", "姑苏"),
    ],
)
def test_a_fact_is_read_where_the_person_is_named_before_or_otherwise(
    question: str, text: str, answer: str
) -> None:
    asked = fact_question(question)
    assert asked is not None
    sentences = [each + "。" for each in text.split("。") if each]
    found = stated_facts(asked, sentences, [_passage(text)])
    assert found
    assert found[0].text == answer


def test_a_mother_is_no_father() -> None:
    text = "只有嫡妻贾氏，生得一女，乳名小玉。林小玉年方五岁。"
    assert not stated_facts(FactQuestion("林小玉", "父"), text.split("。"), [_passage(text)])


def test_kin_of_another_clause_is_no_mention() -> None:
    text = "谁也不敢和焦大挺腰子。"
    assert not mentions_fact(FactQuestion("焦大", "子"), [text], [_passage(text)])


@pytest.mark.parametrize("unit", ["刘备", "刘备，", "刘备生子，", "其父", "备，字", "生一子，名"])
@pytest.mark.parametrize("question", ["刘备的父亲是谁？", "刘备的儿子是谁？", "刘备被封为什么？"])
def test_a_line_of_100000_characters_is_read_in_seconds(question: str, unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    asked = fact_question(question)
    assert asked is not None
    before = time.process_time()
    stated_facts(asked, [text], [_passage(text)])
    mentions_fact(asked, [text], [_passage(text)])
    assert time.process_time() - before < 20


def test_a_question_finds_a_fact_in_the_other_script() -> None:
    text = "張如海之兒張小龍後來寄居賈府。"
    asked = fact_question("张如海的儿子是谁？")
    assert asked is not None
    assert stated_facts(asked, [text], [_passage(text)])[0].text == "張小龍"


def test_a_greeting_is_answered_in_the_script_of_the_question() -> None:
    draft = answer_without_retrieval("謝謝你")
    assert draft is not None
    assert draft.text == "你好。請就資料庫中的文檔提問。"


def test_a_relative_joined_to_another_name_is_that_ones() -> None:
    text = "张俊会合州郡破之，斩许昌并其子许韶。"
    asked, his = fact_question("张俊的儿子是谁？"), fact_question("许昌的儿子是谁？")
    assert asked is not None
    assert his is not None

    assert stated_facts(asked, [text], [_passage(text)]) == []
    assert stated_facts(his, [text], [_passage(text)])[0].text == "许韶"
