from __future__ import annotations

import datetime
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document

from engine.errors import SourceError
from engine.ingest.document import ReadOptions, normalise_text, sanitise_text, title_from_filename
from engine.ingest.load import document_from_part, read_llama_document, read_parts, read_text
from engine.ingest.readers.text import (
    decode_bytes,
    front_matter,
    markdown_title,
    plain_title,
    strip_heading_marks,
)
from engine.types import SourceText

CHINESE = "沈望舒在临澜海洋大学研究烬藻，发现了烬藻素。这是一种红色的海藻，产于斯凯拉文岛。"
TRADITIONAL = "三國演義是中國古典四大名著之一，作者是羅貫中。話說天下大勢，分久必合，合久必分。"
JAPANESE = "これは日本語の文章です。今日は天気がいいですね。東京に行きました。"
KOREAN = "이것은 한국어 문장입니다. 오늘은 날씨가 좋습니다. 서울에 갔습니다."
RUSSIAN = "Это русский текст, который записан в старой кодировке. Он достаточно длинный."
FRENCH = "Le café était fermé. Déjà vu, naïve façade: l’été à l’hôtel coûtait 30 €."

POLISH = "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swych praw."


def read_bytes(folder: Path, name: str, data: bytes, *, max_characters: int = 10**7) -> SourceText:
    """The one document of a file; what makes it none is raised."""
    (part,) = read_parts(data, name=name, options=ReadOptions(max_characters=max_characters))
    if part.content is None:
        raise SourceError(part.failure)
    path = folder / name
    return document_from_part(
        part, part.content, document_id=name, source=name, path=path, file_name=path.name
    )


def reason(folder: Path, name: str, data: bytes, **limits: int) -> str:
    with pytest.raises(SourceError) as failure:
        read_bytes(folder, name, data, **limits)
    message = str(failure.value)
    assert "\n" not in message
    return message


# Plain text


@pytest.mark.parametrize(
    ("text", "codec", "mark"),
    [
        pytest.param(FRENCH, "utf-8", b"", id="utf-8"),
        pytest.param(CHINESE, "utf-8", b"\xef\xbb\xbf", id="utf-8 with its mark"),
        pytest.param(CHINESE, "utf-16-le", b"\xff\xfe", id="utf-16 little"),
        pytest.param(CHINESE, "utf-16-be", b"\xfe\xff", id="utf-16 big"),
        pytest.param(FRENCH, "utf-16-le", b"", id="utf-16 without a mark"),
        pytest.param(FRENCH, "utf-32-le", b"\xff\xfe\x00\x00", id="utf-32"),
        pytest.param(CHINESE, "gbk", b"", id="gbk"),
        pytest.param(f"Port Ansgar 安斯加港: {CHINESE[:12]}", "gb18030", b"", id="gb18030, mixed"),
        pytest.param("话说天下大势", "gbk", b"", id="gbk, six characters"),
        pytest.param(TRADITIONAL, "big5", b"", id="big5"),
        pytest.param(JAPANESE, "shift_jis", b"", id="shift-jis"),
        pytest.param(JAPANESE, "euc_jp", b"", id="euc-jp"),
        pytest.param(KOREAN, "euc_kr", b"", id="euc-kr"),
        pytest.param("你好", "gbk", b"", id="gbk, a greeting"),
        pytest.param("会议记录", "gbk", b"", id="gbk, a title"),
        pytest.param("公司年度报告", "gbk", b"", id="gbk, a report"),
        pytest.param("中文标题\n正文内容", "gbk", b"", id="gbk, two lines"),
        pytest.param("今天天气很好", "gbk", b"", id="gbk, a sentence"),
        pytest.param("報告", "big5", b"", id="big5, two characters"),
        pytest.param("これはひらがなです", "shift_jis", b"", id="shift-jis, hiragana"),
        pytest.param("ありがとう", "shift_jis", b"", id="shift-jis, a word"),
        pytest.param("ありがとう", "euc_jp", b"", id="euc-jp, a word"),
        pytest.param("안녕하세요", "euc_kr", b"", id="euc-kr, a greeting"),
        pytest.param("한국어 문서입니다", "euc_kr", b"", id="euc-kr, a sentence"),
        pytest.param(RUSSIAN, "cp1251", b"", id="cp1251"),
        pytest.param(FRENCH, "cp1252", b"", id="cp1252"),
        pytest.param(POLISH, "cp1250", b"", id="cp1250"),
    ],
)
def test_text_is_decoded_exactly(text: str, codec: str, mark: bytes) -> None:
    assert decode_bytes(mark + text.encode(codec)) == text


