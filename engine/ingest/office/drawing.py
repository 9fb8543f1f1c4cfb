"""DrawingML shared by slides, documents and sheets.

Paragraphs, tables, charts, diagrams.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..markdown_blocks import Block, item, paragraph, pipe_table
from .package import whole

if TYPE_CHECKING:
    from lxml.etree import _Element

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MAX_CHART_POINTS = 2_000
_REPEATED_CELL_LIMIT = 80


def line_of(element: _Element) -> str:
    """Return the text of an `a:p`: runs, fields, line breaks and maths."""
    pieces: list[str] = []
    for node in element.iter():
        if not isinstance(node.tag, str):
            continue
        name = node.tag.rpartition("}")[2]
        if name == "t":
            pieces.append(node.text or "")
        elif name == "br":
            pieces.append("\n")
        elif name == "tab":
            pieces.append(" ")
    return "".join(pieces).replace("\v", "\n").strip()


def text_blocks(body: _Element, *, bulleted: bool = False) -> Iterator[Block]:
    """Return a text body's paragraphs.

    Bulleted, numbered or indented ones as list items. `bulleted` is the default.
    """
    number = 0
    for element in body.iterfind(f"{A}p"):
        text = line_of(element)
        style = element.find(f"{A}pPr")
        level = whole(style.get("lvl")) if style is not None else 0
        marks = {child.tag for child in style} if style is not None else set()
        numbered = f"{A}buAutoNum" in marks
        number = number + 1 if numbered and text else 0 if not numbered else number
        listed = f"{A}buChar" in marks or numbered or level > 0
        if listed or (bulleted and f"{A}buNone" not in marks):
            yield item(text, level=level, mark=f"{number}." if numbered else "-")
        else:
            yield paragraph(text)


def table_block(table: _Element) -> Block:
    """Convert an `a:tbl` to a pipe table; short texts fill merged cells."""
    rows: list[list[str]] = []
    for row in table.iterfind(f"{A}tr"):
        cells: list[str] = []
        for position, cell in enumerate(row.iterfind(f"{A}tc")):
            text = " ".join(line_of(line) for line in cell.iter(f"{A}p"))
            merged: str | None = None
            if cell.get("vMerge") in ("1", "true") and rows and position < len(rows[-1]):
                merged = rows[-1][position]
            elif cell.get("hMerge") in ("1", "true") and cells:
                merged = cells[-1]
            if merged is not None and len(merged) <= _REPEATED_CELL_LIMIT:
                text = merged
            cells.append(text)
        rows.append(cells)
    return pipe_table(rows)


def chart_blocks(chart: _Element) -> Iterator[Block]:
    """Return a chart's titles and its series as a table."""
    for title in chart.iter(f"{_CHART}title"):
        yield paragraph(" ".join(line_of(line) for line in title.iter(f"{A}p")))
    columns: dict[str, dict[int, str]] = {}
    categories: dict[int, str] = {}
    for position, series in enumerate(chart.iter(f"{_CHART}ser"), start=1):
        name = " ".join(_points(series.find(f"{_CHART}tx")).values()) or f"{position}"
        for tag in ("cat", "xVal"):
            categories = {**_points(series.find(f"{_CHART}{tag}")), **categories}
        values = _points(series.find(f"{_CHART}val")) or _points(series.find(f"{_CHART}yVal"))
        columns[name if name not in columns else f"{name} ({position})"] = values
    indices = sorted({index for values in columns.values() for index in values})
    if indices:
        rows = [
            [categories.get(index, ""), *(values.get(index, "") for values in columns.values())]
            for index in indices[:_MAX_CHART_POINTS]
        ]
        yield pipe_table([["", *columns], *rows])


def diagram_blocks(model: _Element) -> Iterator[Block]:
    """Return the texts of a SmartArt diagram in model order."""
    for body in model.iter("{*}t"):
        text = " ".join(filter(None, (line_of(line) for line in body.iterfind(f"{A}p"))))
        if text:
            yield item(text)


def _points(source: _Element | None) -> dict[int, str]:
    if source is None:
        return {}
    points = {
        whole(point.get("idx")): _shown(point.findtext(f"{_CHART}v") or "")
        for point in source.iter(f"{_CHART}pt")
    }
    literal = source.findtext(f"{_CHART}v")
    return points or ({0: literal} if literal else {})


def _shown(value: str) -> str:
    """Return a cached number without binary noise; other text unchanged."""
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{number:.10g}" if abs(number) < 1e15 else value
