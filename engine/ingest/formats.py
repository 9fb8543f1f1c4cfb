"""Which reader a file's suffix asks for. A further format is one more line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .content import Content, ReadOptions
from .markdown import read_markdown
from .pdf import read_pdf
from .plain import read_plain
from .web import read_web_page

Reader = Callable[[bytes, ReadOptions], Content]


class Format(NamedTuple):
    """A document type's name, and how its bytes become text."""

    type: str
    read: Reader


def _simple(type_: str, read: Callable[[bytes], Content]) -> Format:
    """A format whose reader needs no options."""
    return Format(type_, lambda data, _options: read(data))


_PLAIN = _simple("text", read_plain)
_MARKDOWN = _simple("markdown", read_markdown)
_WEB = _simple("html", read_web_page)

FORMATS: dict[str, Format] = {
    ".txt": _PLAIN,
    ".text": _PLAIN,
    ".log": _PLAIN,
    ".rst": _PLAIN,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _WEB,
    ".htm": _WEB,
    ".xhtml": _WEB,
    ".pdf": _simple("pdf", read_pdf),
}
SUFFIXES = frozenset(FORMATS)


def format_of(suffix: str) -> Format:
    """The document type and reader of a suffix; what is unknown is tried as plain text."""
    return FORMATS.get(suffix.lower(), _PLAIN)
