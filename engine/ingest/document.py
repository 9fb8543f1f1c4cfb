"""Results of readers, the sanitising of every stored text, and dates in any usual spelling.

Normalised text is for tokens, embedding input and keys, never for stored text. A date whose
spelling leaves the order of day and month open is none. An unforeseen exception of a parser is a
fact about the file, and becomes its reason.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

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


def unix_newlines(text: str) -> str:
    """Return a text with its lines ended as Python reads them: `\\r\\n` and `\\r` become `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def one_line(text: str, *, limit: int = 200) -> str:
    """Fold a title to one line, truncated past `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def title_from_filename(stem: str) -> str:
    """Return a file's stem as a title.

    Dashes and underscores become spaces, except in dates.
    """
    return one_line(_WORD_GAP.sub(" ", stem)) or stem


_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff\ufffd\ud800-\udfff]"
)
_SPACES = re.compile(r"\s+")


def normalise_text(text: str) -> str:
    """Return `text` in NFKC without control and zero-width characters, spaces folded.

    Applying it twice changes nothing. Joiners (U+200C, U+200D) stay: they carry meaning.
    """
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)))
    return _SPACES.sub(" ", visible).strip()


_NUMBERS = re.compile(r"(\d{4})[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?)?(?!\d)")
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)(?!\d)")
_NAMED = re.compile(
    r"(?:(?P<before>\d{1,2})(?:st|nd|rd|th)?\s+)?(?P<month>[A-Za-z]{3,9})\.?"
    r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?)?,?\s+(?P<year>\d{4})\b"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def iso_date(value: object) -> str | None:
    """Return `YYYY-MM-DD`, or `YYYY-MM-DDThh:mm:ssZ` with a time (UTC without a zone).

    A month alone is its first day. None for what is no date.
    """
    if isinstance(value, datetime.datetime):
        return _second(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not 6 <= len(text) <= 60:
        return None
    return _standard(text) or _by_numbers(text) or _by_name(text)


def _second(moment: datetime.datetime) -> str:
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(datetime.UTC)
        except OverflowError:  # the first or the last day of the calendar
            return moment.date().isoformat()
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def _standard(text: str) -> str | None:
    """ISO 8601, or the form of mails and feeds."""
    if text[:4].isdigit() and not text.isdigit():
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return None
        return _second(moment) if len(text) > 10 else moment.date().isoformat()
    if ":" in text and "," in text[:6]:
        try:
            return _second(parsedate_to_datetime(text))
        except (ValueError, TypeError, OverflowError, IndexError):
            return None  # a year or a zone that no calendar has
    return None


def _by_numbers(text: str) -> str | None:
    found = _COMPACT.match(text) or _NUMBERS.match(text)
    return _day(*(int(part or 1) for part in found.groups())) if found else None


def _by_name(text: str) -> str | None:
    for found in _NAMED.finditer(text):
        month = found["month"][:3].lower()
        if month in _MONTHS:
            day = int(found["before"] or found["after"] or 1)
            return _day(int(found["year"]), _MONTHS.index(month) + 1, day)
    return None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return datetime.date(year, month, day).isoformat()
    except ValueError:
        return None


_MESSAGE_LIMIT = 200
_OUT_OF_MEMORY = (
    "bad_alloc",
    "memoryerror",
    "out of memory",
    "cannot allocate",
    "alloc failed",
    "memory allocation",
)


def exception_line(error: BaseException) -> str:
    """Format a reader's exception: its type and the start of its message, on one line."""
    message = " ".join(str(error)[:_MESSAGE_LIMIT].split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def unexpected_failure_reason(said: str) -> str:
    """Return the reason of a source whose reader raised an unforeseen exception."""
    advice = "it is damaged or unusual; save it again, or convert it to another format"
    if said.startswith(("ImportError", "ModuleNotFoundError")):
        advice = "the installation lacks a library; install that library"
    return f"failed in its reader ({said}): {advice}"


def is_memory_error(words: str) -> bool:
    """Check whether a foreign error means lack of memory."""
    words = words.casefold()
    return any(sign in words for sign in _OUT_OF_MEMORY)
