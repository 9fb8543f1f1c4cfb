"""Web pages: their main text as Markdown, with headings, lists and tables, without the frame.

The main text is found by `trafilatura`. Where that loses a page's structure or most of a short
page, the page's own body is written out instead. Knows nothing of files or the network.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from ..errors import SourceError
from .content import Content, one_line, storable
from .plain import decode
from .web_markdown import as_markdown

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_WIDER = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_SITE_NAME = re.compile(r"\s+[|·»«]\s.*")
_SHORT_PAGE_CHARACTERS = 5_000
_STRUCTURE = re.compile(r"^(?:#{1,6} |\|)", re.M)
_LETTER = re.compile(r"[^\W_]")
_TAGS = re.compile(r" ?</?(?:u|sub|sup)>")
_LINE_ENDS = re.compile(r"[ \t]+$", re.M)
_GAPS = re.compile(r"\n{3,}")


def read_web_page(data: bytes) -> Content:
    """The main text as Markdown. The title: the first `h1` if the page's `title` repeats it, else
    the `title`.

    Raises:
        SourceError: no text in it, or not text at all.
    """
    from lxml import etree, html

    source = _DECLARATION.sub("", _decoded(data))
    try:
        tree = html.document_fromstring(
            source.encode("utf-8"), parser=html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise SourceError("is empty: there is no text in this page") from error
    title, heading = _names(tree)
    text = storable(_main_text(source, tree))
    if heading and text and heading not in text.replace("\\", ""):
        text = f"# {heading}\n\n{text}"
    return Content(text=text, title=title, shape="markdown")


def _decoded(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    if declared and not data.startswith(
        (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    ):
        try:
            name = codecs.lookup(declared.group(1).decode("ascii")).name
            return storable(data.decode(_WIDER.get(name, name)))
        except (LookupError, UnicodeDecodeError):
            return decode(data)  # an unknown or a wrong declaration: the bytes decide
    return decode(data)


def _names(tree: HtmlElement) -> tuple[str | None, str | None]:
    """The page's title and its first heading of the top level."""
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
    from trafilatura import extract

    body = as_markdown(tree)
    found = extract(
        source,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        favor_recall=True,
        deduplicate=False,
    )
    main = _tidied(found or "")
    articles = tree.xpath("//article")
    article = as_markdown(articles[0]) if len(articles) == 1 else ""
    if article and _size(article) >= 0.9 * _size(main):
        return article  # the author's own word on what is the main text; bylines are kept
    return body if _loses_too_much(main, body) else main


def _tidied(text: str) -> str:
    return _GAPS.sub("\n\n", _LINE_ENDS.sub("", _TAGS.sub("", text))).strip()


def _loses_too_much(main: str, body: str) -> bool:
    """Whether the found main text is a worse account of the page than its whole body."""
    if _size(main) < 0.5 * _size(body) and len(body) < _SHORT_PAGE_CHARACTERS:
        return True
    little_to_remove = _size(body) <= 1.25 * _size(main)
    structure = len(_STRUCTURE.findall(body))
    return not main or (little_to_remove and len(_STRUCTURE.findall(main)) < 0.9 * structure)


def _size(text: str) -> int:
    """The letters and digits of a text: what is left when marks and spaces are not counted."""
    return len(_LETTER.findall(text))
