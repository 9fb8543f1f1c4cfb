from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from llama_index.core import Document
from llama_index.core.schema import TextNode

from engine.chunking.span_parser import PAGE_STARTS, SHAPE
from engine.chunking.strategy import (
    ChunkOptions,
    chunk,
    looks_like_faq,
    looks_like_legal,
    looks_like_transcript,
    node_parser,
    select_strategy,
)
from engine.errors import SettingsError
from engine.types import Shape, SourceText, Strategy

TOKEN = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,5}|[^\w\s]")


class FiveLetterTokeniser:
    """A token is up to five letters, one Chinese character, or one mark."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in TOKEN.finditer(text)]

    def count(self, text: str) -> int:
        return len(TOKEN.findall(text))


TOKENISER = FiveLetterTokeniser()


def chunks(
    strategy: Strategy,
    text: str,
    *,
    size: int = 64,
    overlap: int = 0,
    shape: Shape = "text",
    language: str = "",
    pages: tuple[int, ...] = (),
) -> list[TextNode]:
    options = ChunkOptions(strategy=strategy, size_tokens=size, overlap_tokens=overlap)
    metadata = {SHAPE: shape, "language": language, PAGE_STARTS: list(pages)}
    parser = node_parser(strategy, options=options, tokeniser=TOKENISER)
    nodes = parser.get_nodes_from_documents([Document(id_="d", text=text, metadata=metadata)])
    return [node for node in nodes if isinstance(node, TextNode)]


def texts(nodes: list[TextNode]) -> list[str]:
    return [node.text for node in nodes]


def paths(nodes: list[TextNode]) -> list[list[str]]:
    return [node.metadata["headings"] for node in nodes]


def contexts(nodes: list[TextNode]) -> list[str]:
    return [node.metadata.get("context", "") for node in nodes]


def sentences(count: int, *, first: int = 0) -> str:
    """Sentences of five tokens each."""
    return " ".join(f"S{n:03} a b c." for n in range(first, first + count))


# Fixed and sentence


def test_fixed_windows_have_the_size_and_repeat_the_overlap() -> None:
    nodes = chunks("fixed", sentences(40), size=50, overlap=10)
    assert [TOKENISER.count(node.text) for node in nodes] == [50, 50, 50, 50, 40]
    for before, after in pairwise(nodes):
        assert before.text.endswith(after.text[:23])


def test_sentences_are_packed_across_paragraphs_and_overlap_whole() -> None:
    text = f"{sentences(2)}\n\n{sentences(2, first=2)}\n\n{sentences(2, first=4)}"
    nodes = chunks("sentence", text, size=20, overlap=5)
    starts = [node.text[:4] for node in nodes]
    assert starts == ["S000", "S003"]
    assert nodes[0].text.endswith("S003 a b c.")


def test_a_heading_stays_with_the_sentence_after_it() -> None:
    text = f"# A\n\n{sentences(3)}\n\n## B\n\n{sentences(2, first=50)}"
    nodes = chunks("sentence", text, size=20, shape="markdown")
    assert nodes[1].text.startswith("## B\n\nS050")
    assert paths(nodes) == [["A"], ["A", "B"]]


# Markdown and pages


def test_every_section_is_a_chunk_however_small() -> None:
    text = "# Top\n\n## A\n\nOne.\n\n## B\n\nTwo.\n"
    assert paths(chunks("markdown", text, shape="markdown")) == [["Top", "A"], ["Top", "B"]]
    assert paths(chunks("recursive", text, shape="markdown")) == [["Top"]]


@pytest.mark.parametrize("strategy", ["markdown", "recursive"])
def test_later_pieces_of_a_table_know_its_header(strategy: Strategy) -> None:
    rows = "\n".join(f"| n{n} | {n} |" for n in range(40))
    text = f"{sentences(3)}\n\n| name | year |\n|---|---|\n{rows}\n\n{sentences(3)}"
    nodes = chunks(strategy, text, shape="markdown")
    for node in nodes:
        begins_in_rows = node.text.startswith("| n") and "name" not in node.text
        assert node.metadata.get("context", "") == ("| name | year |" if begins_in_rows else "")


def test_a_page_is_a_chunk_and_a_long_one_is_cut_inside() -> None:
    pages = [sentences(3), sentences(30, first=100), sentences(3, first=200)]
    starts = (0, len(pages[0]) + 2, len(pages[0]) + len(pages[1]) + 4)
    nodes = chunks("page", "\n\n".join(pages), pages=starts)
    assert nodes[0].text == pages[0]
    assert nodes[-1].text == pages[2]
    assert [node.metadata["page"] for node in nodes] == [1, 2, 2, 2, 3]


# Code

PYTHON = '''import os

LIMIT = 3


# Keeps things.
@final
class Store(Base):
    """A store."""

    def add(self, item: int) -> None:
        self.items.append(item)
        self.count += 1
        self.log("added", item, self.count, self.name)

    # Finds things.
    @cached
    def get(self, key: str) -> Item:
        if key in self.items:
            return self.items[key]
        raise KeyError(key, self.name, self.count)


def first(): return 1


def second(): return 2
'''


def test_a_class_that_does_not_fit_falls_into_its_methods() -> None:
    nodes = chunks("code", PYTHON, size=80, language="python")
    assert paths(nodes) == [[], ["class Store"], ["class Store", "def get"], []]
    assert nodes[1].text.startswith("# Keeps things.\n@final\nclass Store(Base):")
    assert nodes[2].text.startswith("# Finds things.\n    @cached\n    def get")
    assert contexts(nodes) == ["", "", "class Store(Base):", ""]
    assert nodes[3].text == "def first(): return 1\n\n\ndef second(): return 2"


def test_a_class_that_fits_is_whole() -> None:
    nodes = chunks("code", PYTHON, size=128, language="python")
    assert any("class Store" in text and "raise KeyError" in text for text in texts(nodes))


def test_a_function_that_does_not_fit_is_cut_at_its_statements() -> None:
    body = "".join(f"    total += weigh({n})\n" for n in range(40))
    nodes = chunks("code", f"def f(x):\n{body}    return total\n", language="python")
    assert set(contexts(nodes)) == {"", "def f(x):"}
    assert all(node.text.startswith(("def f", "total", "return")) for node in nodes)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        pytest.param(
            "javascript",
            "export class K extends L {\n  m(a) { return a + this.b + 海; }\n}\n",
            ["class K", "m"],
            id="javascript",
        ),
        pytest.param(
            "typescript",
            "export const f = async (a: number): Promise<X> => {\n  return a + b + c + d;\n};\n",
            ["f"],
            id="typescript",
        ),
        pytest.param(
            "java",
            "public class A {\n  private int x;\n  public int f(int y) { return x + y + 1; }\n}\n",
            ["class A", "f"],
            id="java",
        ),
        pytest.param(
            "go",
            'package m\nimport . "fmt"\nfunc (s *Store) Add(x int) error {\n\treturn nil\n}\n',
            ["func Add"],
            id="go",
        ),
        pytest.param(
            "rust",
            "impl Display for Store {\n  fn fmt(&self) -> R { self.write(1, 2, 3, 4) }\n}\n",
            ["impl Display for Store", "fn fmt"],
            id="rust",
        ),
        pytest.param(
            "c", "static int *f(int x, char **y) { return g(x, y) + h(x, y); }\n", ["f"], id="c"
        ),
        pytest.param(
            "cpp",
            "namespace n {\nclass A : public B {\n  int f(int x) { return x + 1 + 2; }\n};\n}\n",
            ["namespace n", "class A", "f"],
            id="cpp",
        ),
    ],
)
def test_definitions_are_named(language: str, text: str, expected: list[str]) -> None:
    nodes = chunks("code", text, size=16, language=language)
    assert max(paths(nodes), key=len)[: len(expected)] == expected


def test_without_a_grammar_blocks_are_parted_at_blank_lines() -> None:
    text = "".join(f"PROC p{n}\n  do a thing\n\n  and another thing\n\n" for n in range(12))
    nodes = chunks("code", text, size=40, language="of nobody")
    assert all(node.text.startswith("PROC p") for node in nodes)


# Questions


@pytest.mark.parametrize(
    ("shape", "form"),
    [
        pytest.param("text", "Q: {q}?\nA: {a}\n\n", id="labels"),
        pytest.param("text", "Q{n}. {q}?\nAnswer: {a}\n", id="counted labels"),
        pytest.param("text", "问：{q}？\n答：{a}\n", id="chinese labels"),
        pytest.param("markdown", "## {q}?\n\n{a}\n\n", id="headings"),
        pytest.param("markdown", "**{q}?**\n\n{a}\n\n", id="bold"),
        pytest.param("text", "{n}. {q}?\n{a}\n\n", id="numbers"),
        pytest.param("text", "{n}、{q}？\n{a}\n", id="chinese numbers"),
    ],
)
def test_a_pair_is_a_chunk(shape: Shape, form: str) -> None:
    asked = ["What is it", "谁来查账", "Who may come", "Why so late", "Where to"]
    answer = "It is what it is, and more is not to be said."
    pairs = [form.format(n=n + 1, q=q, a=answer) for n, q in enumerate(asked)]
    assert texts(chunks("faq", "".join(pairs), shape=shape)) == [pair.strip() for pair in pairs]
    assert looks_like_faq("".join(pairs), markdown=shape == "markdown")


def test_a_long_answer_keeps_its_question_for_context() -> None:
    text = f"Q: Who?\nA: {sentences(30)}\n\nQ: When?\nA: Now.\n"
    nodes = chunks("faq", text)
    assert contexts(nodes) == ["", "Q: Who?", "Q: Who?", ""]
    assert nodes[-1].text == "Q: When?\nA: Now."


def test_section_titles_stand_with_the_first_question_under_them() -> None:
    text = "# Help\n\n## Money\n\n### How much?\n\nTen.\n\n### When?\n\nNow.\n\n## Place\n\nHere.\n"
    nodes = chunks("faq", text, shape="markdown")
    assert texts(nodes)[0] == "# Help\n\n## Money\n\n### How much?\n\nTen."
    assert paths(nodes)[1:] == [["Help", "Money", "When?"], ["Help", "Place"]]


# Talk


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("{name}: {words}\n", id="name"),
        pytest.param("[00:01] {name}: {words}\n", id="time and name"),
        pytest.param("12/03/2021, 10:15 - {name}: {words}\n", id="messenger"),
        pytest.param("[12/03/2021, 10:15:02] {name}: {words}\n", id="another messenger"),
        pytest.param("[10:15] <{name}> {words}\n", id="relay chat"),
        pytest.param("**{name}:** {words}\n\n", id="bold"),
        pytest.param("{name}  00:01:02\n{words}\n\n", id="time behind the name"),
    ],
)
def test_turns_are_never_parted_from_their_speaker(form: str) -> None:
    said = [("Ann", "I came home late."), ("Bob", "So did I, and tired."), ("Ann", "Was it far?")]
    lines = [form.format(name=name, words=words) for name, words in said * 6]
    nodes = chunks("transcript", "".join(lines), size=40, shape="transcript")
    starts = {line[:5] for line in lines}
    assert len(nodes) > 2
    assert all(node.text[:5] in starts for node in nodes)
    assert looks_like_transcript("".join(lines))


def test_chinese_turns_are_found() -> None:
    lines = ["张三：我们什么时候出发？\n", "李四（站长）：明天早上。\n"] * 8
    nodes = chunks("transcript", "".join(lines), size=40)
    assert all(node.text.startswith(("张三", "李四")) for node in nodes)
    assert looks_like_transcript("".join(lines))


def test_a_cut_turn_shares_its_chunks_with_no_other() -> None:
    text = f"Ann: Hello.\nBob: {sentences(30)}\nAnn: Bye.\n"
    nodes = chunks("transcript", text)
    assert contexts(nodes) == ["", "", "Bob:", "Bob:", ""]
    assert [node.text[:4] for node in nodes if "Ann" in node.text] == ["Ann:", "Ann:"]
    assert not any("Ann" in node.text and "S0" in node.text for node in nodes)


def test_turns_overlap_whole() -> None:
    lines = [f"Ann: I say a{n}.\nBob: You do." for n in range(12)]
    nodes = chunks("transcript", "\n".join(lines), size=40, overlap=12)
    for before, after in pairwise(nodes):
        assert before.end_char_idx is not None
        assert after.start_char_idx is not None
        assert after.start_char_idx < before.end_char_idx
        assert after.text.startswith(("Ann:", "Bob:"))


# Law

REGULATION = """CHAPTER I
General provisions

