"""HTML elements as Markdown: headings, paragraphs, lists, tables, code.

Everything is written but what the caller names and what is no text (scripts, controls). Code in a
sentence keeps its marks (`` `dpkg -i` ``); those of emphasis and targets of links are left out, so
that the text can be quoted as it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .markdown_writer import block_table

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MOST_COLUMNS = 200
_MOST_ROWS_SPANNED = 500
_LAYOUT_CELL = 2_000


def is_data_table(table: HtmlElement) -> bool:
    """Check whether an HTML table holds data, not layout.

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


def html_table(table: HtmlElement) -> str:
    """Convert a table with its first row as header and its caption before it.

    Spanning cells stand once.
    """
    written = block_table(list(_grid(table))).text
    caption = table.find("caption")
    title = one_line_text(caption) if caption is not None else ""
    return f"{title}\n\n{written}" if title and written else written


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
            cells += [one_line_text(cell), *[""] * (columns - 1)]
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


_NO_TEXT = re.compile(
    "script|style|noscript|template|svg|math|iframe|object|embed|canvas|head|title|nav|select"
    "|button|textarea|dialog|audio|video|map|datalist"
).fullmatch
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|center|d[dlt]|details|div|fieldset|figcaption|figure"
    "|footer|form|header|hr|html|legend|li|main|menu|[ou]l|p|section|summary|table|t[rhd]"
).fullmatch
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_CODE_CLASSES = frozenset({"code", "screen", "verbatim"})
_LONGEST_CODE = 200
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NUMBERED_TITLE = re.compile(
    r"(\d{1,2}(?:\.\d{1,2}){1,4})\.? +(?![kKMGT]i?[Bb]\b|[kMG]?Hz\b|[a-z])[^\W\d_].{0,98}[^\s.,;:!]"
)
_SPACES = re.compile(r"[ \t\r\n\f\v\u00a0]+")
_AROUND_BREAK = re.compile(r" *\n[ \n]*")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source|brush:)[- ]?([a-z0-9+#]+)", re.I)
_MOST_INDENTS = 12
_MOST_QUOTES = 3
_OWN_BULLET = re.compile(r"[•●▪◦·]\s+")

_Event = Literal["open", "close", "text"]


def as_markdown(element: HtmlElement, *, skip: AbstractSet[HtmlElement] = frozenset()) -> str:
    """Convert an element (a page's body) to Markdown, without those in `skip`."""
    body = element.find("body")
    writer = _Writer()
    # Depth first without recursion: pages can nest deeper than Python's stack.
    stack: list[tuple[_Event, HtmlElement | str]] = [("open", element if body is None else body)]
    while stack:
        event, item = stack.pop()
        if isinstance(item, str):
            writer.inline(item)
        elif event == "close":
            writer.close(item)
        elif item not in skip and not _NO_TEXT(_tag(item)) and not writer.whole(item):
            writer.open(item)
            inner: list[tuple[_Event, HtmlElement | str]] = [("text", item.text or "")]
            for child in item:
                inner += [("open", child), ("text", child.tail or "")]
            stack += reversed([*inner, ("close", item)])
    return writer.text()


def _tag(element: HtmlElement) -> str:
    """Return an element's tag; empty for comments."""
    return element.tag if isinstance(element.tag, str) else "script"


def _is_item(element: HtmlElement) -> bool:
    """Check for an item of a list; a term inside a term takes its place, as in a browser."""
    tag = element.tag
    return tag in ("li", "dd") or (tag == "dt" and element.find("dt") is None)


@dataclass(slots=True)
class _Writer:
    """Markdown writer: blocks with list numbers (0: none) and the present nesting."""

    blocks: list[tuple[str, int]] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    lists: list[int] = field(default_factory=list)
    indents: list[str] = field(default_factory=list)
    marker: str = ""
    quotes: int = 0
    count: int = 0

    def inline(self, text: str) -> None:
        """Text as it stands in the source; white space means nothing."""
        if text:
            self.inside.append(_SPACES.sub(" ", text))

    def whole(self, element: HtmlElement) -> bool:
        """Write an element in one go, if it is one of those; else its children are walked."""
        tag = element.tag
        if tag == "br":
            self.inside.append("\n")
        elif tag in _HEADINGS:
            title = one_line_text(element)
            self.heading(f"{'#' * _HEADINGS[tag]} {title}" if title else "")
        elif (
            tag == "p" and not (self.indents or self.quotes) and (level := _numbered_title(element))
        ):
            self.heading(f"{'#' * level} {one_line_text(element)}")
        elif tag == "pre":
            self.code(element, "\n".join(_lines_of(element)))
        elif tag == "p" and _is_code(element):
            lines = (_SOURCE_SPACES.sub(" ", line).strip(" ") for line in _lines_of(element))
            self.code(element, "\n".join(lines).replace("\u00a0", " "))
        elif tag == "table" and is_data_table(element):
            self.block(html_table(element))
        elif tag in _CODE and (code := _inline_code(element)):
            self.inline(code)
        else:
            return False
        return True

    def open(self, element: HtmlElement) -> None:
        """Go into an element."""
        tag = element.tag
        if not _BLOCK(tag):
            return
        self.flush()
        if tag in ("ul", "ol", "dl", "menu"):
            self.count += not self.lists
            start = element.get("start", "1")
            numbered = tag == "ol" and start.isdecimal() and len(start) < 10
            self.lists.append(int(start) if numbered else 1)
        elif _is_item(element):
            self.open_item(element)
        elif tag == "blockquote":
            self.quotes += 1

    def open_item(self, element: HtmlElement) -> None:
        """Set the mark of a list's item; a definition stands one step inside its term."""
        ordered = element.getparent() is not None and element.getparent().tag == "ol"
        self.marker = "- "
        if ordered and self.lists:
            self.marker = f"{self.lists[-1]}. "
            self.lists[-1] += 1
        step = "  " if element.tag == "dd" else ""
        self.indents.append(step + " " * len(self.marker))

    def close(self, element: HtmlElement) -> None:
        """Come out of an element."""
        tag = element.tag
        if not _BLOCK(tag):
            return
        self.flush()
        if tag in ("ul", "ol", "dl", "menu") and self.lists:
            self.lists.pop()
        elif _is_item(element) and self.indents:
            self.indents.pop()
            self.marker = ""
        elif tag == "blockquote":
            self.quotes -= 1

    def flush(self) -> None:
        """End the paragraph."""
        text = _AROUND_BREAK.sub("\n", re.sub(" +", " ", "".join(self.inside))).strip()
        self.inside.clear()
        if text:
            self.block(text)

    def heading(self, text: str) -> None:
        """Write a heading; a list item holding one is page structure."""
        if text and self.indents:
            self.flush()
            self.marker = ""
            self.indents = [""] * len(self.indents)
        self.block(text)

    def code(self, element: HtmlElement, text: str) -> None:
        """Write lines of code as a fenced block."""
        lines = text.strip("\n").rstrip()
        self.block(f"```{_language(element)}\n{lines}\n```" if lines.strip() else "")

    def block(self, text: str) -> None:
        """Write a block after its item's mark or inline."""
        self.flush_before(text)
        if not text:
            return
        item = any(self.indents)
        if item:
            indent = "".join(self.indents[-_MOST_INDENTS:])
            first = indent[: len(indent) - len(self.marker)] + self.marker
            body = _OWN_BULLET.sub("", text, count=1) if self.marker else text
            text = first + body.replace("\n", f"\n{indent}")
            self.marker = ""
        if self.quotes > 0:
            mark = "> " * min(self.quotes, _MOST_QUOTES)
            text = "\n".join(f"{mark}{line}" for line in text.split("\n"))
        close = item and "```" not in text and not text.lstrip().startswith("|")
        self.blocks.append((text, self.count if close else 0))

    def flush_before(self, text: str) -> None:
        """Text that stands loose before a block is a block of its own."""
        if self.inside and "".join(self.inside).strip() and text != "".join(self.inside).strip():
            self.flush()

    def text(self) -> str:
        """All blocks: a list's items below each other, others with a blank line between."""
        self.flush()
        parts: list[str] = []
        before = 0
        for block, close in self.blocks:
            gap = "\n" if close and close == before else "\n\n"
            parts += [gap, block]
            before = close
        return "".join(parts[1:])


_SOURCE_SPACES = re.compile(r"[ \t\r\n\f]+")


def _is_code(paragraph: HtmlElement) -> bool:
    """Check for a paragraph of the class of code whose lines are broken."""
    classes = (paragraph.get("class") or "").split()
    return not _CODE_CLASSES.isdisjoint(classes) and paragraph.find(".//br") is not None


def _lines_of(code: HtmlElement) -> list[str]:
    """Return the lines of code, parted where a browser is told to."""
    if code.find(".//br") is None:
        return [code.text_content()]
    lines = [""]
    for part in code.xpath(".//text() | .//br"):
        if isinstance(part, str):
            lines[-1] += part
        else:
            lines.append("")
    return lines


def _numbered_title(element: HtmlElement) -> int:
    """Return the level of a paragraph that is a numbered heading, all bold or a link's target."""
    found = _NUMBERED_TITLE.fullmatch(one_line_text(element))
    if found is None:
        return 0
    text = element.text_content().strip()
    anchors = (link for link in element.iter("a") if link.get("href") is None)
    target = any(link.get("name") or link.get("id") for link in anchors)
    bold = any(text == part.text_content().strip() for part in element.iter("b", "strong"))
    return found.group(1).count(".") + 1 if target or bold else 0


def _inline_code(element: HtmlElement) -> str:
    """Return code in a sentence with its marks; nothing for addresses and whole listings."""
    text = element.text_content()
    code = text.strip()
    if not code or len(code) > _LONGEST_CODE or any(mark in code for mark in ("`", "@", "\n")):
        return ""
    before, after = (" " if text[place].isspace() else "" for place in (0, -1))
    return f"{before}`{code}`{after}"


def _language(element: HtmlElement) -> str:
    code = element.find("code")
    classes = " ".join(each.get("class", "") for each in (element, code) if each is not None)
    found = _LANGUAGE.search(classes)
    return found.group(1).lower() if found else ""
