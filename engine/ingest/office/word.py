"""Word document parts as Markdown, in reading order.

Deleted text and field codes are left out; what
revisions inserted is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..markdown_blocks import Block, code, heading, inline, item, joined, paragraph, pipe_table
from .drawing import A, chart_blocks, diagram_blocks, line_of
from .math import M, latex_of
from .numbering import Numbering, W, value_of
from .package import RELATIONSHIPS, Package, whole
from .styles import NO_STYLE, Style, styles_of

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEFT_OUT = frozenset(
    f"{W}{name}"
    for name in ("del", "moveFrom", "instrText", "delText", "rt", "rPr", "pPr", "sdtPr", "tblPr")
)
_CHARACTERS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
_NOTES = {"footnoteReference": "", "endnoteReference": "e"}
_HEADER_KINDS = ("header", "footer")
_REPEATED_CELL_LIMIT = 80


class WordDocument:
    """One document being written out; what paragraphs refer to is gathered on the way."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main()
        self._related = package.relations(self._main)
        self._styles = styles_of(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"))
        self._comments = _by_id(self._part("comments"), "comment")
        self._aside: list[Block] = []
        """Text boxes, charts and comments of the paragraph at hand: they follow it."""

    def blocks(self) -> Iterator[Block]:
        """Return the body, then notes, then distinct headers and footers."""
        root = self._package.xml(self._main)
        body = None if root is None else root.find(f"{W}body")
        if body is not None:
            yield from self._children(body)
        yield from self._notes("footnotes", "footnote", mark="")
        yield from self._notes("endnotes", "endnote", mark="e")
        yield from self._headers()

    def _children(self, container: _Element) -> Iterator[Block]:
        for element in container:
            if element.tag == f"{W}p":
                yield from self._paragraph(element)
            elif element.tag == f"{W}tbl":
                yield from self._table(element)
            elif isinstance(element.tag, str) and element.tag not in _LEFT_OUT:
                yield from self._children(element)  # content controls, insertions

    def _paragraph(self, element: _Element) -> Iterator[Block]:
        style, list_id, level = self._place(element)
        text = self._inline(element)
        aside, self._aside = self._aside, []
        if text.strip():
            label = self._numbering.label(list_id, level) if list_id else None
            yield _block(text, style=style, label=label, level=level)
        yield from aside

    def _place(self, element: _Element) -> tuple[Style, str, int]:
        """Return a paragraph's style (its own outline level wins), list and level."""
        properties = element.find(f"{W}pPr")
        if properties is None:
            return NO_STYLE, "", 0
        style_id = value_of(properties, "pStyle")
        style = self._styles.get(style_id, NO_STYLE)
        outline = whole(value_of(properties, "outlineLvl"), 9)
        if outline < 9 and not style.title:
            style = style._replace(heading=outline + 1)
        own = properties.find(f"{W}numPr")
        list_id = style.list_id if own is None else value_of(own, "numId") or style.list_id
        if own is not None and value_of(own, "ilvl"):
            return style, list_id, whole(value_of(own, "ilvl"))
        if style.list_level is not None:
            return style, list_id, style.list_level
        return style, list_id, self._numbering.level_of_style(list_id, style_id)

    def _inline(self, element: _Element) -> str:
        """Return inline text; drawings and comments are set aside."""
        pieces: list[str] = []
        for child in element:
            tag = child.tag
            if not isinstance(tag, str) or tag in _LEFT_OUT:
                continue
            name = tag.rpartition("}")[2]
            if tag == f"{W}t":
                pieces.append(child.text or "")
            elif tag.startswith(W) and name in _CHARACTERS:
                pieces.append(_CHARACTERS[name] if child.get(f"{W}type") != "page" else "\n")
            elif name in _NOTES:
                pieces.append(f"[^{_NOTES[name]}{child.get(f'{W}id', '')}]")
            elif name == "commentReference":
                self._comment(child.get(f"{W}id", ""))
            elif tag == f"{M}oMathPara":
                pieces += [f" $${latex_of(maths)}$$ " for maths in child.iterfind(f"{M}oMath")]
            elif tag == f"{M}oMath":
                pieces.append(f"${latex_of(child)}$")
            elif name in ("drawing", "pict", "object"):
                self._drawing(child)
            elif name == "AlternateContent":  # the same thing twice, for new and old readers
                pieces.append(self._inline(child[0]) if len(child) else "")
            else:
                pieces.append(self._inline(child))
        return "".join(pieces)

    def _drawing(self, element: _Element) -> None:
        found: list[Block] = []
        for box in element.iter(f"{W}txbxContent"):
            if not any(parent.tag == f"{W}txbxContent" for parent in box.iterancestors()):
                outer, self._aside = self._aside, []
                found += self._children(box)
                self._aside = outer
        for reference in element.iter("{*}chart", "{*}relIds"):
            name = "chart" if reference.tag.endswith("}chart") else "dm"
            prefix = "id" if name == "chart" else "dm"
            part = self._related.get(reference.get(f"{RELATIONSHIPS}{prefix}", ""))
            root = self._package.xml(part.name) if part else None
            if root is not None:
                found += chart_blocks(root) if name == "chart" else diagram_blocks(root)
        found += [paragraph(line_of(line)) for line in element.iter(f"{A}p")]
        described = (
            node.get("descr") or node.get("alt") or ""
            for node in element.iter("{*}docPr", "{*}shape")
        )
        found += [paragraph(f"![{' '.join(text.split())}]()") for text in described if text.strip()]
        self._aside += [block for block in found if block.text]

    def _comment(self, id_: str) -> None:
        comment = self._comments.pop(id_, None)
        if comment is None:
            return
        aside, self._aside = self._aside, []
        text = inline(self._children(comment))
        author = comment.get(f"{W}author", "").strip()
        self._aside = [*aside, Block(f"> Comment{f' by {author}' if author else ''}: {text}")]

    def _table(self, table: _Element) -> Iterator[Block]:
        rows: list[list[str]] = []
        loose: list[Block] = []
        for row in _rows(table):
            cells: list[str] = []
            for cell in _cells(row):
                blocks = list(self._children(cell))
                loose += blocks
                cells += self._spread(cell, blocks, above=rows[-1] if rows else [], at=len(cells))
            rows.append(cells)
        # One cell a row is a frame around text, not a table.
        framed = max(map(len, rows), default=0) < 2
        yield from loose if framed else [pipe_table(rows)]

    def _spread(
        self, cell: _Element, blocks: list[Block], *, above: list[str], at: int
    ) -> list[str]:
        """Repeat a cell's short text over merged columns and rows.

        So that rows are self-contained; long text stays single.
        """
        text = inline(blocks)
        properties = cell.find(f"{W}tcPr")
        span = 1
        if properties is not None:
            span = min(max(whole(value_of(properties, "gridSpan"), 1), 1), 100)
            merged = properties.find(f"{W}vMerge")
            continued = merged is not None and merged.get(f"{W}val", "continue") == "continue"
            if continued and at < len(above) and len(above[at]) <= _REPEATED_CELL_LIMIT:
                text = text or above[at]
        again = text if len(text) <= _REPEATED_CELL_LIMIT else ""
        return [text, *[again] * (span - 1)]

    def _notes(self, kind: str, tag: str, *, mark: str) -> Iterator[Block]:
        root = self._part(kind)
        for note in [] if root is None else root.iterfind(f"{W}{tag}"):
            if note.get(f"{W}type", "normal") == "normal":
                text = inline(self._children(note))
                yield Block(f"[^{mark}{note.get(f'{W}id', '')}]: {text}" if text.strip() else "")

    def _headers(self) -> Iterator[Block]:
        seen: set[str] = set()
        for part in sorted(set(self._related.values())):
            root = self._package.xml(part.name) if part.kind in _HEADER_KINDS else None
            text = "" if root is None else joined(self._children(root))
            if text not in seen and any(character.isalpha() for character in text):
                seen.add(text)
                yield Block(text)

    def _part(self, kind: str) -> _Element | None:
        name = next((part.name for part in self._related.values() if part.kind == kind), None)
        return self._package.xml(name) if name else None


def _block(text: str, *, style: Style, label: str | None, level: int) -> Block:
    if style.title or style.heading:
        return heading(f"{label} {text}" if label else text, level=style.heading or 1)
    if style.code:
        return code(text)
    if label is None:
        return paragraph(text)
    if not label or (label[:-1].isdigit() and label[-1] in ".)"):
        return item(text, level=level, mark=label or "-")
    return paragraph(f"{label} {text}")  # a clause: Markdown has no mark for "(a)" or "第一条"


def _rows(table: _Element) -> Iterator[_Element]:
    """Return this table's rows, including content controls but not nested tables."""
    for child in table:
        if child.tag == f"{W}tr":
            yield child
        elif isinstance(child.tag, str) and child.tag not in _LEFT_OUT:
            yield from _rows(child)


def _cells(row: _Element) -> Iterator[_Element]:
    for child in row:
        if child.tag == f"{W}tc":
            yield child
        elif isinstance(child.tag, str) and child.tag not in _LEFT_OUT:
            yield from _cells(child)


def _by_id(root: _Element | None, tag: str) -> dict[str, _Element]:
    found = [] if root is None else root.iterfind(f"{W}{tag}")
    return {element.get(f"{W}id", ""): element for element in found}
