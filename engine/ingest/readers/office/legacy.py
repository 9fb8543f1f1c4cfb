"""Word and PowerPoint 97–2003 to Markdown: text, headings, tables, slides.

Lists' numbers, pictures and charts of these formats are not read.

Slides of PowerPoint 97–2003: titles, texts and notes in shown order.

Follows [MS-PPT]: 2.1.2 (how the live version of each slide is found), 2.4.14.3 (slide lists),
2.9.40 (text).

Text of Word 97–2003 from its piece table, with headings and tables.

Follows [MS-DOC]: 2.4.1 (text), 2.8.35 (pieces), 2.8.5 and 2.9.174 (paragraphs).
"""

from __future__ import annotations

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ....errors import SourceError
from ....types import MetaValue
from ...document import Content, ReadOptions, one_line, sanitise_text
from ..html import read_web_page
from ..markdown_writer import (
    Block,
    block_table,
    check_length,
    join_blocks,
    markdown_heading,
    markdown_paragraph,
)
from ..text import markdown_title
from .docx import read_docx, read_pptx
from .ooxml import OLE_MAGIC, real_title
from .rtf import read_rtf

_ENCRYPTED = 0xF3D1C4DF
_SLIDE_LIST, _SLIDE_PLACE = 0x0FF0, 0x03F3
_SLIDE_ATOM, _USER_EDIT, _PLACES = 0x03EF, 0x0FF5, 0x1772
_TEXT_KIND, _TEXT_WIDE, _TEXT_NARROW, _TEXT_REFERENCE = 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
_TITLE_KINDS = frozenset({0, 6})
_NOTES_KIND = 2
_MAX_EDITS = 10_000
_MAX_DEPTH = 40


class _Record(NamedTuple):
    kind: int
    instance: int
    start: int
    end: int
    holds_records: bool


class _Text(NamedTuple):
    kind: int
    text: str


def old_slides(streams: Mapping[str, bytes]) -> Iterator[list[Block]]:
    """Each slide's blocks.

    Raises:
        SourceError: the file is encrypted.
        IndexError, KeyError, ValueError, struct.error: the streams are not what they should be.
    """
    data = streams["powerpoint document"]
    token, edit = struct.unpack_from("<LL", streams["current user"], 12)
    if token == _ENCRYPTED:
        raise SourceError("is encrypted: save it without a password")
    places, document = _places(data, edit)
    lists = {
        record.instance: list(_listed(data, record))
        for record in _inside(data, places[document])
        if record.kind == _SLIDE_LIST
    }
    notes = {id_: place for place, id_, _ in lists.get(2, [])}
    for number, (place, _, outline) in enumerate(lists.get(0, []), start=1):
        own = list(_texts(data, places[place], outline=outline)) if place in places else outline
        spoken = places.get(notes.get(_notes_of(data, places.get(place, -1)), -1))
        said = [] if spoken is None else list(_texts(data, spoken, outline=[]))
        yield list(_blocks(own, said, number=number))


def _blocks(texts: list[_Text], spoken: list[_Text], *, number: int) -> Iterator[Block]:
    title = next((text for text in texts if text.kind in _TITLE_KINDS), None)
    yield markdown_heading(
        title.text if title and title.text.strip() else f"Slide {number}", level=2
    )
    for text in texts:
        if text is not title:
            yield markdown_paragraph(text.text)
    notes = "\n".join(text.text for text in spoken if text.kind == _NOTES_KIND)
    yield markdown_paragraph(f"Notes: {notes}" if notes.strip() else "")


def _places(data: bytes, edit: int) -> tuple[dict[int, int], int]:
    """Locate the live version of each object and the document object. Later edits win.

    Each names its predecessor.
    """
    places: dict[int, int] = {}
    document = -1
    for _ in range(_MAX_EDITS):
        record = _record(data, edit)
        if record.kind != _USER_EDIT:
            raise ValueError("no edit where one should be")
        before, directory, reference = struct.unpack_from("<LLL", data, record.start + 8)
        document = reference if document < 0 else document
        for id_, place in _directory(data, _record(data, directory)):
            places.setdefault(id_, place)
        if not 0 < before < edit:
            return places, document
        edit = before
    return places, document


