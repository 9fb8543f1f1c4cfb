"""What a page holds beside its printed text: values of form fields, comments, attached files.

And
what the document says of itself.

PDFium's own texts are read here by themselves: what is no UTF-16 in them costs a character, not
the document. A field's value becomes a piece at the field's place, so that it reads beside its
label.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..content import Member, one_line, sanitise_text
from .glyphs import Glyph, Style

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
        with _opened(page, index) as note:
            if note:
                yield note


@contextmanager
def _opened(page: PdfPage, index: int) -> Iterator[object]:
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
    """An entry of the document's information on itself (`Title`, …), on one line.

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
