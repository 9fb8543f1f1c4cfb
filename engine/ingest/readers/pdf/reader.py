"""PDF reader: pages to Markdown through PDFium; form fields, comments, attachments, metadata.

    glyphs → pieces → columns → lines → Markdown

A page without a text layer is rendered and recognised where OCR is asked for. A form field's value
becomes a piece at the field's place, beside its label. Invalid UTF-16 in what PDFium returns costs
a character, not the document.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....errors import SourceError
from ....types import MetaValue
from ...document import REPLACEMENT, Content, Member, ReadOptions, one_line, sanitise_text
from ..text import plain_title
from .glyphs import Glyph, Style, glyphs_of, pieces_of, rules_of, text_directions
from .layout import Columns, columns_in_order, flowing_pages, without_running_lines
from .markdown import markdown_pages, styles_of, with_aligned_tables, with_ruled_tables

if TYPE_CHECKING:
    from pypdfium2 import PdfAttachment, PdfDocument, PdfPage

_MOST_NOTES = 2_000
_LONGEST_VALUE = 20_000
_TICKED, _NOT_TICKED = "[x]", "[ ]"
_CHOSEN_SIZE = 10.0


def fields_of(page: PdfPage) -> list[Glyph]:
    """Return values of filled form fields, each as one glyph."""
    from pypdfium2 import raw

    form = page.formenv.raw if page.formenv is not None else None
    if form is None:
        return []
    result: list[Glyph] = []
    for note in _annotations(page):
        if raw.FPDFAnnot_GetSubtype(note) != raw.FPDF_ANNOT_WIDGET:
            continue
        box = raw.FS_RECTF()
        text = _value(form, note)
        if not text or not raw.FPDFAnnot_GetRect(note, ctypes.byref(box)):
            continue
        left, right = sorted((box.left, box.right))
        bottom, top = sorted((box.bottom, box.top))
        size = min(_CHOSEN_SIZE, max(1.0, 0.8 * (top - bottom)))
        shown = min(right, left + 0.5 * size * len(text))
        top = min(top, bottom + 1.6 * size) if top - bottom < 4 * size else top
        result.append(Glyph(text, left, bottom, shown, top, Style(size, False, False, "right")))
    return result


def _value(form: object, note: object) -> str:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        return _TICKED if raw.FPDFAnnot_IsChecked(form, note) else _NOT_TICKED
    if kind not in (
        raw.FPDF_FORMFIELD_TEXTFIELD,
        raw.FPDF_FORMFIELD_COMBOBOX,
        raw.FPDF_FORMFIELD_LISTBOX,
    ):
        return ""  # buttons and signatures say nothing
    length = raw.FPDFAnnot_GetFormFieldValue(form, note, None, 0)
    if not 2 < length <= 2 * _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    as_wide = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
    raw.FPDFAnnot_GetFormFieldValue(form, note, as_wide, length)
    return _text(buffer)


def comments_of(page: PdfPage) -> list[str]:
    """Return annotations of readers in file order: notes, marked text, text boxes."""
    from pypdfium2 import raw

    kinds = (
        raw.FPDF_ANNOT_TEXT,
        raw.FPDF_ANNOT_FREETEXT,
        raw.FPDF_ANNOT_HIGHLIGHT,
        raw.FPDF_ANNOT_UNDERLINE,
        raw.FPDF_ANNOT_SQUIGGLY,
        raw.FPDF_ANNOT_STRIKEOUT,
        raw.FPDF_ANNOT_STAMP,
        raw.FPDF_ANNOT_CARET,
    )
    found = []
    for note in _annotations(page):
        if raw.FPDFAnnot_GetSubtype(note) not in kinds:
            continue
        text = _string(note, b"Contents")
        if text:
            author = _string(note, b"T")
            found.append(f"{author}: {text}" if author else text)
    return list(dict.fromkeys(found))


def _annotations(page: PdfPage) -> Iterator[object]:
    from pypdfium2 import raw

    for index in range(min(_MOST_NOTES, raw.FPDFPage_GetAnnotCount(page.raw))):
        with _notes_opened(page, index) as note:
            if note:
                yield note


@contextmanager
def _notes_opened(page: PdfPage, index: int) -> Iterator[object]:
    from pypdfium2 import raw

    note = raw.FPDFPage_GetAnnot(page.raw, index)
    try:
        yield note
    finally:
        if note:
            raw.FPDFPage_CloseAnnot(note)


def _string(note: object, key: bytes) -> str:
    from pypdfium2 import raw

    length = raw.FPDFAnnot_GetStringValue(note, key, None, 0)
    if not 2 < length <= 2 * _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    as_wide = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
    raw.FPDFAnnot_GetStringValue(note, key, as_wide, length)
    return _text(buffer)


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    text = buffer.raw.decode("utf-16-le", "replace").rstrip("\x00")
    return " ".join(sanitise_text(text).split())


def said_of(document: PdfDocument, key: str) -> str:
    """Return an entry of the document information (`Title`, …) on one line.

    Empty without.
    """
    from pypdfium2 import raw

    name = key.encode("ascii")
    length = raw.FPDF_GetMetaText(document.raw, name, None, 0)
    if not 2 < length <= 2 * _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDF_GetMetaText(document.raw, name, buffer, length)
    return one_line(_text(buffer))


def attachments_of(document: PdfDocument, *, most: int) -> tuple[Member, ...]:
    """Return document attachments, the first `most` by name."""
    from pypdfium2 import PdfiumError

    members = []
    for index in range(min(most, document.count_attachments())):
        try:
            attachment = document.get_attachment(index)
            name, data = _name(attachment), bytes(attachment.get_data())
        except PdfiumError:
            name, data = f"attachment-{index + 1}", b""  # reported as empty by who reads it
        safe = name.replace("\\", "/").split("/")[-1]
        members.append(Member(name=safe or f"attachment-{index + 1}", data=data))
    return tuple(sorted(members, key=lambda member: (member.name, member.data)))


def _name(attachment: PdfAttachment) -> str:
    from pypdfium2 import raw

    length = raw.FPDFAttachment_GetName(attachment.raw, None, 0)
    if not 2 < length <= 2 * _LONGEST_VALUE:
        return ""
    buffer = ctypes.create_string_buffer(length)
    as_wide = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
    raw.FPDFAttachment_GetName(attachment.raw, as_wide, length)
    return _text(buffer)


_DOTS_PER_INCH = 200
_MOST_PIXELS = 20_000_000
_LEAST_SHARE = 0.02


def is_drawn(page: PdfPage) -> bool:
    """Check for a picture large enough to hold text."""
    from pypdfium2 import PdfiumError, raw

    width, height = page.get_size()
    least = _LEAST_SHARE * width * height
    try:
        for found in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
            left, bottom, right, top = found.get_bounds()
            if (right - left) * (top - bottom) >= least:
                return True
    except PdfiumError:
        return False  # a picture that cannot even be measured cannot be read
    return False


def recognise_page(page: PdfPage) -> str:
    """Return the text of a rendered PDF page by OCR with flowing lines; empty without any.

    Raises:
        SourceError: the engine is not installed.
    """
    from ..media import recognise_text

    width, height = page.get_size()
    scale = min(_DOTS_PER_INCH / 72, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    pixels = bitmap.to_numpy()
    text = recognise_text(pixels[:, :, 0] if pixels.ndim == 3 else pixels)
    bitmap.close()
    return flowing_pages([text.replace("\t", " ")])[0]


PAGE_BREAK = "\n\n"
_PDFIUM = threading.Lock()
"""PDFium is not safe to call from two threads, not even on two documents."""

_FILE_NAME = re.compile(r"\.[A-Za-z0-9]{2,5}$|[\\/]")
_EMPTY_TITLE = re.compile(
    r"\W*(?:untitled|anonymous|document\d*|microsoft word|slide \d+|无标题|未命名)\b.*|[\W\d_]*",
    re.I,
)
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:([+-])(\d\d)'?(\d\d)?|Z)?"
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


def read_pdf(
    data: bytes, options: ReadOptions, *, max_pages: int = 10_000, max_recognised_pages: int = 500
) -> Content:
    """All pages as Markdown, joined by a blank line, with each page's start.

    Hyphenation and line breaks inside paragraphs are undone here, since the text that results is
    what is stored and cited. Metadata: `pages`; `author`, `date`, `language`, `tags` where the
    document names them; `unreadable_pages` (damaged) and `scanned_pages` (pictures that were not
    recognised). Attached files are members.

    Raises:
        SourceError: encrypted, damaged, too many pages or characters, or without any text.
    """
    with _PDFIUM, _opened(data) as document:
        if len(document) > max_pages:
            raise SourceError(
                f"has {len(document):,} pages, the limit is {max_pages:,}: split it into parts"
            )
        read = _Reading(options=options, max_recognised=max_recognised_pages)
        for index in range(len(document)):
            _read_page(document, index, into=read)
        title = said_of(document, "Title")
        metadata = _metadata(document)
        members = attachments_of(document, most=options.max_members)
    pages = [sanitise_text(page) for page in _texts(read)]
    if not any(pages):
        raise SourceError(_why_no_text(read))
    text = PAGE_BREAK.join(pages)
    return Content(
        text=text,
        title=_title(title, text),
        pages=_starts(pages),
        shape="markdown",
        metadata={**metadata, **read.notes()},
        members=members,
    )


@dataclass(slots=True, kw_only=True)
class _Reading:
    """State of reading; `pictures` holds recognised text by page."""

    options: ReadOptions
    max_recognised: int
    pages: list[Columns] = field(default_factory=list)
    comments: list[list[str]] = field(default_factory=list)
    pictures: dict[int, str] = field(default_factory=dict)
    unreadable: list[int] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    missing_engine: str = ""
    characters: int = 0

    def notes(self) -> dict[str, MetaValue]:
        """Metadata on the pages themselves."""
        found: dict[str, MetaValue] = {"pages": str(len(self.pages))}
        if self.unreadable:
            found["unreadable_pages"] = ", ".join(map(str, self.unreadable))
        if self.scanned:
            found["scanned_pages"] = ", ".join(map(str, self.scanned))
        return found


@contextmanager
def _opened(data: bytes) -> Iterator[PdfDocument]:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower() or "security" in str(error).lower():
            reason = "is encrypted: save a copy without a password and add that"
        else:
            reason = "is not a readable PDF (damaged or cut short): export it again"
        raise SourceError(reason) from error
    try:
        with suppress(PdfiumError):  # a damaged form: its fields are not read, its pages are
            document.init_forms()
        yield document
    finally:
        document.close()


def _read_page(document: PdfDocument, index: int, *, into: _Reading) -> None:
    from pypdfium2 import PdfiumError

    into.pages.append([])
    into.comments.append([])
    try:
        page = document[index]
    except PdfiumError:
        into.unreadable.append(index + 1)
        return
    try:
        into.pages[-1] = _columns(page, into=into)
        into.comments[-1] = comments_of(page)
        if not into.pages[-1]:
            _recognise(page, index, into=into)
    except PdfiumError:
        into.unreadable.append(index + 1)
    finally:
        page.close()


def _columns(page: PdfPage, *, into: _Reading) -> Columns:
    """Return the page's text layer and form fields as lines in reading order."""
    text_page = page.get_textpage()
    try:
        into.characters += text_page.count_chars()
        if into.characters > 2 * into.options.max_characters:
            raise SourceError(
                f"is too large: more than {into.options.max_characters:,} characters; "
                "split it, or raise ingest.max_document_characters"
            )
        glyphs = glyphs_of(text_page)
    finally:
        text_page.close()
    fields = fields_of(page)
    if not fields and not any(glyph.text != " " for glyph in glyphs):
        return []
    result: Columns = []
    for number, sheet in enumerate(text_directions(glyphs, rules_of(page))):
        filled = [piece for value in fields for piece in pieces_of([value])] if not number else []
        pieces = with_ruled_tables(sheet.pieces + filled, sheet.rules)
        result += columns_in_order(pieces)
    return result


