"""Page frame detection: hidden parts, menus, banners, adverts, sharing.

Finds elements to leave out; changes nothing. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_NO_TEXT = frozenset({"script", "style", "noscript", "template", "svg", "head", "select", "button"})
_FRAME_ROLES = re.compile(
    "navigation|banner|contentinfo|search|(?:alert)?dialog|menu(?:bar)?|toolbar|tooltip"
)
_NEVER_TEXT = re.compile(
    "cookies?|consent|gdpr|onetrust|adverts?|advertisement|advertising|ads|adsbygoogle|adsense|adslot"
    "|sponsor(?:s|ed)?|newsletter|breadcrumbs?|pagination|navbox|catlinks|editsection|noprint"
    "|jumplink|paywall|popup"
)
_SELDOM_TEXT = re.compile(
    "ad|nav|navbar|navigation|menu|sidebar|related|recommended|recommendations|shar(?:e|ing)|social"
    "|subscribe|subscription|signup|promo|promotion|toolbar|modal|overlay|skip|toc|masthead|topbar"
    "|footer|widgets?|login|banner|tags|pager|portlet|dropdown|langs?|languages|interlanguage"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PROTECTED = frozenset({"html", "body", "main", "article"})
_LINKED = 0.4
_LITTLE = 150
_LEAST_LINKS = 5
_NOTHING_BUT_LINKS = 0.9


class Sizes:
    """Letter counts of page elements, in total and in links."""

    def __init__(self, tree: HtmlElement, *, skip: Iterable[HtmlElement] = ()) -> None:
        self.text: dict[HtmlElement, int] = {}
        self.linked: dict[HtmlElement, int] = {}
        left_out = set(skip)
        for element in reversed(list(tree.iter())):
            if not isinstance(element.tag, str) or element.tag in _NO_TEXT or element in left_out:
                continue
            tails = sum(_letters(child.tail) for child in element)
            own = _letters(element.text) + tails
            total = own + sum(self.text.get(child, 0) for child in element)
            self.text[element] = total
            inner = sum(self.linked.get(child, 0) for child in element)
            self.linked[element] = total if element.tag == "a" else inner

    def link_share(self, element: HtmlElement) -> float:
        """Return the share of text in links; 1 without text."""
        total = self.text.get(element, 0)
        return self.linked.get(element, 0) / total if total else 1.0


def _letters(text: str | None) -> int:
    return sum(map(len, text.split())) if text else 0


def hidden_elements(tree: HtmlElement) -> set[HtmlElement]:
    """Elements that no reader of the page sees."""
    return {
        element
        for element in tree.iter()
        if isinstance(element.tag, str)
        and (
            element.get("hidden") is not None
            or element.get("aria-hidden") == "true"
            or _HIDDEN.search(element.get("style") or "") is not None
        )
        and element.tag not in _PROTECTED
    }


def frame_elements(tree: HtmlElement, sizes: Sizes) -> set[HtmlElement]:
    """Return frame elements by tag, role, class or id, unless they hold most of the text."""
    body = tree.find("body")
    most = 0.5 * sizes.text.get(tree if body is None else body, 0)
    return {
        element
        for element in tree.iter()
        if isinstance(element.tag, str)
        and element.tag not in _PROTECTED
        and sizes.text.get(element, 0) <= most
        and _is_frame(element, sizes)
    }


def _is_frame(element: HtmlElement, sizes: Sizes) -> bool:
    tag = element.tag
    if tag == "nav" or _FRAME_ROLES.fullmatch(element.get("role") or ""):
        return True
    if tag in ("header", "footer") and not _is_inside_text(element):
        return True
    if tag == "sup" and "reference" in (element.get("class") or ""):
        return True
    seldom = tag == "aside"
    if tag not in _HEADING_TAGS:
        names = f"{element.get('class') or ''} {element.get('id') or ''}"
        words = [word.lower() for word in _WORDS.findall(names)]
        if any(map(_NEVER_TEXT.fullmatch, words)):
            return True
        seldom = seldom or any(map(_SELDOM_TEXT.fullmatch, words))
    if not seldom:
        return False
    return sizes.link_share(element) >= _LINKED or sizes.text.get(element, 0) < _LITTLE


_HEADING_TAGS = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "title", "p", "pre", "code", "td", "th"}
)


def _is_inside_text(element: HtmlElement) -> bool:
    return any(parent.tag in ("article", "main", "section") for parent in element.iterancestors())


def link_blocks(element: HtmlElement, sizes: Sizes) -> set[HtmlElement]:
    """Return link-only lists and boxes in a mostly textual page."""
    if sizes.link_share(element) > _LINKED:
        return set()
    return {
        block
        for block in element.iter("ul", "ol", "div", "section", "aside", "table")
        if block is not element
        and sizes.text.get(block, 0) > 0
        and sizes.link_share(block) >= _NOTHING_BUT_LINKS
        and sum(1 for _ in block.iter("a")) >= _LEAST_LINKS
    }
