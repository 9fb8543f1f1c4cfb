from __future__ import annotations

import io
import zipfile

import pytest

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.office.odf import read_opendocument

URN = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = (
    f'xmlns:office="{URN}office:1.0" xmlns:text="{URN}text:1.0" xmlns:table="{URN}table:1.0" '
    f'xmlns:draw="{URN}drawing:1.0" xmlns:style="{URN}style:1.0" '
    f'xmlns:presentation="{URN}presentation:1.0" xmlns:meta="{URN}meta:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
META = (
    f"<office:document-meta {NAMES}><office:meta><dc:title>海藻</dc:title><dc:creator>Ann"
    "</dc:creator><dc:date>2024-05-06T07:08:09.123</dc:date><dc:language>zh-CN</dc:language>"
    "<meta:keyword>algae</meta:keyword></office:meta></office:document-meta>"
)


def opened(kind: str, body: str, *, styles: str = "", **parts: str) -> bytes:
    content = (
        f"<office:document-content {NAMES}>{styles}<office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", content)
        for name, text in parts.items():
            archive.writestr({"manifest": "META-INF/manifest.xml"}.get(name, f"{name}.xml"), text)
    return buffer.getvalue()


def read(data: bytes, *, options: ReadOptions | None = None) -> Content:
    return read_opendocument(data, options or ReadOptions())


def test_headings_lists_and_notes_of_a_text() -> None:
    body = (
        '<text:h text:outline-level="1">Algae</text:h><text:p>See<text:s text:c="2"/>here'
        "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>A source.</text:p></text:note-body></text:note>, "
        "<text:span>and there</text:span>.</text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item>"
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item></text:list>"
    )
    content = read(opened("text", body))
    expected = "# Algae\n\nSee  here[^1], and there.\n\n- one\n   - inner\n\n[^1]: A source."
    assert expected == content.text
    assert (content.title, content.shape) == ("Algae", "markdown")


def test_numbered_lists_keep_their_numbers() -> None:
    styles = (
        '<office:automatic-styles><text:list-style style:name="L1">'
        "<text:list-level-style-number/></text:list-style></office:automatic-styles>"
    )
    item = "<text:list-item><text:p>step</text:p></text:list-item>"
    body = f'<text:list text:style-name="L1">{item}{item}</text:list>'
    assert read(opened("text", body, styles=styles)).text == "1. step\n2. step"


def test_metadata_is_what_the_file_says_of_itself() -> None:
    content = read(opened("text", "<text:p>x</text:p>", meta=META))
    assert content.title == "海藻"
    assert content.metadata == {
        "author": "Ann",
        "date": "2024-05-06T07:08:09Z",
        "language": "zh-CN",
        "tags": ("algae",),
    }


def test_deleted_text_is_left_out_and_comments_and_boxes_are_kept() -> None:
    body = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>Kept"
        "<office:annotation><dc:creator>Ed</dc:creator><text:p>Sure?</text:p></office:annotation>"
        "<draw:frame><draw:text-box><text:p>Boxed</text:p></draw:text-box></draw:frame></text:p>"
    )
    expected = "Kept\n\n> Comment by Ed: Sure?\n\nBoxed"
    assert expected == read(opened("text", body)).text


def cell(text: str, more: str = "") -> str:
    """A cell; `more` are attributes with ! for quotes."""
    attributes = more.replace("!", '"')
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def test_a_table_in_a_text_is_a_pipe_table() -> None:
    rows = (
        f"<table:table-header-rows><table:table-row>{cell('A')}{cell('B')}</table:table-row>"
        f"</table:table-header-rows><table:table-row>{cell('1')}{cell('2|3')}</table:table-row>"
    )
    text = read(opened("text", f"<table:table>{rows}</table:table>")).text
    assert text == "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |"


def test_millions_of_repeated_empty_cells_cost_nothing() -> None:
    rows = (
        f"<table:table-row>{cell('日期')}{cell('Catch')}"
        '<table:table-cell table:number-columns-repeated="16382"/></table:table-row>'
        f"<table:table-row>{cell('2024-05-06')}"
        '<table:table-cell office:value-type="float" office:value="7"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048574">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    )
    table = f'<table:table table:name="数据">{rows}</table:table>'
    expected = "## 数据\n\n| 日期 | Catch |\n| --- | --- |\n| 2024-05-06 | 7 |"
    assert expected == read(opened("spreadsheet", table)).text


def test_a_text_repeated_without_end_is_refused() -> None:
    row = (
        '<table:table-row table:number-rows-repeated="1000000">'
        f"{cell('x' * 100, 'table:number-columns-repeated=!1000!')}</table:table-row>"
    )
    data = opened("spreadsheet", f"<table:table>{row}</table:table>")
    with pytest.raises(SourceError, match="is too large"):
        read(data, options=ReadOptions(max_characters=1_000_000))


def test_merged_cells_are_repeated_beside_others() -> None:
    rows = (
        f"<table:table-row>{cell('North', 'table:number-rows-spanned=!2!')}{cell('1')}"
        "</table:table-row><table:table-row><table:covered-table-cell/>"
        f"{cell('2')}</table:table-row>"
    )
    text = read(opened("spreadsheet", f"<table:table>{rows}</table:table>")).text
    assert text.endswith("| North | 1 |\n| --- | --- |\n| North | 2 |")


def test_slides_are_pages_with_title_text_and_notes() -> None:
    def frame(kind: str, text: str) -> str:
        return (
            f'<draw:frame presentation:class="{kind}"><draw:text-box><text:p>{text}</text:p>'
            "</draw:text-box></draw:frame>"
        )

    notes = f"<presentation:notes>{frame('notes', 'Slowly')}</presentation:notes>"
    body = (
        f"<draw:page>{frame('outline', 'Body')}{frame('title', '计划')}{notes}</draw:page>"
        f"<draw:page>{frame('subtitle', 'No title')}</draw:page>"
    )
    content = read(opened("presentation", body))
    assert content.text == "## 计划\n\nBody\n\nNotes: Slowly\n\n## Slide 2\n\nNo title"
    assert ("计划", (0, content.text.index("## Slide 2"))) == (content.title, content.pages)


def test_a_flat_file_is_read_too() -> None:
    flat = (
        f"<office:document {NAMES}><office:body><office:text><text:p>Flat</text:p></office:text>"
        "</office:body></office:document>"
    )
    assert read(flat.encode()).text == "Flat"


def test_an_encrypted_file_is_named_as_such() -> None:
    data = opened("text", "", manifest="<manifest><encryption-data/></manifest>")
    with pytest.raises(SourceError, match="is encrypted: save it without a password"):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"hello", id="no zip"),
        pytest.param(opened("unheard-of", ""), id="another body"),
        pytest.param(opened("text", "<text:p>x</text:p>")[:150], id="cut off"),
        pytest.param(opened("text", "<text:p>"), id="broken XML"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes) -> None:
    with pytest.raises(SourceError, match="is damaged"):
        read(data)
