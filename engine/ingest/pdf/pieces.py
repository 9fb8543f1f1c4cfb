"""Text pieces of a PDF page: upright runs without wide gaps.

Text that runs up, down or upside down, and vertical Chinese and Japanese, is turned so that it
reads to the right. Pure.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .glyphs import Direction, Glyph

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


def sheets(glyphs: Sequence[Glyph], rules: Sequence[Rule]) -> list[Sheet]:
    """One sheet for each way that text runs, that with the most text first."""
    ways: dict[Direction, list[Glyph]] = {}
    for glyph in glyphs:
        ways.setdefault(glyph.style.direction, []).append(glyph)
    result = []
    for way in sorted(ways, key=lambda way: (-len(ways[way]), way)):
        turn: Direction = "down" if way == "right" and is_vertical(ways[way]) else way
        upright = [Rule(turned(rule, turn)) for rule in rules]
        moved = ways[way] if turn == "right" else [_turned(glyph, turn) for glyph in ways[way]]
        result.append(Sheet(pieces=pieces_of(moved, upright), rules=upright))
    return result


def _turned(glyph: Glyph, direction: Direction) -> Glyph:
    return Glyph(glyph.text, *turned(glyph[1:5], direction), glyph.style)


def turned(box: Sequence[float], direction: Direction) -> tuple[float, float, float, float]:
    """Rotate a box so that this direction is upright."""
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
