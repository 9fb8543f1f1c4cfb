"""Packing: whole passages, within the budget, none twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.answer.pack import label, pack
from engine.types import Passage


def passage(text: str, number: int = 0, **changes: object) -> Passage:
    made = Passage(
        text=text,
        score=1.0,
        relevance=1.0,
        document_id=f"d{number}",
        chunk_id=f"c{number}",
        title=f"Title {number}",
        start=0,
        end=len(text),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def words(text: str) -> int:
    return len(text.split())


def letters(text: str) -> int:
    return len(text)


texts = st.lists(st.text(min_size=1, max_size=60), max_size=12)


@given(texts, st.integers(0, 120), st.sampled_from([words, letters]))
def test_the_budget_is_never_exceeded_and_no_passage_is_cut(
    contents: list[str], budget: int, count: object
) -> None:
    assert callable(count)
    passages = [passage(text, number) for number, text in enumerate(contents)]
    packed = pack(passages, budget_tokens=budget, count=count)

    assert packed.tokens == count(packed.text) <= budget
    assert all(chosen in passages and chosen.text in packed.text for chosen in packed.passages)
    assert len(packed.passages) + packed.left_out + packed.duplicates == len(passages)


@given(texts)
def test_the_order_of_rank_is_kept(contents: list[str]) -> None:
    passages = [passage(text, number) for number, text in enumerate(contents)]
    packed = pack(passages, budget_tokens=10_000, count=words)
    places = [passages.index(chosen) for chosen in packed.passages]

    assert places == sorted(places)


def test_a_passage_that_does_not_fit_leaves_room_for_smaller_ones() -> None:
    long, short = passage("word " * 50, 1), passage("short one", 2)
    packed = pack([long, short], budget_tokens=20, count=words)

    assert packed.passages == (short,)
    assert packed.left_out == 1
    assert packed.text == "[1] Title 2\nshort one"


def test_copies_are_packed_once() -> None:
    text = "The tide gauge stands in the old lifeboat house and is read every six minutes by Ada."
    copies = [passage(text, 1), passage(text.upper(), 2), passage(text.replace("Ada", "Adam"), 3)]
    packed = pack(copies, budget_tokens=1000, count=words)

    assert packed.passages == (copies[0],)
    assert packed.duplicates == 2


def test_rows_that_differ_in_a_figure_are_no_copies() -> None:
    text = (
        "The tide gauge in the old lifeboat house was read by the keeper at noon and showed 4.{} m."
    )
    rows = [passage(text.format(digit), digit) for digit in range(3)]

    assert pack(rows, budget_tokens=1000, count=words).passages == tuple(rows)


def test_a_span_inside_another_of_its_document_is_a_copy() -> None:
    whole = passage("One sentence. Another sentence.", 1)
    part = passage("Another sentence.", 1, start=14, end=31)

    assert pack([whole, part], budget_tokens=1000, count=words).passages == (whole,)


def test_a_label_is_one_line_that_says_where_a_passage_is_from() -> None:
    place = passage("text", 1, title="Field\nnotes", headings=("Field notes", "June"), page=3)

    assert label(place, 2) == "[2] Field notes › June (p. 3)"
    assert label(replace(place, title="", headings=(), page=None), 1) == "[1] d1"
