"""What holds for every chunking strategy, on any text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import TextNode

from engine.chunking.span_parser import PAGE_STARTS, SHAPE, SpanNodeParser
from engine.chunking.strategy import ChunkOptions, node_parser
from engine.types import Strategy

TOKEN = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,5}|[^\w\s]")


class FiveLetterTokeniser:
    """A token is up to five letters, one Chinese character, or one mark."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in TOKEN.finditer(text)]

    def count(self, text: str) -> int:
        return len(TOKEN.findall(text))


TOKENISER = FiveLetterTokeniser()


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Near for texts that share letters."""
    return [
        [1.0, *(float(text.lower().count(letter)) for letter in "aeiost海的")] for text in texts
    ]


def complete(_prompt: str) -> str:
    return "1, 3"


STRATEGIES: list[Strategy] = [
    "recursive",
    "fixed",
    "sentence",
    "markdown",
    "code",
    "faq",
    "transcript",
    "legal",
    "page",
    "semantic",
    "agentic",
    "parent_child",
    "sentence_window",
    "entries",
]


def parser(strategy: Strategy, *, size: int = 48, overlap: int = 8) -> SpanNodeParser:
    options = ChunkOptions(
        strategy=strategy,
        size_tokens=size,
        overlap_tokens=overlap,
        child_tokens=32,
        embed=embed,
        complete=complete,
    )
    return node_parser(strategy, options=options, tokeniser=TOKENISER)


def nodes_of(
    found: SpanNodeParser, text: str, *, shape: str, language: str = "", pages: Sequence[int] = ()
) -> list[TextNode]:
    metadata = {SHAPE: shape, "language": language, PAGE_STARTS: list(pages)}
    nodes = found.get_nodes_from_documents([Document(id_="d", text=text, metadata=metadata)])
    return [node for node in nodes if isinstance(node, TextNode)]


FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            "# A heading\n\n",
            "## 第二节 海藻\n\n",
            "## What is it?\n\nA thing.\n\n",
            "Title\n=====\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\n",
            "| a | b |\n|---|---|\n" + "| one | two |\n" * 20,
            "```python\nx = 1\n\n# not a heading\n```\n\n",
            "```\nnever closed\n",
            "- item one\n- item two\n  more\n",
            "---\ntitle: x\n---\n",
            "沈望舒发现了烬藻。这是一种红色的海藻，产于斯凯拉文岛；很少见！",
            "Dr. Smith went home. He was tired! Was he? Yes.\n\n",
            "👩‍👩‍👧‍👦🇫🇷👍🏽",
            "e\u0301a\u0308" * 9,
            "\u0301\u0308",
            "x" * 90,
            "海" * 60,
            "word " * 60,
            "\r\n\r\n",
            "\r",
            "\u3000\u3000段落开始。\n",
            " \t ",
            "\x0c\x0b\x1c\x85\u2028",
            "\x01\x02\x1f",
            "1.2 The Fund\nText.\n",
            "STAVE ONE\n\n",
            "Q: Who?\nA: She did.\n",
            "问：谁？\n答：她。\r\n",
            "**Why?**\n\nBecause. " + "It went on and on. " * 12 + "\n\n",
            "3. Is it so?\nIt is.\n",
            "Ann: Hello there.\nBob: Hi.\n",
            "[00:01:02] Ann: " + "I have much to say. " * 12 + "\n",
            "<nick> hi\n  10:15 <other> ho\n",
            "张三：你好。\n李四：再见。\n",
            "Article 5 Payment\nThe buyer shall pay. (a) at once; or\n(b) later.\n",
            "Chapter II\nRules\n\n§ 12 Everything is allowed.\n",
            "第十二条　当事人应当支付。\n（一）现金；\n（二）转账。\n",
            "5.1 The parties agree.\n5.2 They " + "do agree. " * 30 + "\n",
            "class Store(Base):\n    '''Doc.'''\n\n    # adds\n    @cached\n    def add(self, x):\n"
            + "        self.x += x\n" * 12
            + "\n    def get(self):\n        return self.x\n\n",
            "function f(a) {\n  return a;\n}\nexport class K { m() { return '海'; } }\n",
            "  } ) { [\n",
        ]
    ),
    st.text(max_size=60),
    st.text(alphabet="ab .:#|-*\n\r\t?？：。\u0301👍🏽\u200d(1)", max_size=60),
)
TEXTS = st.lists(FRAGMENTS, max_size=12).map("".join)
SHAPES = st.sampled_from(["text", "markdown", "code", "transcript"])
LANGUAGES = st.sampled_from(["", "python", "javascript", "c", "cobol"])


@pytest.mark.parametrize("strategy", STRATEGIES)
@example("# A heading\n\n" * 5, "markdown", "", 16, 0)
@example("a" * 3000 + "\r\n" + "海" * 3000, "text", "", 32, 16)
@example("Ann: " + "no end " * 900, "transcript", "", 40, 8)
@given(TEXTS, SHAPES, LANGUAGES, st.integers(16, 64), st.integers(0, 8))
def test_chunks_slice_back_cover_all_and_keep_order_and_limit(
    strategy: Strategy, text: str, shape: str, language: str, size: int, overlap: int
) -> None:
    pages = sorted({0, len(text) // 3, len(text) // 2})
    found = parser(strategy, size=size, overlap=overlap)
    nodes = nodes_of(found, text, shape=shape, language=language, pages=pages)
    covered: set[int] = set()
    spans: list[tuple[int, int]] = []
    for node in nodes:
        start, end = node.start_char_idx, node.end_char_idx
        assert start is not None
        assert end is not None
        assert text[start:end] == node.text
        assert node.text == node.text.strip() != ""
        assert TOKENISER.count(node.text) <= size
        spans.append((start, end))
        covered.update(range(start, end))
        if "read_start" in node.metadata:
            assert node.metadata["read_start"] <= start
            assert end <= node.metadata["read_end"] <= len(text)
    assert all(text[at].isspace() for at in range(len(text)) if at not in covered)
    assert spans == sorted(set(spans))
    assert len({node.node_id for node in nodes}) == len(nodes)


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=8)
@given(TEXTS, SHAPES, LANGUAGES)
def test_the_same_text_gives_the_same_nodes(
    strategy: Strategy, text: str, shape: str, language: str
) -> None:
    def once() -> list[dict[str, object]]:
        nodes = nodes_of(parser(strategy), text, shape=shape, language=language, pages=[0])
        return [node.to_dict() for node in nodes]

    assert once() == once()


CLUSTERS = ["e\u0301", "👩‍👩‍👧‍👦", "👍🏽", "❤\ufe0f", "한", "ক্ষি"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_chunk_begins_inside_a_character(strategy: Strategy, cluster: str) -> None:
    text = f"ab{cluster}" * 120
    for node in nodes_of(parser(strategy), text, shape="text"):
        assert node.text[0] in "ab" + cluster[0]


@pytest.mark.parametrize("strategy", sorted({*STRATEGIES} - {"fixed", "code"}))
def test_sentences_of_chinese_and_mixed_text_are_not_cut_while_they_fit(strategy: Strategy) -> None:
    text = "他们用LANTERN海缆传回数据，很快。" * 40
    nodes = nodes_of(parser(strategy), text, shape="text")
    assert {node.text[-1] for node in nodes} == {"。"}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_is_a_step_of_an_ingestion_pipeline(strategy: Strategy) -> None:
    found = parser(strategy)
    assert isinstance(found, NodeParser)
    text = "# One\n\nA word is said. Another is not.\n\n# Two\n\n海藻是红色的。\n"
    nodes = IngestionPipeline(transformations=[found], disable_cache=True).run(
        documents=[Document(id_="d", text=text, metadata={"type": "markdown"})]
    )
    assert [node.ref_doc_id for node in nodes] == ["d"] * len(nodes)
    assert nodes


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", ["", " \r\n\t", "\u3000"])
def test_nothing_gives_no_chunks(strategy: Strategy, text: str) -> None:
    assert nodes_of(parser(strategy), text, shape="text", pages=[0]) == []


MakeText = Callable[[int], str]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("QUJDREVGR0hJSktM", id="one line without a space"),
        pytest.param("Ann: Who goes there?\n", id="short lines"),
        pytest.param("第一条　应当付款。\n", id="clauses"),
        pytest.param("def f(x):\n    return x\n", id="functions"),
        pytest.param("# Why?\n\n", id="bare headings"),
    ],
)
@pytest.mark.timeout(8)
def test_long_texts_take_time_in_proportion(strategy: Strategy, unit: str) -> None:
    text = unit * (24_000 // len(unit))
    nodes = nodes_of(parser(strategy, size=256), text, shape="text", language="python", pages=[0])
    assert max(TOKENISER.count(node.text) for node in nodes) <= 256
