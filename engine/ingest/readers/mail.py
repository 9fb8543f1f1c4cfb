"""Mail messages (eml, mbox, Outlook's msg) to text: main headers, body and attachments.

eml and mbox go through the standard library; a header that breaks the rules is shown as it is. A
msg is a compound file whose streams are the message's properties (MS-OXMSG). Of a plain and an HTML
version the better is chosen; quoted replies and signatures stay.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import EmailMessage, Message
from email.policy import SMTP
from email.utils import getaddresses, parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

from ...errors import SourceError
from ...types import MetaValue
from ..document import Content, Member, iso_date, one_line, sanitise_text, unix_newlines
from .archives import distinct_names
from .html_markdown import as_markdown
from .text import decode_bytes

if TYPE_CHECKING:
    from olefile import OleFileIO  # type: ignore[import-untyped, import-not-found, unused-ignore]

_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "ascii": "utf-8"}
_LETTER = re.compile(r"[^\W_]")
_LINK = re.compile(r"\]\((?:[^)\s\]]|\](?!\())*+\)|https?://\S+")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LEAST_SHARE = 0.5
"""Minimum share of the HTML version's letters for the plain one to be complete."""


def charset_text(data: bytes, charset: str | None) -> str:
    """Decode bytes in the claimed encoding, or the detected one if it does not fit.

    Binary data decodes as Latin-1 and is recognisable as such.
    """
    try:
        name = codecs.lookup(charset or "utf-8").name
        return data.decode(_WIDER.get(name, name))
    except (LookupError, ValueError):
        pass  # an unknown or a wrong claim: the bytes decide
    try:
        return decode_bytes(data)
    except SourceError:
        return data.decode("latin-1")


def body_text(data: bytes, part: Message) -> str:
    """Return a mail's plain part with Unix line ends; flowed lines are joined (RFC 3676)."""
    text = unix_newlines(charset_text(data, part.get_content_charset())).strip("\n")
    flowed = str(part.get_param("format") or "").lower() == "flowed"
    return _unfolded(text, joins="" if _is_delsp(part) else " ") if flowed else text


def html_text(data: bytes, *, charset: str | None) -> str:
    """Convert an HTML part to Markdown in full; quoted replies are content here."""
    from lxml import etree, html

    source = _DECLARATION.sub("", sanitise_text(charset_text(data, charset)))
    try:
        tree = html.document_fromstring(
            source.encode("utf-8"), parser=html.HTMLParser(encoding="utf-8", huge_tree=True)
        )
    except (etree.ParserError, etree.XMLSyntaxError):
        return ""  # nothing but white space or a declaration
    return as_markdown(tree)


def choose_body(plain: str, markdown: str) -> tuple[str, bool]:
    """Choose a message's plain version unless it lacks much of the HTML one.

    Return whether it is Markdown.
    """
    if plain and _letters(plain) >= _LEAST_SHARE * _letters(markdown):
        return plain, False
    return (markdown, True) if markdown else (plain, False)


def _letters(text: str) -> int:
    return len(_LETTER.findall(_LINK.sub("", text)))


def _is_delsp(part: Message) -> bool:
    return str(part.get_param("delsp") or "").lower() == "yes"


def _unfolded(text: str, *, joins: str) -> str:
    """Lines that end with a space go on in the next one of the same quoting depth."""
    lines: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        body = line.lstrip(">")
        depth = len(line) - len(body)
        body = body.removeprefix(" ")
        goes_on = body.endswith(" ") and body != "-- "
        if open_depth == depth:
            lines[-1] = f"{lines[-1].rstrip(' ')}{joins}{body}"
        else:
            lines.append(f"{'>' * depth}{' ' if depth and body else ''}{body}")
        open_depth = depth if goes_on else -1
    return "\n".join(line.rstrip(" ") for line in lines)


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
    message = parse_message(data.lstrip(b"\r\n\t "))
    if not message.keys():
        raise SourceError("is not an e-mail: it has no header such as From or Subject")
    if message.get_content_type() in _ENCRYPTED and message.get_param("smime-type") != _SIGNED_TYPE:
        raise SourceError("is encrypted: save it decrypted from your mail program")
    headers = {name: header_text(message, name) for name in SHOWN_HEADERS}
    plain, rich = _bodies(message)
    return message_content(
        headers,
        body=choose_body("\n\n".join(filter(None, plain)), "\n\n".join(filter(None, rich))),
        date=_utc(headers["Date"]),
        attached=list(_attached(message)),
    )


def parse_message(data: bytes) -> Message:
    """Parse a mail message unless it has an implausible number of parts.

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
        raise SourceError("is not an mbox file: its first line does not begin with 'From '")
    ends = [start.start() for start in starts[1:]] + [len(data)]
    messages = (data[start.end() : end] for start, end in zip(starts, ends, strict=True))
    return Content(text="", members=distinct_names(_mailbox_members(messages)))


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
        members=distinct_names(attached),
    )


def header_text(message: Message, name: str) -> str:
    """Decode a mail header to one line.

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


