from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

from engine.chunking.recursive import RecursiveNodeParser
from engine.chunking.span_parser import chunk_id
from engine.chunking.strategy import ChunkOptions, chunk
from engine.chunking.structure import blocks, safe_cut
from engine.errors import SettingsError
from engine.types import Shape, SourceText

TOKEN = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,5}|[^\w\s]")


class FiveLetterTokeniser:
    """A token is up to five letters, one Chinese character, or one mark."""

    def __init__(self) -> None:
        self.seen = 0

    def spans(self, text: str) -> list[tuple[int, int]]:
        self.seen += len(text)
        return [found.span() for found in TOKEN.finditer(text)]

    def count(self, text: str) -> int:
        return len(TOKEN.findall(text))


TOKENISER = FiveLetterTokeniser()


def document(text: str, *, kind: str = "markdown", pages: tuple[int, ...] = ()) -> SourceText:
    shape: Shape = "markdown" if kind in ("markdown", "html") else "text"
    return SourceText(id="d", title="T", text=text, type=kind, shape=shape, sha256="0", pages=pages)


def chunks(
    text: str, *, size: int = 64, overlap: int = 0, kind: str = "markdown"
) -> list[TextNode]:
    options = ChunkOptions(size_tokens=size, overlap_tokens=overlap)
    return chunk(document(text, kind=kind), options=options, tokeniser=TOKENISER)


def texts(nodes: list[TextNode]) -> list[str]:
    return [node.text for node in nodes]


def headings(nodes: list[TextNode]) -> list[list[str]]:
    return [node.metadata["headings"] for node in nodes]


def span(node: TextNode) -> tuple[int, int]:
    assert node.start_char_idx is not None
    assert node.end_char_idx is not None
    return node.start_char_idx, node.end_char_idx


def words(count: int, *, first: int = 0) -> str:
    return " ".join(f"w{number:03}" for number in range(first, first + count))


def sentences(count: int, *, first: int = 0) -> str:
    """Sentences of five tokens each."""
    return " ".join(f"S{n:03} a b c." for n in range(first, first + count))


# What holds for any text

FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "# A heading\n\n",
            "## 第二节 海藻\n\n",
            "### Deep\n",
            "Title\n=====\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n",
            "```python\nx = 1\n\n# not a heading\n```\n\n",
            "```\nnever closed\n",
            "- item one\n- item two\n  more\n",
            "---\ntitle: x\n---\n",
            "沈望舒发现了烬藻。这是一种红色的海藻，产于斯凯拉文岛；很少见！",
            "Dr. Smith went home. He was tired! Was he? Yes.\n\n",
            "👩‍👩‍👧‍👦🇫🇷👍🏽",
            "e\u0301a\u0308" * 9,
            "x" * 90,
            "海" * 40,
            "\r\n\r\n",
            "\u3000\u3000段落开始。\n",
            " \t ",
            "\x0c",
            "1.2 The Fund\nText.\n",
            "STAVE ONE\n\n",
        ]
    ),
    st.text(max_size=60),
)
TEXTS = st.lists(FRAGMENTS, max_size=12).map("".join)
KINDS = st.sampled_from(["markdown", "text", "html", "pdf"])


@example("# A heading\n\n" * 5, "markdown", 16, 0)
@given(TEXTS, KINDS, st.integers(16, 48), st.integers(0, 8))
def test_chunks_slice_back_cover_all_and_keep_the_limit(
    text: str, kind: str, size: int, overlap: int
) -> None:
    nodes = chunks(text, size=size, overlap=overlap, kind=kind)
    covered: set[int] = set()
    for node in nodes:
        start, end = span(node)
        assert text[start:end] == node.text
        assert node.text == node.text.strip()
        assert 0 < TOKENISER.count(node.text) <= size or not TOKEN.search(node.text)
        covered.update(range(start, end))
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)
    assert [span(node) for node in nodes] == sorted(span(node) for node in nodes)
    assert len({node.node_id for node in nodes}) == len(nodes)


@given(TEXTS, KINDS)
def test_the_same_text_gives_the_same_nodes(text: str, kind: str) -> None:
    once = [node.to_dict() for node in chunks(text, size=24, overlap=6, kind=kind)]
    assert once == [node.to_dict() for node in chunks(text, size=24, overlap=6, kind=kind)]


