"""The elements of an OpenDocument file as blocks of Markdown.

OpenDocument texts, sheets and presentations (LibreOffice) as Markdown.

The XML is walked here: a library that builds an object a cell has no limit for the millions of
repeated cells that a sheet's end is stored as. Follows OASIS OpenDocument 1.3, part 3. Knows
nothing of files or chunks.

E-books (EPUB 2 and 3) as Markdown, in the order of reading.

A chapter is a page of the web, and is written out as one. Follows EPUB 3.3 (W3C), chapters 4
and 5.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from ....errors import SourceError
from ....types import MetaValue
from ...document import Content, ReadOptions, one_line, sanitise_text
from ..html_markdown import as_markdown
from ..markdown_writer import (
    Block,
    block_table,
    check_length,
    inline_blocks,
    join_blocks,
    markdown_heading,
    markdown_paragraph,
)
from ..markdown_writer import list_item as list_item
from ..text import markdown_title
from ..zip_archive import Container
from .ooxml import OLE_MAGIC, integer_attribute, properties_of, why_old_container, xml_root
from .spreadsheets import sheet_blocks, spread_merged_cells

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
                yield markdown_heading(table.get(f"{_TABLE}name", ""), level=2)
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
                title = inline_blocks(self._block(shape))
            elif shape.tag == f"{_PRESENTATION}notes":
                spoken = inline_blocks(self.children(shape))
                blocks.append(markdown_paragraph(f"Notes: {spoken}" if spoken else ""))
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
            yield from (
                (markdown_paragraph(row[0]) for row in rows) if framed else [block_table(rows)]
            )
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
            outline = integer_attribute(element.get(f"{_TEXT}outline-level"), 1)
            yield markdown_heading(text, level=1 if is_title else outline)
        else:
            yield list_item(text, level=level) if level >= 0 else markdown_paragraph(text)
        yield from aside

    def _list(self, element: _Element, *, level: int) -> Iterator[Block]:
        numbered = element.get(f"{_TEXT}style-name", "") in self._numbered
        for number, entry in enumerate(element.iterfind("*"), start=1):
            for place, block in enumerate(self.children(entry, level=level)):
                if numbered and place == 0 and block.kind == "item":
                    text = block.text.lstrip().removeprefix("- ")
                    yield list_item(text, level=level, mark=f"{number}.")
                else:
                    yield block

    def _drawing(self, element: _Element) -> Iterator[Block]:
        """Text boxes, tables and the shapes of a group; of a picture its description."""
        described = element.find("{*}desc")
        if described is not None and element.find(f"{_DRAW}image") is not None:
            text = " ".join((described.text or "").split())
            yield markdown_paragraph(f"![{text}]()" if text else "")
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
            return " " * min(max(integer_attribute(child.get(f"{_TEXT}c"), 1), 1), 100)
        if name in ("tab", "line-break"):
            return " "
        if name == "note":
            body = child.find(f"{_TEXT}note-body")
            text = "" if body is None else inline_blocks(self._apart(self.children(body)))
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
            repeats = max(integer_attribute(element.get(f"{_TABLE}number-rows-repeated"), 1), 1)
            row = self._row(element, number=number, merged=merged)
            for again in range(min(repeats, _MAX_REPEATS) if row else 0):
                cells[number + again] = dict(row)
                self._length += sum(len(text) + 3 for text in row.values())
                check_length(self._length, max_characters=self._max_characters)
            number += repeats
        spread_merged_cells(cells, merged)
        return cells, merged

    def _row(self, element: _Element, *, number: int, merged: list[_Range]) -> dict[int, str]:
        row: dict[int, str] = {}
        column = 0
        for cell in element.iterfind("*"):
            repeats = max(integer_attribute(cell.get(f"{_TABLE}number-columns-repeated"), 1), 1)
            text = inline_blocks(self.children(cell)) or _value(cell)
            for again in range(min(repeats, _MAX_REPEATS) if text.strip() else 0):
                row[column + again] = text
            down = max(integer_attribute(cell.get(f"{_TABLE}number-rows-spanned"), 1), 1)
            across = max(integer_attribute(cell.get(f"{_TABLE}number-columns-spanned"), 1), 1)
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


_BODIES = ("text", "spreadsheet", "presentation", "drawing")


def read_opendocument(data: bytes, options: ReadOptions) -> Content:
    """Read an .odt, .ods or .odp, identified by content. Slides are pages.

    Raises:
        SourceError: encrypted, damaged, no OpenDocument, or larger than the options allow.
    """
    if data.startswith(OLE_MAGIC):
        raise SourceError(why_old_container(data, kind="OpenDocument file"))
    root, meta, styles = _parts(data, options=options)
    body = root.find("{*}body")
    inside = (
        None
        if body is None
        else next(
            (child for name in _BODIES if (child := body.find(f"{{*}}{name}")) is not None), None
        )
    )
    if inside is None:
        raise SourceError("is damaged, or not an OpenDocument file: it has no body of a known kind")
    title, metadata = (None, {}) if meta is None else properties_of(meta)
    text, pages, first = _written(inside, root=root, styles=styles, options=options)
    return Content(
        text=text, title=title or first, pages=pages, shape="markdown", metadata=metadata
    )


def _parts(
    data: bytes, *, options: ReadOptions
) -> tuple[_Element, _Element | None, _Element | None]:
    """Return content, metadata and styles; one file for flat documents."""
    if not data.startswith(b"PK"):
        if b"urn:oasis:names:tc:opendocument" not in data[:4096]:
            raise SourceError("is damaged, or not an OpenDocument file: save it again")
        flat = xml_root(data, name="content")
        return flat, flat.find("{*}meta"), flat
    container = Container(data, options=options)
    if container.find("content.xml") is None:
        raise SourceError("is damaged, or not an OpenDocument file: its content is missing")
    if b"encryption-data" in _read(container, "META-INF/manifest.xml"):
        raise SourceError("is encrypted: save it without a password")
    meta, styles = _read(container, "meta.xml"), _read(container, "styles.xml")
    return (
        xml_root(container.read("content.xml"), name="content.xml"),
        xml_root(meta, name="meta.xml") if meta else None,
        xml_root(styles, name="styles.xml") if styles else None,
    )


def _read(container: Container, name: str) -> bytes:
    found = container.find(name)
    return container.read(found) if found else b""


def _written(
    inside: _Element, *, root: _Element, styles: _Element | None, options: ReadOptions
) -> tuple[str, tuple[int, ...], str | None]:
    """Return the text, slide starts, and a title from the text."""
    writer = OpenText(root, styles=styles, max_characters=options.max_characters)
    kind = inside.tag.rpartition("}")[2]
    if kind == "text":
        text = sanitise_text(
            join_blocks([*writer.children(inside), *writer.notes(), *_headers(writer, styles)])
        )
        check_length(len(text), max_characters=options.max_characters)
        return text, (), markdown_title(text)
    if kind == "spreadsheet":
        return sanitise_text(join_blocks(writer.sheets(inside))), (), None
    texts: list[str] = []
    starts: list[int] = []
    first: str | None = None
    for number, page in enumerate(inside.iterfind("{*}page"), start=1):
        title, blocks = writer.slide(page)
        name = one_line(title) or f"Slide {number}"
        first = (one_line(title) or None) if number == 1 else first
        starts.append(sum(map(len, texts)) + 2 * len(texts))
        texts.append(sanitise_text(join_blocks([markdown_heading(name, level=2), *blocks])))
    text = "\n\n".join(texts)
    check_length(len(text), max_characters=options.max_characters)
    return text, tuple(starts), first


def _headers(writer: OpenText, styles: _Element | None) -> Iterator[Block]:
    """Return distinct header and footer texts, without bare page numbers."""
    seen: set[str] = set()
    for element in [] if styles is None else styles.iter("{*}header", "{*}footer"):
        text = join_blocks(writer.children(element))
        if text not in seen and any(character.isalpha() for character in text):
            seen.add(text)
            yield Block(text)


_CONTAINER = "META-INF/container.xml"
_PAGES = frozenset(
    {"application/xhtml+xml", "text/html", "application/xml", "text/x-oeb1-document"}
)
_DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*\?>")
_HEADING = re.compile(r"^#{1,6} ", re.M)
_ENCODING = re.compile(rb"""\A[^>]{0,200}encoding\s*=\s*["']([A-Za-z0-9_.-]+)""")


