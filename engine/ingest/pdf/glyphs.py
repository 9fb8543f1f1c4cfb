"""PDF glyphs from PDFium, in drawing order.

The one module that walks PDFium's text pages.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

Direction = Literal["right", "up", "left", "down"]
"""Direction of a line of glyphs on the unrotated page."""

SOFT_HYPHEN = "\ufffe"
"""Stands where PDFium saw a word that was hyphenated at a line's end."""

_HYPHEN_MARK = 2
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|cmb10|sfbx|[-,]bd\b|simhei|黑体", re.I)
_MONO = re.compile(r"mono|courier|consol|menlo|cmtt|sftt|typewriter|terminal", re.I)
_BOLD_WEIGHT = 600
_FILL_AND_STROKE = 2
_BULLETS = dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf076\uf06e\uf06c\uf0fc\uf09f\uf077\uf02d", "•")
_FALLBACK_SIZE = 10.0
_LARGEST_SIZE = 5_000.0
FURTHEST = 1e8
"""In points: what lies further out, or nowhere at all, is on no page."""


class Style(NamedTuple):
    """Text style of a run. `size` is in displayed points, to a tenth."""

    size: float
    bold: bool
    mono: bool
    direction: Direction


class Glyph(NamedTuple):
    """A character (a ligature: its letters) and its box in points, y upwards.

    A white glyph is a space that was drawn or that PDFium saw; its box means nothing.
    """

    text: str
    left: float
    bottom: float
    right: float
    top: float
    style: Style


_PLAIN = Style(_FALLBACK_SIZE, False, False, "right")


def glyphs_of(text_page: PdfTextPage) -> list[Glyph]:
    """Return all readable glyphs of a page, with spaces, in drawing order."""
    from pypdfium2 import raw

    handle = text_page.raw
    box = raw.FS_RECTF()
    by_reference = ctypes.byref(box)
    glyphs: list[Glyph] = []
    style, drawn_by = _PLAIN, 0
    for index in range(raw.FPDFText_CountChars(handle)):
        code = raw.FPDFText_GetUnicode(handle, index)
        text = _readable(code)
        if not text:
            continue
        if text.isspace():
            glyphs.append(Glyph(" ", 0, 0, 0, 0, style))
            continue
        found = raw.FPDFText_GetTextObject(handle, index)
        address = ctypes.c_void_p.from_buffer(found).value or 0
        if address and address != drawn_by:
            style, drawn_by = _style(handle, index, text_object=found), address
        raw.FPDFText_GetLooseCharBox(handle, index, by_reference)
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if -FURTHEST < left <= right < FURTHEST and -FURTHEST < bottom <= top < FURTHEST:
            glyphs.append(Glyph(text, left, bottom, right, top, style))
    return glyphs


@cache
def _readable(code: int) -> str:
    """Normalise a character: ligatures and presentation forms to letters.

    Empty if not text.

    A code of the private use area means what its font makes of it, which no reader can know; the
    usual bullets of symbol fonts are the exception.
    """
    if code == _HYPHEN_MARK:
        return SOFT_HYPHEN
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        return ""
    char = chr(code)
    category = unicodedata.category(char)
    if category == "Co":
        return _BULLETS.get(char, "")
    if category in ("Cn", "Cf") and code != 0xAD:
        return "" if category == "Cn" or code in (0x200B, 0xFEFF, 0x2060) else char
    if category in ("Cc", "Zs", "Zl", "Zp"):
        return " " if char.isspace() else ""
    return unicodedata.normalize("NFKC", char) if _is_presentation_form(code) else char


def _is_presentation_form(code: int) -> bool:
    """Check for presentation forms: ligatures, Kangxi and other radicals, Arabic forms."""
    return (
        (0xFB00 <= code <= 0xFDFF and code not in (0xFD3E, 0xFD3F))
        or 0x2E80 <= code <= 0x2FDF
        or 0xFE70 <= code <= 0xFEFC
        or 0xF900 <= code <= 0xFAFF
    )


def _style(handle: object, index: int, *, text_object: object) -> Style:
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX(1, 0, 0, 1, 0, 0)
    raw.FPDFText_GetMatrix(handle, index, matrix)
    scale = (matrix.c**2 + matrix.d**2) ** 0.5 or 1.0
    size = abs(raw.FPDFText_GetFontSize(handle, index) * scale)
    size = round(size, 1) if 0.1 <= size <= _LARGEST_SIZE else _FALLBACK_SIZE
    name = _font_name(handle, index)
    bold = (
        raw.FPDFText_GetFontWeight(handle, index) >= _BOLD_WEIGHT
        or _BOLD.search(name) is not None
        or raw.FPDFTextObj_GetTextRenderMode(text_object) == _FILL_AND_STROKE
    )
    return Style(size, bold, _MONO.search(name) is not None, _direction(matrix.a, matrix.b))


def _font_name(handle: object, index: int) -> str:
    from pypdfium2 import raw

    buffer = ctypes.create_string_buffer(128)
    length = raw.FPDFText_GetFontInfo(handle, index, buffer, len(buffer), None)
    return buffer.raw[: max(0, min(length, len(buffer)) - 1)].decode("utf-8", "replace")


def _direction(across: float, upwards: float) -> Direction:
    if abs(across) >= abs(upwards):
        return "right" if across >= 0 else "left"
    return "up" if upwards > 0 else "down"
