"""Page layout: columns by gutters, lines inside columns.

A gutter is a strip that no piece crosses over a stretch of the page, with running prose on both
sides; what crosses it (a heading, a table over both columns) parts the stretches. Rows of short
cells are no prose: they stay together, for the tables. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .pieces import WIDE_GAP, Piece, is_right_to_left, is_wide

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
    """Return a text's width in half-width cells."""
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