_SUBJECT, _BODY, _HTML, _RTF = 0x0037, 0x1000, 0x1013, 0x1009
_SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_TO, _CC, _SENT, _DELIVERED = 0x0E04, 0x0E03, 0x0039, 0x0E06
_FILE_NAME, _SHORT_NAME, _DISPLAY_NAME, _FILE = 0x3707, 0x3704, 0x3001, 0x3701
_CONTENT_ID, _INTERNET_CODEPAGE, _MESSAGE_CODEPAGE = 0x3712, 0x3FDE, 0x3FFD
_HIDDEN = 0x7FFE
_TEXT, _TEXT_8BIT, _BINARY, _FOLDER = 0x001F, 0x001E, 0x0102, 0x000D
_PROPERTIES = "__properties_version1.0"
_ATTACHED = "__attach_version1.0_#"
_HEADER_BYTES, _HEADER_BYTES_INSIDE, _HEADER_BYTES_ATTACHED = 32, 24, 8
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_DAMAGED = (OSError, ValueError, KeyError, IndexError, TypeError, struct.error, AttributeError)
_MAX_DEPTH = 8
_PICTURES = (".png", ".gif", ".jpg", ".jpeg", ".bmp")
_CODEPAGES = {65001: "utf-8", 20127: "ascii", 28591: "latin-1", 936: "gb18030", 54936: "gb18030"}


def read_outlook(data: bytes) -> Content:
    """Read an Outlook message in the form of `mail.read_message`.

    Raises:
        SourceError: no such message, a damaged one, or one whose body is nowhere in it.
    """
    import olefile

    if not olefile.isOleFile(data=data):
        raise SourceError("is not an Outlook message: its signature is missing")
    try:
        with olefile.OleFileIO(data) as file:
            if not file.exists(_PROPERTIES):
                raise SourceError("is not an Outlook message: it is another kind of Office file")
            message = _message(_Folder(file, (), header_bytes=_HEADER_BYTES), depth=0)
    except _DAMAGED as error:
        reason = one_line(str(error))
        raise SourceError(f"is a damaged Outlook message ({reason}): save it again") from error
    return message_content(
        message.headers, body=message.body, date=message.date, attached=message.attached
    )


class _Message(NamedTuple):
    headers: dict[str, str]
    body: tuple[str, bool]
    date: str
    attached: list[Member]


