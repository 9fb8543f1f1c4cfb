"""OpenDocument texts, sheets and presentations (LibreOffice) as Markdown.

The XML is walked here: a library that builds an object a cell has no limit for the millions of
repeated cells that a sheet's end is stored as. Follows OASIS OpenDocument 1.3, part 3. Knows
nothing of files or chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..archives.zipped import Container
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..markdown_blocks import Block, check_length, heading, joined
from ..text.markdown import markdown_title
from .opendocument_text import OpenText
from .package import OLE_MAGIC, properties_of, why_old_container, xml_root

if TYPE_CHECKING:
    from lxml.etree import _Element

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
        raise SourceError("is damaged, or no OpenDocument file: it has no body of a known kind")
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
            raise SourceError("is damaged, or no OpenDocument file: save it again")
        flat = xml_root(data, name="content")
        return flat, flat.find("{*}meta"), flat
    container = Container(data, options=options)
    if container.find("content.xml") is None:
        raise SourceError("is damaged, or no OpenDocument file: its content is missing")
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
            joined([*writer.children(inside), *writer.notes(), *_headers(writer, styles)])
        )
        check_length(len(text), max_characters=options.max_characters)
        return text, (), markdown_title(text)
    if kind == "spreadsheet":
        return sanitise_text(joined(writer.sheets(inside))), (), None
    texts: list[str] = []
    starts: list[int] = []
    first: str | None = None
    for number, page in enumerate(inside.iterfind("{*}page"), start=1):
        title, blocks = writer.slide(page)
        name = one_line(title) or f"Slide {number}"
        first = (one_line(title) or None) if number == 1 else first
        starts.append(sum(map(len, texts)) + 2 * len(texts))
        texts.append(sanitise_text(joined([heading(name, level=2), *blocks])))
    text = "\n\n".join(texts)
    check_length(len(text), max_characters=options.max_characters)
    return text, tuple(starts), first


def _headers(writer: OpenText, styles: _Element | None) -> Iterator[Block]:
    """Return distinct header and footer texts, without bare page numbers."""
    seen: set[str] = set()
    for element in [] if styles is None else styles.iter("{*}header", "{*}footer"):
        text = joined(writer.children(element))
        if text not in seen and any(character.isalpha() for character in text):
            seen.add(text)
            yield Block(text)