@given(TEXTS, st.booleans())
def test_blocks_are_in_order_and_do_not_overlap(text: str, markdown: bool) -> None:
    found = blocks(text, markdown=markdown)
    edges = [edge for block in found for edge in (block.start, block.end)]
    assert edges == sorted(edges)
    assert not re.sub(r"\s", "", "".join(text[a:b] for a, b in _gaps(edges, len(text))))


def _gaps(edges: list[int], length: int) -> list[tuple[int, int]]:
    bounds = [0, *edges, length]
    return list(zip(bounds[::2], bounds[1::2], strict=True))


# Where chunks are cut


def test_a_short_document_is_one_chunk() -> None:
    text = "# Title\n\nOne. Two.\n\nThree.\n"
    assert texts(chunks(text)) == [text.strip()]


def test_a_long_text_is_cut_between_sentences() -> None:
    nodes = chunks(sentences(20), size=16)
    assert all(node.text.startswith("S") and node.text.endswith("c.") for node in nodes)
    assert [TOKENISER.count(node.text) for node in nodes] == [15] * 6 + [10]


def test_a_paragraph_that_fits_is_not_cut() -> None:
    text = f"{sentences(7)}\n\n{sentences(6, first=50)}"
    assert texts(chunks(text, size=64)) == text.split("\n\n")


def test_chinese_is_cut_at_sentence_marks_then_at_commas_then_anywhere() -> None:
    whole = "天" * 9 + "。" + "地" * 9 + "！" + "人" * 9 + "？"
    assert texts(chunks(whole, size=20)) == [whole[:20], whole[20:]]
    clauses = "天" * 9 + "，" + "地" * 9 + "，" + "人" * 9 + "，"
    assert texts(chunks(clauses, size=16)) == [clauses[:10], clauses[10:20], clauses[20:]]
    assert texts(chunks("海" * 40, size=16)) == ["海" * 16, "海" * 16, "海" * 8]


@pytest.mark.parametrize("mark", ["。", "！", "？", "；", "。”", "！」"])
def test_a_chinese_mark_and_its_closing_quote_end_a_sentence(mark: str) -> None:
    text = ("天" * 12 + mark) * 3
    assert texts(chunks(text, size=16)) == ["天" * 12 + mark] * 3


def test_abbreviations_do_not_end_a_sentence() -> None:
    text = "He met Dr. Smith and Mr. B. Jones. " * 8
    assert all(node.text.startswith("He met") for node in chunks(text, size=30))


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("e\u0301", id="combining accent"),
        pytest.param("👩‍👩‍👧‍👦", id="joined emoji"),
        pytest.param("👍🏽", id="skin tone"),
        pytest.param("❤\ufe0f", id="variation selector"),
        pytest.param("\ud83d\ude00", id="surrogate pair"),
    ],
)
def test_no_character_is_cut_in_two(cluster: str) -> None:
    text = f"a{cluster}b"
    starts = {safe_cut(text, at) for at in range(len(text) + 1)}
    assert starts == {0, 1, 1 + len(cluster), len(text)}


def test_tables_and_code_stay_whole_while_they_fit() -> None:
    table = "| name | year |\n|---|---|\n" + "\n".join(f"| n{n} | {n} |" for n in range(5))
    code = "```\n" + "\n".join(f"x{n} = {n}" for n in range(8)) + "\n\n# no heading\n```"
    text = f"{sentences(8)}\n\n{table}\n\n{sentences(7)}\n\n{code}\n\n{sentences(6)}"
    found = texts(chunks(text, size=64))
    assert any(table in part for part in found)
    assert any(code in part for part in found)


def test_a_table_that_does_not_fit_is_cut_between_rows() -> None:
    table = "| name | year |\n|---|---|\n" + "\n".join(f"| n{n} | {n} |" for n in range(40))
    for part in texts(chunks(table, size=64)):
        assert all(row.startswith("|") and row.endswith("|") for row in part.split("\n"))


def test_a_heading_stays_with_the_text_that_follows() -> None:
    text = f"# Top\n\n{sentences(12)}\n\n## Next\n\n### Inner\n\n{sentences(11, first=50)}"
    found = texts(chunks(text, size=64))
    assert found[1].startswith("## Next\n\n### Inner\n\nS050")


def test_a_heading_stays_with_a_part_of_what_does_not_fit_beside_it() -> None:
    text = f"# One two three four\n\n{words(60)}"
    assert all(" w0" in part for part in texts(chunks(text, size=64)))


def test_small_sections_under_one_parent_are_put_together() -> None:
    parts = "".join(f"## Part {name}\n\nShort.\n\n" for name in "abc")
    nodes = chunks(f"# Top\n\n{parts}# Other\n\n{sentences(4)}", size=64)
    assert headings(nodes) == [["Top"], ["Other"]]


