from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document

from engine.errors import SourceError
from engine.ingest.clean import clean
from engine.ingest.content import ReadOptions, readable_stem, storable
from engine.ingest.markdown import front_matter, markdown_title
from engine.ingest.pdf_lines import flowing_pages
from engine.ingest.plain import decode, plain_title
from engine.ingest.readers import read_file, read_llama_document, read_text, source_text
from engine.ingest.sources import FileSource
from engine.types import SourceText

CHINESE = "沈望舒在临澜海洋大学研究烬藻，发现了烬藻素。这是一种红色的海藻，产于斯凯拉文岛。"
TRADITIONAL = "三國演義是中國古典四大名著之一，作者是羅貫中。話說天下大勢，分久必合，合久必分。"
JAPANESE = "これは日本語の文章です。今日は天気がいいですね。東京に行きました。"
KOREAN = "이것은 한국어 문장입니다. 오늘은 날씨가 좋습니다. 서울에 갔습니다."
RUSSIAN = "Это русский текст, который записан в старой кодировке. Он достаточно длинный."
FRENCH = "Le café était fermé. Déjà vu, naïve façade: l’été à l’hôtel coûtait 30 €."

POLISH = "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swych praw."


def source(path: Path, *, document_id: str = "") -> FileSource:
    return FileSource(id=document_id or path.name, path=path)


def read_bytes(
    folder: Path,
    name: str,
    data: bytes,
    *,
    max_bytes: int = 10_000_000,
    max_characters: int = 10**7,
) -> SourceText:
    path = folder / name
    path.write_bytes(data)
    return read(source(path), max_bytes=max_bytes, max_characters=max_characters)


def read(source: FileSource, *, max_bytes: int, max_characters: int) -> SourceText:
    """The one document of a file; what makes it none is raised."""
    options = ReadOptions(max_characters=max_characters)
    (part,) = read_file(source, max_bytes=max_bytes, options=options)
    if part.content is None:
        raise SourceError(part.failure)
    return source_text(part, part.content, source=source)


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
        pytest.param(RUSSIAN, "cp1251", b"", id="cp1251"),
        pytest.param(FRENCH, "cp1252", b"", id="cp1252"),
        pytest.param(POLISH, "cp1250", b"", id="cp1250"),
    ],
)
def test_text_is_decoded_exactly(text: str, codec: str, mark: bytes) -> None:
    assert decode(mark + text.encode(codec)) == text


@pytest.mark.parametrize("codec", ["gbk", "big5"])
def test_a_character_cut_where_the_sample_ends_does_not_mislead(codec: str) -> None:
    text = "a" + ("中大小人" * 20_000)
    assert decode(text.encode(codec)) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode("utf-8")) == text.removeprefix("\ufeff")


def test_newlines_stay_as_they_are(tmp_path: Path) -> None:
    text = "one\r\ntwo\rthree\n\n\tfour  \n"
    assert read_bytes(tmp_path, "a.txt", text.encode()).text == text


def test_a_few_broken_bytes_do_not_change_the_encoding() -> None:
    text = CHINESE * 50
    broken = text.encode("utf-8")[:-1]
    assert decode(broken) == text[:-1] + "\ufffd"


def test_what_is_read_can_be_stored(tmp_path: Path) -> None:
    data = b"\xff\xfe" + "good ".encode("utf-16-le") * 50 + b"\x00\xd8" + " end".encode("utf-16-le")
    text = read_bytes(tmp_path, "a.txt", data).text
    assert text.endswith("\ufffd end")
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_storable_text_keeps_its_length_and_encodes(text: str) -> None:
    stored = storable(text)
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
        pytest.param("  《三国演义》罗贯中\r\n\r\n第一回", "《三国演义》罗贯中", id="chinese"),
        pytest.param("From: a@b\nSubject: The cable\n\nDear", "The cable", id="subject line"),
        pytest.param("标题：澜声号航次\n正文", "澜声号航次", id="chinese label"),
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
    assert readable_stem("---") == "---"


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


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(200_000_000)  # sparse: it takes no room
    with pytest.raises(SourceError, match=r"200,000,000 bytes.*50,000,000.*ingest\.max_file_bytes"):
        read(source(path), max_bytes=50_000_000, max_characters=10**7)


def test_too_many_characters_name_their_setting(tmp_path: Path) -> None:
    message = reason(tmp_path, "a.txt", b"hello world", max_characters=5)
    assert "11 characters" in message
    assert "ingest.max_document_characters" in message


def test_a_file_that_vanished_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="vanished"):
        read(source(tmp_path / "gone.txt"), max_bytes=10, max_characters=10)


def test_a_file_that_may_not_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *arguments: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "closed.txt").write_text("secret", encoding="utf-8")
    monkeypatch.setattr(Path, "open", refuse)  # file modes do not stop the superuser
    with pytest.raises(SourceError, match="permission denied"):
        read(source(tmp_path / "closed.txt"), max_bytes=10, max_characters=10)


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


