from __future__ import annotations

import io
import zipfile

import pytest

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.readers.office.odf import read_epub

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PAGE = "application/xhtml+xml"


def book(
    chapters: dict[str, str],
    *,
    spine: list[str] | None = None,
    labels: dict[str, str] | None = None,
) -> dict[str, str]:
    """The files of a book; chapters by their file name, the spine by it as well."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="{PAGE}"/>' for name in chapters
    )
    refs = "".join(f'<itemref idref="{name}"/>' for name in spine or list(chapters))
    contents = "".join(
        f"<navPoint><navLabel><text>{label}</text></navLabel>"
        f'<content src="text/{name}.xhtml#top"/></navPoint>'
        for name, label in (labels or {}).items()
    )
    return {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": (
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            "<metadata><dc:title>临澜志</dc:title><dc:creator>沈望舒</dc:creator><dc:creator>Ann"
            "</dc:creator><dc:language>zh</dc:language><dc:date>2024-05</dc:date><dc:date>2024-05-06"
            f'</dc:date></metadata><manifest>{items}<item id="nav" href="nav.xhtml" '
            f'media-type="{PAGE}" properties="nav"/><item id="ncx" href="toc.ncx" media-type="x"/>'
            f'</manifest><spine toc="ncx"><itemref idref="nav"/>{refs}</spine></package>'
        ),
        "OEBPS/nav.xhtml": "<html><body><nav><a>Contents of everything</a></nav></body></html>",
        "OEBPS/toc.ncx": f"<ncx><navMap>{contents}</navMap></ncx>",
        **{
            f"OEBPS/text/{name}.xhtml": '<?xml version="1.0" encoding="utf-8"?><html '
            f'xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{text}'
            "</body></html>"
            for name, text in chapters.items()
        },
    }


def packed(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def read(files: dict[str, str]) -> Content:
    return read_epub(packed(files), ReadOptions())


def test_chapters_come_in_the_order_of_the_spine() -> None:
    chapters = {"b": "<h1>第二章</h1><p>Then.</p>", "a": "<h1>第一章</h1><p>First.</p>"}
    content = read(book(chapters, spine=["a", "b"]))
    assert content.text == "# 第一章\n\nFirst.\n\n# 第二章\n\nThen."
    starts = [content.text[start : start + 5] for start in content.pages]
    assert starts == ["# 第一章", "# 第二章"]


def test_metadata_are_the_books() -> None:
    content = read(book({"a": "<p>x</p>"}))
    assert content.title == "临澜志"
    assert content.metadata == {"author": "沈望舒; Ann", "date": "2024-05-06", "language": "zh"}


def test_a_chapter_without_a_heading_gets_that_of_the_contents() -> None:
    files = book({"a": "<p>Once.</p>", "b": "<h2>Own</h2>"}, labels={"a": "The start", "b": "No"})
    assert read(files).text == "## The start\n\nOnce.\n\n## Own"


def test_navigation_is_not_text() -> None:
    assert "Contents" not in read(book({"a": "<p>Once.</p>"})).text


def test_a_chapter_that_is_missing_does_not_end_the_book() -> None:
    files = book({"a": "<p>Once.</p>", "gone": "<p>Twice.</p>"})
    del files["OEBPS/text/gone.xhtml"]
    assert read(files).text == "Once."


def test_a_copy_protected_book_is_named_as_such() -> None:
    files = book({"a": "<p>x</p>"})
    del files["OEBPS/text/a.xhtml"]
    files |= {"META-INF/encryption.xml": "<e/>", "META-INF/rights.xml": "<r/>"}
    with pytest.raises(SourceError, match="is encrypted"):
        read(files)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        pytest.param({"a.txt": "x"}, "package file is missing", id="another zip"),
        pytest.param(book({"a": "<p> </p>"}), "is empty", id="no text"),
    ],
)
def test_what_is_no_book_says_so(files: dict[str, str], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        read(files)


def test_a_cut_book_says_so() -> None:
    with pytest.raises(SourceError, match="is damaged"):
        read_epub(packed(book({"a": "<p>x</p>"}))[:500], ReadOptions())
