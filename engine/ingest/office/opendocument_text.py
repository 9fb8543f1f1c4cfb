"""The elements of an OpenDocument file as blocks of Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..markdown_blocks import Block, check_length, heading, inline, item, paragraph, pipe_table
from .package import whole
from .sheet_regions import sheet_blocks, spread

if TYPE_CHECKING:
    from lxml.etree import _Element

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_LEFT_OUT = frozenset(
    {
        f"{_TEXT}{name}"
        for name in ("tracked-changes", "sequence-decls", "ruby-text", "note-citation")
    }
)
_Range = tuple[int, int, int, int]
_MAX_REPEATS = 1_000
"""Maximum repetitions of a row or cell; more are filler."""
_ON_EVERY_SLIDE = frozenset({"header", "footer", "date-time", "page-number", "page"})


class OpenText:
    """One document being written out; notes are gathered on the way."""

    def __init__(self, root: _Element, *, styles: _Element | None, max_characters: int) -> None:
        self._max_characters = max_characters
        self._length = 0
        self._notes: list[Block] = []
        self._aside: list[Block] = []
        self._titles = {"Title"}
        self._numbered: set[str] = set()
        for source in (root, styles):
            if source is not None:
                self._learn(source)

    def children(self, container: _Element, *, level: int = -1) -> Iterator[Block]:
        """Return blocks of an element's children; `level` is the enclosing list's."""
        for element in container:
            if isinstance(element.tag, str) and element.tag not in _LEFT_OUT:
                yield from self._block(element, level=level)

    def notes(self) -> Iterator[Block]:
        """Return the referenced foot- and endnotes in order."""
        yield from self._notes

    def sheets(self, body: _Element) -> Iterator[Block]:
        """Return a heading and the cell regions of each non-empty sheet."""
        for table in body.iterfind(f"{_TABLE}table"):
            cells, merged = self._cells(table)
            aside, self._aside = self._aside, []
            shapes = table.find(f"{_TABLE}shapes")
            blocks = [*sheet_blocks(cells, merged=merged), *aside]
            blocks += [] if shapes is None else self.children(shapes)
            if any(block.text for block in blocks):
                yield heading(table.get(f"{_TABLE}name", ""), level=2)
                yield from blocks

    def slide(self, page: _Element) -> tuple[str, list[Block]]:
        """Return a slide's title and blocks, notes and comments last."""
        title = ""
        blocks: list[Block] = []
        for shape in page:
            if not isinstance(shape.tag, str):
                continue
            kind = shape.get(f"{_PRESENTATION}class", "")
            if kind == "title" and not title:
                title = inline(self._block(shape))
            elif shape.tag == f"{_PRESENTATION}notes":
                spoken = inline(self.children(shape))
                blocks.append(paragraph(f"Notes: {spoken}" if spoken else ""))
            elif kind not in _ON_EVERY_SLIDE:
                blocks += self._block(shape)
        return title, [*blocks, *self._notes_here()]

    def _notes_here(self) -> list[Block]:
        notes, self._notes = self._notes, []
        return notes

    def _block(self, element: _Element, *, level: int = -1) -> Iterator[Block]:
        tag = element.tag
        if tag in (f"{_TEXT}h", f"{_TEXT}p"):
            yield from self._paragraph(element, level=level)
        elif tag == f"{_TEXT}list":
            yield from self._list(element, level=level + 1)
        elif tag == f"{_TABLE}table":
            rows = self._rows(element)
            framed = max(map(len, rows), default=0) < 2  # a frame around text, not a table
            yield from (paragraph(row[0]) for row in rows) if framed else [pipe_table(rows)]
        elif tag.startswith(_DRAW):
            yield from self._drawing(element)
        elif tag.endswith("}annotation"):
            yield from self._comment(element)
        else:
            yield from self.children(element, level=level)

    def _paragraph(self, element: _Element, *, level: int) -> Iterator[Block]:
        text = self._inline(element)
        aside, self._aside = self._aside, []
        is_title = element.get(f"{_TEXT}style-name", "") in self._titles
        if element.tag == f"{_TEXT}h" or is_title:
            outline = whole(element.get(f"{_TEXT}outline-level"), 1)
            yield heading(text, level=1 if is_title else outline)
        else:
            yield item(text, level=level) if level >= 0 else paragraph(text)
        yield from aside

    def _list(self, element: _Element, *, level: int) -> Iterator[Block]:
        numbered = element.get(f"{_TEXT}style-name", "") in self._numbered
        for number, entry in enumerate(element.iterfind("*"), start=1):
            for place, block in enumerate(self.children(entry, level=level)):
                if numbered and place == 0 and block.kind == "item":
                    text = block.text.lstrip().removeprefix("- ")
                    yield item(text, level=level, mark=f"{number}.")
                else:
                    yield block

    def _drawing(self, element: _Element) -> Iterator[Block]:
        """Text boxes, tables and the shapes of a group; of a picture its description."""
        described = element.find("{*}desc")
        if described is not None and element.find(f"{_DRAW}image") is not None:
            text = " ".join((described.text or "").split())
            yield paragraph(f"![{text}]()" if text else "")
        for child in element:
            if isinstance(child.tag, str) and not child.tag.endswith(("}desc", "}title")):
                yield from self._block(child)

    def _comment(self, element: _Element) -> Iterator[Block]:
        author = element.findtext("{*}creator") or ""
        lines = (self._inline(line) for line in element.iter(f"{_TEXT}p"))
        text = " ".join(" ".join(lines).split())
        yield Block(f"> Comment{f' by {author}' if author else ''}: {text}" if text else "")

    def _inline(self, element: _Element) -> str:
        pieces = [element.text or ""]
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _LEFT_OUT:
                pieces.append(self._inline_one(child))
            pieces.append(child.tail or "")
        return "".join(pieces).replace("\n", " ") if element.tag.startswith(_TEXT) else ""

    def _inline_one(self, child: _Element) -> str:
        name = child.tag.rpartition("}")[2]
        if child.tag == f"{_TEXT}s":
            return " " * min(max(whole(child.get(f"{_TEXT}c"), 1), 1), 100)
        if name in ("tab", "line-break"):
            return " "
        if name == "note":
            body = child.find(f"{_TEXT}note-body")
            text = "" if body is None else inline(self._apart(self.children(body)))
            mark = child.findtext(f"{_TEXT}note-citation") or str(len(self._notes) + 1)
            self._notes.append(Block(f"[^{mark}]: {text}"))
            return f"[^{mark}]"
        if name == "annotation" or child.tag.startswith(_DRAW):
            self._aside = [*self._aside, *self._apart(self._block(child))]
            return ""
        return self._inline(child)

    def _apart(self, blocks: Iterator[Block]) -> list[Block]:
        """Return the blocks of an element inside a paragraph."""
        outer, self._aside = self._aside, []
        found = [block for block in blocks if block.text]
        self._aside = outer
        return found

    def _rows(self, table: _Element) -> list[list[str]]:
        cells, _merged = self._cells(table)
        columns = sorted({column for row in cells.values() for column in row})
        return [[cells[number].get(column, "") for column in columns] for number in sorted(cells)]

    def _cells(self, table: _Element) -> tuple[dict[int, dict[int, str]], list[_Range]]:
        """Return texts by row and column, and merged cells; repeats only where there is text."""
        cells: dict[int, dict[int, str]] = {}
        merged: list[_Range] = []
        number = 0
        for element in _rows_of(table):
            repeats = max(whole(element.get(f"{_TABLE}number-rows-repeated"), 1), 1)
            row = self._row(element, number=number, merged=merged)
            for again in range(min(repeats, _MAX_REPEATS) if row else 0):
                cells[number + again] = dict(row)
                self._length += sum(len(text) + 3 for text in row.values())
                check_length(self._length, max_characters=self._max_characters)
            number += repeats
        spread(cells, merged)
        return cells, merged

    def _row(self, element: _Element, *, number: int, merged: list[_Range]) -> dict[int, str]:
        row: dict[int, str] = {}
        column = 0
        for cell in element.iterfind("*"):
            repeats = max(whole(cell.get(f"{_TABLE}number-columns-repeated"), 1), 1)
            text = inline(self.children(cell)) or _value(cell)
            for again in range(min(repeats, _MAX_REPEATS) if text.strip() else 0):
                row[column + again] = text
            down = max(whole(cell.get(f"{_TABLE}number-rows-spanned"), 1), 1)
            across = max(whole(cell.get(f"{_TABLE}number-columns-spanned"), 1), 1)
            if down > 1 or across > 1:
                merged.append((number, number + down - 1, column, column + across - 1))
            column += repeats
        return row

    def _learn(self, source: _Element) -> None:
        """Learn title paragraph styles and numbered list styles."""
        for style in source.iter(f"{_STYLE}style"):
            if style.get(f"{_STYLE}parent-style-name") == "Title":
                self._titles.add(style.get(f"{_STYLE}name", ""))
        for style in source.iter(f"{_TEXT}list-style"):
            first = style.find("*")
            if first is not None and first.tag == f"{_TEXT}list-level-style-number":
                self._numbered.add(style.get(f"{_STYLE}name", ""))


def _rows_of(table: _Element) -> Iterator[_Element]:
    for child in table:
        name = child.tag.rpartition("}")[2] if isinstance(child.tag, str) else ""
        if name == "table-row":
            yield child
        elif name in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _rows_of(child)


def _value(cell: _Element) -> str:
    for name in ("string-value", "date-value", "time-value", "boolean-value", "value"):
        found = cell.get(f"{_OFFICE}{name}", "")
        if found:
            return found
    return ""
