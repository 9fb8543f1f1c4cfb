"""Markdown blocks: paragraphs, lists, code, tables and records.

A small table stays a pipe table. A longer one would be cut behind its header, and a row without its
header says nothing: it is written a row a paragraph, `column: value; column: value`, so that a
chunk, a quotation or a search hit never parts a value from its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Literal, NamedTuple

from ...errors import SourceError
from ..document import one_line, unix_newlines

_LOOKS_LIKE_HEADING = re.compile(r"^(?=#{1,6}[ \t])", re.M)
_LINE_BREAKS = re.compile(r"(?<!\s)\s*[\n\r\v\f\u2028\u2029]\s*")
_CELL_EDGE = re.compile(r"(?<!\\)\|")
_ITEM_INDENT = "   "


class Block(NamedTuple):
    """A piece of a document; `text` is already Markdown, except in code."""

    text: str
    kind: Literal["text", "item", "code", "table"] = "text"


def join_blocks(blocks: Iterable[Block]) -> str:
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


def markdown_heading(text: str, *, level: int) -> Block:
    """Return a Markdown heading on one line; at most level six."""
    line = " ".join(text.split())
    return Block(f"{'#' * min(max(level, 1), 6)} {line}" if line else "")


def markdown_paragraph(text: str) -> Block:
    """Return a Markdown paragraph, escaping accidental heading marks."""
    return Block(_LOOKS_LIKE_HEADING.sub("\\\\", text.strip()))


def list_item(text: str, *, level: int = 0, mark: str = "-") -> Block:
    """Return a Markdown list item; `level` 0 is outermost."""
    line = _LINE_BREAKS.sub(" ", text.strip())
    return Block(f"{_ITEM_INDENT * min(level, 8)}{mark} {line}" if line else "", "item")


def code_line(line: str) -> Block:
    """Return a Markdown code line; adjacent ones form a fenced block."""
    return Block(line.replace("```", "'''"), "code")


def block_table(rows: Sequence[Sequence[str]]) -> Block:
    """Return a pipe table with the first row as header.

    Empty rows and columns are dropped.
    """
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    if not kept:
        return Block("")
    width = max(map(len, kept))
    padded = [[*row, *[""] * (width - len(row))] for row in kept]
    columns = [column for column in range(width) if any(row[column].strip() for row in padded)]
    header, *others = ([row[column] for column in columns] for row in padded)
    return Block(pipe_table(header, others), "table")


def inline_blocks(blocks: Iterable[Block]) -> str:
    """Return Markdown blocks on one line for a table cell; nested tables as bare cells."""
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


_TABLE_LIMIT = 1_200
"""A table of so many characters lies well inside one chunk."""
_TABLE_ROW_LIMIT = 160
"""A longer row is read more easily with its names beside the values."""
_LONG_VALUE = 300
_LABEL_LIMIT = 80
_BLANK_LINES = re.compile(r"\n[ \t\r\f\v]*(?:\n[ \t\r\f\v]*)+")

Pairs = Sequence[tuple[str, str]]
"""The fields of one record, in order: name and value, both text."""


def table_or_records(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Blocks of Markdown, in the order of the rows, to be set apart by blank lines.

    Rows may be ragged: a missing cell is left out, one too many stands without a name. An empty
    `header` means that the columns have no names; rows are then pipe rows whatever their number.
    """
    coming = iter(rows)
    labels = [one_line(label, limit=_LABEL_LIMIT) for label in header]
    first = list(_while_small(coming))
    rest = next(coming, None)
    if rest is None and _is_small(labels, first):
        yield pipe_table(labels, first)
        return
    everything = chain(first, [] if rest is None else [rest], coming)
    if not any(labels):
        yield from (pipe_row(row) for row in everything if any(map(str.strip, row)))
        return
    for row in everything:
        block = record_block(
            list(zip_longest(labels, row[: max(len(labels), len(row))], fillvalue=""))
        )
        if block:
            yield block


def _while_small(rows: Iterator[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Rows up to about what a small table holds."""
    size = 0
    while size <= _TABLE_LIMIT:
        row = next(rows, None)
        if row is None:
            return
        size += sum(map(len, row)) + 3 * len(row)
        yield row


def _is_small(labels: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    sizes = [sum(map(len, row)) + 3 * len(row) for row in (labels, *rows)]
    return sum(sizes) <= _TABLE_LIMIT and max(sizes) <= _TABLE_ROW_LIMIT


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table as wide as its widest row; cells on one line."""
    width = max((len(row) for row in (header, *rows)), default=0)
    lines = [pipe_row(row, width=width) for row in rows]
    return "\n".join([pipe_row(header, width=width), "|" + " --- |" * width, *lines])


def pipe_row(row: Sequence[str], *, width: int = 0) -> str:
    """One row of a Markdown table, filled up with empty cells to `width`."""
    cells = [_cell(cell) for cell in row]
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"


def record_block(fields: Pairs) -> str:
    """Return one record as Markdown: short fields on one line, each long one below its name.

    Empty values are left out; a record without any is an empty text.
    """
    filled = [(name, value.strip()) for name, value in fields if value and not value.isspace()]
    short = [(name, value) for name, value in filled if not _is_long(value)]
    parts = ["; ".join(_pair(name, " ".join(value.split())) for name, value in short)]
    parts += [_pair(name, paragraphs(value)) for name, value in filled if _is_long(value)]
    return "\n".join(filter(None, parts))


def _is_long(value: str) -> bool:
    return len(value) > _LONG_VALUE


def _pair(name: str, value: str) -> str:
    return f"{name}: {value}" if name else value


def paragraphs(text: str) -> str:
    """Return a longer text as Markdown with its lines, blank ones single."""
    return _BLANK_LINES.sub("\n\n", unix_newlines(text).strip())


def join_paragraphs(blocks: Iterable[str], *, limit: int, separator: str = "\n\n") -> str:
    """Join Markdown texts; fails once the text exceeds the document limit.

    Raises:
        SourceError: more than `limit` characters; names repeated with every value can make a text
            many times larger than its file.
    """
    found: list[str] = []
    size = 0
    for block in blocks:
        size += len(block) + len(separator)
        if size > limit + len(separator):
            raise SourceError(
                f"is too large: more than {limit:,} characters once written out; "
                "split it, or raise ingest.max_document_characters"
            )
        found.append(block)
    return separator.join(found)


def sample_rows(rows: Iterable[Sequence[str]], count: int) -> list[Sequence[str]]:
    """Return the first `count` rows of a table, to detect its header."""
    return list(islice(rows, count))
