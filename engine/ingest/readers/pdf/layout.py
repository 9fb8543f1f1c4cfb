"""Page layout of a PDF: columns, lines, paragraphs, and running heads and feet.

A gutter is a strip that no piece crosses over a stretch of the page with running prose on both
sides. Rows of short cells stay together for the tables. A line that fills the measure runs on into
the next; a short one ends its paragraph. Of each running head the first is kept, since it often
names the document; page numbers are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .glyphs import SOFT_HYPHEN, WIDE_GAP, Piece, is_right_to_left, is_wide

_MOST_COLUMNS_DEEP = 4
_BUCKET = 3.0
_LEAST_LINES = 3
_LEAST_CHARACTERS = 16
_LEAST_COVER = 0.5
_LEAST_SHARE = 0.12


@dataclass(slots=True, kw_only=True)
class Line:
    """Line: pieces beside each other in one column; a table is alone.

    `column` is the left and right edge of the column's text.
    """

    cells: list[Piece]
    column: tuple[float, float] = (0.0, 0.0)

    @property
    def text(self) -> str:
        """All cells' text, apart by spaces."""
        return " ".join(cell.text for cell in self.cells if cell.text)

    @property
    def left(self) -> float:
        """Its left edge."""
        return min(cell.left for cell in self.cells)

    @property
    def right(self) -> float:
        """Its right edge."""
        return max(cell.right for cell in self.cells)

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return min(cell.bottom for cell in self.cells)

    @property
    def top(self) -> float:
        """Its upper edge."""
        return max(cell.top for cell in self.cells)

    @property
    def size(self) -> float:
        """The size of its largest text, in points."""
        return max(cell.size for cell in self.cells)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows, where this is a table."""
        return self.cells[0].rows


def columns_in_order(pieces: Sequence[Piece]) -> list[list[Line]]:
    """Return the lines of each column or full-width stretch, in reading order."""
    return [lines_of(group) for group in _split(list(pieces), depth=_MOST_COLUMNS_DEEP)]


def _split(pieces: list[Piece], *, depth: int) -> list[list[Piece]]:
    gutter = _gutter(pieces) if depth and len(pieces) >= 2 * _LEAST_LINES else None
    if gutter is None:
        return [pieces] if pieces else []
    result: list[list[Piece]] = []
    across: list[Piece] = []
    for left, right, crossing in _stretches(pieces, gutter):
        if _are_columns(left, right, least=1):
            result += _split(across, depth=depth - 1)
            across = []
            sides = (right, left) if _reads_to_the_left(pieces) else (left, right)
            for side in sides:
                result += _split(side, depth=depth - 1)
        else:
            across += left + right
        across += crossing
    return result + _split(across, depth=depth - 1)


def _gutter(pieces: Sequence[Piece]) -> float | None:
    """Return the best gutter x with prose on both sides; None without one."""
    start, end = min(p.left for p in pieces), max(p.right for p in pieces)
    edges = Counter(round(p.left / _BUCKET) for p in pieces)
    margin = _LEAST_SHARE * (end - start)
    best, gutter = 0.0, None
    for bucket in sorted(edge for edge, count in edges.items() if count >= _LEAST_LINES):
        x = min(p.left for p in pieces if round(p.left / _BUCKET) == bucket) - 0.1
        if not start + margin < x < end - margin:
            continue
        height = sum(
            min(_height(left), _height(right))
            for left, right, _ in _stretches(pieces, x)
            if _are_columns(left, right, least=_LEAST_LINES)
        )
        if height > best + 1:
            best, gutter = height, x
    return gutter


def _stretches(
    pieces: Sequence[Piece], x: float
) -> Iterable[tuple[list[Piece], list[Piece], list[Piece]]]:
    """Split from the top into left, right and crossing pieces, repeatedly."""
    left: list[Piece] = []
    right: list[Piece] = []
    crossing: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.middle, piece.left)):
        crosses = piece.left < x - 1 and piece.right > x + 1
        if not crosses and crossing:
            yield left, right, crossing
            left, right, crossing = [], [], []
        (crossing if crosses else left if piece.right <= x + 1 else right).append(piece)
    yield left, right, crossing


def _are_columns(left: Sequence[Piece], right: Sequence[Piece], *, least: int) -> bool:
    if len(left) < least or len(right) < least:
        return False
    size = max(piece.size for piece in (*left, *right) if not piece.rows) if least > 1 else 0.0
    gap = min(piece.left for piece in right) - max(piece.right for piece in left)
    if gap < 0.45 * min(size, 12.0):
        return False
    overlap = min(_top(left), _top(right)) - max(_bottom(left), _bottom(right))
    if least > 1 and overlap < 0.3 * min(_height(left), _height(right)):
        return False
    return _is_prose(left) and _is_prose(right)


def _is_prose(pieces: Sequence[Piece]) -> bool:
    text = [piece for piece in pieces if not piece.rows]
    if not text:
        return True
    characters = sum(display_width(piece.text) for piece in text) / len(text)
    return characters >= _LEAST_CHARACTERS and _cover(text) >= _LEAST_COVER


def _cover(pieces: Sequence[Piece]) -> float:
    """Return the covered share of a strip, ignoring gaps between lines."""
    width = max(piece.right for piece in pieces) - min(piece.left for piece in pieces)
    height, below = 0.0, float("inf")
    for piece in sorted(pieces, key=lambda piece: -piece.top):
        height += max(0.0, min(piece.top, below) - piece.bottom)
        below = min(below, piece.bottom)
    area = sum((piece.right - piece.left) * (piece.top - piece.bottom) for piece in pieces)
    return area / max(width * height, 1.0)


def _reads_to_the_left(pieces: Sequence[Piece]) -> bool:
    return 2 * sum(is_right_to_left(piece.text) for piece in pieces) > len(pieces)


def _top(pieces: Sequence[Piece]) -> float:
    return max(piece.top for piece in pieces)


def _bottom(pieces: Sequence[Piece]) -> float:
    return min(piece.bottom for piece in pieces)


def _height(pieces: Sequence[Piece]) -> float:
    return _top(pieces) - _bottom(pieces)


def display_width(text: str) -> int:
    """Return the width of a PDF line's text in half-width cells."""
    return len(text) + sum(map(is_wide, text))


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """Group a column's pieces into lines from the top; close neighbours merge."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.middle, piece.left)):
        if rows and _same_line(rows[-1], piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    lines = [Line(cells=_cells(row)) for row in rows]
    column = _column(lines)
    for line in lines:
        line.column = column
    return lines


def _column(lines: Sequence[Line]) -> tuple[float, float]:
    """Return the text edges where most long lines end."""
    prose = [line for line in lines if not line.rows] or lines
    if not prose:
        return 0.0, 0.0
    left, furthest = min(line.left for line in prose), max(line.right for line in prose)
    long = [line for line in prose if line.right - line.left > 0.6 * (furthest - left)]
    rights = sorted(line.right for line in long)
    return left, rights[int(0.75 * len(rights))] if rights else furthest


def _same_line(row: Sequence[Piece], piece: Piece) -> bool:
    """Check whether a piece belongs to the row of its largest piece."""
    if piece.rows or row[0].rows:
        return False
    large = max(row, key=lambda other: other.size)
    overlap = min(large.top, piece.top) - max(large.bottom, piece.bottom)
    return overlap >= 0.5 * min(large.top - large.bottom, piece.top - piece.bottom)


def _cells(row: list[Piece]) -> list[Piece]:
    to_the_left = 2 * sum(is_right_to_left(piece.text) for piece in row) > len(row)
    row.sort(key=lambda piece: (-piece.right if to_the_left else piece.left, piece.text))
    cells = [row[0]]
    for piece in row[1:]:
        gap = max(piece.left - cells[-1].right, cells[-1].left - piece.right)
        if gap <= WIDE_GAP * min(piece.size, cells[-1].size):
            cells[-1] = _joined(cells[-1], piece, gap=gap)
        else:
            cells.append(piece)
    return cells


def _joined(one: Piece, other: Piece, *, gap: float) -> Piece:
    wide = is_wide(one.text[-1:]) and is_wide(other.text)
    touch = -0.2 * one.size < gap < 0.12 * one.size  # what lies over it is another text
    glue = "" if touch or wide else " "
    return Piece(
        text=f"{one.text}{glue}{other.text}",
        left=min(one.left, other.left),
        bottom=min(one.bottom, other.bottom),
        right=max(one.right, other.right),
        top=max(one.top, other.top),
        size=max(one.size, other.size),
        bold=one.bold and other.bold,
        mono=one.mono and other.mono,
        first=one.first,
    )


_LEFTOVERS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff]")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Both begin where a word does: tried anew from every letter, a long run of them would cost minutes.
_LETTER = r"[^\W\d_]"
_SPLIT_WORD = re.compile(
    rf"(?<!{_LETTER})({_LETTER}++)(?:[{SOFT_HYPHEN}\x02]|[\u00ad]\n)({_LETTER}++)"
)
_LINE_HYPHEN = re.compile(rf"(?<!{_LETTER})({_LETTER}++)-\n([a-z]{_LETTER}*+)")
_ITEM = re.compile(
    r"(?:[-–—*•●▪◦‣·☐]|\(?\d{1,3}[.)、]|\(?[a-z][.)]|[（(][一二三四五六七八九十]+[)）])\s|\d+(?:\.\d+)+\s"
)
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.)?\s*#(?:\s*(?:/|of|von|de)\s*#)?|[-–—]\s*#\s*[-–—]|第\s*#\s*页.*", re.I
)
_ROMAN = re.compile(r"[ivxlc]{1,7}")
_DIGITS = re.compile(r"\d+")
_ENDS_SENTENCE = re.compile("[.!?。！？:：][\"'”’」』)）]*$")
_FULL_SHARE = 0.75
_MIN_MEASURE = 30
_TABLE_DIGITS = 0.25


def flowing_pages(pages: Sequence[str]) -> list[str]:
    """Return pages with running heads dropped, words rejoined and paragraphs flowing."""
    lines = [page.replace("\r\n", "\n").replace("\r", "\n").split("\n") for page in pages]
    kept = ["\n".join(page) for page in _without_running_lines([_tidy(page) for page in lines])]
    words = word_counts(kept)
    return [_flowing(_LEFTOVERS.sub("", _rejoined(page, words))) for page in kept]


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """Count lower-case words over the lines of a PDF, to undo hyphenation."""
    whole = (_LINE_HYPHEN.sub(" ", _SPLIT_WORD.sub(" ", text)) for text in texts)
    return Counter(word for text in whole for word in _WORD.findall(text.lower()))


def as_set(lines: Iterable[str]) -> str:
    """Keep lines as set; words PDFium saw hyphenated are joined."""
    return "".join(line if line.endswith(SOFT_HYPHEN) else f"{line}\n" for line in lines).rstrip()


def join_lines(lines: Sequence[str], words: Counter[str]) -> str:
    """Join the lines of a PDF paragraph; `words` decides about hyphens."""
    text = as_set(lines)
    text = _LEFTOVERS.sub("", _rejoined(text, words).replace(SOFT_HYPHEN, "-"))
    pieces: list[str] = []
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        pieces += [_glue(pieces[-1], line), line] if pieces else [line]
    return "".join(pieces)


def starts_item(line: str) -> bool:
    """Check whether a line starts with a list mark or number."""
    return _ITEM.match(line) is not None


def ends_sentence(line: str) -> bool:
    """Check whether a line of a PDF page ends a sentence."""
    return _ENDS_SENTENCE.search(line) is not None


def is_page_number(line: str) -> bool:
    """Check whether a line is only a page number, arabic or roman."""
    return _PAGE_NUMBER.fullmatch(shape_of(line)) is not None or _ROMAN.fullmatch(line) is not None


def _tidy(lines: list[str]) -> list[str]:
    tidied = [line.strip() for line in lines]
    while tidied and not tidied[-1]:
        tidied.pop()
    first = next((at for at, line in enumerate(tidied) if line), 0)
    return tidied[first:]


def _without_running_lines(pages: list[list[str]]) -> list[list[str]]:
    """Drop page numbers and shared heads and feet, except the first."""
    shapes: Counter[tuple[str, bool]] = Counter()
    for page in pages:
        if page:
            shapes.update({(shape_of(page[0]), True), (shape_of(page[-1]), False)})
    least = max(2, 0.6 * sum(map(bool, pages)))
    seen: set[tuple[str, bool]] = set()
    result = []
    for page in pages:
        kept = list(page)
        for at, head in ((-1, False), (0, True)):
            key = (shape_of(kept[at]), head) if len(kept) > 1 else ("", head)
            if key[0] and shapes[key] >= least:
                if key in seen or _PAGE_NUMBER.fullmatch(key[0]):
                    kept.pop(at)
                seen.add(key)
        result.append(kept)
    return result


def shape_of(line: str) -> str:
    """Return a line with numbers masked, equal across pages."""
    return _DIGITS.sub("#", line)


def _rejoined(page: str, words: Counter[str]) -> str:
    """Rejoin split words, keeping hyphens the document uses elsewhere."""

    def joined(found: re.Match[str]) -> str:
        left, right = found.group(1), found.group(2)
        whole, hyphenated = (left + right).lower(), f"{left}-{right}".lower()
        if words[whole] >= words[hyphenated] and words[whole] > 0:
            return left + right
        compound = len(left) > 3 and len(right) > 3 and words[left.lower()] and words[right.lower()]
        return f"{left}-{right}" if words[hyphenated] or compound else left + right

    return _LINE_HYPHEN.sub(joined, _SPLIT_WORD.sub(joined, page))


def _flowing(page: str) -> str:
    lines = [" ".join(line.split()) for line in page.split("\n")]
    measure = _measure(lines)
    result: list[str] = []
    in_paragraph = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        result.append(line)
        full = measure >= _MIN_MEASURE and _width(line) >= _FULL_SHARE * measure
        full = full and sum(map(str.isdigit, line)) < _TABLE_DIGITS * len(line)
        if full and following and not _ITEM.match(following):
            result.append(_glue(line, following))
            in_paragraph = True
        else:
            ends = in_paragraph or (full and _ENDS_SENTENCE.search(line))
            result.append("\n\n" if ends else "\n")
            in_paragraph = False
    return re.sub(r"\n{3,}", "\n\n", "".join(result)).strip()


def _measure(lines: list[str]) -> float:
    """Return the full line width: the page's upper tenth."""
    widths = sorted(_width(line) for line in lines if line)
    return widths[min(len(widths) - 1, int(0.9 * len(widths)))] if widths else 0


