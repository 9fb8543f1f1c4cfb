"""Tables of a web page as Markdown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MOST_COLUMNS = 200
_MOST_ROWS_SPANNED = 500
_LAYOUT_CELL = 2_000


def is_data(table: HtmlElement) -> bool:
    """Check for a data table.

    No nested table or heading, several cells in a row, no page-long cell.
    """
    if table.get("role") in ("presentation", "none"):
        return False
    if table.find(".//table") is not None or table.find(".//h1") is not None:
        return False
    rows = [_cells_of(row) for row in table.iter("tr")]
    if any(_is_long(cell) for row in rows for cell in row):
        return False
    return any(len(row) > 1 for row in rows)


def _is_long(cell: HtmlElement) -> bool:
    if len(cell.text_content()) <= _LAYOUT_CELL:
        return False
    return len(one_line_text(cell)) > _LAYOUT_CELL  # without styles and white space


def pipe_table(table: HtmlElement) -> str:
    """Convert a table with its first row as header and its caption before it.

    Spanning cells stand once.
    """
    rows = [row for row in _grid(table) if any(row)]
    if not rows:
        return ""
    width = max(map(len, rows))
    filled = [[*row, *[""] * (width - len(row))] for row in rows]
    used = [column for column in range(width) if any(row[column] for row in filled)]
    lines = [f"| {' | '.join(row[column] for column in used)} |" for row in filled]
    caption = table.find("caption")
    title = one_line_text(caption) if caption is not None else ""
    return "\n".join(
        [*([title, ""] if title else []), lines[0], "|" + " --- |" * len(used), *lines[1:]]
    )


def _grid(table: HtmlElement) -> Iterator[list[str]]:
    reserved: dict[int, int] = {}
    for row in table.iter("tr"):
        cells: list[str] = []
        still = {column: left - 1 for column, left in reserved.items() if left > 1}
        for cell in _cells_of(row):
            while reserved.get(len(cells), 0) > 0 and len(cells) < _MOST_COLUMNS:
                cells.append("")
            columns, rows = (
                _span(cell, "colspan", _MOST_COLUMNS),
                _span(cell, "rowspan", _MOST_ROWS_SPANNED),
            )
            columns = max(1, min(columns, _MOST_COLUMNS - len(cells)))
            still.update({len(cells) + offset: rows - 1 for offset in range(columns) if rows > 1})
            cells += [one_line_text(cell).replace("|", "\\|"), *[""] * (columns - 1)]
        reserved = still
        yield cells


def _cells_of(row: HtmlElement) -> list[HtmlElement]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def _span(cell: HtmlElement, name: str, most: int) -> int:
    value = cell.get(name, "1").strip()
    return min(int(value), most) if value.isdecimal() and len(value) < 6 and int(value) else 1


_UNREAD = frozenset({"script", "style", "noscript", "template", "svg"})
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|mark|q|rp|rt|ruby|s"
    "|samp|small|span|strike|strong|sub|sup|time|tt|u|var|wbr"
).fullmatch


def one_line_text(element: HtmlElement) -> str:
    """Return an element's text on one line; blocks stay separated."""
    parts: list[str] = []
    stack: list[HtmlElement | str] = [element]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        tag = item.tag if isinstance(item.tag, str) else "script"
        edge = "" if item is element or _INLINE(tag) else " "
        if item is not element:
            stack.append(edge + (item.tail or ""))
        if tag not in _UNREAD:
            parts.append(edge + (item.text or ""))
            stack += reversed(item)
    return " ".join("".join(parts).split())
