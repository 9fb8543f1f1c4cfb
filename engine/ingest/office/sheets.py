"""Excel sheets: displayed cells, streamed so that empty ones cost nothing.

Formulas are read by the value that was last calculated.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..content import one_line
from ..markdown_blocks import Block, check_length
from .drawing import chart_blocks, text_blocks
from .number_formats import BUILT_IN, shown
from .package import RELATIONSHIPS, Package, whole
from .sheet_regions import spread

if TYPE_CHECKING:
    from lxml.etree import _Element

_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_COLUMN_LETTERS = 3
_DIVIDERS = 3
"""Characters that a table adds to each cell."""


@dataclass(slots=True)
class Sheet:
    """One sheet: texts by row and column (from 1), and what lies over its cells."""

    name: str
    cells: dict[int, dict[int, str]]
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    aside: list[Block] = field(default_factory=list)


class Workbook:
    """An opened workbook. `max_characters` is for all its sheets together."""

    def __init__(self, package: Package, *, max_characters: int) -> None:
        self._package = package
        self._main = package.main()
        self._related = package.relations(self._main)
        self._max_characters = max_characters
        self._length = 0
        self._strings = list(self._shared_strings())
        self._formats = self._cell_formats()
        self._since_1904 = False

    def sheets(self) -> Iterator[Sheet]:
        """Yield sheets in tab order, hidden ones included."""
        root = self._package.xml(self._main)
        if root is None:
            return
        properties = root.find("{*}workbookPr")
        if properties is not None:
            self._since_1904 = properties.get("date1904") in ("1", "true")
        for reference in root.iterfind("{*}sheets/{*}sheet"):
            part = self._related.get(reference.get(f"{RELATIONSHIPS}id", ""))
            data = self._package.data(part.name) if part else None
            if part is None or data is None:
                continue
            sheet = Sheet(name=one_line(reference.get("name", "")), cells={})
            if part.kind == "worksheet":
                self._load(sheet, data, name=part.name)
                spread(sheet.cells, sheet.merged)
            sheet.aside = list(self._over(part.name))
            yield sheet

    def _load(self, sheet: Sheet, data: bytes, *, name: str) -> None:
        """Fill in the cells and the ranges of merged ones."""
        number = 0
        for element in _elements(data, name, "row", "mergeCell"):
            if element.tag.endswith("}mergeCell"):
                ends = _REFERENCE.findall(element.get("ref", ""))
                if len(ends) == 2:
                    (left, top), (right, bottom) = ends
                    area = (int(top), int(bottom), _column(left), _column(right))
                    sheet.merged.append(area)
                continue
            number = whole(element.get("r"), number + 1)
            row = self._row(element)
            if row:
                sheet.cells.setdefault(number, {}).update(row)

    def _row(self, element: _Element) -> dict[int, str]:
        row: dict[int, str] = {}
        column = 0
        for cell in element:
            column = _column_of(cell.get("r", "")) or column + 1
            text = self._shown(cell)
            if text and not text.isspace():
                row[column] = text
                self._length += len(text) + _DIVIDERS
        check_length(self._length, max_characters=self._max_characters)
        return row

    def _shown(self, cell: _Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            inline = cell.find("{*}is")
            return "" if inline is None else _rich_text(inline)
        value = next((part.text or "" for part in cell if part.tag.endswith("}v")), "")
        if kind == "s":
            place = whole(value, -1)
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n" or not value:
            return value
        try:
            number = float(value)
        except ValueError:
            return value
        place = whole(cell.get("s"))
        format_ = self._formats[place] if 0 <= place < len(self._formats) else ""
        return shown(number, format_=format_, since_1904=self._since_1904)

    def _shared_strings(self) -> Iterator[str]:
        for part in self._related.values():
            data = self._package.data(part.name) if part.kind == "sharedStrings" else None
            for element in [] if data is None else _elements(data, part.name, "si"):
                yield _rich_text(element)

    def _cell_formats(self) -> list[str]:
        name = next((part.name for part in self._related.values() if part.kind == "styles"), "")
        root = self._package.xml(name) if name else None
        if root is None:
            return []
        custom = {
            whole(element.get("numFmtId")): element.get("formatCode", "")
            for element in root.iterfind("{*}numFmts/{*}numFmt")
        }
        ids = [whole(xf.get("numFmtId")) for xf in root.iterfind("{*}cellXfs/{*}xf")]
        return [custom.get(id_) or BUILT_IN.get(id_, "") for id_ in ids]

    def _over(self, name: str) -> Iterator[Block]:
        """Text boxes, charts and comments that belong to a sheet."""
        parts = sorted(set(self._package.relations(name).values()))
        threaded = any(part.kind == "threadedComment" for part in parts)
        kinds = ("drawing", "threadedComment" if threaded else "comments")
        for part in parts:
            root = self._package.xml(part.name) if part.kind in kinds else None
            if root is not None and part.kind == "drawing":
                yield from self._drawing(root, name=part.name)
            elif root is not None:
                yield from _comments(root)

    def _drawing(self, root: _Element, *, name: str) -> Iterator[Block]:
        for body in root.iter("{*}txBody"):
            yield from text_blocks(body)
        for part in sorted(set(self._package.relations(name).values())):
            chart = self._package.xml(part.name) if part.kind == "chart" else None
            if chart is not None:
                yield from chart_blocks(chart)


def _comments(root: _Element) -> Iterator[Block]:
    for comment in root.iter("{*}comment", "{*}threadedComment"):
        body = comment.find("{*}text")
        text = "" if body is None else " ".join((_rich_text(body) or body.text or "").split())
        yield Block(f"> Comment on {comment.get('ref', '')}: {text}" if text else "")


def _rich_text(element: _Element) -> str:
    """Return a string's runs without phonetic readings."""
    return "".join(
        text.text or ""
        for text in element.iter("{*}t")
        if (parent := text.getparent()) is None or not parent.tag.endswith("}rPh")
    )


def _elements(data: bytes, name: str, *tags: str) -> Iterator[_Element]:
    """Stream elements of these names, freeing each after use."""
    from lxml import etree

    events = etree.iterparse(
        io.BytesIO(data),
        tag=[f"{{*}}{tag}" for tag in tags],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _event, element in events:
            yield element
            element.clear()
            while (before := element.getprevious()) is not None:
                before.getparent().remove(before)
    except etree.XMLSyntaxError as error:
        raise SourceError(
            f"is damaged: its part {name!r} is not well-formed; open it and save it again"
        ) from error


def _column_of(reference: str) -> int:
    """Return the column of a cell reference; 0 without one."""
    return _column(reference.rstrip("0123456789$").lstrip("$"))


@lru_cache(maxsize=20_000)
def _column(letters: str) -> int:
    """Return a column's number from 1; 0 if invalid."""
    if not 0 < len(letters) <= _COLUMN_LETTERS or not (letters.isascii() and letters.isupper()):
        return 0
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number
