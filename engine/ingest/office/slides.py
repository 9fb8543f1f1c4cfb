"""Slides as Markdown: title, texts, tables, charts, notes, comments.

Shapes come in the file's order, which is the order in which a screen reader speaks them. Knows
nothing of containers' safety or metadata.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..markdown_blocks import Block, heading, paragraph
from .drawing import A, chart_blocks, diagram_blocks, line_of, table_block, text_blocks
from .package import RELATIONSHIPS, Package, Part

if TYPE_CHECKING:
    from lxml.etree import _Element

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_TITLES = frozenset({"title", "ctrTitle"})
_ON_EVERY_SLIDE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_BULLETED = frozenset({"body", "obj"})


def slides(package: Package) -> Iterator[list[Block]]:
    """Yield slides in shown order, hidden ones included."""
    main = package.main()
    root = package.xml(main)
    related = package.relations(main)
    references = [] if root is None else root.iterfind(f"{P}sldIdLst/{P}sldId")
    for number, reference in enumerate(references, start=1):
        part = related.get(reference.get(f"{RELATIONSHIPS}id", ""))
        slide = package.xml(part.name) if part else None
        if part is not None and slide is not None:
            related_parts = package.relations(part.name)
            yield list(_slide(slide, number=number, related=related_parts, package=package))


def _slide(
    slide: _Element, *, number: int, related: dict[str, Part], package: Package
) -> Iterator[Block]:
    tree = slide.find(f"{P}cSld/{P}spTree")
    shapes = [] if tree is None else list(_shapes(tree))
    title = next((shape for shape in shapes if _placeholder(shape) in _TITLES), None)
    text = "" if title is None else " ".join(line_of(line) for line in title.iter(f"{A}p"))
    yield heading(text if text.strip() else f"Slide {number}", level=2)
    for shape in shapes:
        if shape is not title:
            yield from _shape(shape, related=related, package=package)
    for part in sorted(set(related.values())):
        root = package.xml(part.name) if part.kind in ("notesSlide", "comments") else None
        if root is not None:
            yield from _notes(root) if part.kind == "notesSlide" else _comments(root)


def _shapes(tree: _Element) -> Iterator[_Element]:
    for child in tree:
        if not isinstance(child.tag, str):
            continue
        name = child.tag.rpartition("}")[2]
        if name == "grpSp":
            yield from _shapes(child)
        elif name == "AlternateContent":  # the same thing twice, for new and old programs
            yield from _shapes(child[0]) if len(child) else ()
        elif name in ("sp", "graphicFrame", "pic", "cxnSp"):
            yield child


def _shape(shape: _Element, *, related: dict[str, Part], package: Package) -> Iterator[Block]:
    kind = _placeholder(shape)
    if kind in _ON_EVERY_SLIDE:
        return
    body = shape.find(f"{P}txBody")
    if body is not None:
        several = len(body.findall(f"{A}p")) > 1
        yield from text_blocks(body, bulleted=several and kind in _BULLETED)
    for table in shape.iter(f"{A}tbl"):
        yield table_block(table)
    for reference in shape.iter("{*}chart", "{*}relIds"):
        is_chart = reference.tag.endswith("}chart")
        part = related.get(reference.get(f"{RELATIONSHIPS}{'id' if is_chart else 'dm'}", ""))
        root = package.xml(part.name) if part else None
        if root is not None:
            yield from chart_blocks(root) if is_chart else diagram_blocks(root)
    if shape.tag == f"{P}pic":
        described = shape.find(f"{P}nvPicPr/{P}cNvPr")
        text = "" if described is None else " ".join((described.get("descr") or "").split())
        yield paragraph(f"![{text}]()" if text else "")


def _placeholder(shape: _Element) -> str:
    """Return the placeholder type; "obj" for plain ones, empty for none."""
    found = shape.find(f"*/{P}nvPr/{P}ph")
    return "" if found is None else found.get("type", "obj")


def _notes(root: _Element) -> Iterator[Block]:
    lines = [
        line
        for shape in root.iter(f"{P}sp")
        if _placeholder(shape) not in _ON_EVERY_SLIDE
        for element in shape.iter(f"{A}p")
        if (line := line_of(element))
    ]
    if lines:
        yield paragraph("Notes: " + "\n".join(lines))


def _comments(root: _Element) -> Iterator[Block]:
    """Return comments, plain or threaded."""
    for comment in root.iter("{*}text", "{*}txBody"):
        lines = [line_of(line) for line in comment.iter(f"{A}p")] or [comment.text or ""]
        text = " ".join(" ".join(lines).split())
        yield Block(f"> Comment: {text}" if text else "")
