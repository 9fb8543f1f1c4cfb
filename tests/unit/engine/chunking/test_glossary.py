"""Texts of many entries: known by their look, cut entry by entry."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.schema import TextNode

from engine.chunking.dialogue import (
    GlossaryNodeParser,
    entry_name,
    glossary_entries,
    looks_like_entries,
)

TOKEN = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,5}|[^\w\s]")


class FiveLetterTokeniser:
    """A token is up to five letters, one Chinese character, or one mark."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in TOKEN.finditer(text)]

    def count(self, text: str) -> int:
        return len(TOKEN.findall(text))


DIRECTORY = """\
Ada Brine (1815–1880) was a keeper of lighthouses who wrote tide tables by hand.

The Gannet Press is a printing house founded under a fish market.

Mount Orrel is a volcano whose last eruption buried two vineyards.

Quillon's Rule was a regulation of canal tolls, repealed within a year.

Every spring a fair is held where the northern railway used to end.

Tessaly Bridge, built of basalt, carries pilgrims and goats.

Ivo Karst was a chess master known for sacrificing both rooks.
"""
CHINESE = """\
海鸥码头是一座建于清末的木结构建筑，每逢涨潮便有渔船停靠在石阶旁边。

白鹭书院（1702年建）收藏了三千册地方志，夏季向读者开放抄录的房间。

青瓷会是一个烧窑匠人的行会，入会者须献出一只没有裂纹的碗来证明手艺。

北岭铁路是第一条通往矿山的窄轨线路，后来改作观光列车使用至今日。

赵明远（1890—1944）写过三部关于气象仪器的著作，晚年失明仍口述不辍。

石榴节是当地农民庆祝丰收的日子，人们把果皮染成红色挂在门前过夜。
"""
STORY = "\n\n".join(
    f"Ada Brine was on the tower at hour {number}. The tower, the lamp and the cracked mirror of "
    f"the tower kept Ada Brine awake, and the lamp went out."
    for number in ("one", "two", "three", "four", "five", "six", "seven", "eight")
)
THREAD = "\n\n".join(
    f"{name} was asked about {before} and told of {after}, gladly."
    for name, before, after in [
        ("Ada", "herons nesting", "ladders breaking"),
        ("Bea", "ladders breaking", "candles melting"),
        ("Cyd", "candles melting", "violins warping"),
        ("Dot", "violins warping", "barrels leaking"),
        ("Eli", "barrels leaking", "glaciers moving"),
        ("Fay", "glaciers moving", "harvests failing"),
        ("Gus", "harvests failing", "trumpets rusting"),
    ]
)


def nodes(text: str, size: int = 64) -> list[TextNode]:
    parser = GlossaryNodeParser(size_tokens=size, overlap_tokens=0, tokeniser=FiveLetterTokeniser())
    found = parser.get_nodes_from_documents([Document(id_="d", text=text)])
    return [node for node in found if isinstance(node, TextNode)]


def read_span(node: TextNode) -> tuple[int, int]:
    start, end = node.start_char_idx, node.end_char_idx
    return node.metadata.get("read_start", start), node.metadata.get("read_end", end)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(DIRECTORY, True, id="a directory"),
        pytest.param(CHINESE, True, id="a Chinese directory"),
        pytest.param("\n\n".join(DIRECTORY.split("\n\n")[:4]), False, id="too few"),
        pytest.param(STORY, False, id="one name opens all"),
        pytest.param(THREAD, False, id="each goes on from the one before"),
        pytest.param(re.sub(r"(^|\n\n)", r"\1and then ", DIRECTORY), False, id="no names in front"),
        pytest.param(
            "".join(f"## Part {n}\n\n{each}\n\n" for n, each in enumerate(DIRECTORY.split("\n\n"))),
            False,
            id="headings cut it already",
        ),
        pytest.param("", False, id="nothing"),
    ],
)
def test_many_paragraphs_each_about_something_else_are_entries(text: str, expected: bool) -> None:
    assert looks_like_entries(text, markdown=True) is expected


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        pytest.param("Ada Brine (1815–1880) was here.", "Ada Brine", id="dates"),
        pytest.param("The Siege of Orrel was long.", "Siege of Orrel", id="article"),
        pytest.param('"Low Tide" is a song.', "Low Tide", id="quoted"),
        pytest.param("In 1880 Ada Brine was ill.", "", id="function word"),
        pytest.param("every spring there is a fair", "", id="no capital"),
        pytest.param("海鸥码头是一座建筑。", "海鸥码头", id="Chinese"),
        pytest.param("他说了很多话。", "", id="Chinese without a name"),
    ],
)
def test_an_entry_opens_with_the_name_that_it_says_something_of(entry: str, name: str) -> None:
    assert entry_name(entry) == name


def test_each_entry_is_a_chunk_and_read_with_those_around_it() -> None:
    found = nodes(DIRECTORY)
    assert [node.text for node in found] == DIRECTORY.strip().split("\n\n")
    reads = [read_span(node) for node in found]
    assert 1 < len(set(reads)) < len(found)
    for node, (start, end) in zip(found, reads, strict=True):
        assert start <= node.start_char_idx
        assert node.end_char_idx <= end
        assert len(TOKEN.findall(DIRECTORY[start:end])) <= 64


def test_an_entry_that_does_not_fit_is_cut() -> None:
    found = nodes(DIRECTORY, size=16)
    assert len(found) > len(glossary_entries(DIRECTORY))
    assert all(len(TOKEN.findall(node.text)) <= 16 for node in found)
    assert "".join("".join(node.text.split()) for node in found) == "".join(DIRECTORY.split())


def test_a_short_line_without_a_name_goes_with_the_entry_before() -> None:
    text = "Ada Brine (1815) was here for long.\n\nSee below.\n\nIvo Karst was not."
    assert [text[start:end] for start, end in glossary_entries(text)] == [
        "Ada Brine (1815) was here for long.\n\nSee below.",
        "Ivo Karst was not.",
    ]


PARAGRAPHS = st.lists(st.text("Ab .是\n ", min_size=1, max_size=60), max_size=8)


@given(PARAGRAPHS)
def test_entries_hold_all_but_white_space(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    spans = glossary_entries(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())
    assert spans == sorted(spans)
    assert all(node.text == text[node.start_char_idx : node.end_char_idx] for node in nodes(text))
