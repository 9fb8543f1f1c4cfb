"""Lines of a PDF to Markdown: headings, paragraphs, lists, tables, code.

A heading is a short line larger than the text, or bold where the text is not. A ruled table is a
grid of lines that touch, with cells merged where a line is missing; without rules several rows must
share the gaps of their columns. Only a bar inside a table's cell is escaped, so that the text can
be quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..markdown_writer import pipe_table
from .glyphs import Piece, Rule, is_wide
from .layout import (
    Columns,
    Line,
    as_set,
    display_width,
    ends_sentence,
    join_lines,
    lines_of,
    starts_item,
    word_counts,
)

_LARGER = 1.12
_MOST_LEVELS = 5
_LONGEST_HEADING = 160
_LONGEST_BOLD_HEADING = 90
_MOST_HEADING_LINES = 3
_NARROWEST = 24
_MOST_DIGITS = 0.35
_BULLET = re.compile(r"[•●▪◦‣·■□❖➢✓☐○⚫–—*-]\s+")
_LEADERS = re.compile(r"\s?(?:[.·…]\s?){5,}")
_LETTERS = re.compile(r"[^\W\d_]{2}|[\u2e80-\uffff]")
_SECTION = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|第.{1,4}[章节節条條])\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Styles:
    """Body style of a document, against which headings stand out.

    `sizes` are those of headings, the largest first.
    """

    body: float
    sizes: tuple[float, ...] = ()
    bold_body: bool = False
    mono_body: bool = False


def styles_of(pages: Sequence[Columns]) -> Styles:
    """Return the most frequent size and larger sizes of possible headings."""
    letters: Counter[float] = Counter()
    bold = mono = 0
    lines = [line for page in pages for column in page for line in column if not line.rows]
    for line in lines:
        for cell in line.cells:
            letters[round(cell.size * 2) / 2] += len(cell.text)
            bold += len(cell.text) * cell.bold
            mono += len(cell.text) * cell.mono
    if not letters:
        return Styles(body=10.0)
    body = max(letters, key=lambda size: (letters[size], -size))
    larger = Counter(round(line.size, 1) for line in lines if _is_large(line, body))
    sizes = _heading_sizes(larger, least=2 if len(pages) > 3 else 1)
    half = letters.total() / 2
    return Styles(body=body, sizes=sizes, bold_body=bold > half, mono_body=mono > half)


def _heading_sizes(larger: Counter[float], *, least: int) -> tuple[float, ...]:
    """Return clearly different sizes; one used once is only the title's."""
    sizes: list[float] = []
    for size in sorted(larger, reverse=True):
        apart = not sizes or size < 0.94 * sizes[-1]
        if apart and (not sizes or larger[size] >= least):
            sizes.append(size)
    return tuple(sizes)


def _is_large(line: Line, body: float) -> bool:
    smallest = min(cell.size for cell in line.cells)
    text = line.text
    return (
        smallest >= _LARGER * body
        and len(text) <= _LONGEST_HEADING
        and _LETTERS.search(text) is not None
    )


def markdown_pages(pages: Sequence[Columns], styles: Styles) -> list[str]:
    """Return the Markdown of each page of a PDF."""
    words = word_counts(as_set(line.text for line in column) for page in pages for column in page)
    return [_page(page, styles, words=words) for page in pages]


def _page(columns: Columns, styles: Styles, *, words: Counter[str]) -> str:
    text, before = "", ""
    for block in _blocks(columns, styles):
        shown = block.shown(words)
        if not shown:
            continue
        close = block.close and before == block.kind and before in ("text", "item")
        text = f"{text}{chr(10) if close else chr(10) * 2}{shown}" if text else shown
        before = block.kind
    return text


