"""English sentences that give somebody a second name."""

from __future__ import annotations

import pytest

from graph.extraction.aliases import stated_aliases
from graph.model import Mention
from graph.text.sentences import lay_out


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
        "Ada Brine, usually referred to simply as Kit Marlow, dived.",
        "Ada Brine (1901 – 1980), sometimes spelled Kit Marlow, dived.",
        "Ada Brine, who was also called Kit Marlow, dived.",
        "Ada Brine, or simply Kit Marlow, dived.",
        "Ada Brine (later Kit Marlow) dived.",
        "Ada Brine (Welsh: Kit Marlow) dived.",
        "Ada Brine was originally named Kit Marlow.",
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
        "Ada Brine (and Kit Marlow) sang.",
        "Ada Brine, known as the Kit Marlow of the north, sang.",
    ],
)
def test_another_person_is_no_second_name(text: str) -> None:
    assert not stated(text, "Ada Brine", "Kit Marlow")


def test_who_is_born_somewhere_is_not_called_so() -> None:
    text = "Ada Brine, born Merrow, was a diver."
    assert not stated(text, "Ada Brine", "Merrow", kind="PLACE")


def pairs_of(text: str, *names: str, kind: str) -> list[tuple[str, str]]:
    mentions = [
        Mention(
            start=text.index(name), end=text.index(name) + len(name),
            surface=name, key=name.lower(), type=kind,
        )
        for name in names
    ]  # fmt: skip
    return [(s.subject, s.object) for s in stated_aliases(lay_out(text), mentions)]


@pytest.mark.parametrize(
    ("long", "short", "expected"),
    [
        ("Russian Tidal Corporation", "RUSTID", True),
        ("Tidal Force 104", "TF-104", True),
        ("U.S. Office of Tide and Buoy", "OTB", True),
        ("Association of Southern Tide Stations", "ASTS", True),
        ("Fellow of the Southern Tide Academy", "STA", False),
        ("Southern Tide Academy", "Sta", False),
        ("Southern Tide Academy", "NBA", False),
    ],
)
def test_capitals_in_brackets_are_cut_out_of_the_name(
    long: str, short: str, expected: bool
) -> None:
    """Whether letters stand in it in order says it, not whether they are all its initials."""
    found = pairs_of(f"The {long} ({short}) met.", long, short, kind="ORGANISATION")
    assert found == ([(long.lower(), short.lower())] if expected else [])


def test_a_name_may_have_several_second_names() -> None:
    text = "Merrow Pier, also known as Long Pier or simply the Jetty, stands."
    found = pairs_of(text, "Merrow Pier", "Long Pier", "Jetty", kind="PLACE")
    assert {("merrow pier", "long pier"), ("merrow pier", "jetty")} <= set(found)


def test_brackets_do_not_part_a_name_from_the_next() -> None:
    text = "Merrow Pier (Μέρροου) (or Long Pier) stands."
    assert pairs_of(text, "Merrow Pier", "Μέρροου", "Long Pier", kind="PLACE") == [
        ("merrow pier", "μέρροου"),
        ("merrow pier", "long pier"),
    ]


def test_a_place_in_brackets_may_be_where_the_other_is() -> None:
    assert not pairs_of("Born in Merrow (now Kestrelia).", "Merrow", "Kestrelia", kind="PLACE")
    assert not pairs_of("Born in Merrow (Kestrelia).", "Merrow", "Kestrelia", kind="PLACE")


def test_another_spelling_of_a_surname_is_not_that_person_alone() -> None:
    assert not pairs_of("Ada Stewart (or Stuart) dived.", "Ada Stewart", "Stuart", kind="PERSON")


def test_what_lies_at_a_place_has_the_second_name() -> None:
    text = "She entered the cave at Merrow known as the Vault."
    assert not pairs_of(text, "Merrow", "Vault", kind="PLACE")
