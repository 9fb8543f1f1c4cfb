"""Table regions of sparse sheets.

Pure; cells come as they are stored, and nothing that is not stored is ever walked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from ..markdown_blocks import Block, paragraph, pipe_table

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
        yield paragraph("\n".join(row[columns[0]] for row in rows))
        return
    for row in rows[:wide]:
        yield paragraph(" ".join(row.values()))
    yield pipe_table([[row.get(column, "") for column in columns] for row in rows[wide or 0 :]])


def spread(cells: dict[int, dict[int, str]], merged: Ranges) -> None:
    """Repeat short merged text (first row, last row, first column.

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
