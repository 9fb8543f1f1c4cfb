"""Web pages as Markdown: main text with headings, lists and tables.

The main text is the element around what `trafilatura` finds; where that loses most of a short
page, the page's whole body without its frame.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..content import Content, one_line, sanitise_text
from .frame import Sizes, frame_elements, hidden_elements, link_blocks
from .main import main_element
from .markdown import as_markdown
from .metadata import web_metadata
from .source import page_source, page_tree

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_SITE_NAME = re.compile(r"\s+[|·»«]\s.*")
_SHORT_PAGE_CHARACTERS = 5_000
_LEAST_LEFT = 0.15
_LEAST_SHARE = 0.1
_LEAST_SHORT_SHARE = 0.8
_LETTER = re.compile(r"[^\W_]")


def read_web_page(data: bytes) -> Content:
    """Read the main text.

    Titled by the first `h1` if the `title` repeats it, else the `title`. Metadata: `date`,
    `author`, `language`, `tags`.

    Raises:
        SourceError: no text in it, or not text at all.
    """
    source = page_source(data)
    tree = page_tree(source)
    title, heading = _names(tree)
    text = sanitise_text(_main_text(source, tree))
    if heading and text and heading not in text.replace("\\", ""):
        text = f"# {heading}\n\n{text}"
    return Content(text=text, title=title, shape="markdown", metadata=web_metadata(tree))


def _names(tree: HtmlElement) -> tuple[str | None, str | None]:
    """Return the page's title and first top-level heading."""
    titles = [
        one_line(found.text_content())
        for found in tree.xpath("//head/title | //body//title[not(ancestor::svg)]")
    ]
    headings = [one_line(found.text_content()) for found in tree.xpath("//h1")]
    title = _SITE_NAME.sub("", next(filter(None, titles), "")) or None
    heading = next(filter(None, headings), None)
    if title is None or (heading and heading.casefold() in title.casefold()):
        return heading, heading
    return title, heading


def _main_text(source: str, tree: HtmlElement) -> str:
    hidden = hidden_elements(tree)
    sizes = Sizes(tree, skip=hidden)
    framed = hidden | frame_elements(tree, sizes)
    body = as_markdown(tree, skip=framed)
    if _size(body) < _LEAST_LEFT * sum(sizes.text.get(child, 0) for child in tree.iter("body")):
        framed = hidden  # the page calls its own text a menu or an advert
        body = as_markdown(tree, skip=framed)
    element = main_element(source, tree, sizes)
    if element is None or element.tag in ("html", "body"):
        return body
    main = as_markdown(element, skip=(framed | link_blocks(element, sizes)) - {element})
    return body if _loses_too_much(main, body) else main


def _loses_too_much(main: str, body: str) -> bool:
    """Check whether the main text loses too much of the body."""
    share = _size(main) / max(1, _size(body))
    return share < _LEAST_SHARE or (
        share < _LEAST_SHORT_SHARE and len(body) < _SHORT_PAGE_CHARACTERS
    )


def _size(text: str) -> int:
    """Count letters and digits."""
    return len(_LETTER.findall(text))


def read_web_archive(data: bytes) -> Content:
    """Read the first HTML page of a web archive (MHTML).

    Raises:
        SourceError: there is no page of HTML in it, or no text in that.
    """
    from ..mail.message import parsed

    for part in parsed(data).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes) and payload.strip():
                return read_web_page(payload)
    raise SourceError("holds no web page: save the page anew as HTML")
