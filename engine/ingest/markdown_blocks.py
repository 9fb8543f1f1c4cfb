"""Markdown blocks: paragraphs, list items, code, pipe tables.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ..errors import SourceError

_LOOKS_LIKE_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.M)
_LINE_BREAKS = re.compile(r"(?<!\s)\s*[\n\r\v\f\u2028\u2029]\s*")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_ITEM_INDENT = "   "


class Block(NamedTuple):
    """A piece of a document; `text` is already Markdown, except in code."""

    text: str
    kind: Literal["text", "item", "code", "table"] = "text"


def joined(blocks: Iterable[Block]) -> str:
    """Join blocks with blank lines, except between list items and code lines."""
    parts: list[str] = []
    before = ""
    for text, kind in blocks:
        if not text.strip() and not (kind == before == "code"):
            continue
        if before == "code" and kind != "code":
            parts.append("\n```")
        if parts:
            parts.append("\n" if kind == before and kind in ("item", "code") else "\n\n")
        if kind == "code" and before != "code":
            parts.append("```\n")
        parts.append(text.rstrip() if kind == "code" else text.strip("\n").rstrip())
        before = kind
    if before == "code":
        parts.append("\n```")
    return "".join(parts)


def heading(text: str, *, level: int) -> Block:
    """Return a heading on one line; at most level six."""
    line = " ".join(text.split())
    return Block(f"{'#' * min(max(level, 1), 6)} {line}" if line else "")


def paragraph(text: str) -> Block:
    """Return a paragraph, escaping accidental heading marks."""
    return Block(_LOOKS_LIKE_HEADING.sub("\\\\", text.strip()))


def item(text: str, *, level: int = 0, mark: str = "-") -> Block:
    """Return a list item; `level` 0 is outermost."""
    line = _LINE_BREAKS.sub(" ", text.strip())
    return Block(f"{_ITEM_INDENT * min(level, 8)}{mark} {line}" if line else "", "item")


def code(line: str) -> Block:
    """Return a code line; adjacent ones form a fenced block."""
    return Block(line.replace("```", "'''"), "code")


def pipe_table(rows: Sequence[Sequence[str]]) -> Block:
    """Return a pipe table with the first row as header.

    Empty rows and columns are dropped.
    """
    kept = [[_cell(cell) for cell in row] for row in rows if any(cell.strip() for cell in row)]
    if not kept:
        return Block("")
    width = max(map(len, kept))
    padded = [row + [""] * (width - len(row)) for row in kept]
    columns = [column for column in range(width) if any(row[column] for row in padded)]
    lines = [f"| {' | '.join(row[column] for column in columns)} |" for row in padded]
    return Block("\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]]), "table")


def inline(blocks: Iterable[Block]) -> str:
    """Return blocks on one line for a table cell; nested tables as bare cells."""
    return " ".join(_bare(text) if kind == "table" else text for text, kind in blocks if text)


def check_length(length: int, *, max_characters: int) -> None:
    """Refuse a text that has become too long while it is still being put together."""
    if length > max_characters:
        raise SourceError(
            f"is too large: more than {max_characters:,} characters; split it, "
            "or raise ingest.max_document_characters"
        )


def _bare(table: str) -> str:
    header, _, *rows = table.split("\n")
    cells = (_CELL_EDGE.sub(" ", row).strip() for row in (header, *rows))
    return "; ".join(" ".join(row.split()) for row in cells)


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return _CELL_EDGE.sub(r"\\|", line) if "|" in line else line
