"""Glyphs, text pieces and straight lines of a PDF page, read through PDFium.

Glyphs come in drawing order and are joined to pieces without wide gaps; text that runs up, down or
upside down, and vertical Chinese and Japanese, is turned to read to the right. Lines (table rules,
frames, underlines) are read within limits, since a map or plot can hold millions.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

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


WIDE_GAP = 0.9
"""Gap in ems that may separate columns."""

_WORD_GAP = 0.22
_CJK_GAP = 0.45
_VERTICAL_PAIRS = 6


@dataclass(slots=True, kw_only=True)
class Piece:
    """Text on one line, or a whole table (`rows`), in its box: points, y upwards.

    `first` is the width of its first word. `bold` and `mono`: all of it is.
    """

    text: str
    left: float
    bottom: float
    right: float
    top: float
    size: float
    bold: bool = False
    mono: bool = False
    first: float = 0.0
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def middle(self) -> float:
        """The height at which it stands on the page."""
        return (self.bottom + self.top) / 2


class Rule(tuple[float, float, float, float]):
    """A straight line along an axis: left, bottom, right, top."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Page text of one direction, turned upright with its rules."""

    pieces: list[Piece]
    rules: list[Rule]


def text_directions(glyphs: Sequence[Glyph], rules: Sequence[Rule]) -> list[Sheet]:
    """Return a PDF page's glyphs by the way that text runs, that with the most text first."""
    ways: dict[Direction, list[Glyph]] = {}
    for glyph in glyphs:
        ways.setdefault(glyph.style.direction, []).append(glyph)
    result = []
    for way in sorted(ways, key=lambda way: (-len(ways[way]), way)):
        turn: Direction = "down" if way == "right" and is_vertical(ways[way]) else way
        upright = [Rule(rotate_box(rule, turn)) for rule in rules]
        moved = ways[way] if turn == "right" else [_turned(glyph, turn) for glyph in ways[way]]
        result.append(Sheet(pieces=pieces_of(moved, upright), rules=upright))
    return result


def _turned(glyph: Glyph, direction: Direction) -> Glyph:
    return Glyph(glyph.text, *rotate_box(glyph[1:5], direction), glyph.style)


def rotate_box(box: Sequence[float], direction: Direction) -> tuple[float, float, float, float]:
    """Rotate a glyph's box so that its text direction is upright."""
    left, bottom, right, top = box
    if direction == "up":
        return bottom, -right, top, -left
    if direction == "down":
        return -top, left, -bottom, right
    if direction == "left":
        return -right, -top, -left, -bottom
    return left, bottom, right, top


def is_vertical(glyphs: Sequence[Glyph]) -> bool:
    """Check whether wide characters run downwards."""
    down = across = 0
    drawn = [glyph for glyph in glyphs if glyph.text != " "]
    for one, other in pairwise(drawn):
        if not (is_wide(one.text) and is_wide(other.text)):
            continue
        size = one.style.size
        if abs(other.left - one.left) < 0.4 * size and 0.5 * size < one.top - other.top < 2 * size:
            down += 1
        elif abs(other.top - one.top) < 0.4 * size:
            across += 1
    return down >= _VERTICAL_PAIRS and down > across


def is_wide(text: str) -> bool:
    """Check whether the first character is of a script without spaces; Korean has spaces."""
    first = text[:1]
    return (
        first > "\u2e7f"
        and not "\uac00" <= first <= "\ud7ff"
        and unicodedata.east_asian_width(first) in "WF"
    )


def pieces_of(glyphs: Iterable[Glyph], rules: Sequence[Rule] = ()) -> list[Piece]:
    """Group glyphs into pieces; a vertical rule also separates them."""
    walls = sorted(rule for rule in rules if rule[2] - rule[0] < rule[3] - rule[1])
    result: list[Piece] = []
    run: list[Glyph] = []
    spaces: set[int] = set()
    pending = False
    for glyph in glyphs:
        if glyph.text == " ":
            pending = True
            continue
        if run and not pending and _follows_closely(run[-1], glyph):
            run.append(glyph)
            continue
        apart = bool(run) and (pending or _is_word_gap(run[-1], glyph))
        if run and not _continues(run[-1], glyph, walls=walls if apart else ()):
            result.append(_piece(run, spaces))
            run, spaces = [], set()
        elif apart:
            spaces.add(len(run))
        pending = False
        run.append(glyph)
    if run:
        result.append(_piece(run, spaces))
    return result


def _follows_closely(last: Glyph, glyph: Glyph) -> bool:
    """Check quickly for the adjacent letter of one word."""
    size = glyph.style[0]
    return (
        glyph.style == last.style
        and -0.3 * size < glyph.left - last.right < 0.15 * size
        and abs(glyph.bottom - last.bottom) < 0.5
        and glyph.left > last.left
        and glyph.text < "\u0590"
        and last.text < "\u0590"
    )


def _continues(last: Glyph, glyph: Glyph, *, walls: Sequence[Rule]) -> bool:
    em = max(min(last.style.size, glyph.style.size), 1.0)
    overlap = min(last.top, glyph.top) - max(last.bottom, glyph.bottom)
    if overlap < 0.4 * min(last.top - last.bottom, glyph.top - glyph.bottom):
        return False
    if is_right_to_left(glyph.text) or is_right_to_left(last.text):
        return max(glyph.left - last.right, last.left - glyph.right) <= 2 * em
    gap = glyph.left - last.right
    if not -0.7 * em - (last.right - last.left) <= gap <= WIDE_GAP * em:
        return False
    return not (walls and _is_walled(last, glyph, walls))