@dataclass(slots=True, kw_only=True)
class _Block:
    """Block of lines. `close`: only a line end separates it from the next of its kind."""

    kind: str
    lines: list[Line]
    level: int = 0
    close: bool = False

    def shown(self, words: Counter[str]) -> str:
        if self.kind == "table":
            return "\n\n".join(pipe_table(line.rows[0], line.rows[1:]) for line in self.lines)
        if self.kind == "code":
            return _fenced(self.lines)
        text = join_lines([_LEADERS.sub(" ", line.text) for line in self.lines], words)
        if self.kind == "heading":
            return f"{'#' * self.level} {text}"
        return _BULLET.sub("- ", text, count=1) if self.kind == "item" else text


def _blocks(columns: Columns, styles: Styles) -> Iterator[_Block]:
    current: _Block | None = None
    for column in columns:
        for line in column:
            following = _block_of(line, styles)
            if current is not None and _goes_on(current, following):
                current.lines.append(line)
                current.kind = following.kind if current.kind == "code" else current.kind
                continue
            if current is not None:
                following.close = _is_close(current, following)
                yield from _checked(current)
            current = following
    if current is not None:
        yield from _checked(current)


def _checked(block: _Block) -> Iterator[_Block]:
    """Demote long headings and single code lines to text."""
    if block.kind == "heading" and len(block.lines) > _MOST_HEADING_LINES:
        for index, line in enumerate(block.lines):
            yield _Block(kind="text", lines=[line], close=block.close or index > 0)
        return
    if block.kind == "code" and len(block.lines) < 2:
        block.kind = "text"
    yield block


def _block_of(line: Line, styles: Styles) -> _Block:
    if line.rows:
        return _Block(kind="table", lines=[line])
    level = _level(line, styles)
    if level:
        return _Block(kind="heading", lines=[line], level=level)
    if not styles.mono_body and all(cell.mono for cell in line.cells):
        return _Block(kind="code", lines=[line])
    text = line.text
    kind = "item" if starts_item(text) or _BULLET.match(text) else "text"
    return _Block(kind=kind, lines=[line])


def _level(line: Line, styles: Styles) -> int:
    """Return a line's heading level from 1; 0 for none."""
    if _is_large(line, styles.body):
        larger = sum(size * 0.94 > line.size for size in styles.sizes)
        return min(1 + larger, _MOST_LEVELS)
    text = line.text
    if (
        styles.bold_body
        or not all(cell.bold for cell in line.cells)
        or line.size < 0.95 * styles.body
        or display_width(text) > _LONGEST_BOLD_HEADING
        or len(line.cells) > (2 if _SECTION.match(text) else 1)
        or not _LETTERS.search(text)
    ):
        return 0
    if _BULLET.match(text) or text[-1] in ".,;:：，。；":
        return 0
    if not (text[0].isupper() or text[0].isdigit() or is_wide(text) or _SECTION.match(text)):
        return 0
    return min(1 + len(styles.sizes), _MOST_LEVELS)


def _goes_on(block: _Block, following: _Block) -> bool:
    """Check whether the next line continues the block."""
    last, line = block.lines[-1], following.lines[0]
    same_size = abs(last.size - line.size) <= 0.12 * max(last.size, line.size)
    below = 0 < last.bottom - line.bottom <= 2.0 * max(last.size, line.size)
    if block.kind == "heading":
        alike = following.kind == "heading" and following.level == block.level
        return alike and same_size and below and not _SECTION.match(line.text)
    if block.kind == "code":
        return following.kind == "code" and last.bottom - line.bottom <= 3.0 * line.size
    if block.kind == "table" or following.kind not in ("text", "code", "item"):
        return False
    if following.kind == "item" and not _is_number_inside(last, line):
        return False
    if not same_size or not _is_full(last, line):
        return False
    if last.column == line.column and last.bottom > line.bottom and not below:
        return False
    if not below or last.column != line.column:  # from the foot of a column to the next one's head
        return not ends_sentence(last.text) and (line.text[0].islower() or is_wide(line.text))
    indent = line.left - line.column[0]
    new = block.kind == "text" and indent > 0.8 * line.size
    return not (new and last.left - last.column[0] < 0.4 * line.size)


