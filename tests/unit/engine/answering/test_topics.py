"""Documents and sections grouped into topics."""

from __future__ import annotations

import pytest

from engine.answering.global_search.books import books_in, books_of, indexed_book
from engine.answering.global_search.topics import (
    MAX_CHUNKS,
    Unit,
    group_units,
    in_groups,
    joined,
    parts_of,
    plain_title,
    sample_chunks,
    shared_endings,
    shared_titles,
    units_of,
    without_ending,
)
from graph.model import Chunk

SUBJECTS = {
    "bees": "The bees of the hive make honey, and the keeper of bees sells the honey.",
    "ships": "The ship left the harbour, and the captain of the ship wrote her log.",
    "bread": "The baker bakes bread of rye flour, and the oven of the baker is hot.",
}


def chunk(document: str, position: int, text: str, *headings: str, title: str = "") -> Chunk:
    return Chunk(
        id=f"{document}-{position}",
        document_id=document,
        title=title or document,
        text=text,
        start=1000 * position,
        end=1000 * position + len(text),
        position=position,
        headings=headings,
    )


def group(units: list[Unit], most: int) -> list[set[str]]:
    topics = group_units(units, entities_of=lambda _: (), most=most, chinese=False)
    return [{unit.document_id for unit in topic.units} for topic in topics]


def test_documents_on_one_subject_are_one_topic_whatever_their_order() -> None:
    chunks = [
        chunk(f"{name} {number}", 0, f"{text} Part {number}.")
        for name, text in SUBJECTS.items()
        for number in range(3)
    ]
    expected = {frozenset(f"{name} {number}" for number in range(3)) for name in SUBJECTS}

    found = group(units_of(chunks), 3)

    assert {frozenset(one) for one in found} == expected
    assert found == group(units_of(chunks[::-1]), 3)


def test_adjoining_parts_are_joined_in_their_order_and_called_by_the_first_and_the_last() -> None:
    units = [
        Unit("d", (f"Chapter {n}",), (chunk("d", n, f"Text {n}.", f"Chapter {n}"),))
        for n in range(1, 6)
    ]
    told = [joined(some) for some in in_groups(units, 2)]
    assert [one.title for one in told] == ["Chapter 1 – Chapter 3", "Chapter 4 – Chapter 5"]
    assert [one.text for one in told[1].chunks] == ["Text 4.", "Text 5."]
    assert [joined(some).title for some in in_groups(units, 5)] == [one.title for one in units]


def test_a_single_document_has_its_sections_as_topics_in_their_order() -> None:
    texts = [*SUBJECTS.values(), "The miller grinds the rye of the farm in the mill."]
    chunks = [
        chunk("book", number, text, "Book", f"{number}. Part {number}")
        for number, text in enumerate(texts)
    ]
    topics = group_units(units_of(chunks), entities_of=lambda _: (), most=8, chinese=False)
    assert [unit.title for topic in topics for unit in topic.units] == [
        "Part 0", "Part 1", "Part 2", "Part 3",
    ]  # fmt: skip


def test_a_section_has_the_sections_below_it_and_two_are_enough() -> None:
    above = ("5. Managing packages", "5.9 Moving and orphaning")
    chunks = [
        chunk("book", number, f"Text {number}.", *above, *below)
        for number, below in enumerate([(), ("Moving",), ("Orphaning",), ("Orphaning",)])
    ]

    assert [unit.title for unit in units_of(chunks)] == [
        "Moving and orphaning", "Moving", "Orphaning",
    ]  # fmt: skip
    assert [len(unit.chunks) for unit in units_of(chunks[2:])] == [1, 1]


def test_a_chunk_that_holds_several_sections_is_parted_at_their_headings() -> None:
    text = "Begun.\n\n## Oil\n\nOil burns.\n\n```\n# no heading\n```\n\n### Wicks\n\nCut them."
    held = chunk("lamps", 1, text, "Lamps", title="Lamps")

    parts = parts_of(held)

    assert [one.headings for one in parts] == [
        ("Lamps",), ("Lamps", "Oil"), ("Lamps", "Oil", "Wicks"),
    ]  # fmt: skip
    assert "".join(one.text for one in parts) == text
    assert all(text[one.start - held.start :].startswith(one.text) for one in parts)
    assert parts_of(parts[1]) == [parts[1]]


