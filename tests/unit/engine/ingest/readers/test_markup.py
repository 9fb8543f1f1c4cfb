from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ingest.document import ReadOptions
from engine.ingest.readers.markup import read_asciidoc, read_restructured

OPTIONS = ReadOptions()


def asciidoc(text: str) -> str:
    return read_asciidoc(text.encode(), OPTIONS).text


def restructured(text: str) -> str:
    return read_restructured(text.encode(), OPTIONS).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param("= T\n\n== S ==\ntext", "# T\n\n## S\n\ntext", id="headings"),
        pytest.param("* a\n** b\n\n. c", "- a\n    - b\n1. c", id="lists"),
        pytest.param("[source,go]\n----\n= x\n----", "```go\n= x\n```", id="code"),
        pytest.param(
            "|===\n|A |B\n\n|1\n|2\n|===", "| A | B |\n| --- | --- |\n| 1 | 2 |", id="table"
        ),
        pytest.param("|A|B|\n|1|2|", "| A | B |\n| --- | --- |\n| 1 | 2 |", id="loose table"),
        pytest.param(
            '[cols="2*"]\n|===\n|1\n|2\n|3 |4\n|===',
            "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |",
            id="cols",
        ),
        pytest.param(
            ".Caption\n,===\na,b\n1,2\n,===",
            "Caption\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
            id="commas",
        ),
        pytest.param("// no\n:toc:\n[[id]]\nsee <<id,there>>.", "see there.", id="silent"),
        pytest.param("https://a.b[name] and term", "name (https://a.b) and term", id="links"),
        pytest.param("词条:: 解释\n\nimage::a.png[A map]", "**词条**: 解释\n\nA map", id="terms"),
    ],
)
def test_asciidoc_becomes_markdown(source: str, text: str) -> None:
    assert asciidoc(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        pytest.param(
            "===\nT\n===\n\n标题\n----\ntext\n\nU\n---\n",
            "# T\n\n## 标题\n\ntext\n\n## U",
            id="headings",
        ),
        pytest.param(
            ".. code-block:: go\n   :x: y\n\n   a\n     b\n\nc",
            "```go\na\n  b\n```\n\nc",
            id="code",
        ),
        pytest.param("So::\n\n   raw\n", "So:\n\n```\nraw\n```", id="literal"),
        pytest.param(
            "+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n|   | 3 |\n+---+---+",
            "| A | B |\n| --- | --- |\n| 1 | 2 3 |",
            id="grid",
        ),
        pytest.param(
            "=== ===\nx   y\n=== ===\n1   2\n=== ===",
            "| x | y |\n| --- | --- |\n| 1 | 2 |",
            id="simple",
        ),
        pytest.param(
            ".. list-table:: C\n\n   * - a\n     - b\n   * - 1\n     - 2",
            "C\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
            id="list table",
        ),
        pytest.param(
            ".. csv-table::\n   :header: a, b\n\n   1, 2",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
            id="csv",
        ),
        pytest.param(".. note:: Take\n   care.\n\nend", "**Note:** Take\ncare.\n\nend", id="note"),
        pytest.param(
            ".. hidden\n   too\n\n:ref:`A <b>`, `c <http://d>`_ and ``e_``",
            "A, c (http://d) and `e_`",
            id="inline",
        ),
        pytest.param(".. math:: x^2", "$$\nx^2\n$$", id="formula"),
        pytest.param("- a\n- b\n\n.. [1] Said.", "- a\n- b\n\n[1] Said.", id="list and note"),
    ],
)
def test_restructured_text_becomes_markdown(source: str, text: str) -> None:
    assert restructured(source) == text


def test_the_head_of_a_document_is_metadata() -> None:
    content = read_asciidoc(
        b"= Kelp\n:author: Ann\n:revdate: 2024-01-02\n:keywords: a, b\n\nx", OPTIONS
    )
    assert content.title == "Kelp"
    assert content.metadata == {"author": "Ann", "date": "2024-01-02", "tags": ("a", "b")}
    content = read_restructured(
        "海带的研究\n==========\n:Date: 2024-05-06\n\n临澜海洋大学".encode("gb18030"), OPTIONS
    )
    assert (content.title, content.metadata) == ("海带的研究", {"date": "2024-05-06"})


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("".join(" " * n + ".. a::\n" for n in range(400)), id="deep directives"),
        pytest.param("|===\n" * 20_001, id="open tables"),
        pytest.param("=====\n" * 20_000, id="rules"),
        pytest.param("+--+\n" * 20_000, id="grids"),
        pytest.param("----\n" * 20_001, id="open code"),
        pytest.param("x" * 1_000_000, id="one long line"),
    ],
)
def test_nothing_left_open_hangs_or_crashes(source: str) -> None:
    assert isinstance(asciidoc(source), str)
    assert isinstance(restructured(source), str)


@given(st.text(st.sampled_from("=-|+.:*` \nab[]<>_1"), max_size=120))
def test_any_marks_give_some_text(source: str) -> None:
    assert isinstance(asciidoc(source), str)
    assert isinstance(restructured(source), str)
