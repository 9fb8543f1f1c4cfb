"""Which reader a file's suffix asks for. A further format is one more line here."""

from __future__ import annotations

from collections.abc import Callable

from .content import Content
from .markdown import read_markdown
from .pdf import read_pdf
from .plain import read_plain
from .web import read_web_page

Reader = Callable[[bytes], Content]

_PLAIN: tuple[str, Reader] = ("text", read_plain)
_MARKDOWN: tuple[str, Reader] = ("markdown", read_markdown)
_WEB: tuple[str, Reader] = ("html", read_web_page)

FORMATS: dict[str, tuple[str, Reader]] = {
    ".txt": _PLAIN,
    ".text": _PLAIN,
    ".log": _PLAIN,
    ".rst": _PLAIN,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".html": _WEB,
    ".htm": _WEB,
    ".xhtml": _WEB,
    ".pdf": ("pdf", read_pdf),
}
SUFFIXES = frozenset(FORMATS)


def format_of(suffix: str) -> tuple[str, Reader]:
    """The document type and reader of a suffix; what is unknown is tried as plain text."""
    return FORMATS.get(suffix.lower(), _PLAIN)
