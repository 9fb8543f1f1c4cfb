"""English sentences that give somebody a second name."""

from __future__ import annotations

import pytest

from graph.extract.aliases import stated_aliases
from graph.extract.segments import lay_out
from graph.model import Mention


def stated(text: str, first: str, second: str, *, kind: str = "PERSON") -> bool:
    mentions = [
        Mention(
            start=text.index(name), end=text.index(name) + len(name),
            surface=name, key=name.lower(), type=kind if name == second else "PERSON",
        )
        for name in (first, second)
    ]  # fmt: skip
    found = [(s.subject, s.object) for s in stated_aliases(lay_out(text), mentions)]
    return found == [(first.lower(), second.lower())]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Brine, also known as Kit Marlow, wrote it.",
        "Ada Brine (born Kit Marlow, 3 May 1901) was a diver.",
        "Ada Brine (3 May 1901 – 9 June 1980), better known by her pen name Kit Marlow, dived.",
        "Ada Brine, writing under the pseudonym Kit Marlow, was read.",
        "Ada Brine, known professionally as Kit Marlow, sang.",
        "Ada Brine, whose stage name was Kit Marlow, sang.",
        "Ada Brine, née Kit Marlow, lived there.",
        "Ada Brine, nicknamed “Kit Marlow”, lived there.",
    ],
)
def test_a_second_name_is_stated(text: str) -> None:
    assert stated(text, "Ada Brine", "Kit Marlow")


@pytest.mark.parametrize(
    "text",
    [
        "Ada Brine was born. Kit Marlow came later.",
        "Ada Brine knew Kit Marlow.",
        "Ada Brine, born to Kit Marlow in 1901, was a diver.",
        "Ada Brine wrote to her friend under Kit Marlow.",
        "Ada Brine, like Kit Marlow, sang.",
    ],
)
def test_another_person_is_no_second_name(text: str) -> None:
    assert not stated(text, "Ada Brine", "Kit Marlow")


def test_who_is_born_somewhere_is_not_called_so() -> None:
    text = "Ada Brine, born Merrow, was a diver."
    assert not stated(text, "Ada Brine", "Merrow", kind="PLACE")
