"""RTF as Markdown, parsed by the anydoc library.

Styles of letters are not written: they part words from their marks in search and quotations.
Notes follow the body. The library is imported with the first document, in the reading process.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ....errors import SourceError
from ...document import Content, ReadOptions, iso_date, one_line, sanitise_text
from ..markdown_writer import (
    Block,
    block_table,
    check_length,
    code_line,
    inline_blocks,
    join_blocks,
    markdown_heading,
    markdown_paragraph,
)
from ..markdown_writer import list_item as list_item
from ..text import front_matter_values, markdown_title, plain_title

if TYPE_CHECKING:
    import anydoc

_REPEATED_CELL_LIMIT = 80
"""Maximum characters of a merged cell that is repeated beside other cells."""
_ORDERED = re.compile(r"\w{1,4}[.)]")
_BULLET = re.compile(r"[•·▪◦‣⁃–][ \t]+(?=\S)")
_NUMBERED = re.compile(r"(\d{1,3}[.)])[ \t]+(?=\S)")
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{3,5})")
_CHARACTER_SET = re.compile(rb"\\(mac|pca|pc)(?![a-z])")
_CODECS = {
    "mac": "mac_roman", "pc": "cp437", "pca": "cp850", "1361": "johab", "10000": "mac_roman",
    "10007": "mac_cyrillic", "20866": "koi8_r", "21866": "koi8_u", "54936": "gb18030",
    "65001": "utf-8",
}  # fmt: skip
_PARSED_PAGES = frozenset({"874", "932", "936", "949", "950", *map(str, range(1250, 1259))})
"""Code pages that the library reads by itself."""
_ESCAPES = re.compile(rb"\\\\|\\u-?\d{1,7} ?(?:\\'[0-9a-fA-F]{2})?|((?:\\'[0-9a-fA-F]{2})+)")
_UNSHOWN = re.compile(rb"(?<!\\)\{\\(?=(?:xe|tcn?|shprslt)(?![a-z]))")
"""Groups of the index, the contents, and of shapes for programs without them."""
_INFORMATION = re.compile(r"\{\\info(?![a-z])")
_INFORMATION_LIMIT = 20_000
_RTF_FIELD = re.compile(
    r"\{\\(title|subject|author|keywords|doccomm)\s([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
)
_WHEN = re.compile(r"\{\\(revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")


def parse(data: bytes) -> anydoc.Document:
    """Parse a document.

    Raises:
        SourceError: encrypted, damaged, or past the library's limits.
    """
    import anydoc

    try:
        return anydoc.to_document(data, "rtf")
    except anydoc.EncryptedError as error:
        raise SourceError("is encrypted: save it without a password") from error
    except anydoc.ResourceLimitError as error:
        raise SourceError(
            f"is too large: it exceeds the limit {error.limit} of its reader; split it"
        ) from error
    except anydoc.ConvertError as error:
        raise SourceError(
            f"is damaged, or not of the format RTF ({one_line(str(error))}): "
            "open it and save it as .docx"
        ) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # pyo3 derives it from BaseException
            raise
        raise SourceError(
            "is damaged: its reader failed on it; open it and save it as .docx"
        ) from error


class BlockWriter:
    """Writer of one document's blocks."""

    def __init__(self, document: anydoc.Document) -> None:
        self._document = document
        self._marks = {note.id: str(mark) for mark, note in enumerate(document.notes, start=1)}

    def body(self) -> Iterator[Block]:
        """Return all blocks, notes last."""
        yield from self.blocks(self._document.blocks)
        yield from self.notes()

    def notes(self) -> Iterator[Block]:
        """Return the foot- and endnotes in order."""
        for note in self._document.notes:
            yield Block(f"[^{self._marks[note.id]}]: {inline_blocks(self.blocks(note.blocks))}")

    def blocks(self, blocks: Sequence[anydoc.Block], *, level: int = -1) -> Iterator[Block]:
        """Return the Markdown of blocks; `level` is the enclosing list's."""
        for block in blocks:
            yield from self._block(block, level=level)

    def text(self, content: Sequence[anydoc.Inline] | None) -> str:
        """Return the plain text of inline content."""
        return "".join(map(self._inline, content or ()))

    def _block(self, block: anydoc.Block, *, level: int) -> Iterator[Block]:
        if block.kind == "heading":
            yield markdown_heading(self.text(block.content), level=block.level or 1)
        elif block.kind == "paragraph":
            yield _paragraph(self.text(block.content))
        elif block.kind == "list" and block.list:
            yield from self._list(block.list, level=level + 1)
        elif block.kind == "table" and block.table:
            yield from self._table(block.table)
        elif block.kind == "block_quote":
            quoted = join_blocks(self.blocks(block.blocks or []))
            yield Block("\n".join(f"> {line}".rstrip() for line in quoted.split("\n") if quoted))
        elif block.kind == "code_block":
            yield from map(code_line, (block.text or "").rstrip("\n").split("\n"))
        elif block.kind == "math":
            yield Block(f"$${block.text}$$" if block.text else "")

    def _list(self, list_: anydoc.List, *, level: int) -> Iterator[Block]:
        for number, entry in enumerate(list_.items, start=list_.start):
            mark = "-" if list_.marker == "bullet" else f"{number}."
            label = (entry.marker_label or "").strip()
            if _ORDERED.fullmatch(label):
                mark = label
            for place, block in enumerate(self.blocks(entry.blocks, level=level)):
                if block.kind == "text" and "\n\n" not in block.text and block.text[:1] != "#":
                    yield list_item(block.text, level=level, mark=mark if place == 0 else "-")
                else:
                    yield block

    def _table(self, table: anydoc.Table) -> Iterator[Block]:
        """Return a pipe table; a frame of one column is no table."""
        cells = {
            (row, column): inline_blocks(self.blocks(slot.cell.blocks))
            for row, slots in enumerate(table.grid)
            for column, slot in enumerate(slots)
            if slot.cell
        }
        rows = [
            [self._cell(cells, slot, (row, column)) for column, slot in enumerate(slots)]
            for row, slots in enumerate(table.grid)
        ]
        if max(map(len, rows), default=0) < 2:
            yield from (markdown_paragraph(row[0]) for row in rows if row)
        else:
            yield block_table(rows)

    @staticmethod
    def _cell(
        cells: dict[tuple[int, int], str], slot: anydoc.CellSlot, place: tuple[int, int]
    ) -> str:
        """Return the slot's text; of merged cells a short one is repeated in each row."""
        if slot.cell:
            return cells[place]
        text = cells.get((slot.origin_row or 0, slot.origin_col or 0), "")
        is_below = slot.origin_row != place[0]
        return text if is_below and len(text) <= _REPEATED_CELL_LIMIT else ""

    def _inline(self, part: anydoc.Inline) -> str:
        if part.kind == "link":
            return self._link(part)
        if part.kind == "image":
            alt = " ".join((part.alt or "").split())
            return f"![{alt}]()" if alt else ""
        if part.kind == "note_ref":
            return f"[^{self._marks.get(part.note_id or '', part.note_id)}]"
        if part.kind == "line_break":
            return "\n"
        if part.kind == "checkbox":
            return "[x] " if part.checked else "[ ] "
        text = part.text or ""
        return f"${text}$" if part.kind == "math" and text else text

    def _link(self, part: anydoc.Inline) -> str:
        text = self.text(part.content)
        target = part.target
        is_written = target and target.kind == "external" and target.value != text
        return f"[{text}]({target.value})" if is_written and target else text


