"""What a reader makes of a file's bytes, and what every stored text must be.

Knows no format and no file system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WORD_GAP = re.compile(r"(?<!\d)[-_\s]+|[-_\s]+(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The text of one source as it will be stored and cited.

    `title` is None where the content names none; `pages` holds each page's start offset in `text`.
    """

    text: str
    title: str | None = None
    pages: tuple[int, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


def storable(text: str) -> str:
    """The text with what no database stores (lone surrogates, NUL) as U+FFFD: the same length."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def one_line(text: str, *, limit: int = 200) -> str:
    """A title on one line: white space folded, cut with an ellipsis past `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def readable_stem(stem: str) -> str:
    """A file's stem as a title: dashes and underscores become spaces, but not inside a date."""
    return one_line(_WORD_GAP.sub(" ", stem)) or stem
