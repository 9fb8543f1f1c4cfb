from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.office.rtf import read_rtf

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


@pytest.mark.parametrize(
    ("head", "codec", "text"),
    [
        pytest.param(r"\mac", "mac_roman", "café “old”", id="macintosh"),
        pytest.param(r"\pc", "cp437", "café", id="DOS"),
        pytest.param(r"\ansi\ansicpg866", "cp866", "Русский текст", id="DOS, cyrillic"),
        pytest.param(r"\ansi\ansicpg65001", "utf-8", "沈望舒 😀", id="UTF-8"),
    ],
)
def test_code_pages_beyond_windows_are_followed(head: str, codec: str, text: str) -> None:
    title = rf"{{\info{{\title {escaped(text, codec)}}}}}"
    content = rtf(rf"{title}{escaped(text, codec)} \u233\'8e\par", head=head)
    assert (content.text, content.title) == (f"{text} é", text)


def test_entries_of_an_index_and_second_forms_of_shapes_are_left_out() -> None:
    entries = r"{\xe harbours}{\tc Harbours}{\shprslt Box}"
    assert rtf(rf"The harbour{entries} opens.\par").text == "The harbour opens."


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


def test_headings_are_those_of_their_outline_level() -> None:
    assert rtf(r"\outlinelevel0 One\par\pard\outlinelevel1 Two\par\pard Text\par").text == (
        "# One\n\n## Two\n\nText"
    )


def test_a_footnote_follows_the_text_under_its_mark() -> None:
    text = rtf(r"Body\chftn{\footnote\chftn A source.} goes on.\par").text
    assert text == "Body[^1] goes on.\n\n[^1]: A source."


def test_typed_bullets_and_numbers_are_list_items() -> None:
    text = rtf(r"\bullet\tab oil\par\bullet\tab rope\par 1.\tab Row out\par 2.\tab Land\par").text
    assert text == "- oil\n- rope\n1. Row out\n2. Land"


def test_numbers_of_a_list_are_kept() -> None:
    items = r"{\listtext 1.\tab}First\par {\listtext 2.\tab}Second\par"
    assert rtf(items).text == "1. First\n2. Second"


def test_merged_cells_are_written_once_or_beside_others() -> None:
    cells = r"\trowd{}\cellx100\cellx200\intbl {}\cell {}\cell\row"
    rows = cells.format(r"\clvmgf", "North", "1") + cells.format(r"\clvmrg", "", "2")
    assert rtf(rows).text == "| North | 1 |\n| --- | --- |\n| North | 2 |"


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


def test_a_failure_inside_the_parser_is_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panics(*_: object) -> None:
        raise PanicException

    monkeypatch.setattr("anydoc.to_document", panics)
    with pytest.raises(SourceError, match="is damaged: its reader failed"):
        rtf("x")


def test_the_parser_is_imported_with_the_first_document() -> None:
    imported = "import engine, engine.ingest.load, engine.ingest.readers.office.rtf, sys"
    code = f"{imported}; print('anydoc' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@given(st.text(st.sampled_from("\\{}'abfu0123 ;*\n"), max_size=80))
def test_any_marks_give_text_or_a_reason(body: str) -> None:
    try:
        assert isinstance(rtf(body).text, str)
    except SourceError as error:
        assert str(error)
