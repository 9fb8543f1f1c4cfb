"""Second names that a text states of its subject."""

from __future__ import annotations

import pytest

from graph.extraction.aliases import stated_aliases
from graph.model import Mention
from graph.text.names import name_key
from graph.text.sentences import lay_out


def aliases(text: str, *names: str, kind: str = "PERSON") -> set[tuple[str, str]]:
    mentions = [
        Mention(
            start=text.index(each),
            end=text.index(each) + len(each),
            surface=each,
            key=name_key(each),
            type=kind,
        )
        for each in names
    ]
    return {(one.subject, one.object) for one in stated_aliases(lay_out(text), mentions)}


@pytest.mark.parametrize(
    ("text", "names", "kind"),
    [
        ("Ada Brine was a writer. She also wrote under the pseudonyms Lob, Tern and Orr Vale.",
         ("Ada Brine", "Lob", "Tern", "Orr Vale"), "PERSON"),
        ("Ada Brine sang. She is also known by her stage name, Orr Vale.",
         ("Ada Brine", "Orr Vale"), "PERSON"),
        ("The Pell Ducks are a team. The team was formerly known as the Brae Ducks or Brae Jinks.",
         ("Pell Ducks", "Brae Ducks", "Brae Jinks"), "ORGANISATION"),
        ("Pell or Pellas was a saint.", ("Pell", "Pellas"), "PERSON"),
        ("Khooni Khanjar (Fighting Blade) is a film.",
         ("Khooni Khanjar", "Fighting Blade"), "NAME"),
    ],
)  # fmt: skip
def test_a_text_states_other_names_of_its_subject(
    text: str, names: tuple[str, ...], kind: str
) -> None:
    subject, *others = map(name_key, names)
    assert aliases(text, *names, kind=kind) == {(subject, other) for other in others}


@pytest.mark.parametrize(
    ("text", "names", "kind"),
    [
        ("At sea Ada Brine sang. She is known as Orr.", ("Ada Brine", "Orr"), "PERSON"),
        ("Ada Brine sang. It is also known as Orr Vale.", ("Ada Brine", "Orr Vale"), "PERSON"),
        ("Ada Brine sang. Her dog was known as Orr.", ("Ada Brine", "Orr"), "PERSON"),
        ("Pell or Brae will win.", ("Pell", "Brae"), "PERSON"),
        ("Springfield (Illinois) is a town.", ("Springfield", "Illinois"), "PLACE"),
    ],
)
def test_nothing_is_stated_of_anybody_else(text: str, names: tuple[str, ...], kind: str) -> None:
    assert aliases(text, *names, kind=kind) == set()


@pytest.mark.parametrize(
    "text",
    [
        "据“灰色协议”（Grey Protocol）的规定。",
        "据《灰色协议》（Grey Protocol）的规定。",
        "乘“灰色协议”号（R/V Grey Protocol）出海。",
    ],
)
def test_a_name_in_the_other_script_in_brackets_is_the_same_name(text: str) -> None:
    assert aliases(text, "灰色协议", "Grey Protocol", kind="WORK") == {
        ("灰色协议", "grey protocol")
    }


def test_a_translation_that_no_reader_marked_is_read() -> None:
    assert aliases("烬藻（emberweed）只产于岛上。", "烬藻") == {("烬藻", "emberweed")}
