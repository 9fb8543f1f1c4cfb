"""Reading order of text boxes: columns first, then lines.

Geometry only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

_SAME_LINE = 0.6
"""Maximum distance of two boxes' middles on one line, as a share of line height."""
_CELL_GAP = 2.0
"""Gap in line heights that separates cells on a line."""
_PARAGRAPH_GAP = 1.4
"""Factor over the usual line gap that separates paragraphs."""
_LEAST_PARAGRAPH_GAP = 0.5
_LEAST_GUTTER = 0.8
_LEAST_COLUMN_LINES = 3
_LEAST_COLUMN_WIDTH = 6.0
"""Minimum column width in line heights; narrower ones are table columns."""
_MOST_CROSSING = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBox:
    """A piece of one line; edges in pixels, from the left and the top."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """Half-way between its top and its bottom."""
        return (self.top + self.bottom) / 2


def text_in_order(boxes: Sequence[TextBox]) -> str:
    """Return the boxes' texts: one line each, blank lines between paragraphs and columns.

    The same boxes in any order give the same text.
    """
    if not boxes:
        return ""
    height = max(1.0, median(box.bottom - box.top for box in boxes))
    ordered = sorted(boxes, key=lambda box: (box.top, box.left, box.right, box.bottom, box.text))
    blocks = [_paragraphs(block, height=height) for block in _blocks(ordered, height=height)]
    return "\n\n".join(filter(None, blocks))


def _blocks(boxes: list[TextBox], *, height: float) -> Iterator[list[TextBox]]:
    """Parts of the page that are read line by line, in their order.

    What crosses the gutter between two columns (a heading over both) ends the columns above it.
    """
    gutter = _gutter(boxes, height=height)
    if gutter is None:
        yield boxes
        return
    crossing = [box for box in boxes if box.left < gutter < box.right]
    beside = [box for box in boxes if not box.left < gutter < box.right]
    for bar in [*crossing, None]:
        above = [box for box in beside if bar is None or box.middle < bar.middle]
        beside = [box for box in beside if bar is not None and box.middle >= bar.middle]
        for side in (
            [box for box in above if box.right <= gutter],
            [box for box in above if box.left >= gutter],
        ):
            if side:
                yield from _blocks(side, height=height)
        if bar is not None:
            yield [bar]


def _gutter(boxes: list[TextBox], *, height: float) -> float | None:
    """Return the right edge of the gutter between columns of prose; None without columns."""
    best: tuple[int, int, float] | None = None
    for edge in sorted({box.left for box in boxes}):
        left = [box for box in boxes if box.right <= edge]
        right = [box for box in boxes if box.left >= edge]
        crossing = len(boxes) - len(left) - len(right)
        if crossing > _MOST_CROSSING * len(boxes):
            continue
        if not (_is_column(left, height=height) and _is_column(right, height=height)):
            continue
        strip = edge - max(box.right for box in left)
        if strip < _LEAST_GUTTER * height:
            continue
        rank = (-crossing, min(len(left), len(right)), -edge)
        best = rank if best is None else max(best, rank)
    return None if best is None else -best[2] - 0.25 * height


def _is_column(boxes: list[TextBox], *, height: float) -> bool:
    if len(boxes) < _LEAST_COLUMN_LINES:
        return False
    widths = [box.right - box.left for box in boxes]
    return sum(widths) >= _LEAST_COLUMN_WIDTH * height * len(widths)


def _paragraphs(boxes: list[TextBox], *, height: float) -> str:
    lines = _lines(boxes, height=height)
    gaps = [
        min(box.top for box in after) - max(box.bottom for box in before)
        for before, after in pairwise(lines)
    ]
    wide = max(_LEAST_PARAGRAPH_GAP * height, _PARAGRAPH_GAP * median(gaps)) if gaps else 0.0
    text = _joined(lines[0], height=height)
    for gap, line in zip(gaps, lines[1:], strict=True):
        text += ("\n\n" if gap > wide else "\n") + _joined(line, height=height)
    return text


def _lines(boxes: list[TextBox], *, height: float) -> list[list[TextBox]]:
    lines: list[list[TextBox]] = []
    for box in sorted(boxes, key=lambda box: (box.middle, box.left)):
        same = lines and abs(box.middle - lines[-1][0].middle) < _SAME_LINE * height
        if same:
            lines[-1].append(box)
        else:
            lines.append([box])
    return [sorted(line, key=lambda box: (box.left, box.top)) for line in lines]


def _joined(line: list[TextBox], *, height: float) -> str:
    text = line[0].text
    for before, box in pairwise(line):
        text += ("\t" if box.left - before.right > _CELL_GAP * height else " ") + box.text
    return text
