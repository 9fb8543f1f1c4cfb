from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document

from engine.chunking.recursive import ParentChildNodeParser, SentenceWindowNodeParser
from engine.chunking.span_parser import ContextSource, Measure, Span, SpanNodeParser
from engine.embeddings.tokenizer import SimpleTokeniser

TOKENISER = SimpleTokeniser()


def sentences(count: int) -> str:
    return " ".join(f"Sentence number {n} has a few words." for n in range(count))


def parent_child(*, size: int = 128, child: int = 32) -> ParentChildNodeParser:
    return ParentChildNodeParser(
        size_tokens=size, overlap_tokens=0, tokeniser=TOKENISER, child_tokens=child
    )


def sentence_window(
    *, size: int = 128, window: int = 1, sentence: int = 4
) -> SentenceWindowNodeParser:
    return SentenceWindowNodeParser(
        size_tokens=size,
        overlap_tokens=0,
        tokeniser=TOKENISER,
        window_sentences=window,
        sentence_tokens=sentence,
    )


def found(text: str, spans: Sequence[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


def read(text: str, spans: Sequence[Span]) -> list[str]:
    return [text[slice(*span.read)] for span in spans if span.read is not None]


def test_children_are_small_and_read_as_their_parent() -> None:
    text = sentences(40)
    spans = parent_child().spans(ContextSource(text=text))
    measure = Measure(text, TOKENISER)
    parents = sorted({span.read for span in spans if span.read is not None})
    assert max(measure.tokens(span.start, span.end) for span in spans) <= 32
    assert 32 < max(measure.tokens(*parent) for parent in parents) <= 128
    assert all(before[1] <= after[0] for before, after in pairwise(parents))
    assert len(spans) > 2 * len(parents)


def test_a_child_knows_the_headings_above_it_and_not_its_neighbours() -> None:
    text = f"# A\n\n## B\n\n{sentences(6)}\n\n## C\n\n{sentences(6)}"
    spans = parent_child(size=400).spans(ContextSource(text=text, shape="markdown"))
    assert {span.path for span in spans} == {("A", "B"), ("A", "C")}


def test_a_text_that_is_small_is_its_own_parent() -> None:
    text = "One line."
    assert parent_child().spans(ContextSource(text=text)) == [Span(start=0, end=9, read=(0, 9))]


def test_children_are_never_larger_than_their_parents() -> None:
    text = sentences(20)
    spans = parent_child(size=32, child=128).spans(ContextSource(text=text))
    assert all((span.start, span.end) == span.read for span in spans)


def test_each_sentence_is_found_and_read_with_its_neighbours() -> None:
    text = "The first one. The second one. The third one. The fourth one."
    spans = sentence_window().spans(ContextSource(text=text))
    assert found(text, spans) == [
        "The first one.", "The second one.", "The third one.", "The fourth one."
    ]  # fmt: skip
    assert read(text, spans) == [
        "The first one. The second one.",
        "The first one. The second one. The third one.",
        "The second one. The third one. The fourth one.",
        "The third one. The fourth one.",
    ]


def test_chinese_is_cut_at_its_own_marks() -> None:
    text = "刘备是谁？他住在涿县。关羽来了！张飞也来了。"
    spans = sentence_window().spans(ContextSource(text=text))
    assert found(text, spans) == ["刘备是谁？", "他住在涿县。", "关羽来了！", "张飞也来了。"]


def test_a_window_ends_with_its_section() -> None:
    text = "# A\n\nThe first one here. The second one here.\n\n# B\n\nThe third one here."
    spans = sentence_window(window=3).spans(ContextSource(text=text, shape="markdown"))
    assert read(text, spans)[1] == "# A\n\nThe first one here. The second one here."
    assert found(text, spans)[2] == "# B\n\nThe third one here."


def test_a_sentence_that_says_too_little_stands_with_the_next() -> None:
    text = "Yes. No. We should meet on Monday then. Right."
    assert found(text, sentence_window(sentence=6).spans(ContextSource(text=text))) == [
        "Yes. No. We should meet on Monday then.", "Right."
    ]  # fmt: skip


def test_a_window_is_never_larger_than_a_chunk_may_be() -> None:
    text = sentences(20)
    spans = sentence_window(size=32, window=5).spans(ContextSource(text=text))
    measure = Measure(text, TOKENISER)
    sizes = [measure.tokens(*span.read) for span in spans if span.read is not None]
    assert len(sizes) == len(spans)
    assert 16 < max(sizes) <= 32


def test_nodes_carry_what_is_to_be_read() -> None:
    document = Document(id_="d", text=sentences(20), metadata={"title": "T"})
    nodes = parent_child().get_nodes_from_documents([document])
    places = [(node.metadata["read_start"], node.metadata["read_end"]) for node in nodes]
    spans = parent_child().spans(ContextSource(text=document.text))
    assert places == [span.read for span in spans]


FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "\n\n",
            "# H\n\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
            "```\nx = 1\n```\n\n",
            "A sentence of some words. ",
            "中文的一句话。",
            "👩‍👩‍👧",
            "e\u0301",
            "\r\n",
            "x" * 90,
        ]
    ),
    st.text(max_size=40),
)
DOCUMENTS = st.lists(FRAGMENTS, max_size=30).map("".join)


@pytest.mark.parametrize(
    "parser",
    [
        pytest.param(parent_child(size=64, child=16), id="parent and child"),
        pytest.param(sentence_window(size=32, window=3), id="sentence window"),
    ],
)
@given(text=DOCUMENTS)
def test_chunks_cover_the_text_and_lie_in_what_is_read(parser: SpanNodeParser, text: str) -> None:
    measure = Measure(text, TOKENISER)
    covered = 0
    for span in parser.spans(ContextSource(text=text, shape="markdown")):
        assert not text[covered : span.start].strip()
        assert span.end > covered
        assert span.read is not None
        assert span.read[0] <= span.start
        assert span.end <= span.read[1]
        assert measure.tokens(*span.read) <= parser.size_tokens
        covered = span.end
    assert not text[covered:].strip()
