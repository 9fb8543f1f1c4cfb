"""Word styles: heading level, list, code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .numbering import W, value_of
from .package import whole

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre|título|titolo) ?([1-9])$", re.I)
_CODE = re.compile(r"code|preformatted|source|listing|代码", re.I)
_MAX_BASES = 20


class Style(NamedTuple):
    """`heading` 0 is no heading; `title`: the style of a document's title."""

    heading: int = 0
    title: bool = False
    code: bool = False
    list_id: str = ""
    list_level: int | None = None


NO_STYLE = Style()


def styles_of(root: _Element | None) -> dict[str, Style]:
    """Each paragraph style by its id, with what it inherits."""
    elements = {
        element.get(f"{W}styleId", ""): element
        for element in ([] if root is None else root.iterfind(f"{W}style"))
        if element.get(f"{W}type", "paragraph") == "paragraph"
    }
    return {id_: _style(id_, elements) for id_ in elements}


def _style(id_: str, elements: dict[str, _Element]) -> Style:
    chain: list[_Element] = []
    while id_ in elements and elements[id_] not in chain and len(chain) < _MAX_BASES:
        chain.append(elements[id_])
        id_ = value_of(chain[-1], "basedOn")
    names = [value_of(element, "name") for element in chain]
    headings = (heading for element in chain if (heading := _heading(element)))
    lists = (element.find(f"{W}pPr/{W}numPr") for element in chain)
    numbering = next((found for found in lists if found is not None), None)
    level = "" if numbering is None else value_of(numbering, "ilvl")
    return Style(
        heading=next(headings, 0),
        title=names[0].lower() in ("title", "标题", "標題"),
        code=any(map(_CODE.search, names)),
        list_id="" if numbering is None else value_of(numbering, "numId"),
        list_level=whole(level) if level else None,
    )


def _heading(style: _Element) -> int:
    outline = style.find(f"{W}pPr/{W}outlineLvl")
    if outline is not None and 0 <= whole(outline.get(f"{W}val"), 9) < 9:
        return whole(outline.get(f"{W}val")) + 1
    named = _HEADING.match(value_of(style, "name"))
    return int(named.group(1)) if named else 0