def _recognise(page: PdfPage, index: int, *, into: _Reading) -> None:
    if not is_drawn(page):
        return
    possible = into.options.ocr and not into.missing_engine
    if possible and len(into.pictures) < into.max_recognised:
        try:
            into.pictures[index] = recognise_page(page)
            return
        except SourceError as error:
            into.missing_engine = str(error)
    into.scanned.append(index + 1)


def _texts(read: _Reading) -> list[str]:
    """Return each page's Markdown: text or OCR, then annotations."""
    kept = without_running_lines(read.pages, body_size=styles_of(read.pages).body)
    pages = [[with_aligned_tables(column) for column in page] for page in kept]
    texts = markdown_pages(pages, styles_of(pages))
    result = []
    for index, (text, comments) in enumerate(zip(texts, read.comments, strict=True)):
        parts = [text or read.pictures.get(index, ""), *(f"> {comment}" for comment in comments)]
        result.append("\n\n".join(filter(None, parts)))
    return result


def _why_no_text(read: _Reading) -> str:
    if not read.pages or len(read.unreadable) == len(read.pages):
        return "is not a readable PDF (no page can be loaded): export it again"
    if read.missing_engine:
        return f"has no text layer (scanned pages: OCR {read.missing_engine})"
    if read.scanned:
        return "has no text layer (scanned pages), and OCR is off: set ingest.ocr"
    if read.pictures:
        return "has no text layer, and OCR found no text in the pictures on its pages"
    return "has no text layer (blank pages, or text drawn as shapes): run it through OCR first"


