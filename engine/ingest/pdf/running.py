"""Running heads, feet and page numbers, detected across pages.

Pure. The first of each head is kept, since it often names the document; page numbers are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .layout import Line
from .lines import is_page_number, shape_of

Columns = list[list[Line]]

_EDGE_LINES = 3
_PLACE = 6.0
_LARGER_THAN_BODY = 1.12

_Key = tuple[str, str, int]


def without_running_lines(pages: Sequence[Columns], *, body_size: float) -> list[Columns]:
    """Return pages without repeated lines at their edges."""
    found = [_edge_lines(page, body_size=body_size) for page in pages]
    counts = Counter(key for page in found for key in sorted(set(page.values())))
    least = 2 if sum(map(bool, pages)) <= 4 else 3
    seen: set[_Key] = set()
    result = []
    for page, keys in zip(pages, found, strict=True):
        dropped: set[int] = set()
        ended: set[str] = set()
        for identity, key in keys.items():
            if counts[key] < least or key[0] in ended:
                ended.add(key[0])  # further from the edge there is text already
                continue
            if key in seen or key[1] == _PAGE_NUMBER:
                dropped.add(identity)
            seen.add(key)
        kept = [[line for line in column if id(line) not in dropped] for column in page]
        result.append([column for column in kept if column])
    return result


_PAGE_NUMBER = "#"


def _edge_lines(page: Columns, *, body_size: float) -> dict[int, _Key]:
    """Return candidate heads or feet from the edge inwards, with page-independent forms."""
    lines = sorted((line for column in page for line in column), key=lambda line: -line.top)
    result: dict[int, _Key] = {}
    depth = min(_EDGE_LINES, len(lines) // 2)
    sides = (("foot", lines[: -depth - 1 : -1]), ("head", lines[:depth]))
    for side, edge in sides if len(lines) > 1 else ():
        for line in edge:
            if line.rows or line.size > _LARGER_THAN_BODY * body_size:
                continue
            if is_page_number(line.text):
                result[id(line)] = (side, _PAGE_NUMBER, 0)
            else:
                place = round((line.bottom + line.top) / 2 / _PLACE)
                result[id(line)] = (side, shape_of(line.text), place)
    return result
