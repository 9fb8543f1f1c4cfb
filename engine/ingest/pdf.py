"""PDF: the text layer, page by page, through PDFium. Knows nothing of files or of images."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import SourceError
from .content import Content, one_line, storable
from .pdf_lines import flowing_pages
from .plain import plain_title

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

PAGE_BREAK = "\n\n"
_PDFIUM = threading.Lock()
"""PDFium is not safe to call from two threads, not even on two documents."""

_FILE_NAME = re.compile(r"\.[A-Za-z0-9]{2,5}$|[\\/]")
_EMPTY_TITLE = re.compile(
    r"\W*(?:untitled|anonymous|document\d*|microsoft word|slide \d+|无标题|未命名)\b.*|[\W\d_]*",
    re.I,
)


def read_pdf(data: bytes) -> Content:
    """The text of all pages, joined by a blank line, with each page's start.

    Hyphenation and line breaks inside paragraphs are undone here, since the text that results is
    what is stored and cited. A page that cannot be read is empty and named in the metadata.

    Raises:
        SourceError: encrypted, damaged, or without any text.
    """
    with _PDFIUM, _opened(data) as document:
        raw, unreadable = _raw_pages(document)
        title = document.get_metadata_value("Title")
    pages = flowing_pages([storable(page) for page in raw])
    if not any(pages):
        raise SourceError(_why_no_text(len(pages), unreadable))
    metadata = {"pages": str(len(pages))}
    if unreadable:
        metadata["unreadable_pages"] = ", ".join(map(str, unreadable))
    text = PAGE_BREAK.join(pages)
    return Content(text=text, title=_title(title, text), pages=_starts(pages), metadata=metadata)


@contextmanager
def _opened(data: bytes) -> Iterator[PdfDocument]:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            reason = "is encrypted: save a copy without a password and add that"
        else:
            reason = "is not a readable PDF (damaged or cut short): export it anew"
        raise SourceError(reason) from error
    try:
        yield document
    finally:
        document.close()


def _raw_pages(document: PdfDocument) -> tuple[list[str], list[int]]:
    """The text of each page as PDFium gives it, and the numbers of pages it cannot load."""
    from pypdfium2 import PdfiumError

    pages: list[str] = []
    unreadable: list[int] = []
    for index in range(len(document)):
        try:
            page = document[index]
            text_page = page.get_textpage()
        except PdfiumError:
            pages.append("")
            unreadable.append(index + 1)
            continue
        pages.append(text_page.get_text_range())
        text_page.close()
        page.close()
    return pages, unreadable


def _why_no_text(page_count: int, unreadable: list[int]) -> str:
    if page_count == 0 or len(unreadable) == page_count:
        return "is not a readable PDF (no page of it can be loaded): export it anew"
    return "has no text layer (scanned pages?): run it through OCR and add the result"


def _starts(pages: list[str]) -> tuple[int, ...]:
    starts, position = [], 0
    for page in pages:
        starts.append(position)
        position += len(page) + len(PAGE_BREAK)
    return tuple(starts)


def _title(given: str, text: str) -> str | None:
    title = one_line(storable(given.replace("\x00", "")))
    useless = len(title) < 3 or _EMPTY_TITLE.fullmatch(title) or _FILE_NAME.search(title)
    return plain_title(text) if useless else title
