"""Reader results, and the sanitising of every stored text.

Knows no format and no file system.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..types import MetaValue, Shape

REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_WORD_GAP = re.compile(r"(?<!\d)[-_\s]+|[-_\s]+(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Member file: an archive entry or attachment.

    `name` is its path with forward slashes. If extraction failed, `failure` is the reason
    and `data` is empty.
    """

    name: str
    data: bytes
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The text of one source as it will be stored and cited.

    `title` is None where the content names none; `pages` holds each page's start offset in `text`;
    `shape` says what marks the text's parts. `metadata` is what the source says of itself: `date`
    (ISO 8601, the day or the second in UTC), `author`, `tags`, `language` … where it does.
    `members` are documents of their own, read after it; with members the text may be empty.
    """

    text: str
    title: str | None = None
    pages: tuple[int, ...] = ()
    shape: Shape = "text"
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    members: tuple[Member, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Reader limits, and optional engines such as OCR.

    `max_unpacked_bytes` and `max_members` are for everything inside one source together, nested
    archives included; `max_ratio` is unpacked to packed bytes of any one entry.
    """

    max_characters: int = 20_000_000
    max_members: int = 1_000
    max_unpacked_bytes: int = 200_000_000
    max_ratio: int = 200
    max_depth: int = 3
    ocr: bool = True
    transcription_model: str = "base"


def sanitise_text(text: str) -> str:
    """Replace unstorable characters (lone surrogates, NUL) by U+FFFD.

    The length is unchanged.
    """
    return _UNSTORABLE.sub(REPLACEMENT, text)


def one_line(text: str, *, limit: int = 200) -> str:
    """Fold a title to one line, truncated past `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def title_from_filename(stem: str) -> str:
    """Return a file's stem as a title.

    Dashes and underscores become spaces, except in dates.
    """
    return one_line(_WORD_GAP.sub(" ", stem)) or stem