def _is_number_inside(line: Line, following: Line) -> bool:
    """Check whether a leading number belongs to a running sentence."""
    return following.text[0].isdigit() and not ends_sentence(line.text) and "." in following.text


def _is_full(line: Line, following: Line) -> bool:
    """Check whether the next line's first word would not have fitted."""
    text = line.text
    if display_width(text) < _NARROWEST or len(line.cells) > 1:
        return False
    if sum(map(str.isdigit, text)) > _MOST_DIGITS * len(text):
        return False  # a line of figures
    left, right = line.column
    room = right - line.right
    return room <= following.cells[0].first + 0.3 * line.size + 0.04 * (right - left)


def _is_close(block: _Block, following: _Block) -> bool:
    """Short lines under each other, and a list's items, stay together."""
    last, line = block.lines[-1], following.lines[0]
    gap = last.bottom - line.bottom
    near = 0 < gap <= (2.4 if following.kind == "item" else 1.7) * max(last.size, line.size)
    return near and (block.kind == "item" or len(block.lines) == 1)


def _fenced(lines: Sequence[Line]) -> str:
    left = min(line.left for line in lines)
    shown = (" " * round((line.left - left) / (0.6 * line.size)) + line.text for line in lines)
    return "\n".join(["```", *shown, "```"])


_NEAR = 3.0
_LONGEST_CELL = 1_500
_MOST_LINES = 400
_LEAST_ROWS = 3
_CELL_WIDTH = 44
_LEAST_FILL = 0.55
_LEADING = 3.2

Rows = tuple[tuple[str, ...], ...]


def with_ruled_tables(pieces: list[Piece], rules: Sequence[Rule]) -> list[Piece]:
    """Replace pieces inside ruled grids by table pieces."""
    for grid in _grids(rules):
        table = _table(grid, pieces)
        if table is not None:
            kept = [piece for piece in pieces if piece.rows or not _inside(piece, table)]
            pieces = [*kept, table]
    return pieces