# Web pages

FRAME = (
    "<!DOCTYPE html><html><head><title>{title}</title><style>p {{}}</style></head><body>"
    "<nav><a href='/'>Home</a> <a href='/news'>Other News</a></nav>{body}"
    "<script>var tracked = 1;</script><footer>All rights reserved</footer></body></html>"
)


def page(folder: Path, body: str, *, title: str = "A page | The Beacon") -> SourceText:
    return read_bytes(folder, "a.html", FRAME.format(title=title, body=body).encode())


def test_a_page_keeps_its_headings_lists_and_tables_and_loses_its_frame(tmp_path: Path) -> None:
    found = page(
        tmp_path,
        "<h1>Storm</h1><p>The storm came at <b>02:50</b>.</p><h2>Losses</h2>"
        "<ul><li>a pier</li><li>nine boats</li></ul>"
        "<table><tr><th>Where</th><th>What</th></tr><tr><td>Brannock</td><td>Pier | deck</td></tr>"
        "</table>",
    )
    expected = (
        "# Storm\n\nThe storm came at 02:50.\n\n## Losses\n\n- a pier\n- nine boats\n\n"
        "| Where | What |\n| --- | --- |\n| Brannock | Pier \\| deck |"
    )
    assert found.text == expected


def test_the_main_text_of_a_long_page_is_found(tmp_path: Path) -> None:
    prose = "".join(
        f"<p>Paragraph {n} tells of the harbour, the tide gauge and the people who read it.</p>"
        for n in range(40)
    )
    links = "".join(f"<li><a href='/{n}'>Another story {n}</a></li>" for n in range(60))
    found = page(tmp_path, f"<h1>Harbour</h1><div>{prose}</div><div class='sidebar'>{links}</div>")
    assert "Paragraph 39 tells" in found.text
    assert found.text.startswith("# Harbour")
    assert "Another story" not in found.text
    assert "Other News" not in found.text


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        pytest.param("Storm - The Beacon", "Storm", "Storm", id="the heading, if the title has it"),
        pytest.param("News | The Beacon", "Storm", "News", id="the title without the site"),
        pytest.param("", "Storm", "Storm", id="the heading, if there is no title"),
    ],
)
def test_a_page_is_named(tmp_path: Path, title: str, heading: str, expected: str) -> None:
    found = page(tmp_path, f"<h1>{heading}</h1><p>It blew hard.</p>", title=title)
    assert found.title == expected


@pytest.mark.parametrize("codec", ["gb2312", "big5", "utf-8"])
def test_a_page_declares_its_encoding(tmp_path: Path, codec: str) -> None:
    text = "三国人物" if codec != "big5" else "三國人物"
    html = f"<html><head><meta charset='{codec}'></head><body><p>{text}</p></body></html>"
    assert read_bytes(tmp_path, "a.htm", html.encode(codec)).text == text


def test_a_wrong_declaration_is_seen_through(tmp_path: Path) -> None:
    html = f"<html><head><meta charset='ascii'></head><body><p>{CHINESE}</p></body></html>"
    assert read_bytes(tmp_path, "a.html", html.encode()).text == CHINESE


def test_an_xml_declaration_and_deep_nesting_do_no_harm(tmp_path: Path) -> None:
    html = '<?xml version="1.0" encoding="utf-8"?>' + "<div>" * 200 + "deep" + "</div>" * 200
    assert "deep" in read_bytes(tmp_path, "a.xhtml", html.encode()).text


@pytest.mark.parametrize("html", ["<html><body><script>1</script></body></html>", "<!-- x -->"])
def test_a_page_without_text_says_so(tmp_path: Path, html: str) -> None:
    assert reason(tmp_path, "a.html", html.encode()).startswith("is empty")


# PDF


