from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers import markdown_writer
from engine.ingest.readers.markdown_writer import pipe_table, record_block
from engine.ingest.readers.structured import has_header, read_delimited, separator_of

OPTIONS = ReadOptions()
STAFF = [("姓名", "职务", "城市")] + [(f"沈望舒{n}", "海藻研究员", "临澜") for n in range(200)]


def read(text: str, codec: str = "utf-8") -> str:
    return read_delimited(text.encode(codec), OPTIONS).text


def test_a_small_table_is_one_pipe_table() -> None:
    content = read_delimited(b"name,age\nAnn,41\nBob|by,7\n", OPTIONS)
    assert content.text == "| name | age |\n| --- | --- |\n| Ann | 41 |\n| Bob\\|by | 7 |"
    assert content.shape == "markdown"


def test_each_row_of_a_long_table_says_the_names_of_its_columns() -> None:
    text = "id,city,note\n" + "".join(f"{n},Oslo,\n" for n in range(300))
    blocks = read(text).split("\n\n")
    assert (len(blocks), blocks[7]) == (300, "id: 7; city: Oslo")


@pytest.mark.parametrize("codec", ["gb18030", "big5", "utf-16", "utf-8-sig"])
def test_the_encoding_is_found(codec: str) -> None:
    text = "".join(",".join(row) + "\r\n" for row in STAFF)
    if codec == "big5":
        text = text.replace("职务", "職務").replace("临澜", "臨瀾").replace("研究员", "研究員")
    assert read(text, codec).split("\n\n")[4].startswith("姓名: 沈望舒4; ")


def test_japanese_rows_in_shift_jis_are_read() -> None:
    sentence = "これは日本語の文章です。今日は天気がいいですね。東京に行きました。"
    assert f"| 1 | {sentence} |" in read(f"番号,文章\n1,{sentence}\n2,{sentence}\n", "cp932")


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        pytest.param("a;b\n1,5;2,5\n3,5;4,5\n", ";", id="decimal commas"),
        pytest.param("a\tb\nx, y\tz\n", "\t", id="tabs"),
        pytest.param("a|b|c\n1|2|3\n", "|", id="pipes"),
        pytest.param("Industry\nCar: new\nFood\n", ",", id="one column"),
        pytest.param('a,b\n"x;y;z",2\n"p;q;r",3\n', ",", id="quoted"),
    ],
)
def test_the_separator_is_the_one_that_gives_even_rows(text: str, separator: str) -> None:
    assert separator_of(text) == separator


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([["name", "age"], ["Ann", "41"]], True, id="numbers below"),
        pytest.param([["Ann", "41"], ["Bob", "7"]], False, id="numbers in all"),
        pytest.param([["country", "2019", "2020"], ["Norway", "5.1", "6"]], True, id="years"),
        pytest.param([["a", "b"], ["a", "c"], ["d", "b"]], False, id="seen again below"),
        pytest.param([["", "", "x"], ["1", "2", "3"]], False, id="mostly empty"),
        pytest.param([], False, id="no rows"),
    ],
)
def test_a_header_is_of_another_kind_than_its_rows(rows: list[list[str]], expected: bool) -> None:
    assert has_header(rows) is expected


def test_rows_without_a_header_keep_all_their_cells() -> None:
    assert read("Ann,41\nBob,7\n").splitlines()[2:] == ["| Ann | 41 |", "| Bob | 7 |"]


def test_lines_above_the_header_stay_before_the_table() -> None:
    content = read_delimited(b"Harvest of 1974\n\nisland,crop,tons\nSkerra,kelp,4\n", OPTIONS)
    assert content.title == "Harvest of 1974"
    assert content.text.startswith("Harvest of 1974\n\n| island | crop | tons |")


def test_ragged_rows_lose_nothing() -> None:
    text = read("a,b\n1,2,3\n4\n")
    assert all(value in text for value in "1234")


def test_an_open_quotation_mark_does_not_swallow_the_rows_after_it() -> None:
    assert "| 2 | b |" in read('id,name\n1,"a\n2,b\n3,c\n')


def test_a_named_separator_is_believed() -> None:
    assert read("sep=;\na;b\n1;2\n").startswith("| a | b |")


def test_a_cell_may_be_as_long_as_the_document() -> None:
    before = csv.field_size_limit()
    long = "word " * 60_000
    text = read(f"id,text,more\n1,{long},a\n2,b,c\n")
    assert text.count("word") == 60_000
    assert "id: 2; text: b; more: c" in text
    assert read("x" * 1_000_000).count("x") == 1_000_000
    assert csv.field_size_limit() == before


def test_names_that_would_multiply_the_text_end_at_the_limit() -> None:
    header = ",".join(f"{n}{'x' * 200}" for n in range(50))
    rows = ("1," * 49 + "1\n") * 2_000
    with pytest.raises(SourceError, match="too large"):
        read_delimited(f"{header}\n{rows}".encode(), ReadOptions(max_characters=100_000))


def test_long_values_stand_below_the_short_ones() -> None:
    long = "A sentence of some words. " * 20
    assert (
        record_block([("id", "1"), ("text", long), ("tag", "x")])
        == f"id: 1; tag: x\ntext: {long.strip()}"
    )


# Another separator in every cell would be one that separates as well as the comma.
words = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=";|"),
    min_size=2,
    max_size=9,
)


@given(st.lists(st.lists(words, min_size=2, max_size=4), min_size=1, max_size=60))
def test_every_cell_is_found_again(rows: list[list[str]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([["first", "second"], *rows])
    text = read(buffer.getvalue())
    assert all(cell.replace("|", "\\|") in text or cell in text for row in rows for cell in row)


@given(st.binary(max_size=400))
def test_any_bytes_give_text_or_a_reason(data: bytes) -> None:
    try:
        assert isinstance(read_delimited(data, OPTIONS).text, str)
    except SourceError as error:
        assert str(error)


def test_a_table_is_as_wide_as_its_widest_row() -> None:
    assert pipe_table(["a"], [["1", "2"]]) == "| a |  |\n| --- | --- |\n| 1 | 2 |"


def test_one_writer_makes_every_table() -> None:
    """No other module of the readers writes the line below a table's header."""
    readers = Path(markdown_writer.__file__).parent
    writers = {
        str(file.relative_to(readers))
        for file in readers.rglob("*.py")
        if '" --- |"' in file.read_text(encoding="utf8")
    }
    assert writers == {"markdown_writer.py"}


def test_a_bar_within_a_cell_is_escaped_once() -> None:
    table = pipe_table(["a|b", r"c\|d"], [["x\ny", ""]])
    assert table == "| a\\|b | c\\|d |\n| --- | --- |\n| x y |  |"
