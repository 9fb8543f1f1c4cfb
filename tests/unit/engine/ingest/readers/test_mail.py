"""Messages become what a person reads of them; what is attached becomes documents of its own."""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.load import read_parts
from engine.ingest.readers.mail import read_mailbox, read_message, read_outlook

SECTOR = 512


def _message(body: str = "The harbour opens at noon.\n", **headers: str) -> EmailMessage:
    message = EmailMessage()
    first = {"From": "Ann Lee <ann@example.org>", "Subject": "Harbour"}
    for name, value in (first | headers).items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


def test_a_message_is_its_head_and_its_body() -> None:
    message = _message(To="bob@example.org", Date="Mon, 06 May 2024 10:30:00 +0800")
    content = read_message(message.as_bytes())
    assert content.text == (
        "From: Ann Lee <ann@example.org>\nTo: bob@example.org\n"
        "Date: Mon, 06 May 2024 10:30:00 +0800\nSubject: Harbour\n\nThe harbour opens at noon."
    )
    assert content.title == "Harbour"
    assert content.metadata == {"author": "Ann Lee", "date": "2024-05-06T02:30:00Z"}


def test_attachments_are_members_with_names_of_their_own() -> None:
    message = _message()
    for text in ("one", "two"):
        message.add_attachment(text.encode(), maintype="text", subtype="plain", filename="报告.txt")
    members = read_message(message.as_bytes()).members
    assert [(member.name, member.data) for member in members] == [
        ("报告.txt", b"one"),
        ("报告 (2).txt", b"two"),
    ]


def test_an_attached_message_is_a_document_of_its_own() -> None:
    message = _message()
    message.add_attachment(_message("Inner words.\n", Subject="Inner/one"))
    parts = read_parts(message.as_bytes(), name="a.eml", options=ReadOptions())
    assert [part.name for part in parts] == ["", "Inner_one.eml"]
    inner = parts[1].content
    assert inner is not None
    assert "Inner words." in inner.text
    outer = parts[0].content
    assert outer is not None
    assert "Inner words." not in outer.text


def test_a_logo_that_the_text_shows_is_no_document_but_a_screenshot_is() -> None:
    message = _message()
    message.add_alternative("<p>The harbour opens at noon.<img src='cid:x'></p>", subtype="html")
    html_part = message.get_payload()[1]  # type: ignore[index]
    for size in (100, 50_000):
        html_part.add_related(  # type: ignore[union-attr]
            b"\x89PNG".ljust(size), "image", "png", cid="<x>", filename=f"{size}.png"
        )
    assert [member.name for member in read_message(message.as_bytes()).members] == ["50000.png"]


def test_the_plain_version_is_kept_unless_it_says_less() -> None:
    message = _message("Open this message in a browser.\n")
    rows = "".join(f"<tr><td>Ship {n}</td><td>{n} tons of coal</td></tr>" for n in range(9))
    message.add_alternative(
        f"<h1>Arrivals</h1><table>{rows}</table><blockquote><p>Earlier words</p></blockquote>",
        subtype="html",
    )
    content = read_message(message.as_bytes())
    assert content.shape == "markdown"
    assert "# Arrivals" in content.text
    assert "Ship 8" in content.text
    assert "Earlier words" in content.text
    both = _message("Arrivals: Ship 1\n")
    both.add_alternative("<p>Arrivals: <b>Ship 1</b></p>", subtype="html")
    assert read_message(both.as_bytes()).shape == "text"


@pytest.mark.parametrize(
    ("raw", "subject"),
    [
        pytest.param("Subject: =?GB2312?B?u+HS6bzHwrw=?=\n\nx", "会议记录", id="encoded"),
        pytest.param("Subject: 会议记录\n\nx", "会议记录", id="raw-utf-8"),
        pytest.param(
            "Subject: 会议记录的说明与安排\n\nx".encode("gb18030"),
            "会议记录的说明与安排",
            id="raw-gbk",
        ),
        pytest.param(
            "Subject: =?utf-8?q?caf=C3=A9?=\n =?utf-8?q?_noir?= today\n\nx",
            "café noir today",
            id="folded",
        ),
        pytest.param("Subject: =?no-such?B?u+HS6bzH?= x\n\nx", None, id="unknown-charset"),
        pytest.param("Subject: =?utf-8?B?!!!?=\n\nx", None, id="no-base64"),
    ],
)
def test_subjects_are_read_in_the_characters_they_were_written_in(
    raw: str | bytes, subject: str | None
) -> None:
    title = read_message(raw.encode() if isinstance(raw, str) else raw).title
    assert title == subject if subject else title


def test_a_body_in_gbk_is_read_under_a_wrong_claim() -> None:
    head = (
        b"Subject: x\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
    )
    content = read_message(head + "港口在一八七四年开放，第一艘船运来了煤。".encode("gb18030"))
    assert "第一艘船运来了煤" in content.text


