"""Excel workbooks as Markdown: a heading for each sheet, a table for each region of cells.

Sheets are streamed, so that empty cells cost nothing; formulas give the value last calculated.
Numbers are shown as the sheet shows them (ISO 8601 dates, percentages, money), following the format
language of ECMA-376 part 1, 18.8.31 where it changes the value that a reader sees.
"""

from __future__ import annotations

import datetime
import io
import math
import re
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

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
from .ooxml import (
    OLE_MAGIC,
    RELATIONSHIPS,
    Package,
    chart_blocks,
    integer_attribute,
    ole_streams,
    real_title,
    text_blocks,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

_REPEATED_CELL_LIMIT = 80
_MAX_SPREAD = 500
Cells = Mapping[int, Mapping[int, str]]
"""Text by row and, in it, by column; empty cells left out."""
Ranges = Sequence[tuple[int, int, int, int]]
"""Merged cells: first row, last row, first column, last column."""


def sheet_blocks(cells: Cells, *, merged: Ranges = ()) -> Iterator[Block]:
    """Return a table for each region of adjacent cells.

    Single cells and note columns as text.

    `merged` cells touch what lies at their far end, although they are stored as the first alone.
    """
    ordered = sorted(merged)
    for band in _bands(cells):
        start = bisect_left(ordered, (min(band),))
        end = bisect_left(ordered, (max(band) + 1,))
        bridges = sorted((left, right) for _, _, left, right in ordered[start:end])
        for region in _split(band, bridges=bridges):
            yield from _region(region)


def _bands(cells: Cells) -> Iterator[dict[int, dict[int, str]]]:
    """Split rows at empty rows."""
    band: dict[int, dict[int, str]] = {}
    last = None
    for number in sorted(cells):
        row = {column: text for column, text in sorted(cells[number].items()) if text.strip()}
        if not row:
            continue
        if band and last is not None and number > last + 1:
            yield band
            band = {}
        band[number] = row
        last = number
    if band:
        yield band


def _split(
    rows: dict[int, dict[int, str]], *, bridges: Sequence[tuple[int, int]]
) -> Iterator[list[dict[int, str]]]:
    """Split a band at empty columns, left to right, recursively with its own empty rows."""
    columns = sorted({column for row in rows.values() for column in row})
    edges = [0, *_gaps(columns, bridges), len(columns)]
    if len(edges) == 2:
        yield list(rows.values())
        return
    for start, end in pairwise(edges):
        first, last = columns[start], columns[end - 1]
        kept = {
            number: {column: text for column, text in row.items() if first <= column <= last}
            for number, row in rows.items()
        }
        for band in _bands(kept):
            yield from _split(band, bridges=bridges)


def _gaps(columns: Sequence[int], bridges: Sequence[tuple[int, int]]) -> list[int]:
    """Return positions in `columns` behind empty columns that nothing spans."""
    gaps: list[int] = []
    reach = passed = 0
    for at, (before, after) in enumerate(pairwise(columns), start=1):
        reach = max(reach, before)
        while passed < len(bridges) and bridges[passed][0] <= reach + 1:
            reach = max(reach, bridges[passed][1])
            passed += 1
        if after > reach + 1:
            gaps.append(at)
    return gaps


def _region(rows: list[dict[int, str]]) -> Iterator[Block]:
    """Lines with one cell above a table are its titles; one column alone is a text."""
    wide = next((at for at, row in enumerate(rows) if len(row) > 1), None)
    columns = sorted({column for row in rows for column in row})
    if wide is None and len(columns) == 1:
        yield markdown_paragraph("\n".join(row[columns[0]] for row in rows))
        return
    for row in rows[:wide]:
        yield markdown_paragraph(" ".join(row.values()))
    yield block_table([[row.get(column, "") for column in columns] for row in rows[wide or 0 :]])


def spread_merged_cells(cells: dict[int, dict[int, str]], merged: Ranges) -> None:
    """Repeat the short text of a spreadsheet's merged cells in each of their rows.

    Last column) where other cells are adjacent; a title stays single.
    """
    for first_row, last_row, first_column, last_column in sorted(merged):
        text = cells.get(first_row, {}).get(first_column, "")
        if not text or len(text) > _REPEATED_CELL_LIMIT:
            continue
        covered = range(first_column, min(last_column, first_column + _MAX_SPREAD) + 1)
        for number in range(first_row, min(last_row, first_row + _MAX_SPREAD) + 1):
            row = cells.get(number, {})
            if any(column not in covered for column in row):
                row.update(dict.fromkeys(covered, text))


_QUOTED = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\-\]]*+)[^\]]*+\]')
_HIDDEN = re.compile(r"_.|\*.|\[[^\]]*\]")
_DATE_LETTERS = re.compile(r"[ymdhs年月日]|AM/PM|上午/下午", re.I)
_DIGITS = re.compile(r"[#0?][#0?,.]*")
_SECONDS_A_DAY = 86_400
_LONGEST = 300
"""Characters; programs allow 255. A longer format is damaged, and is no format."""
_EPOCH = {False: datetime.datetime(1899, 12, 30), True: datetime.datetime(1904, 1, 1)}
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss",
    20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 27: "yyyy-mm-dd", 28: "yyyy-mm-dd",
    29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd", 32: "h:mm", 33: "h:mm:ss", 34: "h:mm",
    35: "h:mm:ss", 36: "yyyy-mm-dd", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00",
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss", 48: "0.0E+0", 50: "yyyy-mm-dd", 51: "yyyy-mm-dd",
    52: "yyyy-mm-dd", 53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}  # fmt: skip
