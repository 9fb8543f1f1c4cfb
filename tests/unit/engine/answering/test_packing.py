"""Packing: whole passages, within the budget, none twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.answering.packing import (
    SMALLEST,
    Order,
    PackedContext,
    Span,
    TextAt,
    cite_span,
    merge_spans,
    pack_context,
    source_label,
    to_document_offsets,
    window_budget_tokens,
)
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
    packed = pack_context(passages, budget_tokens=budget, count=count)

    assert packed.tokens == count(packed.text) <= budget
    assert all(chosen in passages and chosen.text in packed.text for chosen in packed.passages)
    assert len(packed.passages) + packed.left_out + packed.duplicates == len(passages)


@given(texts)
def test_the_order_of_rank_is_kept(contents: list[str]) -> None:
    passages = [passage(text, number) for number, text in enumerate(contents)]
    packed = pack_context(passages, budget_tokens=10_000, count=words)
    places = [passages.index(chosen) for chosen in packed.passages]

    assert places == sorted(places)


def test_a_passage_that_does_not_fit_leaves_room_for_smaller_ones() -> None:
    long, short = passage("word " * 50, 1), passage("short one", 2)
    packed = pack_context([long, short], budget_tokens=20, count=words)

    assert packed.passages == (short,)
    assert packed.left_out == 1
    assert packed.text == "[1] Title 2\nshort one"


def test_copies_are_packed_once() -> None:
    text = "The tide gauge stands in the old lifeboat house and is read every six minutes by Ada."
    copies = [passage(text, 1), passage(text.upper(), 2), passage(text.replace("Ada", "Adam"), 3)]
    packed = pack_context(copies, budget_tokens=1000, count=words)

    assert packed.passages == (copies[0],)
    assert packed.duplicates == 2


def test_rows_that_differ_in_a_figure_are_no_copies() -> None:
    text = (
        "The tide gauge in the old lifeboat house was read by the keeper at noon and showed 4.{} m."
    )
    rows = [passage(text.format(digit), digit) for digit in range(3)]

    assert pack_context(rows, budget_tokens=1000, count=words).passages == tuple(rows)


def test_a_span_inside_another_of_its_document_is_a_copy() -> None:
    whole = passage("One sentence. Another sentence.", 1)
    part = passage("Another sentence.", 1, start=14, end=31)

    assert pack_context([whole, part], budget_tokens=1000, count=words).passages == (whole,)


def test_a_label_is_one_line_that_says_where_a_passage_is_from() -> None:
    place = passage("text", 1, title="Field\nnotes", headings=("Field notes", "June"), page=3)

    assert source_label(place, 2) == "[2] Field notes › June (p. 3)"
    assert (
        source_label(place, 2, date="1978-06-\n01") == "[2] Field notes › June (p. 3, 1978-06- 01)"
    )
    assert source_label(replace(place, title="", headings=(), page=None), 1) == "[1] d1"


# --- a document cut into chunks -----------------------------------------------------------------

DOCUMENTS = st.lists(
    st.text(alphabet="ab 1.\n雾", min_size=1, max_size=200), min_size=1, max_size=3
)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[dict[str, str], list[Passage]]:
    """Documents, and chunks of them in any order: some overlap, touch, repeat or lie apart."""
    texts = {f"d{number}": text for number, text in enumerate(draw(DOCUMENTS))}
    found: list[Passage] = []
    for number in range(draw(st.integers(0, 10))):
        name = draw(st.sampled_from(sorted(texts)))
        start = draw(st.integers(0, len(texts[name]) - 1))
        end = draw(st.integers(start + 1, len(texts[name])))
        found.append(
            passage(
                texts[name][start:end],
                document_id=name,
                chunk_id=f"{name}:{start}:{end}:{number}",
                title=name,
                start=start,
                end=end,
            )
        )
    return texts, found


def lookup(texts: dict[str, str]) -> TextAt:
    return lambda name, start, end: texts[name][start:end]


counts = st.sampled_from([words, letters, lambda text: len(text.encode()) // 3 + 1])
orders = st.sampled_from(["relevance_first", "edges_first", "document_order"])


@given(chunked(), st.integers(0, 300), counts, orders, st.booleans())
def test_whatever_the_tokeniser_and_order_no_chunk_is_cut_and_every_span_slices_back(
    made: tuple[dict[str, str], list[Passage]],
    budget: int,
    count: Callable[[str], int],
    order: Order,
    joins: bool,
) -> None:
    texts, found = made
    text = lookup(texts) if joins else None
    packed = pack_context(found, budget_tokens=budget, count=count, order=order, text=text)

    assert packed.tokens == count(packed.text)
    assert packed.tokens <= budget or not packed.passages
    for span in packed.spans:
        one = span.passage
        assert texts[one.document_id][one.start : one.end] == one.text
        assert one.text in packed.text
        assert all(one.start <= part.start and part.end <= one.end for part in span.parts)
        assert all(part.text in one.text for part in span.parts)
        assert one.start == min(part.start for part in span.parts)
        assert one.end == max(part.end for part in span.parts)
    parts = [part for span in packed.spans for part in span.parts]
    assert all(part in found for part in parts)
    assert len(parts) + packed.left_out + packed.duplicates == len(found)
    assert packed.passages == tuple(span.passage for span in packed.spans)


@given(chunked(), st.integers(0, 300), orders)
def test_what_is_taken_does_not_depend_on_the_order_in_which_it_stands(
    made: tuple[dict[str, str], list[Passage]], budget: int, order: Order
) -> None:
    texts, found = made
    by_rank = pack_context(found, budget_tokens=budget, count=words, text=lookup(texts))
    other = pack_context(found, budget_tokens=budget, count=words, text=lookup(texts), order=order)

    def taken(packed: PackedContext) -> set[str]:
        return {part.chunk_id for span in packed.spans for part in span.parts}

    assert taken(by_rank) == taken(other)


@given(chunked(), st.randoms())
def test_which_chunks_are_joined_does_not_depend_on_their_rank(
    made: tuple[dict[str, str], list[Passage]], random: Random
) -> None:
    texts, found = made
    shuffled = list(found)
    random.shuffle(shuffled)

    def places(spans: list[Span]) -> set[tuple[str, int, int]]:
        return {(s.passage.document_id, s.passage.start, s.passage.end) for s in spans}

    assert places(merge_spans(found, lookup(texts))) == places(merge_spans(shuffled, lookup(texts)))


@given(chunked())
def test_spans_that_are_joined_no_longer_touch(
    made: tuple[dict[str, str], list[Passage]],
) -> None:
    texts, found = made
    spans = sorted(
        merge_spans(found, lookup(texts)),
        key=lambda one: (one.passage.document_id, one.passage.start),
    )
    for one, after in pairwise(spans):
        if one.passage.document_id == after.passage.document_id:
            assert one.passage.end < after.passage.start


def chunks(text: str, *cuts: tuple[int, int]) -> list[Passage]:
    return [
        passage(text[a:b], document_id="d", chunk_id=f"c{a}", start=a, end=b, headings=(f"H{a}",))
        for a, b in cuts
    ]


def test_neighbours_read_as_one_under_the_heading_where_they_begin() -> None:
    text = "The lamp was lit in 1901.\n\nIt burned whale oil until the storm."
    second, first = chunks(text, (27, 64), (0, 25))
    packed = pack_context([second, first], budget_tokens=100, count=words, text=lookup({"d": text}))

    assert packed.text == f"[1] Title 0 › H0\n{text}"
    assert packed.passages[0].chunk_id == second.chunk_id
    assert [part.chunk_id for part in packed.spans[0].parts] == ["c0", "c27"]


def test_what_two_chunks_share_is_shown_and_counted_once() -> None:
    text = " ".join(f"word{number}" for number in range(60))
    half = len(text) // 2
    two = chunks(text, (0, half + 80), (half - 80, len(text)))
    apart = pack_context(two, budget_tokens=500, count=words)
    joined = pack_context(two, budget_tokens=500, count=words, text=lookup({"d": text}))

    assert joined.tokens < apart.tokens
    assert joined.passages[0].text == text


def test_chunks_with_words_between_them_stay_apart() -> None:
    text = "One. Two. Three."
    two = chunks(text, (0, 4), (10, 16))

    assert (
        len(pack_context(two, budget_tokens=99, count=words, text=lookup({"d": text})).passages)
        == 2
    )


def test_a_neighbour_that_finds_no_room_leaves_the_other_alone() -> None:
    text = "One two three.\n\n" + "more " * 50
    two = chunks(text, (0, 14), (16, len(text)))
    packed = pack_context(two, budget_tokens=10, count=words, text=lookup({"d": text}))

    assert packed.passages == (two[0],)
    assert packed.left_out == 1


def test_a_citation_in_joined_chunks_names_the_chunk_that_holds_it() -> None:
    text = "The lamp was lit in 1901.\n\nIt burned whale oil until the storm."
    second, first = chunks(text, (27, 64), (0, 25))
    (span,) = pack_context(
        [second, first], budget_tokens=99, count=words, text=lookup({"d": text})
    ).spans
    cited = [
        cite_span(span.passage, 0, 25, number=1),
        cite_span(span.passage, 27, 64, number=2),
        cite_span(passage("elsewhere", 7), 0, 4, number=3),
    ]

    assert [each.chunk_id for each in to_document_offsets(cited, [span])] == ["c0", "c27", "c7"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        pytest.param("relevance_first", [1, 2, 3, 4, 5], id="relevance"),
        pytest.param("edges_first", [1, 3, 5, 4, 2], id="edges"),
        pytest.param("document_order", [3, 1, 5, 4, 2], id="document"),
    ],
)
def test_the_order_is_the_one_asked_for(order: Order, expected: list[int]) -> None:
    places = {1: ("a", 40), 2: ("b", 60), 3: ("a", 0), 4: ("b", 20), 5: ("a", 80)}
    found = [
        passage(f"text {rank}", document_id=name, chunk_id=f"c{rank}", start=at, end=at + 6)
        for rank, (name, at) in places.items()
    ]
    packed = pack_context(found, budget_tokens=999, count=words, order=order)

    assert [int(one.text.split()[1]) for one in packed.passages] == expected
    assert [line.split()[0] for line in packed.text.splitlines()[::3]] == [
        f"[{number}]" for number in range(1, 6)
    ]


# --- how much room there is ---------------------------------------------------------------------


@given(
    st.integers(1_000, 200_000),
    st.integers(16, 8_000),
    st.integers(0, 2_000),
    st.integers(0, 4_000),
    st.integers(0, 9_000),
    st.none() | st.integers(100, 9_000),
)
def test_room_is_what_a_window_leaves_and_never_more_than_the_limit(
    window: int, answer: int, instructions: int, question: int, history: int, cap: int | None
) -> None:
    left = window_budget_tokens(
        window,
        answer_tokens=answer,
        instruction_tokens=instructions,
        question_tokens=question,
        history_tokens=history,
        cap_tokens=cap,
    )

    assert left == SMALLEST or left + answer + instructions + question + history <= window
    assert cap is None or left <= max(cap, SMALLEST)
