"""Markdown: the text as it is, with the title and the scalar keys of its front matter.

Knows nothing of files; headings are found again, with their offsets, where text is chunked.
"""

from __future__ import annotations

import datetime
import re

import yaml

from .content import Content, one_line, storable
from .plain import decode, plain_title

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FRONT_MATTER_LIMIT = 1 << 16
_FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.S | re.M)
_TOP_HEADING = re.compile(r"^ {0,3}#[ \t]+(.+?)[ \t]*#*[ \t]*\r?$|^(\S.*)\r?\n=+[ \t]*\r?$", re.M)
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}(\S(?:.*?\S)?)[*_`]{1,3}")
Scalar = str | int | float | bool | datetime.date | datetime.datetime


def read_markdown(data: bytes) -> Content:
    """The decoded text; the title is front matter's, else the first heading of the top level."""
    text = decode(data)
    metadata = front_matter(text)
    title = str(metadata.get("title") or "") or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def front_matter(text: str) -> dict[str, str]:
    """The scalar keys of YAML between two `---` lines at the very start; empty without."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    if found is None:
        return {}
    try:
        data = yaml.safe_load(found.group(1))
    except (yaml.YAMLError, ValueError):  # ValueError: a date that no calendar has
        return {}  # a rule across the page, not front matter; the text itself is kept whole
    if not isinstance(data, dict):
        return {}
    scalars = {str(key): value for key, value in data.items() if isinstance(value, Scalar)}
    return {storable(key): one_line(storable(str(scalars[key]))) for key in sorted(scalars)}


def front_matter_end(text: str) -> int:
    """Where the front matter ends, its closing line included; 0 without."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    return found.end() if found and front_matter(text) else 0


def markdown_title(text: str) -> str | None:
    """The first heading of the top level outside code, or a short first line; None without."""
    body = text[front_matter_end(text) :]
    fences = _FENCE.finditer(body)
    fence = next(fences, None)
    for heading in _TOP_HEADING.finditer(body):
        while fence and fence.end() <= heading.start():
            fence = next(fences, None)
        if fence is None or heading.start() < fence.start():
            title = one_line(unmarked(heading.group(1) or heading.group(2)))
            if title:
                return title
    first = body.lstrip().partition("\n")[0]
    if first[:1] in ("#", "|", "-", "*", ">", "<", "!", "`"):
        heading_text = unmarked(first.lstrip("#").strip()) if first.startswith("#") else ""
        return one_line(heading_text) or None
    return plain_title(body)


def unmarked(text: str) -> str:
    """A heading's text without emphasis, code marks and link targets."""
    return _INLINE.sub(lambda found: found.group(1) or found.group(2) or "", text).strip()
