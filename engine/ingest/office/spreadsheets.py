"""Excel workbooks as Markdown: a heading for each sheet, a table for each region."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from ...types import MetaValue
from ..content import Content, ReadOptions, one_line, sanitise_text
from ..markdown_blocks import Block, check_length, heading, joined
from ..web.reader import read_web_page
from .number_formats import plain_number, shown
from .package import OLE_MAGIC, Package, ole_streams, real_title
from .sheet_regions import sheet_blocks, spread
from .sheets import Sheet, Workbook

if TYPE_CHECKING:
    from collections.abc import Mapping

_XLRD_ERRORS = (
    AssertionError, AttributeError, EOFError, IndexError, KeyError, OverflowError, TypeError,
    ValueError, struct.error,
)  # fmt: skip
"""Exceptions that xlrd raises for damaged records."""


def read_xlsx(data: bytes, options: ReadOptions) -> Content:
    """Read a modern workbook, streamed; openpyxl visits every empty cell.

    Raises:
        SourceError: encrypted, damaged, or larger than the options allow.
    """
    if data.startswith(OLE_MAGIC) and {"workbook", "book"} & ole_streams(data):
        return read_xls(data, options)
    package = Package(data, kind=".xlsx", options=options)
    title, metadata = package.properties()
    sheets = Workbook(package, max_characters=options.max_characters).sheets()
    return _content(sheets, title=title, metadata=metadata, options=options)


def read_xls(data: bytes, options: ReadOptions) -> Content:
    """Read an Excel 2–2003 workbook.

    Other formats under its suffix are read as what they are.

    Raises:
        SourceError: encrypted, damaged, or larger than the options allow.
    """
    if data.startswith(b"PK"):
        return read_xlsx(data, options)
    if data.lstrip()[:1] == b"<":
        return read_web_page(data)
    import xlrd  # type: ignore[import-untyped, unused-ignore]

    try:
        book = xlrd.open_workbook(
            file_contents=data, formatting_info=True, ragged_rows=True, logfile=io.StringIO()
        )
    except xlrd.XLRDError as error:
        if "encrypt" in str(error).lower():
            raise SourceError("is encrypted: save it without a password") from error
        raise SourceError(
            f"is damaged, or no .xls file ({one_line(str(error))}): save it as .xlsx"
        ) from error
    except (*_XLRD_ERRORS, xlrd.compdoc.CompDocError) as error:
        raise SourceError("is damaged: open it and save it as .xlsx") from error
    author = one_line(sanitise_text(str(book.user_name or "")))
    metadata: dict[str, MetaValue] = {"author": author} if author else {}
    sheets = _old_sheets(book, max_characters=options.max_characters)
    return _content(sheets, title=None, metadata=metadata, options=options)


def _content(
    sheets: Iterable[Sheet],
    *,
    title: str | None,
    metadata: Mapping[str, MetaValue],
    options: ReadOptions,
) -> Content:
    texts: list[str] = []
    length = 0
    for sheet in sheets:
        blocks = [
            block
            for block in (*sheet_blocks(sheet.cells, merged=sheet.merged), *sheet.aside)
            if block.text
        ]
        if not blocks:
            continue
        name = [heading(sheet.name, level=2)] if sheet.name else []
        texts.append(sanitise_text(joined([*name, *blocks])))
        length += len(texts[-1])
        check_length(length, max_characters=options.max_characters)
    return Content(
        text="\n\n".join(texts), title=real_title(title or ""), shape="markdown", metadata=metadata
    )


def _old_sheets(book: Any, *, max_characters: int) -> Iterator[Sheet]:
    formats = {
        index: book.format_map[xf.format_key].format_str
        for index, xf in enumerate(book.xf_list)
        if xf.format_key in book.format_map
    }
    length = 0
    for place in range(book.nsheets):
        sheet = book.sheet_by_index(place)
        cells: dict[int, dict[int, str]] = {}
        for number in range(sheet.nrows):
            row = {
                column: text
                for column, cell in enumerate(sheet.row(number))
                if (text := _old_cell(cell, formats, since_1904=bool(book.datemode)))
            }
            length += sum(len(text) + 3 for text in row.values())
            check_length(length, max_characters=max_characters)
            if row:
                cells[number] = row
        merged = [
            (top, bottom - 1, left, right - 1) for top, bottom, left, right in sheet.merged_cells
        ]
        spread(cells, merged)
        aside = list(_old_notes(sheet))
        yield Sheet(name=one_line(sheet.name), cells=cells, merged=merged, aside=aside)


def _old_cell(cell: Any, formats: dict[int, str], *, since_1904: bool) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        format_ = formats.get(cell.xf_index, "")
        return shown(float(cell.value), format_=format_, since_1904=since_1904)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, plain_number(cell.value)))
    return str(cell.value).strip()


def _old_notes(sheet: Any) -> Iterator[Block]:
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        text = " ".join(str(note.text).split())
        yield Block(f"> Comment on row {row + 1}, column {column + 1}: {text}" if text else "")