def _width(line: str) -> int:
    return len(line) + sum(
        1 for c in line if c > "\u2e7f" and unicodedata.east_asian_width(c) in "WF"
    )


def _glue(line: str, following: str) -> str:
    """Nothing between two Chinese characters, else a space."""
    return "" if is_wide(line[-1]) and is_wide(following) else " "


Columns = list[list[Line]]

_EDGE_LINES = 3
_PLACE = 6.0
_LARGER_THAN_BODY = 1.12

_Key = tuple[str, str, int]


def without_running_lines(pages: Sequence[Columns], *, body_size: float) -> list[Columns]:
    """Return pages without repeated lines at their edges."""
    found = [_edge_lines(page, body_size=body_size) for page in pages]
    counts = Counter(key for page in found for key in sorted(set(page.values())))
    least = 2 if sum(map(bool, pages)) <= 4 else 3
    seen: set[_Key] = set()
    result = []
    for page, keys in zip(pages, found, strict=True):
        dropped: set[int] = set()
        ended: set[str] = set()
        for identity, key in keys.items():
            if counts[key] < least or key[0] in ended:
                ended.add(key[0])  # further from the edge there is text already
                continue
            if key in seen or key[1] == _RUNNING_NUMBER:
                dropped.add(identity)
            seen.add(key)
        kept = [[line for line in column if id(line) not in dropped] for column in page]
        result.append([column for column in kept if column])
    return result


_RUNNING_NUMBER = "#"


def _edge_lines(page: Columns, *, body_size: float) -> dict[int, _Key]:
    """Return candidate heads or feet from the edge inwards, with page-independent forms."""
    lines = sorted((line for column in page for line in column), key=lambda line: -line.top)
    result: dict[int, _Key] = {}
    depth = min(_EDGE_LINES, len(lines) // 2)
    sides = (("foot", lines[: -depth - 1 : -1]), ("head", lines[:depth]))
    for side, edge in sides if len(lines) > 1 else ():
        for line in edge:
            if line.rows or line.size > _LARGER_THAN_BODY * body_size:
                continue
            if is_page_number(line.text):
                result[id(line)] = (side, _RUNNING_NUMBER, 0)
            else:
                place = round((line.bottom + line.top) / 2 / _PLACE)
                result[id(line)] = (side, shape_of(line.text), place)
    return result