def _directory(data: bytes, record: _Record) -> Iterator[tuple[int, int]]:
    at = record.start
    while record.kind == _PLACES and at + 4 <= record.end:
        head = struct.unpack_from("<L", data, at)[0]
        first, count = head & 0xF_FFFF, head >> 20
        for number, place in enumerate(struct.unpack_from(f"<{count}L", data, at + 4)):
            yield first + number, place
        at += 4 + 4 * count


def _listed(data: bytes, slide_list: _Record) -> Iterator[tuple[int, int, list[_Text]]]:
    """Each slide's place and id, with the texts of its outline."""
    current: tuple[int, int, list[_Text]] | None = None
    kind = -1
    for record in _children(data, slide_list):
        if record.kind == _SLIDE_PLACE:
            if current:
                yield current
            place, id_ = struct.unpack_from("<L8xL", data, record.start)
            current = (place, id_, [])
        elif record.kind == _TEXT_KIND:
            kind = struct.unpack_from("<L", data, record.start)[0]
        elif current and record.kind in (_TEXT_WIDE, _TEXT_NARROW):
            current[2].append(_Text(kind, _decoded(data, record)))
    if current:
        yield current


def _texts(data: bytes, place: int, *, outline: list[_Text]) -> Iterator[_Text]:
    """Return the texts of a slide's shapes; some refer to the outline."""
    kind = -1
    for record in _inside(data, place):
        if record.kind == _TEXT_KIND:
            kind = struct.unpack_from("<L", data, record.start)[0]
        elif record.kind == _TEXT_REFERENCE:
            index = struct.unpack_from("<L", data, record.start)[0]
            if index < len(outline):
                yield outline[index]
        elif record.kind in (_TEXT_WIDE, _TEXT_NARROW):
            text = _decoded(data, record)
            if text.strip("* \n"):  # an asterisk stands for the slide's number or the date
                yield _Text(kind, text)


def _notes_of(data: bytes, place: int) -> int:
    """Return the id of a slide's notes page; -1 without one."""
    for record in _inside(data, place) if place >= 0 else ():
        if record.kind == _SLIDE_ATOM:
            return int(struct.unpack_from("<L", data, record.start + 16)[0]) or -1
    return -1


def _decoded(data: bytes, record: _Record) -> str:
    raw = data[record.start : record.end]
    text = raw.decode("utf-16-le" if record.kind == _TEXT_WIDE else "latin-1", "replace")
    return text.replace("\r", "\n").replace("\v", "\n").strip()


def _inside(data: bytes, place: int, *, depth: int = 0) -> Iterator[_Record]:
    """All records inside the one at `place`, depth first."""
    for record in _children(data, _record(data, place)):
        yield record
        if record.holds_records and depth < _MAX_DEPTH:
            yield from _inside(data, record.start - 8, depth=depth + 1)


def _children(data: bytes, parent: _Record) -> Iterator[_Record]:
    at = parent.start
    while at + 8 <= parent.end:
        record = _record(data, at)
        yield record
        at = record.end


def _record(data: bytes, at: int) -> _Record:
    head, kind, length = struct.unpack_from("<HHL", data, at)
    end = min(at + 8 + length, len(data))
    return _Record(kind, head >> 4, at + 8, end, head & 0xF == 0xF)


_WORD_97 = 0xC1
_MAGIC = 0xA5EC
_WORD_ENCRYPTED = 0x0100
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
    if flags & _WORD_ENCRYPTED:
        raise SourceError("is encrypted: save it without a password")
    if version < _WORD_97:
        raise SourceError("is of Word 95 or older: save it as .docx")
    table = streams["1table" if flags & _SECOND_TABLE else "0table"]
    yield from _word_blocks(_paragraphs(document, table))