@pytest.mark.parametrize("codec", ["gbk", "big5"])
def test_a_character_cut_where_the_sample_ends_does_not_mislead(codec: str) -> None:
    text = "a" + ("中大小人" * 20_000)
    assert decode_bytes(text.encode(codec)) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode_bytes(text.encode("utf-8")) == text.removeprefix("\ufeff")


def test_lines_end_as_python_reads_them(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"one\r\ntwo\rthree\r\n\r\n\tfour  \n")
    written = (tmp_path / "b.txt").read_bytes()
    text = (tmp_path / "b.txt").read_text(encoding="utf-8")
    assert read_bytes(tmp_path, "a.txt", written).text == text == "one\ntwo\nthree\n\n\tfour  \n"


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    text = CHINESE * 50
    broken = text.encode("utf-8")[:-1]
    assert decode_bytes(broken) == text[:-1] + "\ufffd"


def test_what_is_read_can_be_stored(tmp_path: Path) -> None:
    data = b"\xff\xfe" + "good ".encode("utf-16-le") * 50 + b"\x00\xd8" + " end".encode("utf-16-le")
    text = read_bytes(tmp_path, "a.txt", data).text
    assert text.endswith("\ufffd end")
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_storable_text_keeps_its_length_and_encodes(text: str) -> None:
    stored = sanitise_text(text)
    assert len(stored) == len(text)
    assert "\x00" not in stored
    stored.encode("utf-8")


def test_the_hash_is_of_the_bytes_and_the_metadata_name_path_and_type(tmp_path: Path) -> None:
    data = CHINESE.encode("gbk")
    found = read_bytes(tmp_path, "a.txt", data)
    assert found.sha256 == hashlib.sha256(data).hexdigest()
    assert found.metadata == {"path": "a.txt", "type": "text"}
    assert (found.id, found.type, found.path) == ("a.txt", "text", (tmp_path / "a.txt").as_posix())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("A Short Title\n\nThen prose.", "A Short Title", id="first line"),
        pytest.param("  《三国演义》罗贯中\n\n第一回", "《三国演义》罗贯中", id="chinese"),
        pytest.param("From: a@b\nSubject: The cable\n\nDear", "The cable", id="subject line"),
        pytest.param("标题：澜声号航次\n正文", "澜声号航次", id="chinese label"),
        pytest.param("CHAPTER 7. The Mill.\n\nIt rained.", "CHAPTER 7. The Mill", id="a chapter"),
        pytest.param("第一回 桃园\n\n话说。\n\n第二回 督邮\n\n且说。", None, id="chapters"),
        pytest.param("Chapter I\n\nIt rained.\n\nChapter II\n\nIt did.", None, id="two chapters"),
        pytest.param("Chapter 7 is on the mill.\n\nIt rained.", None, id="about a chapter"),
        pytest.param("It began to rain, and the ship left.\n\nMore", None, id="prose"),
        pytest.param("From: a@b\nTo: c@d\n\nDear", None, id="header without a subject"),
        pytest.param("x" * 200, None, id="too long"),
        pytest.param("<!DOCTYPE x>\nabc", None, id="markup"),
        pytest.param("12\n\ntext", None, id="a number"),
    ],
)
def test_plain_text_names_itself(text: str, title: str | None) -> None:
    assert plain_title(text) == title


def test_without_a_title_the_file_name_is_made_readable(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, "field_notes-2016-11-17.txt", b"It rained all day, and on.\n" * 9)
    assert found.title == "field notes 2016-11-17"
    assert title_from_filename("---") == "---"


# What cannot be read


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.txt", b"").startswith("is empty")


def test_a_file_of_white_space_says_so(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.md", " \n\t\u3000\n".encode()).startswith("is empty")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x7fELF\x02\x01\x01" + bytes(200), id="program"),
        pytest.param(b"PK\x03\x04" + b"word/document.xml" * 9, id="office document"),
        pytest.param(b"%PDF-1.7\nreally a PDF", id="pdf"),
        pytest.param(b"plain words" + bytes(100) + b"plain words", id="nul bytes"),
        pytest.param(bytes((i * 7919 + i * i) % 256 for i in range(4000)), id="noise"),
    ],
)
def test_a_binary_file_named_txt_is_told_apart(tmp_path: Path, data: bytes) -> None:
    assert "looks like a binary file" in reason(tmp_path, "a.txt", data)


