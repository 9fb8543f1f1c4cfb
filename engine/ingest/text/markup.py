"""AsciiDoc and reStructuredText as Markdown: headings, lists, tables, code.

Line by line and without running anything: files that are taken in and values that are computed
are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..content import Content, ReadOptions, one_line, sanitise_text
from ..structured.records import joined
from .asciidoc import asciidoc_blocks
from .markdown import described, markdown_title
from .plain import decode
from .restructured import restructured_blocks

_AUTHOR = re.compile(r":author:[ \t]*(\S.*)", re.I)
_DATE = re.compile(r":(?:rev)?date:[ \t]*(\S.*)", re.I)
_KEYWORDS = re.compile(r":(?:keywords|tags):[ \t]*(\S.*)", re.I)
_ITEM = re.compile(r" *(?:-|1\.) ")
_HEAD_LINES = 60


def read_asciidoc(data: bytes, options: ReadOptions) -> Content:
    """AsciiDoc as Markdown; author, date and keywords of its head are metadata.

    Raises:
        SourceError: not text, or too large.
    """
    lines = _lines(data)
    return _content(lines, asciidoc_blocks(lines), options=options)


def read_restructured(data: bytes, options: ReadOptions) -> Content:
    """Read reStructuredText; author, date and tags of its first fields are metadata.

    Raises:
        SourceError: not text, or too large.
    """
    lines = _lines(data)
    return _content(lines, restructured_blocks(lines), options=options)


def _lines(data: bytes) -> list[str]:
    return [line.rstrip() for line in decode(data).expandtabs(4).splitlines()]


def _content(lines: list[str], blocks: Iterator[str], *, options: ReadOptions) -> Content:
    text = sanitise_text(joined(_together(blocks), limit=options.max_characters))
    head = "\n".join(lines[:_HEAD_LINES])
    found = {
        name: match.group(1)
        for name, pattern in (("author", _AUTHOR), ("date", _DATE), ("tags", _KEYWORDS))
        if (match := pattern.search(head))
    }
    title = markdown_title(text)
    return Content(
        text=text, title=title and one_line(title), shape="markdown", metadata=described(found)
    )


def _together(blocks: Iterator[str]) -> Iterator[str]:
    """Return non-empty blocks with list items grouped."""
    items: list[str] = []
    for block in filter(None, blocks):
        if _ITEM.match(block):
            items.append(block)
            continue
        if items:
            yield "\n".join(items)
            items = []
        yield block
    if items:
        yield "\n".join(items)
