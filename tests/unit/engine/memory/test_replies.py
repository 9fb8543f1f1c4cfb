"""Answers from memory: the thing whose name is asked for."""

from __future__ import annotations

from engine.memory.replies import named_thing


def test_a_question_for_the_name_of_nothing_names_no_thing() -> None:
    assert named_thing("What is the name of my  ?") == set()
    assert named_thing("What is my  's name?") == set()
    assert named_thing("What is the name of my dog?") == {"dog"}