def _starts(pages: list[str]) -> tuple[int, ...]:
    starts, position = [], 0
    for page in pages:
        starts.append(position)
        position += len(page) + len(PAGE_BREAK)
    return tuple(starts)


def _title(given: str, text: str) -> str | None:
    title = one_line(given.replace(REPLACEMENT, ""))
    useless = len(title) < 3 or _EMPTY_TITLE.fullmatch(title) or _FILE_NAME.search(title)
    return plain_title(text.lstrip("# ")) if useless else title


def _metadata(document: PdfDocument) -> dict[str, MetaValue]:
    found: dict[str, MetaValue] = {}
    author = said_of(document, "Author")
    if author and not _EMPTY_TITLE.fullmatch(author):
        found["author"] = author
    date = pdf_date(said_of(document, "CreationDate")) or pdf_date(said_of(document, "ModDate"))
    if date:
        found["date"] = date
    language = _language(document)
    if language:
        found["language"] = language
    keywords = re.split("[,;，；]", said_of(document, "Keywords"))
    tags = tuple(filter(None, (tag.strip() for tag in keywords)))
    if tags:
        found["tags"] = tags
    return found


def _language(document: PdfDocument) -> str:
    import ctypes

    from pypdfium2 import raw

    length = raw.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < length < 100:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFCatalog_GetLanguage(
        document.raw, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length
    )
    text = buffer.raw.decode("utf-16-le", "replace").rstrip("\x00")
    return text if _LANGUAGE.fullmatch(text) else ""


def pdf_date(text: str) -> str:
    """Return a PDF date as ISO 8601: UTC second or day; empty if invalid."""
    import datetime

    found = _DATE.match(text.strip())
    if found is None:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    try:
        moment = datetime.datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            tzinfo=datetime.UTC,
        )
        if hour is None:
            return moment.date().isoformat()
        ahead = datetime.timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        moment = moment - ahead if sign == "+" else moment + ahead
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
