"""Outlook message files (msg) to text, like `mail.py`.

A msg is a compound file whose streams are the message's properties (MS-OXMSG). Messages attached
to it are handed on as eml.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, NamedTuple

from ...errors import SourceError
from ..content import Content, Member, one_line, sanitise_text
from ..dates import iso_date
from .body import charset_text, html_text, richer
from .message import DECORATION_BYTES, message_content

if TYPE_CHECKING:
    from olefile import OleFileIO  # type: ignore[import-untyped, import-not-found, unused-ignore]

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
        raise SourceError("is no Outlook message: it does not begin as one does")
    try:
        with olefile.OleFileIO(data) as file:
            if not file.exists(_PROPERTIES):
                raise SourceError("is no Outlook message, but another kind of Office file")
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
        for member in _attached(attachment, depth=depth + 1)
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
    plain = folder.text(_BODY).replace("\r\n", "\n").strip()
    html = folder.binary(_HTML).rstrip(b"\0")
    markdown = html_text(html, charset=folder.html_codec) if html else ""
    if not markdown and folder.text(_HTML):
        markdown = html_text(folder.text(_HTML).encode("utf-8", "replace"), charset="utf-8")
    if not plain and not markdown and folder.binary(_RTF):
        raise SourceError("keeps its text in a form that is not read: save it as eml or HTML")
    return richer(plain, markdown)


def _attached(attachment: _Folder, *, depth: int) -> list[Member]:
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