"""Built-in formats by number; 14–17 and 27–58 are locale dates."""


class Shown(NamedTuple):
    """Parsed number format: kind, decimals (None: as many as needed) and affixes."""

    kind: str
    decimals: int | None = None
    grouped: bool = False
    before: str = ""
    after: str = ""


def format_number(value: float, *, format_: str = "", since_1904: bool = False) -> str:
    """Format a spreadsheet cell's number as the sheet shows it; deterministic."""
    how, signed = _how(format_, value < 0)
    if how.kind == "general":
        return plain_number(value)
    if how.kind != "number":
        return _moment(value, how.kind, since_1904=since_1904) or plain_number(value)
    size = value if signed else abs(value)
    percent = "%" in how.after or "%" in how.before
    digits = _decimal(size * 100 if percent else size, how)
    return f"{how.before}{digits}{how.after}".strip()


@lru_cache(maxsize=1024)
def _how(format_: str, negative: bool) -> tuple[Shown, bool]:
    """Return the format for a number's sign, and whether the sign is still shown.

    Negative sections show their own.
    """
    if len(format_) > _LONGEST:
        format_ = ""
    section = _section(format_ or "General", negative=negative)
    return _shape(section), not (negative and section != format_.split(";")[0] and format_)


def plain_number(value: float) -> str:
    """Format a plain number: integers without a point, others without binary noise."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


def _decimal(value: float, how: Shown) -> str:
    if how.decimals is None:
        return plain_number(value)
    grouping = "," if how.grouped else ""
    return f"{value:{grouping}.{how.decimals}f}"


def _section(format_: str, *, negative: bool) -> str:
    """Return the format section for this sign; quoted `;` does not separate."""
    parts = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', format_)
    chosen = parts[1] if negative and len(parts) > 1 and parts[1] else parts[0]
    return chosen or "General"


def _shape(section: str) -> Shown:
    if section.lower() in ("general", "@", "standard"):
        return Shown("general")
    bare = _QUOTED.sub("", section)
    duration = re.search(r"\[(?:h+|m+|s+)\]", bare, re.I)
    letters = {letter.lower() for letter in _DATE_LETTERS.findall(_HIDDEN.sub("", bare))}
    if duration:
        return Shown("duration")
    if letters & {"y", "d", "年", "月", "日"} or letters == {"m"}:
        return Shown("datetime" if letters & {"h", "s"} else "date")
    if letters & {"h", "s"}:
        return Shown("time")
    return _number_shape(section)


def _number_shape(section: str) -> Shown:
    # What is in quotes is shown as it stands: it is set aside while the digits are looked for.
    literals: list[str] = []

    def aside(found: re.Match[str]) -> str:
        literals.append(found.group(1) or found.group(2) or found.group(3) or "")
        return chr(0xE000 + len(literals) - 1)

    text = _HIDDEN.sub("", _QUOTED.sub(aside, section))
    digits = _DIGITS.search(text)
    if digits is None or re.search(r"[eE][+-]|/", text):
        return Shown("general")
    whole, _, decimals = digits.group().partition(".")

    def back(part: str) -> str:
        return "".join(
            literals[ord(sign) - 0xE000] if 0xE000 <= ord(sign) < 0xE000 + len(literals) else sign
            for sign in part
            if sign not in "#0?.,"
        )

    if digits.group().endswith(","):  # thousands cut off: the value itself is truer
        return Shown("general")
    return Shown(
        "number",
        decimals=min(len(decimals), 15),
        grouped="," in whole,
        before=back(text[: digits.start()]),
        after=back(text[digits.end() :]),
    )


def _moment(value: float, kind: str, *, since_1904: bool) -> str:
    """Return a serial day as ISO 8601; empty if out of range."""
    if not math.isfinite(value):
        return ""
    seconds = round(value * _SECONDS_A_DAY)
    if kind == "duration" or (kind == "time" and value < 1):
        minutes, second = divmod(abs(seconds), 60)
        sign = "-" if seconds < 0 else ""
        return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    if not since_1904 and 0 < value < 60:
        seconds += _SECONDS_A_DAY  # 1900 has a 29 February there, so its first days are one off
    try:
        moment = _EPOCH[since_1904] + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return ""
    if value < 0 or moment.year < 1899:
        return ""
    if kind == "date" and moment.time() == datetime.time():
        return moment.date().isoformat()
    return moment.isoformat(sep=" ") if kind != "date" else moment.date().isoformat()


_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_COLUMN_LETTERS = 3
_DIVIDERS = 3
"""Characters that a table adds to each cell."""


@dataclass(slots=True)
class Sheet:
    """One sheet: texts by row and column (from 1), and what lies over its cells."""

    name: str
    cells: dict[int, dict[int, str]]
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    aside: list[Block] = field(default_factory=list)


class Workbook:
    """An opened workbook. `max_characters` is for all its sheets together."""

    def __init__(self, package: Package, *, max_characters: int) -> None:
        self._package = package
        self._main = package.main()
        self._related = package.relations(self._main)
        self._max_characters = max_characters
        self._length = 0
        self._strings = list(self._shared_strings())
        self._formats = self._cell_formats()
        self._since_1904 = False

    def sheets(self) -> Iterator[Sheet]:
        """Yield sheets in tab order, hidden ones included."""
        root = self._package.xml(self._main)
        if root is None:
            return
        properties = root.find("{*}workbookPr")
        if properties is not None:
            self._since_1904 = properties.get("date1904") in ("1", "true")
        for reference in root.iterfind("{*}sheets/{*}sheet"):
            part = self._related.get(reference.get(f"{RELATIONSHIPS}id", ""))
            data = self._package.data(part.name) if part else None
            if part is None or data is None:
                continue
            sheet = Sheet(name=one_line(reference.get("name", "")), cells={})
            if part.kind == "worksheet":
                self._load(sheet, data, name=part.name)
                spread_merged_cells(sheet.cells, sheet.merged)
            sheet.aside = list(self._over(part.name))
            yield sheet

    def _load(self, sheet: Sheet, data: bytes, *, name: str) -> None:
        """Fill in the cells and the ranges of merged ones."""
        number = 0
        for element in _elements(data, name, "row", "mergeCell"):
            if element.tag.endswith("}mergeCell"):
                ends = _REFERENCE.findall(element.get("ref", ""))
                if len(ends) == 2:
                    (left, top), (right, bottom) = ends
                    area = (int(top), int(bottom), _column(left), _column(right))
                    sheet.merged.append(area)
                continue
            number = integer_attribute(element.get("r"), number + 1)
            row = self._row(element)
            if row:
                sheet.cells.setdefault(number, {}).update(row)

    def _row(self, element: _Element) -> dict[int, str]:
        row: dict[int, str] = {}
        column = 0
        for cell in element:
            column = _column_of(cell.get("r", "")) or column + 1
            text = self._shown(cell)
            if text and not text.isspace():
                row[column] = text
                self._length += len(text) + _DIVIDERS
        check_length(self._length, max_characters=self._max_characters)
        return row

    def _shown(self, cell: _Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            inline = cell.find("{*}is")
            return "" if inline is None else _rich_text(inline)
        value = next((part.text or "" for part in cell if part.tag.endswith("}v")), "")
        if kind == "s":
            place = integer_attribute(value, -1)
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n" or not value:
            return value
        try:
            number = float(value)
        except ValueError:
            return value
        place = integer_attribute(cell.get("s"))
        format_ = self._formats[place] if 0 <= place < len(self._formats) else ""
        return format_number(number, format_=format_, since_1904=self._since_1904)

    def _shared_strings(self) -> Iterator[str]:
        for part in self._related.values():
            data = self._package.data(part.name) if part.kind == "sharedStrings" else None
            for element in [] if data is None else _elements(data, part.name, "si"):
                yield _rich_text(element)

    def _cell_formats(self) -> list[str]:
        name = next((part.name for part in self._related.values() if part.kind == "styles"), "")
        root = self._package.xml(name) if name else None
        if root is None:
            return []
        custom = {
            integer_attribute(element.get("numFmtId")): element.get("formatCode", "")
            for element in root.iterfind("{*}numFmts/{*}numFmt")
        }
        ids = [integer_attribute(xf.get("numFmtId")) for xf in root.iterfind("{*}cellXfs/{*}xf")]
        return [custom.get(id_) or BUILT_IN.get(id_, "") for id_ in ids]

    def _over(self, name: str) -> Iterator[Block]:
        """Text boxes, charts and comments that belong to a sheet."""
        parts = sorted(set(self._package.relations(name).values()))
        threaded = any(part.kind == "threadedComment" for part in parts)
        kinds = ("drawing", "threadedComment" if threaded else "comments")
        for part in parts:
            root = self._package.xml(part.name) if part.kind in kinds else None
            if root is not None and part.kind == "drawing":
                yield from self._drawing(root, name=part.name)
            elif root is not None:
                yield from _comments(root)

    def _drawing(self, root: _Element, *, name: str) -> Iterator[Block]:
        for body in root.iter("{*}txBody"):
            yield from text_blocks(body)
        for part in sorted(set(self._package.relations(name).values())):
            chart = self._package.xml(part.name) if part.kind == "chart" else None
            if chart is not None:
                yield from chart_blocks(chart)


def _comments(root: _Element) -> Iterator[Block]:
    for comment in root.iter("{*}comment", "{*}threadedComment"):
        body = comment.find("{*}text")
        text = "" if body is None else " ".join((_rich_text(body) or body.text or "").split())
        yield Block(f"> Comment on {comment.get('ref', '')}: {text}" if text else "")


def _rich_text(element: _Element) -> str:
    """Return a string's runs without phonetic readings."""
    return "".join(
        text.text or ""
        for text in element.iter("{*}t")
        if (parent := text.getparent()) is None or not parent.tag.endswith("}rPh")
    )


