"""What documents begin with, told to a reader beside parts that leave it unsaid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.answering.openings import OpenedPassage, read_title, with_openings
from engine.types import Passage

DOCUMENT = (
    "# Fifty years\n\nBy the keepers\n\nSea temperature and level at Port Ansgar. It was written in"
    " 2024.\n\n- A list of tides\n\n"
    + "The gauge is read by hand. "
    * 40
    + "\n\nThe mean level has"
    " risen by 31 centimetres.\n"
)
WANTED = {"level": 2.0, "port": 3.0, "ansgar": 4.0, "risen": 2.0}


def passage(text: str) -> Passage:
    start = DOCUMENT.index(text)
    return Passage(
        text=text, score=1.0, relevance=1.0, document_id="d", chunk_id="c", title="Fifty years",
        start=start, end=start + len(text),
    )  # fmt: skip


def opened(text: str, wanted: dict[str, float] | None = None) -> Passage:
    (found,) = with_openings(
        [passage(text)],
        wanted=WANTED if wanted is None else wanted,
        text_at=lambda _document, start, end: DOCUMENT[start:end],
    )
    return found


def test_a_part_is_read_below_the_sentence_that_says_what_it_leaves_unsaid() -> None:
    part = "The mean level has risen by 31 centimetres."
    found = opened(part)
    assert isinstance(found, OpenedPassage)
    assert (found.text, found.start, found.title) == (part, DOCUMENT.index(part), "Fifty years")
    assert read_title(found, 0, part) == "Fifty years: Sea temperature and level at Port Ansgar."


@pytest.mark.parametrize(
    ("text", "shown", "wanted"),
    [
        pytest.param("The gauge is read by hand.", "At Port Ansgar it rose.", None, id="said"),
        pytest.param("Sea temperature and level", "Sea temperature", None, id="at the beginning"),
        pytest.param("The mean level", "The mean level", {"moon": 3.0}, id="said nowhere"),
        pytest.param("The mean level", "The mean level", {}, id="nothing asked"),
        pytest.param("The mean level", "It", {"keeper": 0.1, "moon": 9.0}, id="of little weight"),
    ],
)
def test_other_parts_are_read_below_the_title_alone(
    text: str, shown: str, wanted: dict[str, float] | None
) -> None:
    assert read_title(opened(text, wanted), 0, shown) == "Fifty years"


def test_front_matter_and_comments_are_no_beginning() -> None:
    held = (
        "---\ntitle: Port Ansgar\n---\n\n<!-- Port Ansgar -->\n\n# Level\nOn Port Ansgar we sail.\n"
    )
    (found,) = with_openings(
        [replace(passage("The mean level"), start=500)],
        wanted=WANTED,
        text_at=lambda _document, start, end: held[start:end],
    )
    assert read_title(found, 0, "It rose.") == "Fifty years: On Port Ansgar we sail."


def test_a_passage_without_an_opening_has_its_title() -> None:
    plain = passage("The mean level")
    assert read_title(plain, 0, "The mean level") == "Fifty years"
