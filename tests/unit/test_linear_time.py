"""What is searched for in text is found in time that grows with its length, not its square."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest

from engine.chunking.structure import atx_heading, blocks, is_delimiter_row, sentence_starts
from engine.ingest.readers.pdf.glyphs import SOFT_HYPHEN
from engine.ingest.readers.pdf.layout import flowing_pages, join_lines, word_counts
from graph.text.sentences import strip_markup

SIZE = 100_000
SECONDS = 10.0
"""Of computing, which no busy machine lengthens: far more than linear time takes, far less than the
minutes of quadratic time at this size."""


@pytest.mark.parametrize(
    "search",
    [
        pytest.param(lambda: word_counts(["a" * SIZE]), id="letters without a gap"),
        pytest.param(lambda: flowing_pages(["汉" * SIZE]), id="characters without a gap"),
        pytest.param(
            lambda: join_lines([f"{'a' * 9}{SOFT_HYPHEN}"] * (SIZE // 10), Counter()),
            id="words split at every line's end",
        ),
        pytest.param(lambda: join_lines(["汉" * 9] * SIZE, Counter()), id="lines"),
        pytest.param(lambda: atx_heading(f"# a{' ' * SIZE}b"), id="spaces in a heading"),
        pytest.param(lambda: atx_heading(f"#{' ' * SIZE}\x00"), id="spaces before a heading"),
        pytest.param(lambda: atx_heading(f"# a{' #' * SIZE}b"), id="closing marks in a heading"),
        pytest.param(lambda: atx_heading(f"# {'#' * SIZE}b"), id="marks in a heading"),
        pytest.param(lambda: is_delimiter_row(f"{' ' * SIZE}b"), id="spaces in a delimiter row"),
        pytest.param(lambda: is_delimiter_row(f"--{' |--' * SIZE}b"), id="cells of delimiters"),
        pytest.param(lambda: is_delimiter_row(f"{'-' * SIZE}b"), id="dashes of delimiters"),
        pytest.param(lambda: sentence_starts(f"{'.' * SIZE}x", 0, SIZE + 1), id="a run of dots"),
        pytest.param(
            lambda: sentence_starts(f"{'.' * SIZE}{'”' * SIZE}x", 0, 2 * SIZE + 1),
            id="dots and closing quotation marks",
        ),
        pytest.param(
            lambda: sentence_starts(("\n" + " " * 99) * (SIZE // 100), 0, SIZE), id="blank lines"
        ),
        *(
            pytest.param(lambda text=text: strip_markup(text), id=f"prose, {name}")
            for name, text in (
                ("characters without a gap", "汉" * SIZE),
                ("no mail address", f"{'a' * SIZE}@{'b' * SIZE}"),
                ("mail addresses", "a@b.c*" * (SIZE // 6)),
                ("parts of mail addresses", "a@" * (SIZE // 2)),
                ("underscores in a word", f"a{'_' * SIZE}b"),
                ("spaces before no heading", f"{' ' * SIZE}b"),
                ("targets of links", "](a" * (SIZE // 3)),
                ("dollars", "$" * SIZE),
                ("formulas without an end", f"${'_' * 399}\n{' ' * 9}" * (SIZE // 409)),
                ("one formula without an end", f"$${'_' * SIZE}"),
                ("braces", "{a" * (SIZE // 2)),
                ("lines", "\n" * SIZE),
            )
        ),
        *(
            pytest.param(
                lambda line=line, mark=markdown: blocks(line, markdown=mark),
                id=f"{name}, {markdown}",
            )
            for markdown in (True, False)
            for name, line in (
                ("heading", f"# a{' ' * SIZE}b"),
                ("underline", f"a\n{'=' * SIZE}x"),
                ("table", f"|{' ' * SIZE}x\n|{' ' * SIZE}x"),
                ("rows", "a|b\n" * (SIZE // 4)),
                ("fence", "```\n" * (SIZE // 4)),
                ("item", f"{' ' * SIZE}1.x"),
                ("lines", "a\n" * (SIZE // 2)),
                ("numbers", f"1.1{' ' * SIZE}x\n\n{'1.' * SIZE}x"),
                ("rules", "---\n" * (SIZE // 4)),
            )
        ),
    ],
)
def test_time_grows_with_the_length(search: Callable[[], object]) -> None:
    started = time.thread_time()
    search()
    assert time.thread_time() - started < SECONDS


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param("# a ##  ", "a", id="closed"),
        pytest.param("# C#", "C#", id="its own mark"),
        pytest.param("# C# #", "C#", id="its own mark, closed"),
        pytest.param("# a # b", "a # b", id="a mark inside"),
        pytest.param("#  \t a  b \t", "a  b", id="spaces"),
        pytest.param("##", "", id="nothing"),
        pytest.param("## ##", "", id="nothing but a closing mark"),
    ],
)
def test_the_marks_around_a_heading_are_no_part_of_it(line: str, text: str) -> None:
    heading = atx_heading(line)
    assert heading is not None
    assert heading.text == text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("|---|:--:|", True, id="pipes around"),
        pytest.param("--- | ---", True, id="pipes between"),
        pytest.param("  | --- | --: |  ", True, id="spaces"),
        pytest.param("|  | --- |", False, id="an empty cell"),
        pytest.param("| -- | x |", False, id="a word"),
        pytest.param("|---||", False, id="two pipes"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_a_delimiter_row_is_dashes_between_pipes(line: str, expected: bool) -> None:
    assert is_delimiter_row(line) is expected


def test_a_dot_ends_a_sentence_only_before_white_space() -> None:
    text = "One 1.5 two... three?! “Four.” five.Six. Seven."
    starts = [0, *sentence_starts(text, 0, len(text))]
    assert [text[start:].split()[0] for start in starts] == [
        "One",
        "three?!",
        "“Four.”",
        "five.Six.",
        "Seven.",
    ]


def test_words_split_at_a_lines_end_are_joined_where_the_document_joins_them() -> None:
    text = f"the har{SOFT_HYPHEN}bour and the har-\nbour"
    assert join_lines([text], Counter({"harbour": 2})) == "the harbour and the harbour"