def _elements(data: bytes, name: str, *tags: str) -> Iterator[_Element]:
    """Stream elements of these names, freeing each after use."""
    from lxml import etree

    events = etree.iterparse(
        io.BytesIO(data),
        tag=[f"{{*}}{tag}" for tag in tags],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        for _event, element in events:
            yield element
            element.clear()
            while (before := element.getprevious()) is not None:
                before.getparent().remove(before)
    except etree.XMLSyntaxError as error:
        raise SourceError(
            f"is damaged: its part {name!r} is not well-formed; open it and save it again"
        ) from error


def _column_of(reference: str) -> int:
    """Return the column of a cell reference; 0 without one."""
    return _column(reference.rstrip("0123456789$").lstrip("$"))


@lru_cache(maxsize=20_000)
def _column(letters: str) -> int:
    """Return a column's number from 1; 0 if invalid."""
    if not 0 < len(letters) <= _COLUMN_LETTERS or not (letters.isascii() and letters.isupper()):
        return 0
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


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
            f"is damaged, or not an .xls file ({one_line(str(error))}): save it as .xlsx"
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
        name = [markdown_heading(sheet.name, level=2)] if sheet.name else []
        texts.append(sanitise_text(join_blocks([*name, *blocks])))
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
        spread_merged_cells(cells, merged)
        aside = list(_old_notes(sheet))
        yield Sheet(name=one_line(sheet.name), cells=cells, merged=merged, aside=aside)


def _old_cell(cell: Any, formats: dict[int, str], *, since_1904: bool) -> str:
    import xlrd

    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        format_ = formats.get(cell.xf_index, "")
        return format_number(float(cell.value), format_=format_, since_1904=since_1904)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, plain_number(cell.value)))
    return str(cell.value).strip()


def _old_notes(sheet: Any) -> Iterator[Block]:
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        text = " ".join(str(note.text).split())
        yield Block(f"> Comment on row {row + 1}, column {column + 1}: {text}" if text else "")