def test_lines_broken_for_sending_are_whole_again() -> None:
    head = b"Subject: x\nContent-Type: text/plain; format=flowed\n\n"
    body = b"The harbour \nopens at noon.\n> quoted \n> words\n-- \nAnn\n"
    text = read_message(head + body).text
    assert text.endswith("The harbour opens at noon.\n> quoted words\n--\nAnn")


@pytest.mark.parametrize(
    "date",
    ["", "yesterday", "Mon, 99 Foo 2024 10:30:00 +0800", "Fri, 31 Dec 9999 23:59:59 -9999", "\x00"],
)
def test_a_date_that_is_none_is_left_out(date: str) -> None:
    metadata = read_message(f"Subject: x\nDate: {date}\n\nwords".encode()).metadata
    assert "date" not in metadata or str(metadata["date"]).startswith("9999")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"just words\n", "not an e-mail", id="no-headers"),
        pytest.param(
            b"Subject: x\nContent-Type: multipart/encrypted; boundary=b\n\n--b\n\nx\n--b--\n",
            "encrypted",
            id="encrypted",
        ),
    ],
)
def test_what_is_no_readable_message_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_message(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            b"Subject: " + b"\n ".join([b"=?utf-8?B?5rWL6K+V?="] * 100_000) + b"\n\nbody",
            id="encoded words",
        ),
        pytest.param(
            b"".join(
                b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n)
                for n in range(1_500)
            ),
            id="parts in parts",
        ),
        pytest.param(
            b"Content-Type: text/plain"
            + b"".join(b"; a%d=b" % n for n in range(50_000))
            + b"\n\nx",
            id="parameters",
        ),
    ],
)
def test_no_message_takes_long(data: bytes) -> None:
    started = time.thread_time()
    with suppress(SourceError):
        read_message(data)
    assert time.thread_time() - started < 15


def test_broken_multiparts_keep_their_words() -> None:
    data = b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nfirst words\n--b\nCont"
    assert "first words" in read_message(data).text


def test_a_mailbox_gives_its_messages_by_their_own_ids() -> None:
    first = _message(Message_ID="<a/1@example.org>").as_bytes()
    second = _message("From now on:\nquoted\n", Subject="Second").as_bytes()
    box = b"".join(
        b"From ann@example.org Mon May  6 10:30:00 2024\n"
        + one.replace(b"\nFrom ", b"\n>From ")
        + b"\n"
        for one in (first, second)
    )
    members = read_mailbox(box).members
    assert members[0].name == "a_1@example.org.eml"
    assert len(members) == 2
    assert "From now on:" in read_message(members[1].data).text
    assert read_mailbox(box[len(first) + 47 :]).members[-1] == members[1]
    with pytest.raises(SourceError, match="not an mbox file"):
        read_mailbox(b"words\n" + box)


# A message of Outlook, written by hand: a compound file of sectors, and in it a stream a property.


class _Storage(dict[str, "bytes | _Storage"]):
    """A folder of the compound file."""


