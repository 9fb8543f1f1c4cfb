"""Text of Word 97–2003 from its piece table, with headings and tables.

Follows [MS-DOC]: 2.4.1 (text), 2.8.35 (pieces), 2.8.5 and 2.9.174 (paragraphs).
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...errors import SourceError
from ..markdown_blocks import Block, heading, paragraph, pipe_table

_WORD_97 = 0xC1
_MAGIC = 0xA5EC
_ENCRYPTED = 0x0100
_SECOND_TABLE = 0x0200
_PAPERS, _PIECES = 0x0102, 0x01A2
_PAGE = 512
_ENDS = re.compile("[\r\x07\x0c]")
_FIELD_CODE = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")
_MAX_NESTED_FIELDS = 20
_MARKS = {0x0B: "\n", 0x1E: "-", 0x1F: "", 0xA0: " ", 0x09: " "}
_UNWRITTEN = dict.fromkeys([*range(9), 0x0E, 0x0F, 0x10, 0x13, 0x14, 0x15]) | _MARKS
_IN_TABLE = b"\x16\x24\x01"
_ROW_END = b"\x17\x24\x01"


class _Paragraph(NamedTuple):
    text: str
    end: str
    style: int
    properties: bytes


def old_word(streams: Mapping[str, bytes]) -> Iterator[Block]:
    """Return paragraphs and tables; notes, headers and text boxes after the body.

    Raises:
        SourceError: encrypted, or older than Word 97.
        IndexError, KeyError, ValueError, struct.error: the streams are not what they should be.
    """
    document = streams["worddocument"]
    magic, version = struct.unpack_from("<HH", document, 0)
    flags = struct.unpack_from("<H", document, 10)[0]
    if magic != _MAGIC:
        raise ValueError("not a Word document")
    if flags & _ENCRYPTED:
        raise SourceError("is encrypted: save it without a password")
    if version < _WORD_97:
        raise SourceError("is of Word 95 or older: save it as .docx")
    table = streams["1table" if flags & _SECOND_TABLE else "0table"]
    yield from _blocks(_paragraphs(document, table))


def _blocks(paragraphs: Iterator[_Paragraph]) -> Iterator[Block]:
    rows: list[list[str]] = []
    cells: list[str] = []
    pending: list[str] = []
    for text, end, style, properties in paragraphs:
        in_table = end == "\x07" or _IN_TABLE in properties
        if not in_table and rows:
            yield pipe_table(rows)
            rows, cells, pending = [], [], []
        if end == "\x07" and _ROW_END in properties:
            rows.append(cells)
            cells, pending = [], []
        elif end == "\x07":
            cells.append(" ".join([*pending, text]))
            pending = []
        elif in_table:
            pending.append(text)
        elif text:
            yield heading(text, level=style) if 1 <= style <= 9 else paragraph(text)
    yield pipe_table([*rows, cells])


def _paragraphs(document: bytes, table: bytes) -> Iterator[_Paragraph]:
    """Split at paragraph marks; styles 1 to 9 are heading levels."""
    starts, papers = _paper_runs(document, table)
    begun: list[str] = []
    for text, offset, width in _pieces(document, table):
        last = 0
        for mark in _ENDS.finditer(text):
            at = offset + mark.start() * width
            place = bisect_right(starts, at) - 1
            style, properties = papers[place] if 0 <= place < len(papers) else (0, b"")
            whole = "".join([*begun, text[last : mark.start()]])
            yield _Paragraph(_written(whole), mark.group(), style, properties)
            begun, last = [], mark.end()
        begun.append(text[last:])
    yield _Paragraph(_written("".join(begun)), "\r", 0, b"")


def _written(text: str) -> str:
    """Strip field codes (their results stay) and marks of pictures and notes."""
    for _ in range(_MAX_NESTED_FIELDS):
        if "\x13" not in text:
            break
        text = _FIELD_CODE.sub(lambda field: field.group(1) or "", text)
    return text.translate(_UNWRITTEN).strip()


def _pieces(document: bytes, table: bytes) -> Iterator[tuple[str, int, int]]:
    """Return each piece's text, stream offset and bytes per character."""
    start, size = struct.unpack_from("<LL", document, _PIECES)
    clx = table[start : start + size]
    at = 0
    while clx[at] == 1:  # property modifiers come first
        at += 3 + int(struct.unpack_from("<H", clx, at + 1)[0])
    if clx[at] != 2:
        raise ValueError("no piece table")
    size = struct.unpack_from("<L", clx, at + 1)[0]
    plc = clx[at + 5 : at + 5 + size]
    count = (len(plc) - 4) // 12
    limits = struct.unpack_from(f"<{count + 1}L", plc, 0)
    total = 0
    for number in range(count):
        position = struct.unpack_from("<L", plc, 4 * (count + 1) + 8 * number + 2)[0]
        width = 1 if position & 0x4000_0000 else 2
        offset = (position & 0x3FFF_FFFF) // (2 if width == 1 else 1)
        data = document[offset : offset + width * max(limits[number + 1] - limits[number], 0)]
        total += len(data)
        if total > 2 * len(document):
            raise ValueError("pieces overlap")
        yield data.decode("cp1252" if width == 1 else "utf-16-le", "replace"), offset, width


def _paper_runs(document: bytes, table: bytes) -> tuple[list[int], list[tuple[int, bytes]]]:
    """Return paragraph runs: stream offset, style and properties."""
    start, size = struct.unpack_from("<LL", document, _PAPERS)
    count = max((size - 4) // 8, 0)
    pages = struct.unpack_from(f"<{count}L", table, start + 4 * (count + 1))
    runs: dict[int, tuple[int, bytes]] = {}
    for number in sorted(set(pages)):
        page = document[(number & 0x3F_FFFF) * _PAGE :][:_PAGE]
        held = page[_PAGE - 1]
        limits = struct.unpack_from(f"<{held + 1}L", page, 0)
        for place in range(held):
            word = 2 * page[4 * (held + 1) + 13 * place]
            runs[limits[place]] = _paper(page, word) if word else (0, b"")
    starts = sorted(runs)
    return starts, [runs[at] for at in starts]


def _paper(page: bytes, at: int) -> tuple[int, bytes]:
    length = 2 * page[at] - 1 if page[at] else 2 * page[at + 1]
    begin = at + (1 if page[at] else 2)
    style = struct.unpack_from("<H", page, begin)[0]
    return int(style), page[begin + 2 : begin + length]