@pytest.mark.parametrize(
    "text",
    [
        "Set these.\n\n```\nnet = 1\n\n# Accept redirects\n\nnet = 2\n```\n",
        "Set these.\n\n~~~\n\n# then by hand\n\nstart\n\n~~~\n",
        "net = 1\n\n# Accept redirects\n\nnet = 2\n```\n\nThese are read at the start.",
        "Set these.\n\n# SSH on\nPORT=22\n",
    ],
)
def test_lines_of_code_that_begin_with_a_hash_are_no_headings(text: str) -> None:
    held = chunk("lamps", 1, text, "Lamps")

    assert parts_of(held) == [held]


def test_a_date_is_no_number_of_a_chapter() -> None:
    assert plain_title("3月3日 (Tue)") == "3月3日 (Tue)"
    assert plain_title("29 June") == "29 June"
    assert plain_title("3. Marching orders") == "Marching orders"


def test_chapters_of_two_books_in_one_folder_are_not_mixed() -> None:
    titles = ["Chapter 1. Oil", "Chapter 1. Fog", "Chapter 2. Wicks", "Chapter 3. Wages",
              "1.1. Where oil is pressed", "2.1. How wicks are cut"]  # fmt: skip
    units = [
        Unit(f"lamps/{at}.html", (), (chunk(f"lamps/{at}.html", 0, "Text.", title=title),))
        for at, title in enumerate(titles)
    ]

    (book,), others = books_of(units)

    assert others == []
    assert book.documents == len(titles)
    assert [[one.title for one in chapter.chunks] for chapter in book.chapters] == [
        ["Chapter 1. Oil"], ["Chapter 1. Fog"],
        ["Chapter 2. Wicks", "2.1. How wicks are cut"], ["Chapter 3. Wages"],
    ]  # fmt: skip


def test_chapters_without_a_page_of_their_own_are_told_by_their_sections_in_order() -> None:
    titles = ["1.10. Fog", "1.2. Oil", "2.1. Wicks", "2. About the author", "3.1. Wages",
              "4. Ends", "A.1. Lists"]  # fmt: skip
    units = [
        Unit(f"lamps/{at}.html", (), (chunk(f"lamps/{at}.html", 0, "Text.", title=title),))
        for at, title in enumerate(titles)
    ]

    (book,), _ = books_of(units)

    assert [one.title for unit in book.front for one in unit.chunks] == ["2. About the author"]
    assert [(chapter.called, chapter.sections) for chapter in book.chapters] == [
        ("1", ("Oil", "Fog")), ("2", ("Wicks",)), ("3", ("Wages",)), ("", ()), ("A", ("Lists",)),
    ]  # fmt: skip


def test_large_libraries_are_sampled_evenly_and_within_the_limit() -> None:
    held = {
        f"d{number:04}": [f"d{number:04}-{part}" for part in range(9)] for number in range(5000)
    }
    chosen = sample_chunks(held)
    documents = sorted({key.partition("-")[0] for key in chosen})
    assert len(chosen) <= MAX_CHUNKS
    assert documents[0] == "d0000"
    assert documents[-1] > "d4900"


def test_a_long_document_is_read_whole_beside_short_ones() -> None:
    held = {f"d{number}": [f"d{number}-{part}" for part in range(3)] for number in range(9)}
    held["long"] = [f"long-{part}" for part in range(2 * MAX_CHUNKS)]
    chosen = sample_chunks(held)
    assert len(chosen) == MAX_CHUNKS
    assert sum(key.startswith("long") for key in chosen) == MAX_CHUNKS - 27


