"""Message bodies: decoding, and the choice between plain and HTML versions.

A message often says the same twice, as plain text and as HTML. Nothing is cut from it, neither
quoted replies nor signatures.
"""

from __future__ import annotations

import codecs
import re
from email.message import Message

from ...errors import SourceError
from ..content import sanitise_text
from ..text.plain import decode
from ..web.markdown import as_markdown

_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "ascii": "utf-8"}
_LETTER = re.compile(r"[^\W_]")
_LINK = re.compile(r"\]\((?:[^)\s\]]|\](?!\())*+\)|https?://\S+")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LEAST_SHARE = 0.5
"""Minimum share of the HTML version's letters for the plain one to be complete."""


def charset_text(data: bytes, charset: str | None) -> str:
    """Decode bytes in the claimed encoding, or the detected one if it does not fit.

    Binary data decodes as Latin-1 and is recognisable as such.
    """
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
    """Return a plain part with Unix line ends; flowed lines are joined (RFC 3676)."""
    text = charset_text(data, part.get_content_charset()).replace("\r\n", "\n").strip("\n")
    flowed = str(part.get_param("format") or "").lower() == "flowed"
    return _unfolded(text, joins="" if _is_delsp(part) else " ") if flowed else text


def html_text(data: bytes, *, charset: str | None) -> str:
    """Convert an HTML part to Markdown in full; quoted replies are content here."""
    from lxml import etree, html

    source = _DECLARATION.sub("", sanitise_text(charset_text(data, charset)))
    try:
        tree = html.document_fromstring(
            source.encode("utf-8"), parser=html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
    except (etree.ParserError, etree.XMLSyntaxError):
        return ""  # nothing but white space or a declaration
    return as_markdown(tree)


def richer(plain: str, markdown: str) -> tuple[str, bool]:
    """Choose the plain version unless it lacks much of the HTML one.

    Return whether it is Markdown.
    """
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