def test_large_sections_are_kept_apart() -> None:
    text = f"# Top\n\n## A\n\n{sentences(4)}\n\n## B\n\n{sentences(4)}"
    assert headings(chunks(text, size=64)) == [["Top", "A"], ["Top", "B"]]


@pytest.mark.parametrize(
    ("line", "is_heading"),
    [
        ("CHAPTER 36. The Quarter-Deck.", True),
        ("CHAPTER I.", True),
        ("Part two: The Mill.", True),
        ("Chapter 36 is about the quarter-deck.", False),
        ("Act as if nothing had happened.", False),
        ("Part 1 - unplug it. Then open the lid.", False),
    ],
)
def test_a_chapter_of_a_plain_text_may_end_in_a_full_stop(line: str, is_heading: bool) -> None:
    first = blocks(f"{line}\n\n{sentences(4)}", markdown=False)[0]
    assert (first.kind == "heading") is is_heading
    if first.heading is not None:
        assert first.heading.text == line.removesuffix(".")


# Overlap


def test_overlap_is_whole_sentences_inside_a_section() -> None:
    nodes = chunks(f"# A\n\n{sentences(40)}\n\n# B\n\n{sentences(40)}", size=50, overlap=12)
    for before, after in pairwise(nodes):
        shared = before.text[span(after)[0] - span(before)[0] :]
        if before.metadata["headings"] == after.metadata["headings"]:
            assert re.fullmatch(r"S\d{3} a b c\. S\d{3} a b c\.", shared)
        else:
            assert shared == ""


def test_no_overlap_when_none_is_asked_for() -> None:
    nodes = chunks(sentences(40), size=50, overlap=0)
    assert all(span(before)[1] <= span(after)[0] for before, after in pairwise(nodes))


def test_overlap_over_half_the_size_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match=r"chunk\.overlap_tokens=40 .* chunk\.size_tokens=64"):
        chunks("text", size=64, overlap=40)


# Headings


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        pytest.param("markdown", "# A\n\nx\n\n### B *c*\n\n{}", ["A", "B c"], id="atx"),
        pytest.param("markdown", "Top\n===\n\nSub\n---\n\n{}", ["Top", "Sub"], id="underlined"),
        pytest.param("markdown", "# A\n\n```\n# no\n```\n\n{}", ["A"], id="not in code"),
        pytest.param("markdown", "# A\n## B\n# C\n\n{}", ["C"], id="closed by its equal"),
        pytest.param("markdown", "#no\n\n{}", [], id="a mark without a space"),
        pytest.param("text", "STAVE ONE\n\nMARLEY'S GHOST\n\n{}", None, id="chapter, capitals"),
        pytest.param("text", "第一回 宴桃园\n{}", ["第一回 宴桃园"], id="chinese chapter"),
        pytest.param("text", "第二章\n\n第三节 海藻\n\n{}", ["第二章", "第三节 海藻"], id="levels"),
        pytest.param("text", "第一章的内容我不喜欢\n{}", [], id="a sentence about a chapter"),
        pytest.param("pdf", "2. Fund\n2.1 Trust\n{}", ["2. Fund", "2.1 Trust"], id="numbered"),
        pytest.param("text", "一、总则\n\n{}", ["一、总则"], id="chinese number"),
        pytest.param("text", "1. Buy milk\n2. Buy eggs\n{}", [], id="a list"),
        pytest.param("text", "1. Buy\n\n2. Eat\n\n3. Go\n\n{}", [], id="a spaced list"),
        pytest.param("text", "1. It was dark, and late.\n\n{}", [], id="a numbered sentence"),
        pytest.param("text", "conf\n# comment\n{}", [], id="a comment"),
        pytest.param(
            "text", "A b c d e f g h i.\n\n# Real\n\n{}", ["Real"], id="a mark that stands alone"
        ),
        pytest.param("text", "NASA and ESA\n\n{}", [], id="not all capitals"),
    ],
)
def test_heading_paths(kind: str, text: str, expected: list[str] | None) -> None:
    last = chunks(text.format(sentences(12)), size=64, kind=kind)[-1]
    assert last.metadata["headings"] == (
        ["STAVE ONE", "MARLEY'S GHOST"] if expected is None else expected
    )