class _Manifested(NamedTuple):
    path: str
    media_type: str
    properties: str


def read_epub(data: bytes, options: ReadOptions) -> Content:
    """Read an e-book's chapters in order, without navigation; `pages` are the chapters.

    A chapter without a heading gets the one that the table of contents gives it.

    Raises:
        SourceError: encrypted (DRM), damaged, no book, or larger than the options allow.
    """
    container = Container(data, options=options)
    name = _package_name(container)
    package = _xml(container, name)
    if package is None:
        raise SourceError("is damaged, or not an e-book: its package file is missing")
    items = _manifest(package, folder=posixpath.dirname(name))
    labels = _labels(container, package, items)
    texts: list[str] = []
    starts: list[int] = []
    length = 0
    for path in _spine(package, items):
        text = _chapter(container, path, label=labels.get(path, ""))
        if text:
            starts.append(length)
            texts.append(text)
            length += len(text) + 2
            check_length(length, max_characters=options.max_characters)
    if not texts:
        raise SourceError(_why_nothing(container))
    title, metadata = _properties(package)
    return Content(
        text="\n\n".join(texts),
        title=title,
        pages=tuple(starts),
        shape="markdown",
        metadata=metadata,
    )


def _package_name(container: Container) -> str:
    """Return the package file named by the container, else the only one."""
    root = _xml(container, _CONTAINER)
    for found in [] if root is None else root.iter("{*}rootfile"):
        name = container.find(unquote(found.get("full-path", "")))
        if name:
            return name
    name = next((name for name in sorted(container.names) if name.lower().endswith(".opf")), None)
    if name is None:
        raise SourceError("is damaged, or not an e-book: its package file is missing")
    return name


