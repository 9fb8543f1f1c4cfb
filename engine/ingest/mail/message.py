"""Mail messages to text: main headers, body and attachments.

eml and mbox through the standard library, in the lenient way that mail needs: a header that breaks
the rules is shown as it is. Outlook's own format is in `outlook.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime

from ...errors import SourceError
from ...types import MetaValue
from ..archives.members import distinct
from ..content import Content, Member, one_line, sanitise_text
from ..dates import iso_date
from .body import body_text, charset_text, html_text, richer

SHOWN_HEADERS = ("From", "To", "Cc", "Date", "Subject")
DECORATION_BYTES = 16_384
"""Size below which an inline picture is decoration."""
_HEADER_LIMIT = 2_000
_LONGEST_HEADER = 50_000
"""Maximum encoded length of a header: encoded words are decoded in quadratic time."""
_MOST_BOUNDARIES = 1_000
"""Maximum boundary declarations: nested parts are parsed in quadratic time."""
_PARAMETERS = re.compile(rb"^content-[a-z]{4,30}:[^\n]*+(?:\n[ \t][^\n]*+)*+", re.I | re.M)
_BOUNDARY = re.compile(rb"boundary\s{0,9}=", re.I)
_START_OF_MESSAGE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.M)
_SEALS = frozenset(
    {
        *("application/pgp-signature", "application/pgp-encrypted", "application/pgp-keys"),
        *("application/pkcs7-signature", "application/x-pkcs7-signature"),
        *("message/delivery-status", "text/rfc822-headers"),
    }
)
"""Parts that say something of the message and nothing to its reader."""
_ENCRYPTED = frozenset(
    {"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"}
)
_SIGNED_TYPE = "signed-data"


def read_message(data: bytes) -> Content:
    """Read a message (eml).

    `From`, `To`, `Cc`, `Date` and `Subject` lines, then the body with quoted replies.
    Attachments are members; the title is the subject, metadata `author` and `date`.

    Raises:
        SourceError: no message, or an encrypted one.
    """
    message = parsed(data.lstrip(b"\r\n\t "))
    if not message.keys():
        raise SourceError("is no message: it begins with no header such as From or Subject")
    if message.get_content_type() in _ENCRYPTED and message.get_param("smime-type") != _SIGNED_TYPE:
        raise SourceError("is encrypted: save it decrypted from your mail program")
    headers = {name: header_text(message, name) for name in SHOWN_HEADERS}
    plain, rich = _bodies(message)
    return message_content(
        headers,
        body=richer("\n\n".join(filter(None, plain)), "\n\n".join(filter(None, rich))),
        date=_utc(headers["Date"]),
        attached=list(_attached(message)),
    )


def parsed(data: bytes) -> Message:
    """The parts of a message, if it is not one of far more of them than anybody sends.

    Raises:
        SourceError: it is.
    """
    boundaries = sum(1 for _ in _BOUNDARY.finditer(data))
    if boundaries > _MOST_BOUNDARIES:
        raise SourceError(
            f"holds {boundaries:,} parts with parts inside them: save its attachments one by one"
        )
    longest = max((len(found.group()) for found in _PARAMETERS.finditer(data)), default=0)
    if longest > _LONGEST_HEADER:
        raise SourceError(
            f"has a header of {longest:,} bytes, which is damaged or hostile: save it again"
        )
    return message_from_bytes(data)


def read_mailbox(data: bytes) -> Content:
    """Read a mailbox (mbox).

    Each message a member named by its own id, stable when others change.

    Raises:
        SourceError: it does not begin as a mailbox does.
    """
    starts = list(_START_OF_MESSAGE.finditer(data))
    if not starts or data[: starts[0].start()].strip():
        raise SourceError("is no mailbox: its first line does not begin with 'From '")
    ends = [start.start() for start in starts[1:]] + [len(data)]
    messages = (data[start.end() : end] for start, end in zip(starts, ends, strict=True))
    return Content(text="", members=distinct(_mailbox_members(messages)))


def message_content(
    headers: dict[str, str], *, body: tuple[str, bool], date: str, attached: list[Member]
) -> Content:
    """Build the content of a message in any format.

    `body` is the text and whether it is Markdown; `date` is ISO 8601 or empty.
    """
    text, is_markdown = body
    head = "\n".join(f"{name}: {value}" for name, value in headers.items() if value)
    metadata: dict[str, MetaValue] = {}
    if headers.get("From"):
        metadata["author"] = _author(headers["From"])
    if date:
        metadata["date"] = date
    return Content(
        text=sanitise_text(f"{head}\n\n{text}".strip()),
        title=one_line(headers.get("Subject", "")) or None,
        shape="markdown" if is_markdown else "text",
        metadata=metadata,
        members=distinct(attached),
    )


def header_text(message: Message, name: str) -> str:
    """Decode a header to one line.

    "" if absent. Invalid raw bytes (common in East Asian mail) are decoded like text.
    """
    wanted = name.lower()
    values = (str(value) for key, value in message.raw_items() if key.lower() == wanted)
    raw = next(values, "")[:_LONGEST_HEADER]
    try:
        pieces = decode_header(raw.encode("utf-8", "surrogateescape").decode("latin-1"))
    except (HeaderParseError, ValueError):
        pieces = [(raw, None)]
    text = "".join(
        piece if isinstance(piece, str) else charset_text(piece, charset)
        for piece, charset in _as_bytes(pieces)
    )
    return one_line(sanitise_text(text or raw), limit=_HEADER_LIMIT)


def _as_bytes(
    pieces: list[tuple[str | bytes, str | None]],
) -> Iterator[tuple[bytes, str | None]]:
    for piece, charset in pieces:
        yield piece.encode("latin-1", "replace") if isinstance(piece, str) else piece, charset


def _bodies(message: Message) -> tuple[list[str], list[str]]:
    """Return the message's own plain texts, and its HTML parts as Markdown."""
    plain: list[str] = []
    rich: list[str] = []
    for part in _leaves(message):
        if _is_attached(part) or part.get_content_type() in _SEALS:
            continue
        kind = part.get_content_type()
        if kind == "text/html":
            rich.append(html_text(_payload(part), charset=part.get_content_charset()))
        elif kind.startswith("text/") and kind != "text/calendar":
            plain.append(body_text(_payload(part), part))
    return plain, rich


