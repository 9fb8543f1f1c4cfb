"""JSON, JSON lines, CSV and TSV: an outline, records, questions, a conversation, or a table.

What a list holds is recognised by its items' keys. Numbers stay as they are written. The separator
and header of a delimited table are detected.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from ...errors import SourceError
from ..document import Content, ReadOptions, one_line, sanitise_text
from .markdown_writer import (
    join_paragraphs,
    paragraphs,
    record_block,
    sample_rows,
    table_or_records,
)
from .text import decode_bytes, front_matter_values
from .transcripts import find_conversations, question_blocks, questions_of, turn_blocks

_SEPARATORS = ",;\t|"
_SAMPLE_ROWS = 200
_SAMPLE_CHARACTERS = 1 << 17
_LONGEST_CELL = 131_072
"""Maximum cell length, instead of the standard library's."""
_LONGEST_NAME = 300
_SAID = re.compile(r"\Asep=(.)\n", re.I)
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
    text = decode_bytes(data)
    said = _SAID.match(text)
    body = text[said.end() :] if said else text
    separator = said.group(1) if said else separator_of(body[:_SAMPLE_CHARACTERS])
    quoted = _quotes_close(body, separator)
    first = sample_rows(_rows(body, separator, quoted=quoted), _SAMPLE_ROWS)
    notes = _notes(first)
    rows = _rows(body, separator, quoted=quoted)
    above = [one_line(" ".join(filter(None, row)), limit=500) for row in sample_rows(rows, notes)]
    header: Sequence[str] = ()
    if has_header(first[notes:]):
        header = next(rows, [])
    blocks = chain(above, table_or_records(header, rows))
    written = join_paragraphs(blocks, limit=options.max_characters)
    return Content(text=written, title=one_line(above[0]) if above else None, shape="markdown")


def separator_of(text: str) -> str:
    """Detect the separator that gives most rows equal cell counts.

    A comma where nothing parts them (a single column).
    """
    best, best_score = ",", 0.0
    for separator in _SEPARATORS:
        widths = [
            len(row) for row in sample_rows(_rows(text, separator, quoted=True), _SAMPLE_ROWS)
        ]
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
    """Detect a delimited table's header row by cell types."""
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
            f"is not a readable table: line {reader.line_num:,}: {error}; "
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


Json = None | bool | str | Sequence["Json"] | Mapping[str, "Json"]
"""A value with its numbers as text."""

_LONG = 300
_DEEPEST_HEADING = 5
_DEEPEST = 200
_TITLES = ("title", "name", "headline", "subject", "标题", "名称", "题目")
_OF_THE_WHOLE = ("title", "author", "date", "published", "language", "tags", "keywords")
_BROKEN_SHARE = 0.2


def read_json(data: bytes, options: ReadOptions) -> Content:
    """Read a value as Markdown, a conversation as turns; broken JSON as plain text.

    Raises:
        SourceError: not text, nested too deeply, or too large once written out.
    """
    text = decode_bytes(data)
    try:
        value = _loaded(text)
    except ValueError:
        lines = list(_lines(text))
        if len(lines) > 1 and _broken(lines) == 0:
            return read_json_lines(data, options)
        return Content(text=text)
    return _content(value, options)


def read_json_lines(data: bytes, options: ReadOptions) -> Content:
    """Read a record per line. Invalid lines stay as text; if most are, so does the file.

    Raises:
        SourceError: not text, nested too deeply, or too large once written out.
    """
    text = decode_bytes(data)
    lines = list(_lines(text))
    if _broken(lines) > _BROKEN_SHARE * len(lines):
        return Content(text=text)
    return _content([value if sound else line for line, value, sound in lines], options)


def _loaded(text: str) -> Json:
    """Parse JSON with numbers as text, unrounded and of any length."""
    try:
        value: Json = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError as error:
        raise _too_deep() from error
    return value


def _too_deep() -> SourceError:
    return SourceError("is nested too deeply to be read: flatten it")


def _lines(text: str) -> Iterator[tuple[str, Json, bool]]:
    """Each line that is not blank, its value, and whether it has one."""
    for line in text.split("\n"):
        stripped = line.strip(" \t\x1e")
        if stripped:
            try:
                yield stripped, _loaded(stripped), True
            except ValueError:
                yield stripped, None, False


def _broken(lines: Sequence[tuple[str, Json, bool]]) -> int:
    return sum(1 for _, _, sound in lines if not sound)