def _paragraph(text: str) -> Block:
    """Return a paragraph, or the list item that its first letters make it."""
    stripped = text.strip()
    numbered = _NUMBERED.match(stripped)
    if numbered:
        return list_item(stripped[numbered.end() :], mark=numbered.group(1))
    bullet = _BULLET.match(stripped)
    return list_item(stripped[bullet.end() :]) if bullet else markdown_paragraph(stripped)


def read_rtf(data: bytes, options: ReadOptions) -> Content:
    """Read RTF; titled by its metadata, first line or first heading.

    Raises:
        SourceError: not RTF, damaged, or too large.
    """
    data = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not data.startswith(b"{\\rtf"):
        raise SourceError("is not RTF: it does not begin with {\\rtf; check its suffix")
    data = _UNSHOWN.sub(rb"{\\*\\unshown\\", _in_unicode(data))
    document = parse(data)
    text = sanitise_text(join_blocks(BlockWriter(document).body()))
    check_length(len(text), max_characters=options.max_characters)
    about = _about(data)
    title = str(about.pop("title", "")) or plain_title(text) or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=front_matter_values(about))


def _in_unicode(data: bytes) -> bytes:
    """Write the letters of code pages that the library does not know as Unicode."""
    found = _CODE_PAGE.search(data[:4_000]) or _CHARACTER_SET.search(data[:200])
    page = found.group(1).decode("ascii") if found else "1252"
    if page in _PARSED_PAGES:
        return data
    codec = _CODECS.get(page, f"cp{page}")
    try:
        codecs.lookup(codec)
    except LookupError:
        return data

    def rewritten(escapes: re.Match[bytes]) -> bytes:
        if escapes.group(1) is None:
            return escapes.group()
        letters = bytes.fromhex(escapes.group(1).replace(b"\\'", b"").decode("ascii"))
        units = letters.decode(codec, "replace").encode("utf-16-le")
        numbers = struct.unpack(f"<{len(units) // 2}h", units)
        return b"{\\uc0%b}" % b"".join(b"\\u%d" % number for number in numbers)

    return _ESCAPES.sub(rewritten, data)


def _about(data: bytes) -> dict[str, object]:
    """Return the fields of the information group."""
    source = data[:400_000].decode("latin-1")
    found = _INFORMATION.search(source)
    if found is None:
        return {}
    group = source[found.start() : found.start() + _INFORMATION_LIMIT]
    page = _CODE_PAGE.search(data[:4_000])
    head = b"{\\rtf1\\ansi%b " % (page.group() if page else b"")
    about: dict[str, object] = {}
    for name, value in _RTF_FIELD.findall(group):
        try:
            field = parse(head + value.encode("latin-1") + b"}")
        except SourceError:
            continue  # the information may be damaged alone
        text = one_line(sanitise_text(join_blocks(BlockWriter(field).body())))
        if text:
            about["tags" if name == "keywords" else name] = text
    dates = {name: f"{year}-{month}-{day}" for name, year, month, day in _WHEN.findall(group)}
    about["date"] = iso_date(dates.get("revtim") or dates.get("creatim"))
    return about