class _Grid:
    """Grid of touching rules: column and row positions, and drawn segments."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.standing = [rule for rule in rules if _stands(rule)]
        self.lying = [rule for rule in rules if not _stands(rule)]
        self.xs = _positions([(rule[0] + rule[2]) / 2 for rule in self.standing])
        self.ys = _positions([(rule[1] + rule[3]) / 2 for rule in self.lying])[::-1]

    def is_walled(self, x: float, y: float) -> bool:
        """Check for a vertical rule at this point."""
        return any(
            abs((rule[0] + rule[2]) / 2 - x) <= _NEAR and rule[1] - _NEAR <= y <= rule[3] + _NEAR
            for rule in self.standing
        )


def _grids(rules: Sequence[Rule]) -> Iterator[_Grid]:
    """Return groups of touching rules with two or more rows or columns, from the top."""
    groups: list[list[Rule]] = []
    for rule in sorted(set(rules))[: 4 * _MOST_LINES]:
        touching = [group for group in groups if any(_touch(rule, other) for other in group)]
        groups = [group for group in groups if not any(group is one for one in touching)]
        groups.append([rule, *(other for group in touching for other in group)])
    grids = [_Grid(group) for group in groups]
    grids = [g for g in grids if len(g.xs) >= 3 and len(g.ys) >= 2 and len(g.ys) <= _MOST_LINES]
    yield from sorted(grids, key=lambda grid: (-grid.ys[0], grid.xs[0]))


def _stands(rule: Rule) -> bool:
    return rule[3] - rule[1] > rule[2] - rule[0]


def _touch(one: Rule, other: Rule) -> bool:
    return (
        one[0] <= other[2] + _NEAR
        and other[0] <= one[2] + _NEAR
        and one[1] <= other[3] + _NEAR
        and other[1] <= one[3] + _NEAR
    )


def _positions(values: Sequence[float]) -> list[float]:
    result: list[float] = []
    for value in sorted(values):
        if not result or value - result[-1] > _NEAR:
            result.append(value)
    return result


def _table(grid: _Grid, pieces: Sequence[Piece]) -> Piece | None:
    """Return the grid's cells; None for frames around prose or empty grids."""
    cells: dict[tuple[int, int], list[Piece]] = {}
    for piece in pieces:
        row = _interval(piece.middle, grid.ys, descending=True)
        column = _interval(_anchor(piece), grid.xs, descending=False)
        if piece.rows or row is None or column is None:
            continue
        while column > 0 and not grid.is_walled(grid.xs[column], piece.middle):
            column -= 1  # merged with the cell before it
        cells.setdefault((row, column), []).append(piece)
    inner = [lines_of(found) for _, found in sorted(cells.items())]
    if any(_rows(lines) is not None for lines in inner):
        return None  # frames around tables without rules
    texts = {at: join_cell_lines(lines_of(found)) for at, found in sorted(cells.items())}
    height, width = len(grid.ys) - 1, len(grid.xs) - 1
    rows = [tuple(texts.get((row, column), "") for column in range(width)) for row in range(height)]
    used = [column for column in range(width) if any(row[column] for row in rows)]
    rows = [tuple(row[column] for column in used) for row in rows if any(row)]
    if len(used) < 2 or len(texts) < 3 or max(map(len, texts.values())) > _LONGEST_CELL:
        return None
    box = (grid.xs[0], grid.ys[-1], grid.xs[-1], grid.ys[0])
    return _as_piece(tuple(rows), box, size=max(p.size for found in cells.values() for p in found))


def _as_piece(rows: Rows, box: tuple[float, float, float, float], *, size: float) -> Piece:
    left, bottom, right, top = box
    return Piece(text="", left=left, bottom=bottom, right=right, top=top, size=size, rows=rows)


def _anchor(piece: Piece) -> float:
    """Return a piece's anchor near its start, as long text may cross borders."""
    return min((piece.left + piece.right) / 2, piece.left + piece.size)


def _interval(value: float, edges: Sequence[float], *, descending: bool) -> int | None:
    for index, (one, other) in enumerate(pairwise(edges)):
        if (one >= value > other) if descending else (one - 1 <= value < other):
            return index
    return None


def _inside(piece: Piece, table: Piece) -> bool:
    x = _anchor(piece)
    return table.left - 1 <= x < table.right and table.bottom < piece.middle <= table.top


def join_cell_lines(lines: Sequence[Line]) -> str:
    """Join the lines of a PDF table's cell."""
    text = ""
    for line in lines:
        glue = "" if not text or (is_wide(text[-1]) and is_wide(line.text)) else " "
        text = f"{text}{glue}{line.text}"
    return " ".join(text.split())


# Tables without rules


def with_aligned_tables(lines: list[Line]) -> list[Line]:
    """Replace runs of column-aligned lines by tables."""
    result: list[Line] = []
    run: list[Line] = []
    for line in [*lines, None]:
        if line is not None and not line.rows and _extends(run, line):
            run.append(line)
            continue
        result += _run_as_table(run)
        run = []
        if line is not None and not line.rows and len(line.cells) > 1:
            run = [line]
        elif line is not None:
            result.append(line)
    return result


def _extends(run: Sequence[Line], line: Line) -> bool:
    """Check whether a line extends a run; one single-cell line may intervene."""
    if not run or run[-1].bottom - line.bottom > _LEADING * max(line.size, run[-1].size):
        return False
    return len(line.cells) > 1 or len(run[-1].cells) > 1


