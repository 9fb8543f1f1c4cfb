"""Marks to citations, and answers that a scripted model writes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from llama_index.core.llms import ChatMessage

from engine.answering.packing import expand_marks, pack_context
from engine.answering.synthesis import is_abstention, synthesise
from engine.config import CheckSettings
from engine.prompts import ABSTENTION, fill_prompt
from engine.types import Passage, Usage
from engine.verification.pipeline import CitationVerifier

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


def test_marks_expand_to_what_they_stand_for() -> None:
    assert expand_marks("a [1] b [2]", {1: [1, 2], 2: [3]}) == "a [1, 2] b [3]"
    assert expand_marks("a [7]", {1: [1]}) == "a [0]"
    assert expand_marks("a [1].", {1: []}) == "a."
    assert expand_marks("甲【３】 [^1] [1-2]", {1: [4], 2: [5], 3: [6]}) == "甲[6] [4] [4, 5]"
    assert expand_marks("See [1](http://a.b).", {1: [2]}) == "See [1](http://a.b)."


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


PACKED = pack_context(PASSAGES, budget_tokens=1000, count=words)
CHECK = CitationVerifier(CheckSettings(), idf=lambda _: lambda _: 2.0).checked


def test_a_model_answers_from_fenced_sources_and_is_cited() -> None:
    model = Script("Question: When did it open?", "It opened in 1974 [1]. It was grand.")
    draft = synthesise("When did it open?", PACKED, complete=model, check=CHECK)

    assert draft.text == "It opened in 1974 [1]. It was grand [unsupported]."
    assert [citation.quote for citation in draft.citations] == ["The station opened in 1974."]
    assert (draft.figures["claims"], draft.figures["supported"]) == (2, 1)
    assert draft.usage.calls == 1
    assert ABSTENTION["en"] in model.seen[0]
    assert model.seen[1].startswith("<<<sources ")
    assert PACKED.text in model.seen[1]


def test_the_instructions_are_the_same_for_every_question() -> None:
    seen = []
    for question in ("When did it open?", "Who led it?"):
        model = Script(question, "1974 [1]")
        synthesise(question, PACKED, complete=model, check=CHECK)
        seen.append(model.seen)

    assert seen[0][0] == seen[1][0]
    assert seen[0][1] != seen[1][1]


def test_a_chinese_question_gets_chinese_instructions_and_abstention() -> None:
    model = Script("问题：站长是谁？", ABSTENTION["zh"])
    draft = synthesise("站长是谁？", PACKED, complete=model, check=CHECK)

    assert draft.abstained
    assert draft.text == ABSTENTION["zh"]
    assert "用中文回答" in model.seen[0]


def test_without_sources_no_model_is_asked() -> None:
    empty = pack_context([], budget_tokens=100, count=words)
    model = Script("never", "never")
    draft = synthesise("Who?", empty, complete=model, check=CHECK)

    assert draft.abstained
    assert draft.usage == Usage()


@pytest.mark.parametrize("reply", ["", "  \n", ABSTENTION["en"], ABSTENTION["en"].upper() + " [1]"])
def test_an_empty_reply_or_the_abstention_abstains(reply: str) -> None:
    model = Script("Who?", reply)
    draft = synthesise("Who?", PACKED, complete=model, check=CHECK)

    assert draft.abstained
    assert draft.usage.calls == 1


def test_an_answer_that_mentions_the_abstention_is_none() -> None:
    assert not is_abstention(f"{ABSTENTION['en']} But it opened in 1974 [1].")


def test_gaps_are_filled_once_and_braces_of_documents_stay() -> None:
    assert fill_prompt("{a} {b} {c}", a="{b}", b="1") == "{b} 1 {c}"
