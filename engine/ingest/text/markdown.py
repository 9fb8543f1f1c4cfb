"""Markdown: the text as it is, with the title and what its front matter says."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache

import yaml

from ...types import MetaValue
from ..content import Content, one_line, sanitise_text
from ..dates import iso_date
from .plain import decode, plain_title

_FRONT_MATTER = re.compile(
    r"\A(?:---[ \t]*\r?\n(?P<yaml>.*?)^(?:---|\.\.\.)|\+\+\+[ \t]*\r?\n(?P<toml>.*?)^\+\+\+)"
    r"[ \t]*(?:\r?\n|\Z)",
    re.S | re.M,
)
_FRONT_MATTER_LIMIT = 1 << 16
_FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.S | re.M)
_TOP_HEADING = re.compile(r"^ {0,3}#[ \t]+(\S.*)$|^(\S.*)\r?\n=+[ \t]*\r?$", re.M)
_CLOSING_MARKS = re.compile(r"(?<![^ \t])#+[ \t\r]*\Z")
_LONGEST_HEADING = 1_000
"""Maximum heading length; matching marks in longer lines costs seconds."""
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}(\S(?:.*?\S)?)[*_`]{1,3}")
_UNREADABLE = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What parsers raise on numbers, days and types of YAML or TOML that are none."""
_LARGEST = 1 << 63
_DATES = ("date", "published", "created", "updated")
Scalar = str | int | float | bool | datetime.date | datetime.datetime


def read_markdown(data: bytes) -> Content:
    """Read the decoded text; titled by front matter, else its first top-level heading."""
    text = decode(data)
    metadata = front_matter(text)
    title = str(metadata.get("title") or "") or markdown_title(text)
    return Content(text=text, title=title, shape="markdown", metadata=metadata)


def front_matter(text: str) -> dict[str, MetaValue]:
    """Return front matter (YAML `---` or TOML `+++`) as `described`; empty without one."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    if found is None:
        return {}
    return dict(_said(found["yaml"], found["toml"]))


@lru_cache(maxsize=8)
def _said(yaml_text: str | None, toml_text: str | None) -> Mapping[str, MetaValue]:
    """What front matter says; kept, since it is asked for more than once for each text."""
    try:
        if toml_text is not None:
            data: object = tomllib.loads(toml_text.replace("\r\n", "\n"))
        else:
            data = yaml.safe_load(yaml_text or "")
    except (yaml.YAMLError, *_UNREADABLE, RecursionError):
        return {}  # a rule across the page, not front matter; the text itself is kept whole
    return described(data) if isinstance(data, dict) else {}


def described(data: Mapping[str, object]) -> dict[str, MetaValue]:
    """Return metadata by key: scalars, and lists as tuples of text.

    `date` is the first of `date`, `published`, `created` and `updated` that is one, in ISO 8601;
    `tags` (else `keywords`) are a tuple even where written as one text with commas; `author` is
    one text even where there are several. What is neither scalar nor such a list is left out.
    """
    plain = {one_line(sanitise_text(str(key))): _meta(value) for key, value in data.items()}
    result = {
        key: value
        for key, value in plain.items()
        if key and value is not None and value not in ("", ())
    }
    days = (iso_date(data.get(key)) for key in _DATES)
    authors = result.get("author") or result.get("authors")
    derived: dict[str, MetaValue | None] = {
        "date": next(filter(None, days), None),
        "tags": _listed(result.get("tags") or result.get("keywords")),
        "author": ", ".join(authors) if isinstance(authors, tuple) else authors,
    }
    said = {key: value for key, value in result.items() if key not in derived}
    said |= {key: value for key, value in derived.items() if value is not None}
    return dict(sorted(said.items()))


def _meta(value: object) -> MetaValue | None:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        return None  # no database takes it as a number, and its digits may be without end
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime.date):
        return iso_date(value)
    if isinstance(value, str):
        return one_line(sanitise_text(value))
    if isinstance(value, list | tuple):
        items = (_meta(item) for item in value if isinstance(item, Scalar))
        return tuple(filter(None, (str(item) for item in items if item is not None)))
    return None


def _listed(value: MetaValue | None) -> MetaValue | None:
    if isinstance(value, str):
        return tuple(filter(None, (part.strip() for part in re.split("[,;，、；]", value))))
    return value


def front_matter_end(text: str) -> int:
    """Return the end of the front matter, closing line included; 0 without one."""
    found = _FRONT_MATTER.match(text[:_FRONT_MATTER_LIMIT])
    return found.end() if found and front_matter(text) else 0


def markdown_title(text: str) -> str | None:
    """Return the first top-level heading outside code, or a short first line.

    None otherwise.
    """
    body = text[front_matter_end(text) :]
    fences = _FENCE.finditer(body)
    fence = next(fences, None)
    for heading in _TOP_HEADING.finditer(body):
        while fence and fence.end() <= heading.start():
            fence = next(fences, None)
        if fence is None or heading.start() < fence.start():
            title = one_line(unmarked(_without_closing(heading.group(1)) or heading.group(2) or ""))
            if title:
                return title
    first = body.lstrip().partition("\n")[0]
    if first[:1] in ("#", "|", "-", "*", ">", "<", "!", "`"):
        heading_text = unmarked(first.lstrip("#").strip()) if first.startswith("#") else ""
        return one_line(heading_text) or None
    return plain_title(body)


def unmarked(text: str) -> str:
    """Strip emphasis, code marks and links from a heading (first 1,000 characters)."""
    head = text[:_LONGEST_HEADING]
    return _INLINE.sub(lambda found: found.group(1) or found.group(2) or "", head).strip()


def _without_closing(heading: str | None) -> str:
    """Strip a heading's closing marks; `C#` keeps its own."""
    return _CLOSING_MARKS.sub("", (heading or "")[:_LONGEST_HEADING])