def _compound(root: _Storage) -> bytes:
    sectors: list[bytes] = []
    chains: list[tuple[int, int]] = []

    def stored(data: bytes) -> tuple[int, int]:
        data = data.ljust(4096, b"\0")  # smaller streams would need a second kind of sectors
        data += b"\0" * (-len(data) % SECTOR)
        start = len(sectors)
        sectors.extend(data[at : at + SECTOR] for at in range(0, len(data), SECTOR))
        chains.append((start, len(sectors)))
        return start, len(data)

    entries: list[bytes] = []

    def entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
        raw = name.encode("utf-16-le") + b"\0\0"
        links = struct.pack("<III", 0xFFFFFFFF, right, child)
        head = raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw), kind, 1) + links
        return head + b"\0" * 36 + struct.pack("<IQ", start, size)

    def added(name: str, item: bytes | _Storage, right: int, kind: int = 1) -> int:
        if isinstance(item, bytes):
            start, size = stored(item)
            entries.append(entry(name, 2, right, 0xFFFFFFFF, start, size))
        else:
            child = 0xFFFFFFFF
            for inner in sorted(item, reverse=True):
                child = added(inner, item[inner], child)
            entries.append(entry(name, kind, right, child, 0xFFFFFFFE, 0))
        return len(entries) - 1

    top = added("Root Entry", root, 0xFFFFFFFF, kind=5)
    order = [top, *(n for n in range(len(entries)) if n != top)]
    new = {old: position for position, old in enumerate(order)} | {0xFFFFFFFF: 0xFFFFFFFF}
    directory = b""
    for old in order:
        raw = entries[old]
        right, child = struct.unpack("<II", raw[72:80])
        directory += raw[:72] + struct.pack("<II", new[right], new[child]) + raw[80:]
    first_directory, _ = stored(directory)
    fat_sectors = 1
    while fat_sectors * 128 < len(sectors) + fat_sectors:
        fat_sectors += 1
    table = [0xFFFFFFFF] * (fat_sectors * 128)
    for start, end in chains:
        table[start:end] = [*range(start + 1, end), 0xFFFFFFFE]
    fat_at = list(range(len(sectors), len(sectors) + fat_sectors))
    for sector in fat_at:
        table[sector] = 0xFFFFFFFD
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16
    header += struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + b"\0" * 10
    header += struct.pack("<IIII", fat_sectors, first_directory, 0, 4096)
    header += struct.pack("<IIII", 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    header += struct.pack("<109I", *fat_at, *[0xFFFFFFFF] * (109 - fat_sectors))
    return header + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def _properties(header_bytes: int, **fixed: int) -> bytes:
    entries = (struct.pack("<HHIQ", 3, int(key[1:], 16), 0, fixed[key]) for key in sorted(fixed))
    return b"\0" * header_bytes + b"".join(entries)


def _ticks(moment: datetime) -> int:
    return int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7


def _outlook(**more: bytes | _Storage) -> _Storage:
    sent = _ticks(datetime(2024, 5, 6, 2, 30, tzinfo=UTC))
    return _Storage(
        {
            "__properties_version1.0": _properties(32, x0039=sent, x3FFD=936, x3FDE=936),
            "__substg1.0_0037001F": "港口 Harbour".encode("utf-16-le"),
            "__substg1.0_0C1A001E": "李安".encode("gb18030"),
            "__substg1.0_0C1F001F": "ann@example.org".encode("utf-16-le"),
            "__substg1.0_0E04001F": "Bob; Eve".encode("utf-16-le"),
            **more,
        }
    )


def _attachment(name: str, **streams: bytes | _Storage) -> _Storage:
    return _Storage(
        {
            "__properties_version1.0": _properties(8),
            "__substg1.0_3707001F": name.encode("utf-16-le"),
            **streams,
        }
    )


def test_a_message_of_outlook_reads_as_any_other() -> None:
    plain = "The harbour opens.\r\n港口开放。".encode("utf-16-le")
    content = read_outlook(_compound(_outlook(**{"__substg1.0_1000001F": plain})))
    assert content.text == (
        "From: 李安 <ann@example.org>\nTo: Bob; Eve\nDate: 2024-05-06T02:30:00Z\n"
        "Subject: 港口 Harbour\n\nThe harbour opens.\n港口开放。"
    )
    assert content.title == "港口 Harbour"
    assert content.metadata == {"author": "李安", "date": "2024-05-06T02:30:00Z"}


def test_a_message_of_outlook_in_html_is_markdown() -> None:
    page = "<h2>港口</h2><p>第一艘船运来了煤。</p>".encode("gb18030")
    content = read_outlook(_compound(_outlook(**{"__substg1.0_10130102": page})))
    assert content.shape == "markdown"
    assert content.text.endswith("## 港口\n\n第一艘船运来了煤。")


def test_attachments_of_outlook_and_messages_inside_it_are_documents() -> None:
    words = "Inner words.".encode("utf-16-le")
    inner = _outlook(
        **{
            "__properties_version1.0": _properties(24),
            "__substg1.0_1000001F": words,
            f"__attach_version1.0_#{0:08X}": _attachment(
                "deep.txt", **{"__substg1.0_37010102": b"deep words".ljust(4096)}
            ),
        }
    )
    data = _compound(
        _outlook(
            **{
                "__substg1.0_1000001F": "Outer words.".encode("utf-16-le"),
                f"__attach_version1.0_#{0:08X}": _attachment(
                    "a.txt", **{"__substg1.0_37010102": b"attached words".ljust(4096)}
                ),
                f"__attach_version1.0_#{1:08X}": _attachment(
                    "Inner", **{"__substg1.0_3701000D": inner}
                ),
            }
        )
    )
    parts = read_parts(data, name="a.msg", options=ReadOptions())
    texts = {part.name: part.content.text for part in parts if part.content}
    assert list(texts) == ["", "a.txt", "Inner.eml", "Inner.eml!/deep.txt"]
    assert "attached words" in texts["a.txt"]
    assert "Inner words." in texts["Inner.eml"]
    assert "李安" in texts["Inner.eml"]
    assert parts == read_parts(data, name="a.msg", options=ReadOptions())


@pytest.mark.parametrize("size", [0, 8, 600, 3000, 9000])
def test_a_message_of_outlook_cut_off_is_refused_with_a_reason(size: int) -> None:
    data = _compound(_outlook(**{"__substg1.0_1000001F": "x".encode("utf-16-le") * 3000}))
    with pytest.raises(SourceError, match=r"Outlook message"):
        read_outlook(data[:size])


def test_a_message_of_outlook_whose_text_is_in_no_readable_form_says_so() -> None:
    with pytest.raises(SourceError, match="save it as eml"):
        read_outlook(_compound(_outlook(**{"__substg1.0_10090102": b"packed"})))