def test_documents_numbered_in_their_first_heading_are_a_book() -> None:
    units = [
        Unit(f"b/{page}", (), (chunk(f"b/{page}", 0, "Text.", f"{at}. {page}", title=page),))
        for at, page in enumerate(("Wicks", "Lamps", "Boats"), 1)
    ]
    (book,), others = books_of(units)
    assert others == []
    assert [one.title for one in book.chapters] == ["Wicks", "Lamps", "Boats"]

    other = [chunk(f"c/{at}", 0, "Text.", f"{at}. Part", title="Notes") for at in range(1, 4)]
    assert books_of([Unit(one.document_id, (), (one,)) for one in other])[0] == []


@pytest.mark.parametrize(("sections", "is_book"), [(40, True), (30, True), (29, False)])
def test_a_document_as_long_as_a_book_is_one_beside_it(sections: int, is_book: bool) -> None:
    chapters = [
        Unit(f"b/{at}", (), (chunk(f"b/{at}", 0, "Text.", title=f"Chapter {at}. Oil {at}"),))
        for at in range(1, 5)
    ]
    parts = [chunk("long", at, "Text.", f"Wicks {at}", title="Wicks") for at in range(sections)]

    books, others = books_in([*chapters, Unit("long", (), tuple(parts))])

    assert ("Wicks" in {book.title for book in books}) is is_book
    assert len(others) == (not is_book)
    if is_book:
        found = next(book for book in books if book.title == "Wicks")
        assert [one.title for one in found.chapters] == [f"Wicks {at}" for at in range(sections)]
        assert found.documents == 1


@pytest.mark.parametrize(("sections", "is_book"), [(40, True), (20, False)])
def test_a_document_of_most_of_the_text_is_a_book(sections: int, is_book: bool) -> None:
    notes = [Unit(f"n{at}", (), (chunk(f"n{at}", 0, "Text."),)) for at in range(30)]
    parts = [
        chunk("long", at, "Text.", f"Wicks {at // 4}", title="Wicks") for at in range(sections)
    ]

    books, others = books_in([*notes, Unit("long", (), tuple(parts))])

    assert [book.title for book in books] == ["Wicks"] * is_book
    assert len(others) == 31 - is_book


def test_a_title_keeps_a_number_that_a_quotation_mark_stands_on() -> None:
    assert plain_title("Chapter 7. Basics of packages") == "Basics of packages"
    assert Unit("d", ("CHAPTER XVII",), (chunk("d", 0, "Text."),)).title == "Chapter XVII"
    assert Unit("d", ("THE CIVIL WAR",), (chunk("d", 0, "Text."),)).title == "The Civil War"
    assert plain_title("《烬藻协议》问答") == "《烬藻协议》问答"


@pytest.mark.parametrize(
    ("contents", "numbered", "chapters"),
    [
        pytest.param("- 1. Wages\n  - Fog\n- Oil\n- Nowhere", False, [], id="two"),
        pytest.param(
            "- I. Oil\n  - Wages\n  - Fog\n  - Oil", False, ["Wages", "Fog", "Oil"], id="below"
        ),
        pytest.param(
            "- I. Fog\n- II. Oil\n- III. Wages", False, ["Fog", "Oil", "Wages"], id="roman"
        ),
        pytest.param("- 1. Oil\n- Fog\n- Wages", False, ["Oil", "Fog", "Wages"], id="listed"),
        pytest.param("Of lamps.", True, ["Oil", "Fog", "Wages"], id="numbered"),
        pytest.param("Of lamps.", False, [], id="neither"),
    ],
)
def test_the_chapters_of_a_book_are_those_of_its_index_page_else_the_numbered_ones(
    contents: str, numbered: bool, chapters: list[str]
) -> None:
    pages = ["Oil", "Fog", "Wages"]
    titles = [f"Chapter {at}. {page}" if numbered else page for at, page in enumerate(pages, 1)]
    units = [
        Unit("lamps/README.md", (), (chunk("lamps/README.md", 0, "- Oil", title="Read me"),)),
        Unit("lamps/index.html", (), (chunk("lamps/index.html", 0, contents, title="Lamps"),)),
        *(
            Unit(f"lamps/{page}", (), (chunk(f"lamps/{page}", 0, "Text.", title=title),))
            for page, title in zip(pages, titles, strict=True)
        ),
    ]

    book = indexed_book(units)

    assert (book is not None) is bool(chapters)
    if book is not None:
        assert book.title == "Lamps"
        assert book.documents == 5
        assert [plain_title(one.chunks[0].title) for one in book.chapters] == chapters
    assert indexed_book([*units, Unit("other", (), (chunk("other", 0, "Text."),))]) is None