def test_front_matter_is_kept_with_the_first_section() -> None:
    text = f"---\ntitle: The Station\nplace: Gannet Head\n---\n\n# Station\n\n{sentences(3)}"
    (node,) = chunks(text)
    assert node.text == text
    assert node.metadata["headings"] == ["Station"]


# Nodes


def test_nodes_know_their_place() -> None:
    nodes = chunks(f"# A\n\n{sentences(40)}")
    for position, node in enumerate(nodes):
        assert node.ref_doc_id == "d"
        assert node.metadata["title"] == "T"
        assert node.metadata["position"] == position
        assert node.node_id == chunk_id("d", span(node)[0], node.text)
    before = [node.relationships.get(NodeRelationship.PREVIOUS) for node in nodes]
    after = [node.relationships.get(NodeRelationship.NEXT) for node in nodes]
    ids = [node.node_id for node in nodes]
    assert [getattr(other, "node_id", None) for other in before] == [None, *ids[:-1]]
    assert [getattr(other, "node_id", None) for other in after] == [*ids[1:], None]


def test_metadata_do_not_enter_what_models_read() -> None:
    for node in chunks(f"# A\n\n{sentences(40)}"):
        assert node.get_content(MetadataMode.EMBED) == node.text
        assert node.get_content(MetadataMode.LLM) == node.text


def test_pages_are_counted_from_one() -> None:
    pages = [sentences(8), sentences(8, first=50), sentences(8, first=90)]
    text = "\n\n".join(pages)
    starts = (0, len(pages[0]) + 2, len(pages[0]) + len(pages[1]) + 4)
    source = document(text, kind="pdf", pages=starts)
    options = ChunkOptions(size_tokens=40, overlap_tokens=0)
    nodes = chunk(source, options=options, tokeniser=TOKENISER)
    assert [node.metadata["page"] for node in nodes] == [1, 2, 3]
    assert all("page_starts" not in node.metadata for node in nodes)


def test_repeated_text_keeps_its_own_offsets() -> None:
    text = "The same words. " * 60
    nodes = chunks(text, size=20, overlap=6)
    starts = [span(node)[0] for node in nodes]
    assert starts == sorted(set(starts))
    assert span(nodes[-1])[1] == len(text.rstrip())


def test_the_parser_is_a_llama_index_transformation() -> None:
    parser = RecursiveNodeParser(size_tokens=32, overlap_tokens=4, tokeniser=TOKENISER)
    given = Document(id_="x", text=sentences(20), metadata={"author": "Dorcas"})
    nodes = parser([given])
    assert nodes == parser.get_nodes_from_documents([given])
    assert {node.ref_doc_id for node in nodes} == {"x"}
    assert {node.metadata["author"] for node in nodes} == {"Dorcas"}


@pytest.mark.parametrize("text", ["", " \n "])
def test_nothing_gives_no_chunks(text: str) -> None:
    assert chunks(text) == []


# Size


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("The quick brown fox jumps over it. ", id="one line of sentences"),
        pytest.param("QUJDREVGR0hJSktM", id="encoded data without a space"),
        pytest.param("海", id="chinese without a mark"),
        pytest.param("word ", id="words without a mark"),
        pytest.param("A log line of words\n", id="lines"),
        pytest.param("\x01", id="nothing a tokeniser takes"),
    ],
)
def test_effort_grows_with_the_length_and_no_text_is_tokenised_twice(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    tokeniser = FiveLetterTokeniser()
    begin = time.process_time()
    nodes = chunk(document(text), options=ChunkOptions(), tokeniser=tokeniser)
    assert time.process_time() - begin < 20
    assert tokeniser.seen == len(text)
    assert max(tokeniser.count(node.text) for node in nodes) <= 512
    assert max(len(node.text) for node in nodes) < 6_000


def test_code_marked_by_three_backticks_inside_of_an_item_opens_none() -> None:
    text = "- ```npm i``` installs\n- ```npm test``` runs tests\n\n# Next\n\nThen wait.\n"
    assert [block.kind for block in blocks(text, markdown=True)][-2:] == ["heading", "text"]


@pytest.mark.parametrize("mark", ["- ", "  - ", "1. ", "2) "])
def test_code_that_an_item_begins_with_ends_where_its_fence_closes(mark: str) -> None:
    indent = " " * len(mark)
    text = f"Run:\n\n{mark}```\n{indent}apt update\n{indent}```\n\n# Next\n\nThen wait.\n"
    assert [block.kind for block in blocks(text, markdown=True)] == [
        "text",
        "code",
        "heading",
        "text",
    ]
