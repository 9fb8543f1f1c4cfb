"""Rows and records to Markdown in which every one can be understood alone.

A small table stays a pipe table. A longer one would be cut behind its header, and a row without
its header says nothing: it is written a row a paragraph, `column: value; column: value`, so that
a chunk, a quotation or a search hit never parts a value from its name. Knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest

from ...errors import SourceError
from ..content import one_line

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
        block = record(list(zip_longest(labels, row[: max(len(labels), len(row))], fillvalue="")))
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
    cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
    return "| " + " | ".join([*cells, *[""] * (width - len(cells))]) + " |"


def record(fields: Pairs) -> str:
    """One record: its short fields on one line, each long one below under its name.

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
    """Return a longer text with its lines, blank ones single."""
    return _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\r", "\n").strip())


def joined(blocks: Iterable[str], *, limit: int, separator: str = "\n\n") -> str:
    """Join blocks; fails once the text exceeds the document limit.

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


def sample(rows: Iterable[Sequence[str]], count: int) -> list[Sequence[str]]:
    """Return the first `count` rows."""
    return list(islice(rows, count))
