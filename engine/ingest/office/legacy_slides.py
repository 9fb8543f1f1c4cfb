"""Slides of PowerPoint 97–2003: titles, texts and notes in shown order.

Follows [MS-PPT]: 2.1.2 (how the live version of each slide is found), 2.4.14.3 (slide lists),
2.9.40 (text).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...errors import SourceError
from ..markdown_blocks import Block, heading, paragraph

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
    yield heading(title.text if title and title.text.strip() else f"Slide {number}", level=2)
    for text in texts:
        if text is not title:
            yield paragraph(text.text)
    notes = "\n".join(text.text for text in spoken if text.kind == _NOTES_KIND)
    yield paragraph(f"Notes: {notes}" if notes.strip() else "")


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
