"""The router's selector: local or global, by words, names and likeness."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.tools.types import ToolMetadata

from engine.answer.language import language_of
from engine.answer.route import ScopeSelector
from engine.answer.scope import decide, names_in
from engine.errors import QuestionError

GLOBAL = (
    "What are the dominant storylines in this archive?",
    "Give me a high-level overview of the reports.",
    "Summarize everything you know.",
    "Which topics keep coming up across the interviews and memos?",
    "What are the biggest risks mentioned throughout these papers?",
    "How do the sources contradict each other?",
    "Who are the most influential people in the whole collection, and why?",
    "What general lessons follow from these incident reports?",
    "How have attitudes to remote work changed over the years?",
    "What do all of these projects have in common?",
    "Outline the major turning points of the story.",
    "What is this knowledge base about?",
    "What causes of delay recur in the project notes?",
    "How do the departments influence one another?",
    "In broad terms, what is the state of the company?",
    "What patterns can you see in the customer complaints?",
    "这些资料主要讲了什么？",
    "请总结所有会议记录的要点。",
    "总体而言，各部门之间有哪些分歧？",
    "全书贯穿的主题是什么？",
    "请梳理一下整个项目的来龙去脉。",
    "这批报告反映了哪些共同的问题？",
    "不同文件对这次改革的评价有何异同？",
    "资料库里反复出现的人物和事件有哪些？",
    "综合来看，这家公司面临的主要风险是什么？",
)
LOCAL = (
    "Who signed the lease for the warehouse?",
    "When does the warranty for the X200 expire?",
    "What is the phone number of the front desk?",
    "How many chairs did Elena order in March?",
    "Where is the backup generator kept?",
    "Which supplier delivered the faulty valves?",
    'What does "cold start" mean in the manual?',
    "Did Omar Haddad attend the meeting on 4 May?",
    "What is the boiling point of compound B-17?",
    "Why was the Hamburg office closed?",
    "What was the name of Sofia's first company?",
    "How long is the notice period?",
    "Who is the mother of the person who designed the logo?",
    "What did Karin say about the budget?",
    "ISO 9001 certificate number",
    "Is the north entrance open on Sundays?",
    "谁负责二号仓库的钥匙？",
    "合同是哪一年签订的？",
    "新系统的预算是多少？",
    "李明毕业于哪所大学？",
    "《安全手册》第三章规定了什么？",
    "服务器机房在哪里？",
    "王芳的分机号码是什么？",
    "会议是几点开始的？",
    "这台设备有没有通过检测？",
)
TOOLS = [
    ToolMetadata(name="global", description="the whole"),
    ToolMetadata(name="local", description="a detail"),
]


class LikenessByFirstWord(BaseEmbedding):
    """Two dimensions: does a question begin like one about the whole, or not?"""

    def _get_text_embedding(self, text: str) -> list[float]:
        whole = text.split()[0] in {"Summarise", "Outline", "Describe", "Give"}
        return [1.0, 0.0] if whole else [0.0, 1.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def test_nearly_all_questions_of_either_scope_find_their_way() -> None:
    right_global = [question for question in GLOBAL if decide(question).mode == "global"]
    right_local = [question for question in LOCAL if decide(question).mode == "local"]

    assert len(right_global) >= 0.96 * len(GLOBAL), set(GLOBAL) - set(right_global)
    assert len(right_local) >= 0.96 * len(LOCAL), set(LOCAL) - set(right_local)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        pytest.param("Who wrote 三国演义?", "en", id="chinese-title-in-english"),
        pytest.param("The Old Lamp 是谁？", "zh", id="english-name-in-chinese"),
        pytest.param("谁发现了 Lantern 号？", "zh", id="chinese"),
        pytest.param("ISO 27001", "en", id="code"),
        pytest.param("沈望舒", "zh", id="name-alone"),
        pytest.param("", "en", id="empty"),
    ],
)
def test_a_foreign_name_does_not_turn_the_language(question: str, language: str) -> None:
    assert language_of(question) == language


def test_names_of_the_graph_pull_a_question_to_local() -> None:
    without = decide("请介绍一下沈望舒和陆听澜的分歧")
    with_names = decide("请介绍一下沈望舒和陆听澜的分歧", known_names=2)

    assert without.mode == "global"
    assert with_names.mode == "local"


def test_question_words_are_no_names() -> None:
    assert names_in("What did Ada Byron tell the Royal Society?") == ["Ada Byron", "Royal Society"]
    assert names_in("Summarise the reports") == []


def test_likeness_decides_where_words_say_nothing() -> None:
    question = "The weather and the harvest"

    assert decide(question, similarity=lambda _: (0.6, 0.2)).mode == "global"
    assert decide(question, similarity=lambda _: (0.2, 0.6)).mode == "local"


def test_a_chinese_question_never_asks_an_english_likeness() -> None:
    def refuse(question: str) -> tuple[float, float]:
        raise AssertionError(question)

    assert decide("谁创立了这家公司？", similarity=refuse).mode == "local"


@pytest.mark.parametrize("question", ["", "   ", "？", "a", "1"])
def test_odd_questions_go_local(question: str) -> None:
    assert decide(question).mode == "local"


def test_the_selector_chooses_by_name_and_says_why() -> None:
    result = ScopeSelector().select(TOOLS, "What are the main themes across these documents?")

    assert result.ind == 0
    assert result.reason.startswith("global: ")
    assert ScopeSelector().select(TOOLS[::-1], "Who founded it?").ind == 0


def test_both_faces_of_the_selector_agree() -> None:
    selector = ScopeSelector(LikenessByFirstWord(), known_names=lambda _: 1)
    for question in (*GLOBAL, *LOCAL):
        assert selector.select(TOOLS, question) == asyncio.run(selector.aselect(TOOLS, question))


def test_prototypes_are_embedded_once_and_one_at_a_time() -> None:
    batches: list[int] = []

    class Counting(LikenessByFirstWord):
        def _get_text_embedding(self, text: str) -> list[float]:
            batches.append(1)
            return super()._get_text_embedding(text)

    selector = ScopeSelector(Counting())
    selector.select(TOOLS, "Describe the harvest")
    first = len(batches)
    selector.select(TOOLS, "Describe the harvest")

    assert len(batches) == first + 1


@pytest.mark.parametrize(
    "names", [["local"], ["local", "local"], ["local", "global", "other"], ["a", "b"]]
)
def test_any_other_pair_of_tools_is_refused(names: list[str]) -> None:
    tools = [ToolMetadata(name=name, description="") for name in names]
    with pytest.raises(QuestionError, match="'local' and 'global'"):
        ScopeSelector().select(tools, "Who?")
