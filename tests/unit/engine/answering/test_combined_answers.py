"""Two answers as one: marks, citations, passages and costs of both."""

from __future__ import annotations

from dataclasses import replace

from engine.answering.combined import combine_answers
from engine.answering.synthesis import replay_events
from engine.events import Event, PassagesEvent, TokensEvent
from engine.prompts import ABSTENTION
from engine.types import Answer, Citation, Passage, TraceStep, Usage


def citation(number: int, start: int, document: str = "d") -> Citation:
    return Citation(
        number=number,
        document_id=document,
        chunk_id=f"{document}{start}",
        title="T",
        quote="q" * 5,
        start=start,
        end=start + 5,
    )


def passage(chunk: str) -> Passage:
    return Passage(
        text="t",
        score=1.0,
        relevance=1.0,
        document_id="d",
        chunk_id=chunk,
        title="T",
        start=0,
        end=1,
    )


LOCAL = Answer(
    question="What is the quay like, and the town?",
    text="The quay is old [1]. It leaks [2].",
    mode="local",
    citations=(citation(1, 0), citation(2, 10)),
    passages=(passage("a"), passage("b")),
    trace=(TraceStep(stage="write", detail="w", seconds=0.1),),
    usage=Usage(calls=1, prompt_tokens=10),
)
OVERVIEW = Answer(
    question=LOCAL.question,
    text="The town leaks [1][2]. It was poor in [1907] [3].",
    mode="global",
    citations=(citation(1, 10), citation(2, 10), citation(3, 0, "e")),
    passages=(passage("b"), passage("c")),
    trace=(TraceStep(stage="reduce", detail="r", seconds=0.2),),
    usage=Usage(calls=2, prompt_tokens=20),
)


def test_the_local_part_comes_first_and_marks_are_numbered_on() -> None:
    answer = combine_answers(LOCAL, OVERVIEW)

    assert answer.mode == "both"
    assert answer.text == (
        "The quay is old [1]. It leaks [2].\n\nOn the whole:\n\n"
        "The town leaks [2]. It was poor in [1907] [3]."
    )
    assert [(each.number, each.document_id, each.start) for each in answer.citations] == [
        (1, "d", 0),
        (2, "d", 10),
        (3, "e", 0),
    ]


def test_lines_of_the_overview_that_say_what_the_local_part_says_are_left_out() -> None:
    told = (
        "From 2 documents:\n\nQuay:\n- It leaks. [1]\n- It is dry. [3]\n\n"
        "Leaks:\n- Again. [1][2]\n\nTowns:\n- Poor. [3]"
    )
    answer = combine_answers(LOCAL, replace(OVERVIEW, text=told))

    assert answer.text.split("On the whole:\n\n")[1] == (
        "From 2 documents:\n\nQuay:\n- It is dry. [3]\n\nTowns:\n- Poor. [3]"
    )


def test_an_overview_that_adds_nothing_leaves_the_local_answer_alone() -> None:
    answer = combine_answers(
        LOCAL, replace(OVERVIEW, text="From 2 documents:\n\nQuay:\n- It leaks. [1]")
    )

    assert answer.text == LOCAL.text


def test_passages_steps_and_costs_are_those_of_both() -> None:
    answer = combine_answers(LOCAL, OVERVIEW)

    assert [each.chunk_id for each in answer.passages] == ["a", "b", "c"]
    assert [step.stage for step in answer.trace] == ["write", "reduce", "merge"]
    assert answer.usage == Usage(calls=3, prompt_tokens=30)


def test_where_one_abstains_the_other_answers_alone() -> None:
    none = {"text": ABSTENTION["en"], "citations": (), "abstained": True}
    only_local = combine_answers(LOCAL, replace(OVERVIEW, **none))
    only_overview = combine_answers(replace(LOCAL, **none), OVERVIEW)

    assert (only_local.text, only_local.citations) == (LOCAL.text, LOCAL.citations)
    assert (only_overview.text, only_overview.citations) == (OVERVIEW.text, OVERVIEW.citations)
    assert not only_local.abstained
    assert not only_overview.abstained


def test_both_abstain_as_one() -> None:
    none = {"text": ABSTENTION["en"], "citations": (), "abstained": True}
    answer = combine_answers(replace(LOCAL, **none), replace(OVERVIEW, **none))

    assert answer.abstained
    assert answer.text == ABSTENTION["en"]
    assert answer.usage.calls == 3


def test_the_line_between_is_in_the_language_of_the_question() -> None:
    question = "码头和镇子怎么样？"
    answer = combine_answers(
        replace(LOCAL, question=question), replace(OVERVIEW, question=question)
    )

    assert "\n\n总的来看：\n\n" in answer.text


def test_a_kept_answer_is_told_with_a_passage_for_each_mark() -> None:
    near = replace(passage("a"), start=0, end=20)
    said = "It is old [1]. It leaks [2]."
    kept = replace(LOCAL, text=said, citations=(citation(1, 90), citation(2, 3)), passages=(near,))
    events: list[Event] = []

    replay_events(kept, events.append)

    (shown,) = [each.passages for each in events if isinstance(each, PassagesEvent)]
    assert [each.start for each in shown] == [0, 90]
    (piece,) = [each.text for each in events if isinstance(each, TokensEvent)]
    assert piece == "It is old [2]. It leaks [1]."
