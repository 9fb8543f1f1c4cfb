"""Main text of a page: the smallest element around trafilatura's result.

The element itself is written out afterwards, so that its tables, lists and code are whole. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .frame import Sizes

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_DEEPEST = 200
_LONGEST_SOURCE = 5_000_000
_MOST_ELEMENTS = 30_000
_MOST_BLOCKS = 1_000
_BLOCKS = frozenset({"table", "ul", "ol", "dl"})
"""Maximum elements for trafilatura (0.4 ms each, more with tables and lists)."""
_PARAGRAPH = re.compile(
    "article|aside|blockquote|body|br|caption|center|col|d[dlt]|div|fieldset|form|h[1-6]|legend|li"
    "|opt(?:ion|group)|p|pre|t(?:able|body|d|extarea|foot|h|head|r)|ul"
).fullmatch
_SHORT = 150
_MOST_PAIRS = 4_000_000
"""Of short paragraphs without a longer one between them.

Each looks for one past all the others.
"""
_LEAST_PIECE = 20
_COVERED = 0.9
_MOST = 0.6
_LEAST_SIBLING = 60
_GAPS = re.compile(r"\W+")


def main_element(source: str, tree: HtmlElement, sizes: Sizes) -> HtmlElement | None:
    """Return the main element; None if none stands out."""
    named = [
        found[0]
        for path in ("//article", "//main | //*[@role='main']")
        if len(found := tree.xpath(path)) == 1
    ]
    for element in named:
        if sizes.text.get(element, 0) >= _MOST * sizes.text.get(tree, 0):
            return element  # the author's own word on what is the main text
    if len(source) > _LONGEST_SOURCE or _is_dense(tree) or _depth(tree) > _DEEPEST:
        return None
    found = _found_text(source)
    inner = _smallest_around(found, tree) if found else None
    if inner is None:
        return named[0] if named else None
    kept = [element for element in named if _holds(element, inner, sizes)]
    return kept[0] if kept else _with_siblings(inner, sizes)


def _is_dense(tree: HtmlElement) -> bool:
    """Check for too much markup to search."""
    elements = tables_and_lists = length = run = pairs = 0
    for element in tree.iter():
        elements += 1
        tables_and_lists += element.tag in _BLOCKS
        if isinstance(element.tag, str) and _PARAGRAPH(element.tag):
            run = 0 if length > _SHORT else run + 1
            pairs, length = pairs + run, 0
        length += len((element.text or "").strip()) + len((element.tail or "").strip())
    return elements > _MOST_ELEMENTS or tables_and_lists > _MOST_BLOCKS or pairs > _MOST_PAIRS


def _depth(tree: HtmlElement) -> int:
    depths: dict[HtmlElement, int] = {}
    deepest = 0
    for element in tree.iter():
        parent = element.getparent()
        depths[element] = depths.get(parent, 0) + 1 if parent is not None else 0
        deepest = max(deepest, depths[element])
    return deepest


def _found_text(source: str) -> str:
    from trafilatura import extract

    found = extract(
        source, output_format="txt", include_comments=True, favor_recall=True, deduplicate=False
    )
    return _GAPS.sub("", found or "")


def _smallest_around(found: str, tree: HtmlElement) -> HtmlElement | None:
    """Return the deepest element around nearly all of the `found` text."""
    covered: dict[HtmlElement, int] = {}
    for element in reversed(list(tree.iter())):
        if not isinstance(element.tag, str) or element.tag in ("script", "style", "head"):
            continue
        texts = [element.text, *(child.tail for child in element)]
        own = sum(_covered(text, found) for text in texts)
        covered[element] = own + sum(covered.get(child, 0) for child in element)
    whole = covered.get(tree, 0)
    if not whole:
        return None
    element = tree
    while True:
        inner = [child for child in element if covered.get(child, 0) >= _COVERED * whole]
        if not inner:
            return element
        element = inner[0]


def _covered(text: str | None, found: str) -> int:
    letters = _GAPS.sub("", text or "")
    return len(letters) if len(letters) >= _LEAST_PIECE and letters in found else 0


def _holds(named: HtmlElement, inner: HtmlElement, sizes: Sizes) -> bool:
    if named is inner or any(parent is named for parent in inner.iterancestors()):
        return True
    return sizes.text.get(named, 0) >= _COVERED * sizes.text.get(inner, 0)


def _with_siblings(element: HtmlElement, sizes: Sizes) -> HtmlElement:
    """Extend a thread's post to its siblings."""
    for candidate in (element, *list(element.iterancestors())[:2]):
        parent, kind = candidate.getparent(), candidate.get("class")
        if parent is None or not kind or candidate.tag in ("body", "html"):
            continue
        alike = [
            each
            for each in parent
            if each.tag == candidate.tag
            and each.get("class") == kind
            and sizes.text.get(each, 0) >= _LEAST_SIBLING
        ]
        if len(alike) > 1:
            return parent
    return element
