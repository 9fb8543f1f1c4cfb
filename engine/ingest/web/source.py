"""HTML bytes to text and tree, for any declaration and nesting."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...errors import SourceError
from ..content import sanitise_text
from ..text.plain import decode

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
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?>")
_WITHOUT_END = re.compile(
    "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr", re.I
).fullmatch
_DEEPEST = 400
_TOO_DEEP = "ERR_RESOURCE_LIMIT"


def page_source(data: bytes) -> str:
    """Decode a page as declared, or as detected if that is wrong.

    Raises:
        SourceError: no text at all.
    """
    return _DECLARATION.sub("", _decoded(data))


def page_tree(source: str) -> HtmlElement:
    """Parse a page; tags nested too deeply are dropped, their text stays.

    Raises:
        SourceError: nothing in it.
    """
    from lxml import etree, html

    for text in (source, None):
        parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
        shown = "".join(_shallow(source)) if text is None else text
        try:
            tree = html.document_fromstring(shown.encode("utf-8"), parser=parser)
        except (etree.ParserError, etree.XMLSyntaxError) as error:
            if "unknown error" in str(error):  # libxml2's word for no memory left
                raise SourceError("is too large for one page to be made of it: split it") from error
            raise SourceError("is empty: there is no text in this page") from error
        if not any(entry.type_name == _TOO_DEEP for entry in parser.error_log):
            break
    return tree


def _shallow(source: str) -> Iterator[str]:
    """Remove tags beyond the nesting limit."""
    depth = left_out = at = 0
    for found in _TAG.finditer(source):
        yield source[at : found.start()]
        at = found.end()
        closes, name = found.groups()
        keep = True
        if closes:
            keep = not left_out
            left_out, depth = max(0, left_out - 1), depth - (not left_out)
        elif not _WITHOUT_END(name):
            keep = depth < _DEEPEST
            depth, left_out = depth + keep, left_out + (not keep)
        yield found.group() if keep else " "
    yield source[at:]


def _decoded(data: bytes) -> str:
    declared = _CHARSET.search(data[:2048])
    if declared and not data.startswith(
        (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    ):
        try:
            name = codecs.lookup(declared.group(1).decode("ascii")).name
            return sanitise_text(data.decode(_WIDER.get(name, name)))
        except (LookupError, UnicodeError):
            return decode(data)  # an unknown or a wrong declaration: the bytes decide
    return decode(data)