Article 1
Subject-matter

1. This Regulation shall lay down rules.
2. It shall protect people.

Article 2
Scope

1. This Regulation shall apply to the following things, whoever does them and wherever:
(a) an activity which falls outside the scope of the law of the Union, and its like;
(b) an activity by the States when carrying out things which fall within the scope of Chapter 2;
2. For the processing by institutions, Regulation 45 shall apply.

CHAPTER II
Principles

Article 3
Duties

The controller must not do it.
Article 2 shall apply to what is done otherwise.
"""


def test_a_clause_is_a_chunk_with_its_titles_and_its_path() -> None:
    nodes = chunks("legal", REGULATION, size=100)
    assert paths(nodes) == [["CHAPTER I", f"Article {n}"] for n in (1, 2)] + [
        ["CHAPTER II", "Article 3"]
    ]
    assert nodes[2].text.startswith("CHAPTER II\nPrinciples\n\nArticle 3")


def test_a_clause_that_does_not_fit_is_cut_at_its_sub_clauses() -> None:
    nodes = chunks("legal", REGULATION, size=60)
    second = [node for node in nodes if node.text.startswith("(b)")]
    assert contexts(second) == [
        "Article 2\n1. This Regulation shall apply to the following things, whoever does them and "
        "wherever:"
    ]


def test_chinese_law_is_cut_at_its_articles() -> None:
    text = (
        "第一编　总则\n第一章　基本规定\n第一条　为了保护权益，制定本法。\n"
        "第二条　依照第三条的规定，\n第三条规定的事项不得违反。\n"
        "第二章　自然人\n第三条　自然人有下列权利：\n（一）生命；\n（二）健康。\n"
    )
    nodes = chunks("legal", text)
    assert paths(nodes) == [
        ["第一编　总则", "第一章　基本规定", "第一条"],
        ["第一编　总则", "第一章　基本规定", "第二条"],
        ["第一编　总则", "第二章　自然人", "第三条"],
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Article I Power\nSection 1. One shall.\nSection 2. Two shall.\n"
            "Article II More\nSection 1. Three shall.\n",
            [["Article I Power", "Section 1"], ["Article I Power", "Section 2"]],
            id="sections in articles",
        ),
        pytest.param(
            "Section 1 Rules\nArticle 1\nOne shall be.\nArticle 2\nTwo shall be.\n"
            "Section 2 More\nArticle 3\nThree shall be.\n",
            [["Section 1 Rules", "Article 1"], ["Section 1 Rules", "Article 2"]],
            id="articles in sections",
        ),
        pytest.param(
            "§ 12 Freedom\nOne is free.\n§ 13 Duty\nOne is bound.\n",
            [["§ 12 Freedom"], ["§ 13 Duty"]],
            id="paragraph signs",
        ),
        pytest.param(
            "1. Terms\n1.1 A thing is a thing.\n1.2 So it is.\n2. Price\n2.1 It shall be paid.\n",
            [["1. Terms"], ["2. Price"]],
            id="numbered clauses",
        ),
    ],
)
def test_divisions_nest_as_the_text_has_them(text: str, expected: list[list[str]]) -> None:
    assert paths(chunks("legal", text))[:2] == expected


# What a text is

PROSE = [
    pytest.param(sentences(80), id="sentences"),
    pytest.param("Name: Ann\nAge: 3\nCity: Rome\nName: Bob\nAge: 4\nCity: Bonn\n" * 9, id="fields"),
    pytest.param("Was it so? Who knows? Nobody? I asked him: was it? " * 30, id="asking prose"),
    pytest.param("1. Buy milk.\n2. Buy eggs.\n3. Go home.\n" * 9, id="lists"),
    pytest.param("# One\n\nText here.\n\n## 1.1 Two\n\nIt must be.\n" * 9, id="sections"),
    pytest.param("[10:15:01] INFO: started\n[10:15:02] ERROR: failed\n" * 20, id="log"),
    pytest.param("key: value\nother: 3\n" * 20, id="configuration"),
    pytest.param("1. Who wrote it?\n2. When was it?\n3. Why so?\n4. Where?\n" * 3, id="an exam"),
    pytest.param("From: a@b.c\nTo: d@e.f\nSubject: It is so.\n\nHello there.\n" * 9, id="mail"),
    pytest.param("烬藻是一种红色的海藻。沈望舒说：“很少见。”他问：为什么？\n" * 30, id="chinese"),
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("shape", ["text", "markdown"])
def test_ordinary_text_is_not_taken_for_something_else(text: str, shape: Shape) -> None:
    assert select_strategy(text, shape) == "recursive"


def test_law_is_known_by_its_clauses_and_its_words() -> None:
    law = "".join(f"Article {n}\n\nThe parties shall not do thing {n}.\n\n" for n in range(1, 9))
    chinese = "".join(f"第{n}条　当事人不得违反本法的规定。\n" for n in "一二三四五六七八")
    assert looks_like_legal(law)
    assert looks_like_legal(chinese)
    assert select_strategy(law, "text") == select_strategy(chinese, "markdown") == "legal"


def test_what_the_reader_knows_counts_first() -> None:
    assert select_strategy("x = 1\n", "code") == "code"
    assert select_strategy("Hello.\n", "transcript") == "transcript"


def source(text: str, *, shape: Shape = "text") -> SourceText:
    return SourceText(id="d", title="T", text=text, type="text", shape=shape, sha256="0")


def test_a_strategy_can_be_forced_and_contexts_added() -> None:
    text = f"# Top\n\n{sentences(20)}"
    options = ChunkOptions(strategy="fixed", size_tokens=32, overlap_tokens=0, context_tokens=16)
    nodes = chunk(source(text, shape="markdown"), tokeniser=TOKENISER, options=options)
    assert all(node.metadata["headings"] == [] for node in nodes)
    assert all(node.metadata["context"] for node in nodes[1:])


def about_two_things() -> str:
    """A paragraph on ships and three on bread, 49 tokens each."""
    paragraphs = [" ".join(f"The ship {n} sails the sea." for n in range(7))]
    for first in (0, 7, 14):
        bread = (f"Warm bread {n} wants good flour." for n in range(first, first + 7))
        paragraphs.append(" ".join(bread))
    return "\n\n".join(paragraphs)


def test_semantic_tells_subjects_apart_by_their_words_without_a_model() -> None:
    options = ChunkOptions(strategy="semantic", size_tokens=150, overlap_tokens=0)
    nodes = chunk(source(about_two_things()), tokeniser=TOKENISER, options=options)
    apart = [("ship" in node.text, "bread" in node.text) for node in nodes]
    assert apart[0] == (True, False)
    assert set(apart[1:]) == {(False, True)}


@pytest.mark.parametrize("by_model", [True, False])
def test_semantic_asks_the_embedding_only_where_told_to(by_model: bool) -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, float("ship" in text)] for text in texts]

    options = ChunkOptions(
        strategy="semantic",
        size_tokens=96,
        overlap_tokens=0,
        embed=embed,
        semantic_by_model=by_model,
    )
    chunk(source(about_two_things()), tokeniser=TOKENISER, options=options)
    assert bool(asked) == by_model


def test_what_cannot_be_had_is_refused_by_name() -> None:
    by_model = ChunkOptions(strategy="semantic", semantic_by_model=True)
    with pytest.raises(SettingsError, match=r"chunk\.semantic_by_model=True needs an embedding"):
        chunk(source("x"), tokeniser=TOKENISER, options=by_model)
    with pytest.raises(SettingsError, match=r"chunk\.strategy='waffle' is unknown"):
        chunk(source("x"), options=ChunkOptions(strategy="waffle"), tokeniser=TOKENISER)  # type: ignore[arg-type]
