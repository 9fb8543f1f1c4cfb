"""Markdown-like structure: blocks (headings, paragraphs, tables, code) and sections.

Blocks are in order, do not overlap, and cover all characters but white space. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..ingest.text.markdown import front_matter_end
from .headings import Heading, HeadingNeighbours, atx_heading, plain_heading, underlined_heading

Kind = Literal["heading", "text", "table", "code", "front"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)、])[ \t]")
_DELIMITER_CELL = r"[ \t]*+:?-{2,}+:?[ \t]*+"
_DELIMITER_ROW = re.compile(rf"[ \t]*+\|?{_DELIMITER_CELL}(?:\|{_DELIMITER_CELL})*+(?:\|[ \t]*+)?$")
_LONG_LINE = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Block `text[start:end]`, trimmed. `heading` is None for other kinds."""

    start: int
    end: int
    kind: Kind
    heading: Heading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks under one heading, which comes first; `path` leads there from the root.

    Headings with nothing between them and the next stand at the head of the next section.
    """

    path: tuple[str, ...]
    blocks: tuple[Block, ...]


def sections(text: str, *, markdown: bool) -> list[Section]:
    """Split a text into sections in order; together they hold all blocks."""
    result: list[Section] = []
    stack: list[Heading] = []
    gathered: list[Block] = []
    bare = True
    path: tuple[str, ...] = ()
    for block in blocks(text, markdown=markdown):
        if block.heading is not None:
            if not bare:
                result.append(Section(path=path, blocks=tuple(gathered)))
                gathered, bare = [], True
            while stack and stack[-1].level >= block.heading.level:
                stack.pop()
            stack.append(block.heading)
            path = tuple(heading.text for heading in stack if heading.text)
        gathered.append(block)
        bare = bare and block.kind in ("heading", "front")
    if gathered:
        result.append(Section(path=path, blocks=tuple(gathered)))
    return result


def blocks(text: str, *, markdown: bool, start: int = 0, end: int | None = None) -> list[Block]:
    """Split `text[start:end]` into blocks.

    Without `markdown`, `#` needs blank lines around it.
    """
    stop = len(text) if end is None else end
    front = front_matter_end(text) if markdown and start == 0 and end is None else 0
    found = list(_Lines(text, max(front, start), stop, markdown=markdown).blocks())
    return [*([_trimmed(text, 0, front, "front")] if front else []), *found]


def is_delimiter_row(line: str) -> bool:
    """Check whether a line separates a table's header from its rows."""
    return _DELIMITER_ROW.match(line) is not None


def _trimmed(text: str, start: int, end: int, kind: Kind) -> Block:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Block(start=start, end=end, kind=kind)


class _Lines:
    """One pass over the lines; `at` is the line in hand."""

    def __init__(self, text: str, begin: int, end: int, *, markdown: bool) -> None:
        self.text = text
        self.markdown = markdown
        self.spans = [found.span() for found in _LINE.finditer(text, begin, end) if found.group()]
        self.at = 0
        self.last_was_heading = False

    def line(self, at: int) -> str:
        if not 0 <= at < len(self.spans):
            return ""
        return self.text[slice(*self.spans[at])].rstrip("\r\n")

    def blocks(self) -> Iterator[Block]:
        while self.at < len(self.spans):
            if not self.line(self.at).strip():
                self.at += 1
                continue
            heading = self.heading()
            if heading is not None:
                lines, value = heading
                block = self.taken(lines, "heading")
                yield Block(start=block.start, end=block.end, kind="heading", heading=value)
            elif _FENCE.match(self.line(self.at)):
                yield self.taken(self.fenced(), "code")
            elif self.begins_table():
                yield self.taken(self.rows(), "table")
            else:
                yield self.taken(self.paragraph(), "text")
            self.last_was_heading = heading is not None

    def taken(self, count: int, kind: Kind) -> Block:
        first, last = self.spans[self.at], self.spans[self.at + count - 1]
        self.at += count
        return _trimmed(self.text, first[0], last[1], kind)

    def heading(self) -> tuple[int, Heading] | None:
        """Return the heading that begins here and its number of lines."""
        line = self.line(self.at)
        atx = atx_heading(line)
        if atx is not None and (self.markdown or self.stands_alone()):
            return 1, atx
        following = self.line(self.at + 1)
        under = underlined_heading(line, following)
        if under is not None and not (self.begins_table() or _ITEM.match(line)):
            return 2, under
        plain = None if self.markdown else plain_heading(line, self.around())
        return None if plain is None else (1, plain)

    def stands_alone(self) -> bool:
        around = self.around()
        return around.blank_before and around.blank_after

    def around(self) -> HeadingNeighbours:
        blank_before = self.last_was_heading or not self.line(self.at - 1).strip()
        return HeadingNeighbours(
            blank_before=blank_before,
            blank_after=not self.line(self.at + 1).strip(),
            before=self.nearest(-1),
            after=self.nearest(1),
        )

    def nearest(self, step: int) -> str:
        """Return the nearest non-blank line within a few lines."""
        lines = (self.line(self.at + step * distance) for distance in (1, 2, 3))
        return next((line for line in lines if line.strip()), "")

    def fenced(self) -> int:
        opening = _FENCE.match(self.line(self.at))
        mark = opening.group(1) if opening else "```"
        count = 1
        while self.at + count < len(self.spans):
            line = self.line(self.at + count).strip()
            count += 1
            if line.startswith(mark) and not line.strip(mark[0]):
                break
        return count

    def begins_table(self) -> bool:
        line = self.line(self.at)
        following = self.line(self.at + 1)
        if "|" not in line:
            return False
        is_row = line.lstrip().startswith("|") and following.lstrip().startswith("|")
        return is_row or ("|" in following and is_delimiter_row(following))

    def rows(self) -> int:
        count = 1
        while "|" in self.line(self.at + count):
            count += 1
        return count

    def paragraph(self) -> int:
        """Return lines up to a blank one, the next list item, or another kind of block."""
        first, count = self.at, 1
        while self.line(first + count).strip():
            self.at = first + count
            if self.starts_new_block():
                break
            count += 1
        self.at = first
        return count

    def starts_new_block(self) -> bool:
        line, before = self.line(self.at), self.line(self.at - 1)
        if _ITEM.match(line) or _FENCE.match(line) or line.startswith(("\u3000", "\t")):
            return True
        if len(before) > _LONG_LINE or self.begins_table():
            return True  # a line that long is a paragraph of its own, not one of a set measure
        return self.markdown and atx_heading(line) is not None