def _attached(message: Message) -> Iterator[Member]:
    for part in _leaves(message):
        kind = part.get_content_type()
        name = _file_name(part)
        if kind == "message/rfc822":
            inner = part.get_payload()
            if isinstance(inner, list) and inner and isinstance(inner[0], Message):
                whole = inner[0].as_bytes()
                yield Member(name=_message_name(name, whole), data=whole)
        elif kind not in _SEALS and _is_attached(part):
            content = _payload(part)
            is_shown = part.get("Content-ID") and part.get_content_maintype() == "image"
            if content and not (is_shown and len(content) < DECORATION_BYTES):
                yield Member(
                    name=(name or f"attachment.{part.get_content_subtype()}"), data=content
                )


def _leaves(message: Message) -> Iterator[Message]:
    """Return the parts in order; those of attached messages are excluded."""
    stack = [message]
    while stack:
        part = stack.pop()
        inner = part.get_payload() if part.is_multipart() else None
        if isinstance(inner, list) and part.get_content_type() != "message/rfc822":
            stack += [child for child in reversed(inner) if isinstance(child, Message)]
        else:
            yield part


def _is_attached(part: Message) -> bool:
    """Check whether a part is an attachment."""
    kind = part.get_content_maintype()
    disposition = (part.get_content_disposition() or "").lower()
    return (
        disposition == "attachment" or bool(_file_name(part)) or kind not in ("text", "multipart")
    )


def _payload(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _file_name(part: Message) -> str:
    try:
        name = part.get_filename() or ""
    except (LookupError, ValueError, TypeError):
        return ""
    holder = Message()
    holder["Name"] = name
    named = header_text(holder, "Name") if name else ""
    return named.replace("/", "_").replace("\\", "_")


def _message_name(name: str, whole: bytes) -> str:
    if name.lower().endswith(".eml"):
        return name
    return f"{name or header_text(message_from_bytes(whole), 'Subject') or 'message'}.eml".replace(
        "/", "_"
    )


def _mailbox_members(messages: Iterator[bytes]) -> Iterator[Member]:
    for message in messages:
        whole = _QUOTED_FROM.sub(rb"\1", message)
        head = message_from_bytes(whole.partition(b"\n\n")[0][:100_000])
        id_ = header_text(head, "Message-ID").strip("<>") or hashlib.sha256(whole).hexdigest()[:16]
        if whole.strip():
            yield Member(name=f"{id_.replace('/', '_')}.eml", data=whole)


def _author(sender: str) -> str:
    name, address = next(iter(getaddresses([sender])), ("", ""))
    return name or address or sender


def _utc(date: str) -> str:
    try:
        return iso_date(parsedate_to_datetime(date)) or ""
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""  # no date, or one that no calendar has: the line itself is in the text
