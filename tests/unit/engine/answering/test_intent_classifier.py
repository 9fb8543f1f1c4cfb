"""The classifier of what a question asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from engine.answering.extractive.intent import (
    asked_person,
    compared_sides,
    definition_subject,
    question_intent,
    side_question,
)
from engine.answering.extractive.intents import classifier
from engine.answering.extractive.intents.classifier import (
    ASKED,
    classify_asked,
    example_questions,
)
from engine.answering.extractive.question_type import leading_question, spelled_out
from engine.answering.question_classifier import examples_digest
from engine.prompts import Language


def test_what_is_shipped_is_what_the_examples_teach() -> None:
    file = Path(classifier.__file__).with_name("intent.json")
    shipped = json.loads(file.read_text("utf8"))

    assert shipped["questions"] == examples_digest(map(example_questions, get_args(Language))), (
        "run tests/benchmarks/fit_intent.py again"
    )


@pytest.mark.parametrize("language", get_args(Language))
def test_the_examples_are_of_one_class_each(language: Language) -> None:
    examples = example_questions(language)
    texts = [text for questions in examples.values() for text in questions]

    assert set(examples) == set(ASKED)
    assert len(texts) == len(set(texts))
    assert all(len(questions) >= 200 for questions in examples.values())


@pytest.mark.parametrize("question", ["", "?", "Zyx qwv", "缆"])
def test_probabilities_sum_to_one_whatever_is_asked(question: str) -> None:
    told = classify_asked(question)

    assert tuple(told) == ASKED
    assert sum(told.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Somebody has fallen off the pier. What are the guards supposed to do?", "steps"),
        ("What changes did the auditors ask for?", "list"),
        ("How come nobody noticed the leak?", "cause"),
        ("What made the council give up the plan?", "cause"),
        ("Why are there two different tariffs?", "cause"),
        ("What was the Beadle and what became of it?", "definition"),
        ("What is the difference in weight between the two bells?", "comparison"),
        ("Who were the first members of the Harbour Board?", "list"),
        ("Who have been the directors of the Harbour Board?", "list"),
        ("What happened to the ifconfig command?", "command"),
        ("what happened between the vicar and Ann on the way home from the fair", "explanation"),
        ("Who are the trustees?", "list"),
        ("Who are the ones that this affects?", "definition"),
        ("Who were the Normans?", "definition"),
        ("Is the sea at the quay getting warmer?", "explanation"),
        ("How did the widow finally get the navy to hand over the tapes?", "explanation"),
        ("学校有没有为这件事道歉？", "explanation"),
        ("Which port does the service listen on?", None),
        ("Which bell did the sexton ring?", None),
        ("How much memory does the program need?", None),
        ("Which command shows the routes?", "command"),
        ("Why does the command fail?", "cause"),
        ("这样安排是出于什么考虑？", "cause"),
        ("盘坏了一块，怎么换成新的？", "steps"),
        ("每次插上去名字都不一样，怎样让它固定？", "steps"),
        ("他是用什么办法逃出城的？", "steps"),
        ("合同里作了哪几条承诺？", "list"),
        ("用什么命令查看路由？", "command"),
        ("默认用哪个端口？", None),
        ("这种舞在当地称为什么？", None),
        ("徐庶是谁？", "definition"),
        ("宋江究竟是谁？", "definition"),
        ("怎么安装系统？什么时候重启？", "steps"),
        ("How do I mount the disk, and where do I find the manual?", "steps"),
        ("Which ship sank?", None),
        ("Remember the parcel, and who founded the mill?", None),
        ("What animal bit the baker?", None),
        ("Which people have led the club?", "list"),
        ("What's the link between the miller and the fire?", "explanation"),
    ],
)
def test_the_shape_of_a_question_says_what_it_asks_for(question: str, intent: str | None) -> None:
    assert question_intent(question) == intent


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What was the Beadle and what became of it?", "What was the Beadle?"),
        ("Who rang the bell, and when was that?", "Who rang the bell?"),
        ("I am new here. Where is the mill, and who owns it?", "I am new here. Where is the mill?"),
        ("Who are Tam and Effie?", "Who are Tam and Effie?"),
        ("Is the mill, which is old, for sale?", "Is the mill, which is old, for sale?"),
        ("塔有多高？是哪年建的？", "塔有多高？"),
        ("塔有多高?是哪年建的?", "塔有多高？"),
        (
            "When I start the mill, how much grain is used?",
            "When I start the mill, how much grain is used?",
        ),
        (
            "How do I know when and where the meeting is?",
            "How do I know when and where the meeting is?",
        ),
        (
            "What is the difference between how a lug works and how a gaff works?",
            "What is the difference between how a lug works and how a gaff works?",
        ),
        ("何进死后，谁掌权？", "何进死后，谁掌权？"),
        ("守塔的人病了以后，谁来点灯？", "守塔的人病了以后，谁来点灯？"),
    ],
)
def test_of_several_questions_the_first_leads(question: str, first: str) -> None:
    assert leading_question(question) == first


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("于安和庞华的表现和下场有什么不同？", ["于安的表现和下场", "庞华的表现和下场"]),
        ("林冲和杨志都上了山，两人的性格有什么差别？后来呢？",
         ["林冲都上了山，的性格", "杨志都上了山，的性格"]),
        ("apt 和 apt-get 有什么不同？", ["", ""]),
        ("稳定版和测试版有什么区别？", ["", ""]),
        ("缆与索的区别是什么？", ["", ""]),
        ("Samba和NFS的性能有什么不同？", ["Samba的性能", "NFS的性能"]),
        (f"甲山和乙山的高度{' ' * 3000}有什么区别？", ["甲山的高度", "乙山的高度"]),
        ("As captains, how do Ann and Bo differ?", ["As captains, Ann", "As captains, Bo"]),
        ("How do Ann's and Bo's views of the dam differ?",
         ["Ann's views of the dam", "Bo's views of the dam"]),
        ("Compare what the Mill and the Quay people said the dam would do to the eels.",
         ["what the Mill people said the dam would do to the eels",
          "what the Quay people said the dam would do to the eels"]),
        ("How do apt and aptitude differ in speed?", ["apt in speed", "aptitude in speed"]),
        ("What is the difference between the Gull and the Petrel?", ["", ""]),
        ("Gull versus Petrel, how do they compare?", ["", ""]),
        ("Is it better to use a lug or a gaff?", ["", ""]),
        ("What is the difference between what Ann does and what Bo does?", ["", ""]),
        ("Explain the practical difference between main and develop.", ["", ""]),
        ("I am building a boat. How do lugs and gaffs differ?", ["", ""]),
        ("How do HTTP and HTTP/2 differ in latency?", ["HTTP in latency", "HTTP/2 in latency"]),
        ("How do C++ and C# differ in speed?", ["C++ in speed", "C# in speed"]),
        ("Does the lug differ from the gaff if it blows?",
         ["lug if it blows", "gaff if it blows"]),
    ],
)  # fmt: skip
def test_each_side_is_asked_for_what_is_compared(question: str, asked: list[str]) -> None:
    sides = compared_sides(question)

    assert [side_question(question, side, sides) for side in sides] == asked


def test_the_person_of_several_questions_is_the_name_alone() -> None:
    assert asked_person("Who is Tiny Tim, and what happens to him?") == "Tiny Tim"
    assert definition_subject("What is the Curate and what became of it?") == "Curate"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("whats a killick for?", "what is a killick for?"),
        ("Who’s the pilot, please?", "Who is the pilot?"),
        ("who's been the pilot?", "who's been the pilot?"),
        ("Why cant I want the boat I dont have", "Why can't I want the boat I don't have"),
        ("how do I reef a sail pls", "how do I reef a sail"),
        ("Which boats please the crew?", "Which boats please the crew?"),
        ("How do you say please?", "How do you say please?"),
        ("To whom does the pilot give thanks?", "To whom does the pilot give thanks?"),
        (
            "What is the WHO's view of the cant of masts?",
            "What is the WHO's view of the cant of masts?",
        ),
        ("What's become of him?", "What's become of him?"),
        (", please", ", please"),
        ("帆船是什么？", "帆船是什么？"),
        ("桅杆为啥断了，咋办？", "桅杆为什么断了，怎么办？"),
        ("《咋整》是谁写的？", "《咋整》是谁写的？"),
    ],
)
def test_a_question_is_read_as_written_out_and_without_thanks(question: str, said: str) -> None:
    assert spelled_out(question) == said


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("a mooring in the outer harbour - steps?", "steps"),
        ("Which ships does the company have?", "list"),
        ("Which boats for beginners can I use in the bay?", "list"),
        ("Who sits on the harbour board?", "list"),
        ("I'm visiting the island, what are the sights I should see?", "list"),
        ("what do i need on my computer to be able to build live images", "list"),
    ],
)
def test_steps_and_needs_are_asked_for_in_few_words(question: str, intent: str) -> None:
    assert question_intent(question) == intent
