"""Community titles: key phrases and chief names, in one script."""

from __future__ import annotations

import re

import pytest

from graph.communities.titles import Saying, joined_title, title_of, topics_of
from graph.model import Entity
from graph.text.cjk import has_han


def entity(name: str, *aliases: str, kind: str = "NAME") -> Entity:
    return Entity(
        id=f"e-{name}",
        name=name,
        type=kind,
        keys=(name.casefold(),),
        aliases=aliases,
        mention_count=1,
        document_count=1,
    )


def titled(ranked: list[Entity], sayings: list[Saying]) -> str:
    return title_of(ranked, sayings, dict.fromkeys((one.id for one in ranked), 0.0))


PRINTING = [
    Saying(
        text="CUPS drives a dot-matrix printer.",
        phrases=(("dot-matrix printer", "dot-matrix printer"),),
        headings=("Software", "3.2. Printing on paper"),
    ),
    Saying(
        text="A dot-matrix printer needs CUPS and no other part.",
        phrases=(
            ("dot-matrix printer", "dot-matrix printer"),
            ("other part", "other part"),
        ),
        headings=("Software", "3.2. Printing on paper"),
    ),
]


def test_a_title_says_what_it_is_about_and_then_the_chief_name() -> None:
    assert titled([entity("CUPS")], PRINTING) == "Printing on paper and dot-matrix printer: CUPS"


def test_a_heading_that_is_a_name_or_a_question_is_no_topic() -> None:
    for heading in (
        "Maurice, Prince of Orange",
        "What is printed here?",
        "Chapter 4",
        "3 May 1990",
    ):
        saying = Saying(text="CUPS is old.", headings=(heading,))
        assert titled([entity("CUPS")], [saying]) == "CUPS"


def test_common_words_are_no_topic_beside_rarer_ones() -> None:
    phrases = (("early year", "early years"), ("harbour pilot", "harbour pilots"))
    said = Saying(text="In the early years Ada Lin met harbour pilots.", phrases=phrases)
    assert titled([entity("Ada Lin")], [said]) == "Harbour pilots: Ada Lin"


def test_where_sentences_have_no_phrase_one_nearby_is_taken() -> None:
    said = Saying(text="Ada Lin met Bo Chen.", nearby=(("harbour pilot", "harbour pilots"),))
    assert titled([entity("Ada Lin"), entity("Bo Chen")], [said]) == (
        "Harbour pilots: Ada Lin and Bo Chen"
    )


def test_without_phrases_the_chief_names_are_the_title() -> None:
    members = [entity(name) for name in ("Ada Lin", "Lin", "Bo Chen", "Kestrel", "Petrel")]
    assert titled(members, [Saying(text="They met.")]) == "Ada Lin, Bo Chen and Kestrel"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("托兰海洋站维修海缆，海缆在冬天断了。", "海缆维修：托兰海洋站", id="chinese"),
        pytest.param(
            "Tolland Station mends the cable.", "Cable repair: Tolland Station", id="english"
        ),
    ],
)
def test_a_title_is_in_one_script(text: str, expected: str) -> None:
    members = [entity("Tolland Station", "托兰海洋站"), entity("LANTERN 海缆")]
    phrases = (("海缆维修", "海缆维修"), ("cable repair", "cable repair"), ("seil修", "SEIL修"))
    found = titled(members, [Saying(text=text, phrases=phrases)])
    assert found == expected
    assert not (has_han(found) and re.search("[A-Za-z]", found))


def test_a_large_community_has_the_topics_of_its_heaviest_parts() -> None:
    parts = [
        ("Harbour pilots: Ada Lin", 3.0),
        ("Cable repair: Kestrel", 5.0),
        ("Harbour pilots and tide tables: Bo Chen", 4.0),
        ("Old Mill and Petrel", 90.0),
    ]
    members = [entity("Ada Lin"), entity("Kestrel"), entity("Bo Chen")]
    expected = "Harbour pilots and cable repair: Ada Lin and Kestrel"
    assert joined_title(parts, members) == expected
    assert joined_title(parts[::-1], members) == expected


@pytest.mark.parametrize("names", [["Ada Lin"], ["Ada Lin", "Bo Chen"], []])
def test_the_topics_of_a_title_can_be_read_from_it(names: list[str]) -> None:
    title = titled([entity(name) for name in names], PRINTING)
    expected = ["printing on paper", "dot-matrix printer"] if names else []
    assert topics_of(title) == expected


def test_every_community_of_members_has_a_title() -> None:
    odd = [entity("Бағлан"), entity("pair of scissors", kind="CONCEPT")]
    assert titled(odd, []) == "Бағлан"
    assert titled(odd[1:], [Saying(text="图")]) == "pair of scissors"


def test_words_of_a_mails_header_are_no_topics() -> None:
    mail = Saying(
        text="Subj: Re: Fwd: the winch",
        phrases=(("subj re", "Subj Re"), ("fwd winch", "Fwd winch"), ("subj", "Subj")),
    )
    assert titled([entity("Ada Vale")], [mail, mail, mail]) == "Ada Vale"