def test_too_many_characters_name_their_setting(tmp_path: Path) -> None:
    message = reason(tmp_path, "a.txt", b"hello world", max_characters=5)
    assert "11 characters" in message
    assert "ingest.max_document_characters" in message


# Markdown


def test_front_matter_gives_the_title_and_its_scalars(tmp_path: Path) -> None:
    text = "---\ntitle: The Station\nfounded: 1974-05-02\nopen: true\ntags: [a, b]\n---\n# Other\n"
    found = read_bytes(tmp_path, "a.md", text.encode())
    assert found.title == "The Station"
    assert found.text == text
    assert found.metadata == {
        "founded": "1974-05-02",
        "open": True,
        "path": "a.md",
        "tags": ("a", "b"),
        "title": "The Station",
        "type": "markdown",
    }


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("---\njust a rule\n---\n# T", id="rules"),
        pytest.param("---\na: [unclosed\n---\n# T", id="not yaml"),
        pytest.param("---\nd: 2020-99-99\n---\n# T", id="no such date"),
        pytest.param("text\n---\na: b\n---\n", id="not at the start"),
    ],
)
def test_what_is_not_front_matter_stays_text(text: str) -> None:
    assert front_matter(text) == {}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        pytest.param("intro\n\n# The *Maggie* and [TMS](x.md) #\n", "The Maggie and TMS", id="atx"),
        pytest.param("The Title\n===\n\ntext", "The Title", id="underlined"),
        pytest.param("```\n# not this\n```\n\n# This\n", "This", id="not in code"),
        pytest.param("## Only a second level\n\ntext", "Only a second level", id="level two first"),
        pytest.param("| a | b |\n|---|---|\n", None, id="table"),
    ],
)
def test_the_first_heading_is_the_title(text: str, title: str | None) -> None:
    assert markdown_title(text) == title


# Texts in hand


def test_a_text_in_hand_keeps_its_characters_but_for_the_ends_of_lines() -> None:
    found = read_text("Line\r\n\ud800 end", document_id="note-1")
    assert (found.id, found.title, found.text) == ("note-1", "Line", "Line\n\ufffd end")
    assert found.path is None


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_text_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="is empty"):
        read_text(text, document_id="note-1")


def test_a_text_without_an_id_is_refused() -> None:
    with pytest.raises(SourceError, match="has no id"):
        read_text("text", document_id=" ")


def test_a_llama_document_keeps_its_id_and_its_metadata_with_their_types() -> None:
    given = {
        "file_name": "my_notes.txt",
        "year": 2020,
        "share": 0.5,
        "draft": True,
        "tags": ["red", "blue"],
        "date": datetime.date(2024, 5, 1),
        "nested": {"a": 1},
        "nothing": None,
    }
    found = read_llama_document(Document(id_="d1", text="Some text.", metadata=given))
    assert (found.id, found.title, found.text) == ("d1", "my notes", "Some text.")
    assert found.metadata == {
        "file_name": "my_notes.txt",
        "type": "text",
        "year": 2020,
        "share": 0.5,
        "draft": True,
        "tags": ("red", "blue"),
        "date": "2024-05-01",
    }


def test_other_metadata_make_another_hash_of_the_same_text() -> None:
    def sha256(**metadata: object) -> str:
        return read_llama_document(Document(id_="d", text="Text.", metadata=metadata)).sha256

    assert sha256(a=1, b=2) == sha256(b=2, a=1)
    assert len({sha256(), sha256(a=1), sha256(a="1"), sha256(b=1)}) == 4
    assert sha256() == read_text("Text.", document_id="d").sha256


# Cleaning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("ａｂｃ　１２３", "abc 123", id="full width"),
        pytest.param(" a \r\n\t b\u00a0c ", "a b c", id="white space"),
        pytest.param("so\u00adft\u200b \x07bell\ufeff", "soft bell", id="invisible"),
        pytest.param("ﬁne café", "fine café", id="compatibility"),
        pytest.param("沈望舒，发现。", "沈望舒,发现。", id="chinese"),
    ],
)
def test_cleaning(text: str, expected: str) -> None:
    assert normalise_text(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert normalise_text(normalise_text(text)) == normalise_text(text)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("rules and DEB_BUILD_OPTIONS", "rules and DEB_BUILD_OPTIONS"),
        ("**Bold** and `a_b`", "Bold and a_b"),
        ("_Leaned_ and **_both_**", "Leaned and both"),
        ("[A link](to.md) out", "A link out"),
    ],
)
def test_marks_of_a_heading_go_but_the_underscores_of_its_words(heading: str, title: str) -> None:
    assert strip_heading_marks(heading) == title