class _Folder:
    """One storage of the compound file: a message, or an attachment of it."""

    def __init__(
        self, file: OleFileIO, path: tuple[str, ...], *, header_bytes: int, codec: str = "cp1252"
    ) -> None:
        self.file = file
        self.path = path
        self._fixed = self._fixed_values(header_bytes)
        codepage = self.number(_MESSAGE_CODEPAGE) or self.number(_INTERNET_CODEPAGE)
        self.codec = _codec(codepage) if codepage else codec  # an attachment's is its message's
        html_codepage = self.number(_INTERNET_CODEPAGE)
        self.html_codec = _codec(html_codepage) if html_codepage else self.codec

    def _fixed_values(self, header_bytes: int) -> dict[int, bytes]:
        stored = self.stream(_PROPERTIES)[header_bytes:]
        entries = (stored[at : at + 16] for at in range(0, len(stored) - 15, 16))
        return {int.from_bytes(entry[2:4], "little"): entry[8:] for entry in entries}

    def stream(self, name: str) -> bytes:
        """Return a stream's bytes; empty if absent."""
        path = [*self.path, name]
        if not self.file.exists(path) or self.file.get_type(path) != 2:
            return b""
        with self.file.openstream(path) as stream:
            return bytes(stream.read())

    def binary(self, property_: int) -> bytes:
        """Return a binary property."""
        return self.stream(f"__substg1.0_{property_:04X}{_BINARY:04X}")

    def text(self, property_: int) -> str:
        """Return a text property without its trailing NUL."""
        wide = self.stream(f"__substg1.0_{property_:04X}{_TEXT:04X}")
        if wide:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        narrow = self.stream(f"__substg1.0_{property_:04X}{_TEXT_8BIT:04X}")
        return charset_text(narrow.rstrip(b"\0"), self.codec) if narrow else ""

    def number(self, property_: int) -> int:
        """Return an integer property; 0 if absent."""
        return int.from_bytes(self._fixed.get(property_, b"")[:4], "little")

    def moment(self, property_: int) -> str:
        """Return a time property as ISO 8601; "" if absent."""
        ticks = int.from_bytes(self._fixed.get(property_, b""), "little")
        try:
            return (iso_date(_EPOCH + timedelta(microseconds=ticks // 10)) or "") if ticks else ""
        except OverflowError:
            return ""

    def attachments(self) -> list[_Folder]:
        """Return the attachment storages in numeric order."""
        depth = len(self.path)
        names = {
            entry[depth]
            for entry in self.file.listdir(streams=True, storages=False)
            if len(entry) > depth + 1
            and tuple(entry[:depth]) == self.path
            and entry[depth].startswith(_ATTACHED)
        }
        return [
            _Folder(
                self.file,
                (*self.path, name),
                header_bytes=_HEADER_BYTES_ATTACHED,
                codec=self.codec,
            )
            for name in sorted(names)
        ]


def _codec(codepage: int) -> str:
    return _CODEPAGES.get(codepage, f"cp{codepage}")


def _message(folder: _Folder, *, depth: int) -> _Message:
    date = folder.moment(_SENT) or folder.moment(_DELIVERED)
    headers = {
        "From": _sender(folder),
        "To": one_line(folder.text(_TO).rstrip("; "), limit=2000),
        "Cc": one_line(folder.text(_CC).rstrip("; "), limit=2000),
        "Date": date,
        "Subject": one_line(folder.text(_SUBJECT), limit=2000),
    }
    attached = [
        member
        for attachment in folder.attachments()
        for member in _outlook_attached(attachment, depth=depth + 1)
    ]
    return _Message(
        {key: sanitise_text(headers[key]) for key in headers}, _body(folder), date, attached
    )


def _sender(folder: _Folder) -> str:
    name = one_line(folder.text(_SENDER_NAME))
    addresses = (folder.text(_SENDER_SMTP), folder.text(_SENDER_ADDRESS))
    address = next((one_line(found) for found in addresses if "@" in found), "")
    return f"{name} <{address}>" if name and address and name != address else name or address


def _body(folder: _Folder) -> tuple[str, bool]:
    plain = unix_newlines(folder.text(_BODY)).strip()
    html = folder.binary(_HTML).rstrip(b"\0")
    markdown = html_text(html, charset=folder.html_codec) if html else ""
    if not markdown and folder.text(_HTML):
        markdown = html_text(folder.text(_HTML).encode("utf-8", "replace"), charset="utf-8")
    if not plain and not markdown and folder.binary(_RTF):
        raise SourceError("has its text in an unsupported form: save it as eml or HTML")
    return choose_body(plain, markdown)


def _outlook_attached(attachment: _Folder, *, depth: int) -> list[Member]:
    """Convert like `_member`; damaged or too deeply nested ones lose only themselves."""
    try:
        return _member(attachment, depth=depth)
    except SourceError as error:
        reason = str(error)
    except _DAMAGED as error:
        reason = f"is damaged ({one_line(str(error))}): save the message again"
    return [Member(name=f"attachment {attachment.path[-1][-8:]}", data=b"", failure=reason)]


def _member(attachment: _Folder, *, depth: int) -> list[Member]:
    """Convert an attachment: a file, a message as eml, or nothing for an inline picture."""
    names = (attachment.text(key) for key in (_FILE_NAME, _SHORT_NAME, _DISPLAY_NAME))
    name = one_line(next(filter(None, names), "attachment")).replace("/", "_").replace("\\", "_")
    data = attachment.binary(_FILE)
    if data:
        is_shown = attachment.number(_HIDDEN) or attachment.text(_CONTENT_ID)
        small = len(data) < DECORATION_BYTES and name.lower().endswith(_PICTURES)
        return [] if is_shown and small else [Member(name=name, data=data)]
    inner = (*attachment.path, f"__substg1.0_{_FILE:04X}{_FOLDER:04X}")
    if not attachment.file.exists([*inner, _PROPERTIES]):
        return []
    if depth > _MAX_DEPTH:
        raise SourceError(f"holds messages more than {_MAX_DEPTH} deep: save them one by one")
    folder = _Folder(
        attachment.file, inner, header_bytes=_HEADER_BYTES_INSIDE, codec=attachment.codec
    )
    message = _message(folder, depth=depth)
    whole = Member(name=f"{name.removesuffix('.msg')}.eml", data=_eml(message, depth=depth))
    return [whole, *(member for member in message.attached if member.failure)]


def _eml(message: _Message, *, depth: int) -> bytes:
    """Serialise a message deterministically, with a fixed boundary."""
    made = EmailMessage(policy=SMTP)
    for name, value in message.headers.items():
        if value and name in ("Subject", "Date"):
            made[name] = value
    head = "".join(
        f"{name}: {value}\n"
        for name, value in message.headers.items()
        if value and name not in made
    )
    made.set_content(f"{head}\n{message.body[0]}" if head else message.body[0])
    for member in (member for member in message.attached if not member.failure):
        made.add_attachment(
            member.data, maintype="application", subtype="octet-stream", filename=member.name
        )
    if made.is_multipart():
        made.set_boundary(f"attached-message-{depth}")
    return made.as_bytes()