def _run_as_table(run: list[Line]) -> list[Line]:
    tail: list[Line] = []
    while run and len(run[-1].cells) < 2:
        tail.insert(0, run.pop())
    if sum(len(line.cells) > 1 for line in run) < _LEAST_ROWS:
        return run + tail
    rows = _rows(run)
    if rows is None:
        cut = _widest_gap(run)
        return [*_run_as_table(run[:cut]), *_run_as_table(run[cut:]), *tail]
    box = (
        min(line.left for line in run),
        min(line.bottom for line in run),
        max(line.right for line in run),
        max(line.top for line in run),
    )
    piece = _as_piece(rows, box, size=max(line.size for line in run))
    return [Line(cells=[piece], column=run[0].column), *tail]


def _widest_gap(run: Sequence[Line]) -> int:
    """Return the most likely border between two tables, never at an end."""
    gaps = [
        (one.bottom - other.bottom) * (1.3 if min(len(one.cells), len(other.cells)) < 2 else 1.0)
        for one, other in pairwise(run)
    ]
    return 1 + max(range(len(gaps)), key=lambda at: (round(gaps[at], 1), -at))


def _rows(run: Sequence[Line]) -> Rows | None:
    """Return cells by shared columns; None if not a table."""
    several = [line for line in run if len(line.cells) > 1]
    if len(several) < _LEAST_ROWS:
        return None
    edges = _shared_columns(several)
    if len(edges) < 2:
        return None
    placed = [_placed(line, edges) for line in run]
    if any(row is None for row in placed):
        return None
    filled = [row for row in placed if row is not None]
    texts = [text for row in filled for text in row if text]
    full = [sum(map(bool, row)) for row in filled if sum(map(bool, row)) > 1]
    if not full or sum(full) / (len(full) * len(edges)) < _LEAST_FILL:
        return None
    if sum(map(display_width, texts)) / len(texts) > _CELL_WIDTH or _is_numbered_list(filled):
        return None
    return tuple(tuple(row) for row in _with_continuations(filled))


def _is_numbered_list(rows: Sequence[Sequence[str]]) -> bool:
    """Check for a list with hanging marks."""
    marks = sum(len(row[0].strip("()[].•–-")) <= 2 and not row[0].isalpha() for row in rows)
    return len(rows[0]) == 2 and marks >= 0.7 * len(rows) and any(len(r[1]) > 25 for r in rows)


def _shared_columns(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return column ranges, separated by gaps that nearly all lines share."""
    allowed = len(lines) // 10
    size = min(line.size for line in lines)
    events = sorted(
        event for line in lines for c in line.cells for event in ((c.left, 1), (c.right, -1))
    )
    edges: list[tuple[float, float]] = []
    depth, start = 0, events[0][0]
    for x, step in events:
        if depth <= allowed < depth + step:
            start = edges.pop()[0] if edges and x - edges[-1][1] < 0.4 * size else x
        if depth > allowed >= depth + step:
            edges.append((start, x))
        depth += step
    return edges


def _placed(line: Line, edges: Sequence[tuple[float, float]]) -> list[str] | None:
    """Return a line's cells by column; None if one fits none."""
    row = [""] * len(edges)
    for cell in line.cells:
        overlaps = [min(cell.right, end) - max(cell.left, start) for start, end in edges]
        best = max(range(len(edges)), key=lambda at: (overlaps[at], -at))
        if overlaps[best] <= 0:
            return None
        row[best] = f"{row[best]} {cell.text}".strip()
    return row


def _with_continuations(rows: Sequence[list[str]]) -> list[list[str]]:
    """Rows, with a line that only goes on in later columns put to the row above it."""
    result: list[list[str]] = []
    for row in rows:
        goes_on = result and not row[0] and sum(map(bool, row)) == 1 and len(row) > 1
        if goes_on and not any(text[:1].isdigit() for text in row):
            result[-1] = [f"{a} {b}".strip() for a, b in zip(result[-1], row, strict=True)]
        else:
            result.append(row)
    return result