def test_an_index_page_tells_the_chapters_that_it_numbers_in_their_parts() -> None:
    listed = (
        "# Contents\n\nPreface\n\n### PART I: USING LAMPS\n\n> Chapter 1: Lamp oil\n> 1.1. Kinds\n"
        "> 1.2. Prices\n> Chapter 2: Wicks\n\n### Part II: Making Lamps\n\n- Chapter 3: Glass\n\n"
        "Appendix A: Words\n\n### Chapter 1: Lamp oil\n\n1.1 Kinds"
    )
    units = [
        Unit("book/toc.html", (), (chunk("book/toc.html", 0, listed, title="Contents"),)),
        Unit("book/a.html", (), (chunk("book/a.html", 0, "Oil.", title="Lamp oil"),)),
        Unit("book/b.html", (), (chunk("book/b.html", 0, "Other.", title="Preface"),)),
    ]

    book = indexed_book(units)

    assert book is not None
    assert [one.title for one in book.chapters] == ["Lamp oil", "Wicks", "Glass", "Words"]
    assert [one.document_id for one in book.chapters] == ["book/a.html"] + ["book/toc.html"] * 3
    assert dict(book.parts) == {0: "Part I: Using Lamps", 2: "Part II: Making Lamps"}
    assert [one.document_id for one in book.front] == ["book/toc.html", "book/b.html"]


def test_chapters_below_parts_need_no_word_before_their_number() -> None:
    listed = (
        "- Part 1. Lamps\n    - 1. Lamp oil\n    - 2. Wicks\n        - 2.1. Flat\n- Part 2. Boats\n"
        "    - 3. Oars\n- 5. No chapter\n- Part 2. Boats\n    - 3. Oars"
    )
    page = Unit("b/index.html", (), (chunk("b/index.html", 0, listed, title="Lamps"),))

    book = indexed_book([page])

    assert book is not None
    assert [one.title for one in book.chapters] == ["Lamp oil", "Wicks", "Oars"]
    assert dict(book.parts) == {0: "Part 1. Lamps", 2: "Part 2. Boats"}


def test_documents_of_one_title_are_of_one_book() -> None:
    assert shared_titles({"Manual": 5, "Index": 1}) == {"Manual"}
    assert shared_titles({"Manual": 2, "Index": 1}) == set()


def test_the_name_of_a_book_or_site_is_no_part_of_the_titles_of_its_pages() -> None:
    titles = {f"{name} (Lamps: A Guide)" for name in ("Oil", "Wicks", "Glass", "Words")}
    endings = shared_endings({*titles, "Lamps: A Guide", "Lamps: Two"})

    assert endings == (" (Lamps: A Guide)",)
    assert without_ending("Oil (Lamps: A Guide)", endings) == "Oil"
    assert without_ending("Lamps: A Guide", endings) == "Lamps: A Guide"
    assert shared_endings({"Oil: a story", "Wicks: a story", "Glass"}) == ()


def test_pictures_are_left_out_beside_other_documents() -> None:
    assert sample_chunks({"a.md": ["a"], "b.png": ["b"]}) == ["a"]
    assert sample_chunks({"b.png": ["b"]}) == ["b"]


def test_a_title_loses_its_number_and_keeps_its_brackets() -> None:
    assert plain_title("1.3. Midnight Commander (MC)") == "Midnight Commander (MC)"
    assert plain_title("7.2. Choosing") == "Choosing"
    assert plain_title("") == ""
