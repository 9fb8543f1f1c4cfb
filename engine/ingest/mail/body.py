"""The body of a message: its bytes to characters, and which of its two versions to keep.

A message often says the same twice, as plain text and as HTML. Nothing is cut from it, neither
quoted replies nor signatures. Knows nothing of how messages are put together.
"""

from __future__ import annotations

import codecs
import re
from email.message import Message

from ...errors import SourceError
from ..content import storable
from ..text.plain import decode
from ..web.markdown import as_markdown

_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "ascii": "utf-8"}
_LETTER = re.compile(r"[^\W_]")
_LINK = re.compile(r"\]\((?:[^)\s\]]|\](?!\())*+\)|https?://\S+")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LEAST_SHARE = 0.5
"""Of the letters of the HTML version: with fewer, the plain one only says that there is another."""


def charset_text(data: bytes, charset: str | None) -> str:
    """The characters of bytes in the encoding they claim; where that does not fit, in the one
    found by `plain.decode`. What is no text comes out as Latin-1, and can be seen to be none."""
    try:
        name = codecs.lookup(charset or "utf-8").name
        return data.decode(_WIDER.get(name, name))
    except (LookupError, ValueError):
        pass  # an unknown or a wrong claim: the bytes decide
    try:
        return decode(data)
    except SourceError:
        return data.decode("latin-1")


def body_text(data: bytes, part: Message) -> str:
    """A plain text part with Unix line ends; lines that were broken for sending are whole again
    (RFC 3676)."""
    text = charset_text(data, part.get_content_charset()).replace("\r\n", "\n").strip("\n")
    flowed = str(part.get_param("format") or "").lower() == "flowed"
    return _unfolded(text, joins="" if _is_delsp(part) else " ") if flowed else text


def html_text(data: bytes, *, charset: str | None) -> str:
    """An HTML part as Markdown, all of it: quoted replies are no frame of a page here."""
    from lxml import etree, html

    source = _DECLARATION.sub("", storable(charset_text(data, charset)))
    try:
        tree = html.document_fromstring(
            source.encode("utf-8"), parser=html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
    except (etree.ParserError, etree.XMLSyntaxError):
        return ""  # nothing but white space or a declaration
    return as_markdown(tree)


def richer(plain: str, markdown: str) -> tuple[str, bool]:
    """The plain version unless it lacks much of the HTML one, and whether it is Markdown."""
    if plain and _letters(plain) >= _LEAST_SHARE * _letters(markdown):
        return plain, False
    return (markdown, True) if markdown else (plain, False)


def _letters(text: str) -> int:
    return len(_LETTER.findall(_LINK.sub("", text)))


def _is_delsp(part: Message) -> bool:
    return str(part.get_param("delsp") or "").lower() == "yes"


def _unfolded(text: str, *, joins: str) -> str:
    """Lines that end with a space go on in the next one of the same quoting depth."""
    lines: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        body = line.lstrip(">")
        depth = len(line) - len(body)
        body = body.removeprefix(" ")
        goes_on = body.endswith(" ") and body != "-- "
        if open_depth == depth:
            lines[-1] = f"{lines[-1].rstrip(' ')}{joins}{body}"
        else:
            lines.append(f"{'>' * depth}{' ' if depth and body else ''}{body}")
        open_depth = depth if goes_on else -1
    return "\n".join(line.rstrip(" ") for line in lines)