def _word_blocks(paragraphs: Iterator[_Paragraph]) -> Iterator[Block]:
    rows: list[list[str]] = []
    cells: list[str] = []
    pending: list[str] = []
    for text, end, style, properties in paragraphs:
        in_table = end == "\x07" or _IN_TABLE in properties
        if not in_table and rows:
            yield block_table(rows)
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
            yield (
                markdown_heading(text, level=style) if 1 <= style <= 9 else markdown_paragraph(text)
            )
    yield block_table([*rows, cells])


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


_BROKEN = (IndexError, KeyError, struct.error, ValueError)
"""Exceptions caused by damaged records."""


def read_doc(data: bytes, options: ReadOptions) -> Content:
    """Read a Word 97–2003 document.

    Other formats under its suffix are read as what they are.

    Raises:
        SourceError: encrypted, damaged, or older than Word 97.
    """
    if data.startswith(b"PK"):
        return read_docx(data, options)
    if data.startswith(b"{\\rtf"):
        return read_rtf(data, options)
    if data.lstrip()[:1] == b"<":
        return read_web_page(data)
    streams, title, metadata = _opened(data, kind=".doc", new=".docx")
    with _reasons(kind=".doc", new=".docx"):
        text = sanitise_text(join_blocks(old_word(streams)))
    check_length(len(text), max_characters=options.max_characters)
    return Content(
        text=text, title=title or markdown_title(text), shape="markdown", metadata=metadata
    )


def read_ppt(data: bytes, options: ReadOptions) -> Content:
    """Read a PowerPoint 97–2003 presentation.

    A page and second-level heading for each slide.

    Raises:
        SourceError: encrypted or damaged.
    """
    if data.startswith(b"PK"):
        return read_pptx(data, options)
    streams, title, metadata = _opened(data, kind=".ppt", new=".pptx")
    with _reasons(kind=".ppt", new=".pptx"):
        texts = [sanitise_text(join_blocks(blocks)) for blocks in old_slides(streams)]
    first = texts[0].partition("\n")[0].removeprefix("## ") if texts else ""
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 2)
    check_length(starts[-1], max_characters=options.max_characters)
    return Content(
        text="\n\n".join(texts),
        title=title or (first if first != "Slide 1" else None),
        pages=tuple(starts[:-1]),
        shape="markdown",
        metadata=metadata,
    )


def _opened(
    data: bytes, *, kind: str, new: str
) -> tuple[dict[str, bytes], str | None, Mapping[str, MetaValue]]:
    """Return streams by lower-case name, title and metadata."""
    import olefile  # type: ignore[import-untyped, unused-ignore]

    if not data.startswith(OLE_MAGIC):
        raise SourceError(f"is damaged, or not a {kind} file: save it as {new}")
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            streams = {
                str(path[0]).lower(): bytes(ole.openstream(path).read())
                for path in ole.listdir()
                if len(path) == 1
            }
            about = ole.get_metadata()
    except (*_BROKEN, OSError, TypeError) as error:
        raise SourceError(f"is damaged: open it and save it as {new}") from error
    metadata: dict[str, MetaValue] = {}
    author = _property_text(about.author, about.codepage)
    if author:
        metadata["author"] = author
    if about.last_saved_time and about.last_saved_time.year > 1980:
        metadata["date"] = f"{about.last_saved_time:%Y-%m-%dT%H:%M:%S}Z"
    return streams, real_title(_property_text(about.title, about.codepage)), metadata


def _property_text(value: bytes | str | None, codepage: int | None) -> str:
    if not isinstance(value, bytes):
        return one_line(sanitise_text(value or ""))
    code = (codepage or 1252) % 65_536
    names = {65001: "utf-8", 1200: "utf-16-le", 936: "gb18030", 10000: "mac_roman"}
    try:
        text = value.decode(names.get(code, f"cp{code}"), "replace")
    except LookupError:
        text = value.decode("cp1252", "replace")
    return one_line(sanitise_text(text.rstrip("\x00")))


@contextmanager
def _reasons(*, kind: str, new: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise SourceError(
            f"is damaged, or not a {kind} file of a known version: open it and save it as {new}"
        ) from error