def _content(value: Json, options: ReadOptions) -> Content:
    limit = options.max_characters
    metadata = front_matter_values(_of_the_whole(value))
    title = _title(value)
    talks = find_conversations(value)
    if talks:
        blocks = chain.from_iterable(turn_blocks(talk) for talk in talks)
        text = join_paragraphs(map(sanitise_text, blocks), limit=limit)
        return Content(text=text, title=title, shape="transcript", metadata=metadata)
    outline = _outline(value, path=(), level=1)
    head = [f"# {title}"] if title else []
    text = join_paragraphs(map(sanitise_text, chain(head, outline)), limit=limit)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def _of_the_whole(value: Json) -> dict[str, object]:
    if not isinstance(value, Mapping):
        return {}
    return {key: value[key] for key in _OF_THE_WHOLE if key in value}


def _title(value: Json) -> str | None:
    if not isinstance(value, Mapping):
        return None
    found = (value.get(key) for key in _TITLES)
    return next((one_line(each) for each in found if isinstance(each, str) and each.strip()), None)


def _outline(value: Json, *, path: tuple[str, ...], level: int) -> Iterator[str]:
    """Blocks of Markdown for a value under headings of `level - 1` levels."""
    if isinstance(value, Mapping):
        yield from _mapping(value, path=path, level=level)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from _sequence(value, path=path, level=level)
    elif _text(value):
        yield paragraphs(_text(value))


def _mapping(value: Mapping[str, Json], *, path: tuple[str, ...], level: int) -> Iterator[str]:
    """Return plain fields as one record, then nested parts under their headings."""
    _check_depth(path)
    plain = [(key, _plain(each)) for key, each in value.items()]
    fields = record_block(
        [(one_line(key, limit=80), text) for key, text in plain if text is not None]
    )
    if fields:
        yield fields
    for (key, text), part in zip(plain, value.values(), strict=True):
        if text is None:
            yield from _under(one_line(key, limit=80), part, path=path, level=level)


def _under(name: str, value: Json, *, path: tuple[str, ...], level: int) -> Iterator[str]:
    """Return a part under its name: a heading, or its path once levels run out."""
    way = (*path, name)
    blocks = _outline(value, path=way, level=level + 1)
    first = next(blocks, None)
    if first is None:
        return
    if level < _DEEPEST_HEADING:
        yield f"{'#' * (level + 1)} {name}"
    else:
        yield " › ".join(way[-3:]) + ":"
    yield first
    yield from blocks


def _sequence(value: Sequence[Json], *, path: tuple[str, ...], level: int) -> Iterator[str]:
    _check_depth(path)
    pairs = questions_of(value)
    if pairs is not None:
        yield from chain.from_iterable(question_blocks(pair, level=level + 1) for pair in pairs)
        return
    rows = [item for item in value if isinstance(item, Mapping)]
    if len(rows) == len(value) > 1 and (names := _shared_names(rows)):
        yield from table_or_records(
            names, ([_plain(row.get(name)) or "" for name in names] for row in rows)
        )
        return
    bullets: list[str] = []
    for number, item in enumerate(value, start=1):
        for block in _item(item, number, path=path, level=level):
            if block.startswith("- "):
                bullets.append(block)
                continue
            if bullets:
                yield "\n".join(bullets)
                bullets = []
            yield block
    if bullets:
        yield "\n".join(bullets)


def _item(item: Json, number: int, *, path: tuple[str, ...], level: int) -> Iterator[str]:
    if isinstance(item, Mapping):
        title = _title(item)
        if title and any(_is_long(each) or _plain(each) is None for each in item.values()):
            rest = {key: each for key, each in item.items() if _text(each) != title}
            yield from _under(title, rest or item, path=path, level=level)
        else:
            yield from _mapping(item, path=path, level=max(level, 2))
    elif isinstance(item, Sequence) and not isinstance(item, str):
        cells = _plain(item)
        if cells is None:
            yield from _under(str(number), item, path=path, level=level)
        elif cells:
            yield f"- {cells}"
    elif _text(item):
        yield paragraphs(_text(item)) if _is_long(item) else f"- {one_line(_text(item), limit=500)}"


def _shared_names(rows: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
    """Return the fields of flat, short rows in order of appearance; empty otherwise."""
    names: dict[str, None] = {}
    for row in rows:
        for key, value in row.items():
            text = _plain(value)
            if text is None or len(text) > _LONG:
                return ()
            names[key] = None
    filled = sum(len(row) for row in rows)
    return tuple(names) if filled >= 0.5 * len(names) * len(rows) else ()


def _plain(value: Json) -> str | None:
    """Return a field's text; None if it has parts. A list of plain values is one field."""
    if isinstance(value, Mapping):
        return None if value else ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any(not isinstance(item, str | bool | None) for item in value):
            return None
        return ", ".join(filter(None, map(_text, value)))
    return _text(value)


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.strip() if isinstance(value, str) else ""


def _is_long(value: Json) -> bool:
    return isinstance(value, str) and len(value) > _LONG


def _check_depth(path: tuple[str, ...]) -> None:
    if len(path) > _DEEPEST:
        raise _too_deep()
