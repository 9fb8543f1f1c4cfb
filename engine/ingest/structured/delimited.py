"""Delimited tables (CSV, TSV): separator and header detection."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from ...errors import SourceError
from ..content import Content, ReadOptions, one_line
from ..text.plain import decode
from .records import joined, sample, table_or_records

_SEPARATORS = ",;\t|"
_SAMPLE_ROWS = 200
_SAMPLE_CHARACTERS = 1 << 17
_LONGEST_CELL = 131_072
"""Maximum cell length, instead of the standard library's."""
_LONGEST_NAME = 300
_SAID = re.compile(r"\Asep=(.)\r?\n", re.I)
_NUMBER = re.compile(r"[-+(]?[$€£¥]?\s?\d[\d.,' \u00a0]*(?:[eE][-+]?\d+)?\s?[%)]?[$€£¥]?")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_DATE = re.compile(
    r"\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}日?(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"
)
_ADDRESS = re.compile(r"https?://\S+|[^\s@]++@[^\s@]+\.\w+")


def read_delimited(data: bytes, options: ReadOptions) -> Content:
    """Read rows as Markdown: a pipe table if small, else a paragraph of named values each.

    Lines above the header that are no rows of the table (a title, a note) stay before it.

    Raises:
        SourceError: not text, or larger than a document may be once written out.
    """
    text = decode(data)
    said = _SAID.match(text)
    body = text[said.end() :] if said else text
    separator = said.group(1) if said else separator_of(body[:_SAMPLE_CHARACTERS])
    quoted = _quotes_close(body, separator)
    first = sample(_rows(body, separator, quoted=quoted), _SAMPLE_ROWS)
    notes = _notes(first)
    rows = _rows(body, separator, quoted=quoted)
    above = [one_line(" ".join(filter(None, row)), limit=500) for row in sample(rows, notes)]
    header: Sequence[str] = ()
    if has_header(first[notes:]):
        header = next(rows, [])
    blocks = chain(above, table_or_records(header, rows))
    written = joined(blocks, limit=options.max_characters)
    return Content(text=written, title=one_line(above[0]) if above else None, shape="markdown")


def separator_of(text: str) -> str:
    """Detect the separator that gives most rows equal cell counts.

    A comma where nothing parts them (a single column).
    """
    best, best_score = ",", 0.0
    for separator in _SEPARATORS:
        widths = [len(row) for row in sample(_rows(text, separator, quoted=True), _SAMPLE_ROWS)]
        counted = Counter(width for width in widths if width > 1)
        if not counted:
            continue
        width, count = max(counted.items(), key=lambda item: (item[1], item[0]))
        score = count / len(widths) + min(width, 20) / 100
        if count > 1 or len(widths) == 1:
            score += 0.5
        if score > best_score:
            best, best_score = separator, score
    return best


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Detect a header row by cell types."""
    if not rows or sum(1 for cell in rows[0] if cell.strip()) * 2 <= len(rows[0]):
        return False
    if any(len(cell) > _LONGEST_NAME for cell in rows[0]):
        return False  # a text, which would be cut where it names a column
    votes = 0
    for column, name in enumerate(rows[0]):
        below = [row[column].strip() for row in rows[1:] if column < len(row)]
        votes += _vote(name.strip(), [cell for cell in below if cell])
    return votes >= 0 and len(set(rows[0])) == len(rows[0])


def _vote(name: str, below: Sequence[str]) -> int:
    if not below or not name:
        return 0
    kind, kinds = _kind(name), Counter(map(_kind, below))
    usual, count = max(kinds.items(), key=lambda item: (item[1], item[0]))
    if kind != usual:
        return 1 if usual != "text" and count > 0.6 * len(below) else 0
    return -1 if kind != "text" or name in below else 0


def _kind(cell: str) -> str:
    for kind, pattern in (
        ("year", _YEAR),
        ("number", _NUMBER),
        ("date", _DATE),
        ("address", _ADDRESS),
    ):
        if pattern.fullmatch(cell):
            return kind
    return "text"


def _notes(rows: Sequence[Sequence[str]]) -> int:
    """Count single-cell note rows above a wide table."""
    widths = Counter(len(row) for row in rows)
    usual = max(widths.items(), key=lambda item: (item[1], item[0]))[0] if widths else 0
    if usual < 3:
        return 0
    count = 0
    while count < len(rows) and sum(1 for cell in rows[count] if cell.strip()) <= 1:
        count += 1
    return count if count < min(len(rows), 20) else 0


def _quotes_close(text: str, separator: str) -> bool:
    """Check whether quotation marks are balanced."""
    if text.count('"') % 2 == 0:
        return True
    try:
        last: list[str] = []
        for row in _read(csv.reader(io.StringIO(text, newline=""), delimiter=separator), text):
            last = row
    except csv.Error:
        return False
    return not any("\n" in cell for cell in last)


def _rows(text: str, separator: str, *, quoted: bool) -> Iterator[list[str]]:
    """Return non-empty rows; without `quoted`, quotation marks are literal.

    Raises:
        SourceError: no table.
    """
    lines = io.StringIO(text, newline="")
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(lines, delimiter=separator, quoting=quoting)
    try:
        rows = _read(reader, text)
        yield from (row for row in rows if any(cell and not cell.isspace() for cell in row))
    except csv.Error as error:
        raise SourceError(
            f"is no table that can be read: line {reader.line_num:,}: {error}; "
            "check its quotation marks, or give it the suffix .txt"
        ) from error


def _read(reader: Iterator[list[str]], text: str) -> Iterator[list[str]]:
    """Read rows with the raised cell limit.

    The limit on cells is one for the whole process: it is raised for a row at a time, so that
    nobody else meets it, and only where the text could hold a cell that is longer.
    """
    if len(text) <= _LONGEST_CELL:
        yield from reader
        return
    while True:
        before = csv.field_size_limit(len(text))
        try:
            row = next(reader, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row