def pdf(*pages: str, title: str = "", encrypt: bool = False) -> bytes:
    """A PDF written by hand: each page's lines in Helvetica, no lines at all for an empty page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj T*\n" for line in lines.split("\n") if line)
        stream = zlib.compress(f"BT /F1 10 Tf 12 TL 20 800 Td\n{shown}ET".encode("latin-1"))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 842] "
            b"/Resources << /Font << /F1 3 0 R >> >> "
            + f"/Contents {5 + 2 * number} 0 R >>".encode()
        )
        objects.append(
            f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode()
            + stream
            + b"\nendstream"
        )
    objects.append(f"<< /Title ({title}) >>".encode())
    trailer = f"/Root 1 0 R /Info {len(objects)} 0 R"
    if encrypt:
        secret = "41" * 32
        objects.append(
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{secret}> /U <{secret}> >>".encode()
        )
        trailer += f" /Encrypt {len(objects)} 0 R /ID [<{'42' * 16}> <{'42' * 16}>]"
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    out += f"trailer\n<< /Size {len(objects) + 1} {trailer} >>\nstartxref\n{start}\n%%EOF".encode()
    return bytes(out)


def test_a_pdf_gives_its_pages_and_their_starts(tmp_path: Path) -> None:
    found = read_bytes(tmp_path, "a.pdf", pdf("First page.", "", "Third page.", title="The Report"))
    assert found.text == "First page.\n\n\n\nThird page."
    assert [found.text[start : start + 5] for start in found.pages] == ["First", "\n\nThi", "Third"]
    assert found.pages[0] == 0
    assert found.title == "The Report"
    assert found.metadata["pages"] == "3"


@pytest.mark.parametrize("title", ["", "scan0001.pdf", "Microsoft Word - x", "untitled", "12"])
def test_a_title_that_says_nothing_gives_way_to_the_first_line(tmp_path: Path, title: str) -> None:
    found = read_bytes(tmp_path, "a.pdf", pdf("The Averill Inquiry\nIt sat for days.", title=title))
    assert found.title == "The Averill Inquiry"


def test_an_encrypted_pdf_says_so(tmp_path: Path) -> None:
    assert "is encrypted" in reason(tmp_path, "a.pdf", pdf("Secret", encrypt=True))


def test_a_pdf_without_text_asks_for_ocr(tmp_path: Path) -> None:
    message = reason(tmp_path, "a.pdf", pdf("", ""))
    assert "no text layer" in message
    assert "OCR" in message


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"%PDF-1.4\n", id="cut after its first line"),
        pytest.param(b"not a PDF at all", id="something else"),
        pytest.param(pdf("Text")[:150], id="cut short"),
    ],
)
def test_a_damaged_pdf_says_so(tmp_path: Path, data: bytes) -> None:
    assert "is not a readable PDF" in reason(tmp_path, "a.pdf", data)


WIDE = "The quick brown fox jumps over the lazy dog and goes on to the"


@pytest.mark.parametrize(
    ("page_text", "expected"),
    [
        pytest.param(f"{WIDE}\r\nend of it.", f"{WIDE} end of it.", id="soft break"),
        pytest.param(
            f"{WIDE}\nend.\nHeading\n{WIDE}\nend.",
            f"{WIDE} end.\n\nHeading\n{WIDE} end.",
            id="a short line ends its paragraph",
        ),
        pytest.param(
            f"{WIDE} mor\ufffetar\nshells.", f"{WIDE} mortar shells.", id="mark of pdfium"
        ),
        pytest.param(f"{WIDE} mor-\ntar shells.", f"{WIDE} mortar shells.", id="hyphen"),
        pytest.param(
            f"A well-known fox.\n{WIDE} well\ufffeknown.",
            f"A well-known fox.\n{WIDE} well-known.",
            id="a hyphen the document writes",
        ),
        pytest.param("• one\n• two\n• three", "• one\n• two\n• three", id="list"),
        pytest.param(
            "三国演义是中国古典四大名著之一作者是罗贯中话说\n天下大势分久必合。",
            "三国演义是中国古典四大名著之一作者是罗贯中话说天下大势分久必合。",
            id="no space between chinese",
        ),
        pytest.param("a\x00b\x02c", "abc", id="left-over marks"),
    ],
)
def test_lines_of_a_page_flow_into_paragraphs(page_text: str, expected: str) -> None:
    assert flowing_pages([page_text]) == [expected]


def test_running_heads_and_page_numbers_go() -> None:
    pages = [f"The Inquiry\nText of page {name}.\nPage {n}" for n, name in enumerate("abc", 1)]
    assert flowing_pages(pages) == [
        "The Inquiry\nText of page a.",
        "Text of page b.",
        "Text of page c.",
    ]


# Texts in hand


def test_a_text_in_hand_keeps_its_characters() -> None:
    found = read_text("Line\r\n\ud800 end", document_id="note-1")
    assert (found.id, found.title, found.text) == ("note-1", "Line", "Line\r\n\ufffd end")
    assert found.path is None


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_text_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="is empty"):
        read_text(text, document_id="note-1")


def test_a_text_without_an_id_is_refused() -> None:
    with pytest.raises(SourceError, match="has no id"):
        read_text("text", document_id=" ")


def test_a_llama_document_keeps_its_id_and_scalar_metadata() -> None:
    document = Document(
        id_="d1", text="Some text.", metadata={"file_name": "my_notes.txt", "year": 2020, "x": [1]}
    )
    found = read_llama_document(document)
    assert (found.id, found.title, found.text) == ("d1", "my notes", "Some text.")
    assert found.metadata == {"file_name": "my_notes.txt", "type": "text", "year": "2020"}


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
    assert clean(text) == expected


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
