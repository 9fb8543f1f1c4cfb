"""Straight lines of a page: table rules, frames, underlines.

Walks PDFium's page objects, within limits, since a map or a plot can hold millions of them. Knows
nothing of text.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .glyphs import FURTHEST
from .pieces import Rule

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_MAX_OBJECTS = 20_000
_MAX_RULES = 3_000
_MAX_SEGMENTS = 400
_MAX_DEPTH = 4
_THIN = 2.5
_SHORTEST = 4.0

Matrix = tuple[float, float, float, float, float, float]
_SAME: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def rules_of(page: PdfPage) -> list[Rule]:
    """Return axis-parallel lines and edges in points; none if the page draws too many."""
    from pypdfium2 import raw

    rules: list[Rule] = []
    count = raw.FPDFPage_CountObjects(page.raw)
    if count > _MAX_OBJECTS:
        return []
    for index in range(count):
        for rule in _of_object(raw.FPDFPage_GetObject(page.raw, index), _SAME, depth=0):
            if all(-FURTHEST < edge < FURTHEST for edge in rule):
                rules.append(rule)
            if len(rules) > _MAX_RULES:
                return []
    return rules


def _of_object(thing: object, matrix: Matrix, *, depth: int) -> Iterator[Rule]:
    from pypdfium2 import raw

    kind = raw.FPDFPageObj_GetType(thing)
    if kind == raw.FPDF_PAGEOBJ_PATH:
        yield from _of_path(thing, matrix)
    elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
        count = raw.FPDFFormObj_CountObjects(thing)
        if count > _MAX_OBJECTS:
            return
        inner = _times(_matrix(thing), matrix)
        for index in range(count):
            yield from _of_object(raw.FPDFFormObj_GetObject(thing, index), inner, depth=depth + 1)


def _of_path(path: object, matrix: Matrix) -> Iterator[Rule]:
    from pypdfium2 import raw

    edges = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(path, *(ctypes.byref(edge) for edge in edges)):
        return
    left, bottom, right, top = (edge.value for edge in edges)
    box = _moved_box((left, bottom, right, top), matrix)
    width, height = box[2] - box[0], box[3] - box[1]
    if max(width, height) < _SHORTEST:
        return
    if min(width, height) <= _THIN:
        yield Rule(box)
        return
    count = raw.FPDFPath_CountSegments(path)
    if count <= _MAX_SEGMENTS:
        yield from _of_segments(path, _times(_matrix(path), matrix), count=count)


def _of_segments(path: object, matrix: Matrix, *, count: int) -> Iterator[Rule]:
    from pypdfium2 import raw

    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = (0.0, 0.0)
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = _moved(x.value, y.value, matrix)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield from _edge(last, point)
        last = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield from _edge(point, start)
            last = start


def _edge(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Rule]:
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    if min(right - left, top - bottom) <= 1 and max(right - left, top - bottom) >= _SHORTEST:
        yield Rule((left, bottom, right, top))


def _matrix(thing: object) -> Matrix:
    from pypdfium2 import raw

    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, ctypes.byref(found)):
        return _SAME
    return found.a, found.b, found.c, found.d, found.e, found.f


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    a, b, c, d, e, f = inner
    g, h, i, j, k, m = outer
    return (
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + m,
    )


def _moved(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _moved_box(box: tuple[float, float, float, float], matrix: Matrix) -> Rule:
    one, other = _moved(box[0], box[1], matrix), _moved(box[2], box[3], matrix)
    left, right = sorted((one[0], other[0]))
    bottom, top = sorted((one[1], other[1]))
    return Rule((left, bottom, right, top))