def _properties(package: _Element) -> tuple[str | None, dict[str, MetaValue]]:
    metadata = package.find("{*}metadata")
    return (None, {}) if metadata is None else properties_of(metadata)


def _manifest(package: _Element, *, folder: str) -> dict[str, _Manifested]:
    return {
        item.get("id", ""): _Manifested(
            path=_resolved(folder, item.get("href", "")),
            media_type=item.get("media-type", ""),
            properties=item.get("properties", ""),
        )
        for item in package.iterfind("{*}manifest/{*}item")
    }


def _spine(package: _Element, items: dict[str, _Manifested]) -> Iterator[str]:
    """Return chapter paths in reading order; without a spine in container order."""
    references = [ref.get("idref", "") for ref in package.iterfind("{*}spine/{*}itemref")]
    for id_ in dict.fromkeys(references or items):
        item = items.get(id_)
        if item and item.media_type in _PAGES and "nav" not in item.properties.split():
            yield item.path


def _labels(
    container: Container, package: _Element, items: dict[str, _Manifested]
) -> dict[str, str]:
    """Return the contents entry of each chapter: the first that points into it."""
    labels: dict[str, str] = {}
    spine = package.find("{*}spine")
    toc = items.get("" if spine is None else spine.get("toc", ""))
    navigation = [item for item in items.values() if "nav" in item.properties.split()]
    for item in [*navigation, *([toc] if toc else [])]:
        root = _xml(container, item.path)
        folder = posixpath.dirname(item.path)
        for entry in [] if root is None else root.iter("{*}a", "{*}navPoint"):
            target = entry.get("href")
            if target is None:
                content = entry.find("{*}content")
                target = "" if content is None else content.get("src", "")
                label = entry.findtext("{*}navLabel/{*}text") or ""
            else:
                label = "".join(map(str, entry.itertext()))
            labels.setdefault(_resolved(folder, target), one_line(sanitise_text(label)))
    return labels


def _chapter(container: Container, path: str, *, label: str) -> str:
    name = container.find(path)
    if name is None:
        return ""  # named in the spine, but not in the book: publishers do that with notes
    from lxml import etree, html

    data = container.read(name)
    declared = _ENCODING.match(data)
    encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        parser = html.HTMLParser(encoding=encoding)
    except LookupError:
        parser = html.HTMLParser(encoding="utf-8")
    try:
        tree = html.document_fromstring(_DECLARATION.sub(b"", data), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return ""  # a page with nothing on it, such as one that only holds the cover
    text = sanitise_text(as_markdown(tree)).strip()
    if text and label and not _HEADING.search(text[:2000]):
        return f"## {label}\n\n{text.removeprefix(label).lstrip()}"
    return text


def _why_nothing(container: Container) -> str:
    if container.find("META-INF/encryption.xml") and container.find("META-INF/rights.xml"):
        return "is encrypted (copy protection): only its publisher's reader can open it"
    return "is empty: there is no text in this e-book"


def _resolved(folder: str, reference: str) -> str:
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join(folder, path)).lstrip("/") if path else ""


def _xml(container: Container, name: str) -> _Element | None:
    found = container.find(name)
    return xml_root(container.read(found), name=name) if found else None