def _is_walled(last: Glyph, glyph: Glyph, walls: Sequence[Rule]) -> bool:
    middle = (glyph.bottom + glyph.top) / 2
    start, end = (last.left + last.right) / 2, (glyph.left + glyph.right) / 2
    at = bisect_left(walls, (start, -1e9, -1e9, -1e9))
    while at < len(walls) and walls[at][0] < end:
        if walls[at][1] <= middle <= walls[at][3]:
            return True
        at += 1
    return False


def is_right_to_left(text: str) -> bool:
    """Check for right-to-left scripts."""
    return "\u0590" <= text[:1] <= "\u08ff"


def _is_word_gap(last: Glyph, glyph: Glyph) -> bool:
    """Check for a word gap; between wide characters any gap may be a cell border."""
    gap = max(glyph.left - last.right, last.left - glyph.right)
    wide = is_wide(last.text) and is_wide(glyph.text)
    return gap > (_CJK_GAP if wide else _WORD_GAP) * glyph.style.size


def _piece(run: Sequence[Glyph], spaces: set[int]) -> Piece:
    parts: list[str] = []
    for index, glyph in enumerate(run):
        apart = index in spaces and not (is_wide(glyph.text) and is_wide(run[index - 1].text))
        parts.append(f" {glyph.text}" if apart else glyph.text)
    sizes = Counter(glyph.style.size for glyph in run)
    word = min(spaces, default=len(run))
    if is_wide(run[0].text):
        word = 1
    return Piece(
        text="".join(parts),
        left=min(glyph.left for glyph in run),
        bottom=min(glyph.bottom for glyph in run),
        right=max(glyph.right for glyph in run),
        top=max(glyph.top for glyph in run),
        size=max(sizes, key=lambda size: (sizes[size], size)),
        bold=all(glyph.style.bold for glyph in run if glyph.text.isalnum()),
        mono=all(glyph.style.mono for glyph in run),
        first=abs(run[word - 1].right - run[0].left),
    )


_MAX_OBJECTS = 20_000
_MAX_RULES = 3_000
_MAX_SEGMENTS = 400
_MAX_DEPTH = 4
_THIN = 2.5
_SHORTEST = 4.0

Matrix = tuple[float, float, float, float, float, float]
_SAME: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def rules_of(page: PdfPage) -> list[Rule]:
    """Return axis-parallel lines and edges in points; none if the page draws too many."""
    from pypdfium2 import raw

    rules: list[Rule] = []
    count = raw.FPDFPage_CountObjects(page.raw)
    if count > _MAX_OBJECTS:
        return []
    for index in range(count):
        for rule in _of_object(raw.FPDFPage_GetObject(page.raw, index), _SAME, depth=0):
            if all(-FURTHEST < edge < FURTHEST for edge in rule):
                rules.append(rule)
            if len(rules) > _MAX_RULES:
                return []
    return rules


def _of_object(thing: object, matrix: Matrix, *, depth: int) -> Iterator[Rule]:
    from pypdfium2 import raw

    kind = raw.FPDFPageObj_GetType(thing)
    if kind == raw.FPDF_PAGEOBJ_PATH:
        yield from _of_path(thing, matrix)
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
        count = raw.FPDFFormObj_CountObjects(thing)
        if count > _MAX_OBJECTS:
            return
        inner = _times(_matrix(thing), matrix)
        for index in range(count):
            yield from _of_object(raw.FPDFFormObj_GetObject(thing, index), inner, depth=depth + 1)


def _of_path(path: object, matrix: Matrix) -> Iterator[Rule]:
    from pypdfium2 import raw

    edges = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(path, *(ctypes.byref(edge) for edge in edges)):
        return
    left, bottom, right, top = (edge.value for edge in edges)
    box = _moved_box((left, bottom, right, top), matrix)
    width, height = box[2] - box[0], box[3] - box[1]
    if max(width, height) < _SHORTEST:
        return
    if min(width, height) <= _THIN:
        yield Rule(box)
        return
    count = raw.FPDFPath_CountSegments(path)
    if count <= _MAX_SEGMENTS:
        yield from _of_segments(path, _times(_matrix(path), matrix), count=count)


def _of_segments(path: object, matrix: Matrix, *, count: int) -> Iterator[Rule]:
    from pypdfium2 import raw

    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = _moved(x.value, y.value, matrix)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield from _edge(last, point)
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield from _edge(point, start)
            last = start


def _edge(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Rule]:
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    if min(right - left, top - bottom) <= 1 and max(right - left, top - bottom) >= _SHORTEST:
        yield Rule((left, bottom, right, top))


def _matrix(thing: object) -> Matrix:
    from pypdfium2 import raw

    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, ctypes.byref(found)):
        return _SAME
    return found.a, found.b, found.c, found.d, found.e, found.f


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + m,
    )


def _moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _moved_box(box: tuple[float, float, float, float], matrix: Matrix) -> Rule:
    one, other = _moved(box[0], box[1], matrix), _moved(box[2], box[3], matrix)
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    return Rule((left, bottom, right, top))
