"""Footnotes of a page, put behind the paragraphs that they belong to.

At the end of a page a note stands below the last heading, and nobody finds the reason that it
gives beside the rule. A note is what a short link leads to that leads back to the link, however a
generator (docutils, DocBook, pandoc) writes it. References of an encyclopaedia stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

LONGEST_MARK = 5
"""Characters of the mark of a note."""
FEWEST_WORDS = 4
"""Words of a note that tells something."""
_BLOCKS = frozenset(("p", "li", "dd", "blockquote", "div"))
_INLINE = frozenset(("a", "span", "sup", "b", "strong"))
_NO_PLACE = frozenset(("table", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "pre"))


def place_footnotes(tree: HtmlElement) -> None:
    """Move each footnote of a page behind the paragraph with its first reference, in place."""
    places = {name: each for each in tree.iter() for name in _names(each)}
    last: dict[HtmlElement, HtmlElement] = {}
    moved: set[HtmlElement] = set()
    leads = cache(_leads)  # each element is looked through once, whatever leads to it
    for link in [*tree.iter("a")]:
        mark = link.text_content().strip()
        target = places.get((link.get("href") or "").removeprefix("#"))
        is_gone = link.getparent() is None
        if is_gone or target is None or not 0 < len(mark) <= LONGEST_MARK or _is_cited(link):
            continue
        back = {f"#{name}" for each in (link, link.getparent()) for name in _names(each)}
        above = _block(link)
        note = _note(target, back, leads) if above is not None else None
        if note is None or above is None or note in moved or above is note:
            continue
        if note in above.iterancestors() or above in note.iterancestors():
            continue
        if len(note.text_content().split()) < FEWEST_WORDS:
            continue
        moved.add(note)
        mark = mark.strip("[]")
        placed = _moved(note, mark, back)
        link.clear(keep_tail=True)
        link.text = f"[{mark}]"
        last.get(above, above).addnext(placed)
        last[above] = placed


def _names(element: HtmlElement) -> list[str]:
    """Return the names by which links lead to an element."""
    names = (element.get("id"), element.get("name") if element.tag == "a" else None)
    return [name for name in names if name]


def _is_cited(link: HtmlElement) -> bool:
    """Check for a reference to a source, as encyclopaedias have them."""
    above = [link, *link.iterancestors("sup")]
    return any("reference" in (each.get("class") or "").split() for each in above)


def _leads(element: HtmlElement) -> frozenset[str]:
    """Return where the links in an element lead to."""
    return frozenset(each.get("href") or "" for each in element.iter("a"))


def _note(
    target: HtmlElement,
    back: Collection[str],
    leads: Callable[[HtmlElement], frozenset[str]],
) -> HtmlElement | None:
    """Return the element of a note that leads back to its reference; None where nothing does."""
    element = target
    while element.tag in _INLINE and element.getparent() is not None:
        element = element.getparent()
    if leads(element).isdisjoint(back):
        return None
    note = element.getnext() if element.tag == "dt" else element
    return note if note is not None and note.tag in (*_BLOCKS, "aside") else None


def _block(link: HtmlElement) -> HtmlElement | None:
    """Return the paragraph or item around a link; None in a table or a heading."""
    for each in link.iterancestors():
        if each.tag in _NO_PLACE:
            return None
        if each.tag in _BLOCKS:
            return each
    return None


def _moved(note: HtmlElement, mark: str, back: Collection[str]) -> HtmlElement:
    """Take a note out of its place, with its mark in front instead of the link back."""
    term = note.getprevious() if note.tag == "dd" else None
    for each in [*note.iter("a")]:
        if each.get("href") in back:
            each.drop_tree()
    for each in [*note.iterchildren("span", "sup")]:
        if not any(map(str.isalnum, each.text_content())):  # the brackets around the link
            each.drop_tree()
    if term is not None and term.tag == "dt":
        term.drop_tree()
    note.drop_tree()
    note.tag, note.tail = "div", None
    first = note.find("p")
    head = note if first is None or (note.text or "").strip() else first
    head.text = f"[{mark}] {(head.text or '').lstrip()}"
    return note
