"""Books of Project Gutenberg as plain text: the work by itself, its header as metadata.

Such a book stands between "*** START OF …" and "*** END OF …". The header in front of it and the
pages of licence behind it are about the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...types import MetaValue
from ..document import Content, one_line

_MARK = r"^\*{3}[ ]?%s OF (?:THE|THIS) PROJECT GUTENBERG E-?BOOK[^*]{0,400}\*{3}[ \t]*$"
_START = re.compile(_MARK % "START", re.M | re.I)
_END = re.compile(_MARK % "END", re.M | re.I)
_FIELD = re.compile(r"^(?P<name>[A-Z][a-z ]{3,20}): +(?P<value>\S.*(?:\n[ \t]+\S.*)*)", re.M)
_CREDIT = re.compile(
    r"\s*(?:(?:Produced|Transcribed|(?:E-?text )?[Pp]repared) by\b.*(?:\n.*\S.*){0,6})?\s*"
)
_HEADER_LIMIT = 20_000
"""Characters in which the first mark stands."""


def read_ebook(text: str) -> Content | None:
    """Return the book in a text with both marks, titled by its header; None for any other text."""
    start = _START.search(text[:_HEADER_LIMIT])
    end = _END.search(text, start.end()) if start else None
    if start is None or end is None:
        return None
    header = text[: start.start()]
    fields = {one["name"]: one_line(one["value"]) for one in _FIELD.finditer(header)}
    credit = _CREDIT.match(text, start.end(), end.start())
    body = text[credit.end() if credit else start.end() : end.start()].rstrip()
    if not body.strip():
        return None
    return Content(text=f"{body}\n", title=fields.get("Title"), metadata=_metadata(fields))


def _metadata(fields: Mapping[str, str]) -> dict[str, MetaValue]:
    """Return who made the book; the header's date is that of the file."""
    said = {
        "author": fields.get("Author"),
        "translator": fields.get("Translator"),
        "illustrator": fields.get("Illustrator"),
        "publisher": "Project Gutenberg",
    }
    return {name: value for name, value in said.items() if value}
