from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.anydoc import read_rtf

OPTIONS = ReadOptions()


def rtf(body: str, *, head: str = r"\ansi\ansicpg1252") -> Content:
    return read_rtf(rf"{{\rtf1{head} {body}}}".encode("latin-1"), OPTIONS)


def escaped(text: str, codec: str) -> str:
    return "".join(f"\\'{byte:02x}" for byte in text.encode(codec))


def test_paragraphs_and_letters_beyond_ascii_are_read() -> None:
    text = rtf(rf"Caf{escaped('é', 'cp1252')} \b bold\b0 \par\u8364? and \emdash  more\par").text
    assert text == "Café bold\n\n€ and — more"


@pytest.mark.parametrize(
    ("charset", "page", "codec", "text"),
    [
        pytest.param(134, 936, "gbk", "沈望舒研究烬藻。", id="simplified"),
        pytest.param(136, 950, "big5", "臨瀾海洋大學", id="traditional"),
        pytest.param(128, 932, "cp932", "日本語の文章", id="japanese"),
        pytest.param(204, 1251, "cp1251", "Русский текст", id="cyrillic"),
    ],
)
def test_code_pages_are_followed(charset: int, page: int, codec: str, text: str) -> None:
    fonts = rf"{{\fonttbl{{\f0\fnil\fcharset{charset} F;}}}}"
    assert rtf(rf"{fonts}\f0 {escaped(text, codec)}\par", head=rf"\ansi\ansicpg{page}").text == text


def test_chinese_as_unicode_is_read() -> None:
    assert rtf(r"\uc1\u27784?\u26395?\u33298?").text == "沈望舒"


def test_table_rows_are_a_pipe_table() -> None:
    rows = r"\trowd A\cell B\cell\row\trowd 1\cell 2\cell\row\pard after\par"
    assert rtf(rows).text == "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nafter"


def test_what_the_document_says_of_itself_is_metadata() -> None:
    info = r"{\info{\title Kelp}{\author Ann}{\keywords a, b}{\creatim\yr2024\mo5\dy6\hr1}}"
    content = rtf(info + r"Text.\par")
    assert content.title == "Kelp"
    assert content.metadata == {"author": "Ann", "date": "2024-05-06", "tags": ("a", "b")}


def test_pictures_are_left_out() -> None:
    assert rtf(r"a {\pict\pngblip " + "89504e47" * 200_000 + "} b").text.split() == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"no such thing", "not RTF", id="other"),
        pytest.param(rb"{\rtf1 " + b"word " * 300, "too large", id="large"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_rtf(data, ReadOptions(max_characters=1_000))


@pytest.mark.parametrize("code", ["99999999", "1114112", "-70000", "9" * 10])
def test_a_character_that_there_is_not_costs_only_itself(code: str) -> None:
    assert rtf(rf"one \u{code}? two \u-10179?\u-8704? \\u{code}").text == f"one  two 😀 \\u{code}"


def test_deep_groups_are_read() -> None:
    assert rtf("{" * 100_000 + "x" + "}" * 100_000).text == "x"


@given(st.text(st.sampled_from("\\{}'abfu0123 ;*\n"), max_size=80))
def test_any_marks_give_text_or_a_reason(body: str) -> None:
    try:
        assert isinstance(rtf(body).text, str)
    except SourceError as error:
        assert str(error)
