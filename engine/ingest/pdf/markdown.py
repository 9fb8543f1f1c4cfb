"""PDF lines to Markdown: headings, paragraphs, lists, tables, code.

A heading is a short line in a larger size than the text's, or in bold where the text is not.
Nothing is escaped but a bar inside a table's cell, so that the text can be quoted as it is. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .layout import Line, display_width
from .lines import as_set, ends_sentence, one_paragraph, starts_item, word_counts
from .pieces import is_wide
from .running import Columns

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
    """Return each page's Markdown."""
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
            return "\n\n".join(pipe_table(line.rows) for line in self.lines)
        if self.kind == "code":
            return _fenced(self.lines)
        text = one_paragraph([_LEADERS.sub(" ", line.text) for line in self.lines], words)
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


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first as its head."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])
