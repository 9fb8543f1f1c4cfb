"""Plain text: bytes to characters exactly, and the title that a text gives itself."""

from __future__ import annotations

import codecs
import re

from ...errors import SourceError
from ..content import REPLACEMENT, Content, one_line, sanitise_text
from .encodings import guess

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the other's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SIGNATURES = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP or office document"),
    (b"\x89PNG", "PNG"),
    (b"GIF8", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x1f\x8b", "gzip"),
    (b"\x7fELF", "program"),
    (b"\xd0\xcf\x11\xe0", "old office document"),
    (b"SQLite format 3\x00", "SQLite database"),
)
_CONTROL = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f]")
_MAX_CONTROL_SHARE = 0.01
_MAX_BROKEN_SHARE = 0.001
_LABELLED = re.compile(
    r"^[ \t]*(?:title|subject|标题|题目|主题)[ \t]*[:：][ \t]*(\S.*)$", re.I | re.M
)
_HEADER_LINE = re.compile(r"[A-Za-z-]{2,20}:\s")
_NAMES_SOMETHING = re.compile(r"^[^<{].*?[^\W\d_].*?[^\W_]")
_TITLE_LIMIT = 100


def read_plain(data: bytes) -> Content:
    """Read decoded text; titled by a `Title:` line or a short first line."""
    text = decode(data)
    return Content(text=text, title=plain_title(text))


def decode(data: bytes) -> str:
    """Decode `data` without byte order mark; newlines unchanged.

    UTF-8 first, UTF-16 and UTF-32 by their marks, then a guess (`encodings.guess`).

    Raises:
        SourceError: the bytes are not text.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return _checked(data[len(mark) :].decode(codec, "replace"))
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            raise SourceError(f"looks like a binary file ({kind}), not text")
    try:
        return _checked(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _checked(_decode_other(data))


def _decode_other(data: bytes) -> str:
    damaged = data.decode("utf-8", "replace")
    broken = damaged.count(REPLACEMENT)
    sound = len(damaged) - sum(map(str.isascii, damaged)) - broken
    if broken <= max(1, _MAX_BROKEN_SHARE * len(damaged)) and sound > 2 * broken:
        return damaged  # UTF-8 with a few bytes cut or lost, not another encoding
    codec = guess(data)
    if codec is None:
        raise SourceError("looks like a binary file: no text encoding fits its bytes")
    return data.decode(codec, "replace")


def _checked(text: str) -> str:
    control = len(_CONTROL.findall(text))
    if control > _MAX_CONTROL_SHARE * len(text) or text.count(REPLACEMENT) > 0.05 * len(text):
        raise SourceError("looks like a binary file: too many of its characters are not text")
    return sanitise_text(text)


def plain_title(text: str) -> str | None:
    """Return an unmarked text's own title, or None."""
    head = text[:4000]
    first, _, rest = head.lstrip().partition("\n")
    labelled = _LABELLED.search("\n".join(head.splitlines()[:20]))
    if labelled:
        return one_line(labelled.group(1))
    line = one_line(first).lstrip("#").strip()  # a Markdown heading, as texts in hand often have
    if len(first) > _TITLE_LIMIT or _HEADER_LINE.match(line) or not _NAMES_SOMETHING.search(line):
        return None
    ends_like_prose = line[-1] in ".,;:!?。，；：！？、"
    stands_alone = not rest.strip("\r") or rest.lstrip(" \t\r").startswith("\n") or len(line) <= 60
    return line if stands_alone and not ends_like_prose else None
