"""Marks to citations, and answers that a scripted model writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.llms import ChatMessage

from engine.answer.cite import Cited, count_unmarked, expand_marks, resolve_marks
from engine.answer.language import ABSTENTION
from engine.answer.pack import pack
from engine.answer.prompts import fill
from engine.answer.synthesise import is_abstention, synthesise
from engine.retrieve.tokens import tokens
from engine.types import Passage, Usage
from graph.sentences import sentence_spans

TEXTS = (
    "The station opened in 1974. Maren Holt led it until 1998. It closed in 2011.",
    "The glider Pilgrim cost 185,000 crowns. It was lost off the north cape.",
    "维岛站建于1974年。站长是沈望舒。",
)
PASSAGES = tuple(
    Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id=f"d{number}",
        chunk_id=f"c{number}",
        title=f"T{number}",
        start=100,
        end=100 + len(text),
    )
    for number, text in enumerate(TEXTS, start=1)
)


def resolve(text: str) -> Cited:
    return resolve_marks(text, PASSAGES, tokens=tokens, sentence_spans=sentence_spans)


@pytest.mark.parametrize(
    ("text", "clean", "quotes"),
    [
        pytest.param(
            "It opened in 1974 [1].",
            "It opened in 1974 [1].",
            ["The station opened in 1974."],
            id="plain",
        ),
        pytest.param(
            "Lost at the cape [2]. Holt led until 1998.[1]",
            "Lost at the cape [1]. Holt led until 1998.[2]",
            ["It was lost off the north cape.", "Maren Holt led it until 1998."],
            id="renumbered-in-order-of-use",
        ),
        pytest.param(
            "It opened in 1974 [1] and closed in 2011 [1].",
            "It opened in 1974 [1] and closed in 2011 [2].",
            ["The station opened in 1974.", "It closed in 2011."],
            id="two-sentences-of-one-passage",
        ),
        pytest.param(
            "It opened in 1974 [1]. The opening was in 1974 [1].",
            "It opened in 1974 [1]. The opening was in 1974 [1].",
            ["The station opened in 1974."],
            id="one-sentence-twice",
        ),
        pytest.param(
            "Opened in 1974 [1, 3].",
            "Opened in 1974 [1][2].",
            ["The station opened in 1974.", "维岛站建于1974年。"],
            id="list",
        ),
        pytest.param(
            "站长是沈望舒【３】。",
            "站长是沈望舒[1]。",
            ["站长是沈望舒。"],
            id="chinese-brackets-and-digits",
        ),
        pytest.param(
            "The glider was lost off the cape [^2].",
            "The glider was lost off the cape [1].",
            ["It was lost off the north cape."],
            id="footnote-style",
        ),
        pytest.param("It opened [9].", "It opened.", [], id="unknown"),
        pytest.param("See [1](http://a.b).", "See [1](http://a.b).", [], id="a-link-is-no-mark"),
    ],
)
def test_marks_become_citations_of_the_sentence(text: str, clean: str, quotes: list[str]) -> None:
    cited = resolve(text)

    assert cited.text == clean
    assert [citation.quote for citation in cited.citations] == quotes


@given(
    st.lists(
        st.sampled_from(
            [
                "It opened in 1974",
                "站长是沈望舒",
                "[1]",
                "[2, 7]",
                "【3】",
                "[1-3]",
                ". ",
                "。",
                "[0]",
            ]
        )
    )
)
def test_every_mark_left_has_a_citation_whose_quote_is_exact(pieces: list[str]) -> None:
    cited = resolve(" ".join(pieces))
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", cited.text)]

    assert sorted(set(numbers)) == [citation.number for citation in cited.citations]
    assert list(dict.fromkeys(numbers)) == sorted(set(numbers))
    for citation in cited.citations:
        document = " " * 100 + TEXTS[int(citation.document_id[1:]) - 1]
        assert document[citation.start : citation.end] == citation.quote


def test_unknown_marks_and_unmarked_statements_are_counted() -> None:
    cited = resolve("It opened in 1974 [1]. Nobody knows why [8][9]. It closed in 2011. [1]")

    assert (cited.unknown, cited.unmarked) == (2, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("It opened. [1] It closed [2].", 0, id="mark-behind-the-stop"),
        pytest.param("In short:\n\n- One thing [1]\n- Another thing", 1, id="list"),
        pytest.param("开馆于1974年。[1]后来关闭了。", 1, id="chinese"),
        pytest.param("", 0, id="empty"),
    ],
)
def test_statements_without_a_mark_are_counted(text: str, expected: int) -> None:
    assert count_unmarked(text, sentence_spans=sentence_spans) == expected


def test_a_citation_without_a_shared_word_is_weak() -> None:
    assert resolve("Completely different matter [2].").weak == 1
    assert resolve("The glider was lost [2].").weak == 0


def test_marks_expand_to_what_they_stand_for() -> None:
    assert expand_marks("a [1] b [2]", {1: [1, 2], 2: [3]}) == "a [1, 2] b [3]"
    assert expand_marks("a [7]", {1: [1]}) == "a [0]"
    assert expand_marks("a [1].", {1: []}) == "a."


class Script:
    """A model that knows one exchange and raises on any other."""

    def __init__(self, expected: str, reply: str) -> None:
        self.expected, self.reply, self.seen = expected, reply, [""]

    def __call__(self, messages: Sequence[ChatMessage]) -> tuple[str, Usage]:
        if self.expected not in str(messages[-1].content):
            raise AssertionError(f"unexpected prompt: {messages[-1].content}")
        self.seen = [str(message.content) for message in messages]
        return self.reply, Usage(calls=1, prompt_tokens=9, completion_tokens=3)


def words(text: str) -> int:
    return len(text.split())


PACKED = pack(PASSAGES, budget_tokens=1000, count=words)


def test_a_model_answers_from_fenced_sources_and_is_cited() -> None:
    model = Script("Question: When did it open?", "It opened in 1974 [1]. It was grand.")
    draft = synthesise(
        "When did it open?", PACKED, complete=model, tokens=tokens, sentence_spans=sentence_spans
    )

    assert draft.text == "It opened in 1974 [1]. It was grand."
    assert [citation.quote for citation in draft.citations] == ["The station opened in 1974."]
    assert draft.figures["unmarked_statements"] == 1
    assert draft.usage.calls == 1
    assert ABSTENTION["en"] in model.seen[0]
    assert model.seen[1].startswith("<<<sources ")
    assert PACKED.text in model.seen[1]


def test_the_instructions_are_the_same_for_every_question() -> None:
    seen = []
    for question in ("When did it open?", "Who led it?"):
        model = Script(question, "1974 [1]")
        synthesise(question, PACKED, complete=model, tokens=tokens, sentence_spans=sentence_spans)
        seen.append(model.seen)

    assert seen[0][0] == seen[1][0]
    assert seen[0][1] != seen[1][1]


def test_a_chinese_question_gets_chinese_instructions_and_abstention() -> None:
    model = Script("问题：站长是谁？", ABSTENTION["zh"])
    draft = synthesise(
        "站长是谁？", PACKED, complete=model, tokens=tokens, sentence_spans=sentence_spans
    )

    assert draft.abstained
    assert draft.text == ABSTENTION["zh"]
    assert "用中文回答" in model.seen[0]


def test_without_sources_no_model_is_asked() -> None:
    empty = pack([], budget_tokens=100, count=words)
    model = Script("never", "never")
    draft = synthesise("Who?", empty, complete=model, tokens=tokens, sentence_spans=sentence_spans)

    assert draft.abstained
    assert draft.usage == Usage()


@pytest.mark.parametrize("reply", ["", "  \n", ABSTENTION["en"], ABSTENTION["en"].upper() + " [1]"])
def test_an_empty_reply_or_the_abstention_abstains(reply: str) -> None:
    model = Script("Who?", reply)
    draft = synthesise("Who?", PACKED, complete=model, tokens=tokens, sentence_spans=sentence_spans)

    assert draft.abstained
    assert draft.usage.calls == 1


def test_an_answer_that_mentions_the_abstention_is_none() -> None:
    assert not is_abstention(f"{ABSTENTION['en']} But it opened in 1974 [1].")


def test_gaps_are_filled_once_and_braces_of_documents_stay() -> None:
    assert fill("{a} {b} {c}", a="{b}", b="1") == "{b} 1 {c}"
