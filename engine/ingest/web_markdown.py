"""The body of a web page written out as Markdown: headings, paragraphs, lists, tables, code.

Everything is kept but what is no text (scripts, forms) and what frames every page (navigation, the
site's header and footer). Pure; knows nothing of main-text detection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_NO_TEXT = re.compile(
    "script|style|noscript|template|svg|iframe|object|embed|canvas|head|nav|select|button|textarea"
).fullmatch
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|center|d[dlt]|details|div|fieldset|figcaption|figure"
    "|footer|form|header|hr|html|li|main|[ou]l|p|section|summary|table|tr"
).fullmatch
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
_BREAK = "\x00"
"""Stands for a block's edge until lines are put together; no page holds it (see `storable`)."""


def as_markdown(tree: HtmlElement) -> str:
    """The text of an element (of a whole page: its body) as Markdown."""
    body = tree.find("body")
    text = "".join(_pieces(tree if body is None else body))
    blocks = (block.strip(" \n") for block in text.split(_BREAK))
    lines: list[str] = []
    for block in filter(None, blocks):
        follows_list = lines and lines[-1].startswith("- ") and block.startswith("- ")
        lines.extend([block] if follows_list or not lines else ["", block])
    return "\n".join(lines)


def _pieces(element: HtmlElement) -> Iterator[str]:
    """Depth first without recursion: pages can nest deeper than Python's stack."""
    stack: list[tuple[str, HtmlElement | str]] = [("element", element)]
    while stack:
        kind, item = stack.pop()
        if isinstance(item, str):
            yield item if kind == "raw" else _SPACES.sub(" ", item)
            continue
        tag = item.tag if isinstance(item.tag, str) else ""
        whole = _whole(item, tag)
        if whole is not None:
            yield whole
            continue
        before, after = _edges(tag)
        inner: list[tuple[str, HtmlElement | str]] = [("raw", before), ("text", item.text or "")]
        for child in item:
            inner += [("element", child), ("text", child.tail or "")]
        stack += reversed([*inner, ("raw", after)])


def _whole(element: HtmlElement, tag: str) -> str | None:
    """The piece for an element that is written in one go; None where its children are walked."""
    if not tag or _NO_TEXT(tag) or (tag in ("header", "footer") and _frames_the_page(element)):
        return " "
    if tag in _HEADINGS:
        text = _plain(element)
        return f"{_BREAK}{'#' * _HEADINGS[tag]} {text}{_BREAK}" if text else ""
    if tag == "pre":
        return f"{_BREAK}```\n{element.text_content().strip(chr(10))}\n```{_BREAK}"
    if tag == "table" and _is_data(element):
        return f"{_BREAK}{_table(element)}{_BREAK}"
    return "\n" if tag == "br" else None


def _edges(tag: str) -> tuple[str, str]:
    if tag == "li":
        return f"{_BREAK}- ", _BREAK
    if tag in ("td", "th"):
        return " ", " "
    return (_BREAK, _BREAK) if _BLOCK(tag) else ("", "")


def _frames_the_page(element: HtmlElement) -> bool:
    return not any(
        parent.tag in ("article", "main", "section") for parent in element.iterancestors()
    )


def _is_data(table: HtmlElement) -> bool:
    """A table of data, not of layout: no table or page heading inside, two cells in some row."""
    rows = table.findall(".//tr")
    nested = table.find(".//table") is not None or table.find(".//h1") is not None
    return not nested and any(len(_cells(row)) > 1 for row in rows)


def _table(table: HtmlElement) -> str:
    rows = [cells for row in table.iter("tr") if (cells := _cells(row))]
    width = max(map(len, rows))
    lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
    caption = table.find("caption")
    title = [_plain(caption), ""] if caption is not None and _plain(caption) else []
    return "\n".join([*title, lines[0], "|" + " --- |" * width, *lines[1:]])


def _cells(row: HtmlElement) -> list[str]:
    return [_plain(cell).replace("|", "\\|") for cell in row if cell.tag in ("td", "th")]


def _plain(element: HtmlElement) -> str:
    """The text of an element on one line; words of neighbouring blocks stay apart."""
    parts = [text for text in element.itertext() if isinstance(text, str)]
    blocks = (
        element.find(".//br") is not None
        or element.find(".//p") is not None
        or element.find(".//li") is not None
    )
    return " ".join((" " if blocks else "").join(parts).split())
