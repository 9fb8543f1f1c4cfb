from __future__ import annotations

import struct

import pytest

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers.office.docx import read_docx
from engine.ingest.readers.office.legacy import old_slides, old_word, read_doc, read_ppt
from engine.ingest.readers.office.ooxml import OLE_MAGIC
from engine.ingest.readers.office.spreadsheets import read_xlsx

OPTIONS = ReadOptions()
SECTOR = 512


def ole(streams: dict[str, bytes]) -> bytes:
    """A compound file: header, one sector of FAT, directory, then each stream in one run."""
    ordered = sorted(streams.items(), key=lambda stream: (len(stream[0]), stream[0].upper()))
    padded = {name: data.ljust(4096, b"\0") for name, data in ordered}
    entries = (len(streams) + 1 + 3) // 4
    fat = [0xFFFFFFFD, *range(2, entries + 1), 0xFFFFFFFE]
    records = [_entry("Root Entry", kind=5, start=0xFFFFFFFE, size=0, child=1)]
    body = b""
    for number, (name, data) in enumerate(padded.items(), start=1):
        count = (len(data) + SECTOR - 1) // SECTOR
        start = len(fat)
        fat += [*range(start + 1, start + count), 0xFFFFFFFE]
        body += data.ljust(count * SECTOR, b"\0")
        after = number + 1 if number < len(padded) else 0xFFFFFFFF
        records.append(_entry(name, kind=2, start=start, size=len(data), right=after))
    table = b"".join(struct.pack("<L", link) for link in fat).ljust(SECTOR, b"\xff")
    directory = b"".join(records).ljust(entries * SECTOR, b"\0")
    header = OLE_MAGIC + bytes(16) + struct.pack("<5H6x3L", 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1)
    header += struct.pack("<L", 0) + struct.pack("<L", 4096)
    header += struct.pack("<4L", 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    header += struct.pack("<L", 0).ljust(SECTOR - len(header), b"\xff")
    return header + table + directory + body


def _entry(
    name: str, *, kind: int, start: int, size: int, child: int = 0xFFFFFFFF, right: int = 0xFFFFFFFF
) -> bytes:
    raw = (name + "\0").encode("utf-16-le")
    head = raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw), kind, 1)
    return (
        head
        + struct.pack("<3L", 0xFFFFFFFF, right, child)
        + bytes(36)
        + struct.pack("<LQ", start, size)
    )


def word(
    text: str, *, styles: dict[int, int] | None = None, rows: tuple[int, ...] = (), flags: int = 0
) -> dict[str, bytes]:
    """The streams of a document whose text is one piece; `styles` and `rows` by paragraph."""
    raw = text.encode("utf-16-le")
    offset = 1024
    ends = [at for at, letter in enumerate(text, start=1) if letter in "\r\x07"]
    starts = [0, *ends][: len(ends)]
    page = bytearray(SECTOR)
    page[SECTOR - 1] = len(ends)
    limits = [offset + 2 * at for at in [*starts, ends[-1]]]
    struct.pack_into(f"<{len(limits)}L", page, 0, *limits)
    for number in range(len(ends)):
        at = SECTOR - 2 - 10 * (number + 1)
        page[4 * len(limits) + 13 * number] = at // 2
        properties = b"\x17\x24\x01" if number in rows else b"\0\0\0"
        page[at : at + 6] = b"\x03" + struct.pack("<H", (styles or {}).get(number, 0)) + properties
    fib = bytearray(1024)
    struct.pack_into("<HH", fib, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", fib, 10, flags)
    pieces = struct.pack("<LL", 0, len(text)) + struct.pack("<HLH", 0, offset, 0)
    clx = b"\x02" + struct.pack("<L", len(pieces)) + pieces
    papers = struct.pack("<3L", 0, 1 << 20, (offset + len(raw) + 511) // 512)
    struct.pack_into("<LL", fib, 0x1A2, 0, len(clx))
    struct.pack_into("<LL", fib, 0x102, len(clx), len(papers))
    body = bytes(fib) + raw
    return {
        "worddocument": body.ljust((len(body) + 511) // 512 * 512, b"\0") + bytes(page),
        "0table": clx + papers,
    }


def record(kind: int, data: bytes, *, instance: int = 0, holds: bool = False) -> bytes:
    return struct.pack("<HHL", instance << 4 | (0xF if holds else 0), kind, len(data)) + data


def slides(*slide_texts: tuple[int, str], token: int = 0) -> dict[str, bytes]:
    """The streams of a presentation with a title in the outline and texts on each slide."""
    data = b""
    places: list[int] = []
    listed = b""
    for number, (kind, text) in enumerate(slide_texts, start=2):
        places.append(len(data))
        body = record(0x3EF, bytes(24)) + record(0xF9F, struct.pack("<L", kind))
        data += record(0x3EE, body + record(0xFA0, text.encode("utf-16-le")), holds=True)
        listed += record(0x3F3, struct.pack("<LLLLL", number, 0, 0, 255 + number, 0))
    document = len(data)
    data += record(0x3E8, record(0xFF0, listed, holds=True), holds=True)
    directory = len(data)
    numbers = [document, *places]
    head = struct.pack("<L", len(numbers) << 20 | 1)
    data += record(0x1772, head + struct.pack(f"<{len(numbers)}L", *numbers))
    edit = len(data)
    data += record(0xFF5, struct.pack("<6L", 0, 0, 0, directory, 1, 0))
    current = bytes(12) + struct.pack("<LL", token, edit)
    return {"powerpoint document": data, "current user": current}


def test_the_text_of_an_old_document_with_its_headings_and_fields() -> None:
    text = "海藻志\rSee \x13 HYPERLINK x \x14the page\x15 now\x01.\rLine\x0bbreak\r"
    blocks = [block.text for block in old_word(word(text, styles={0: 1}))]
    assert [block for block in blocks if block] == ["# 海藻志", "See the page now.", "Line\nbreak"]


def test_a_table_of_an_old_document_is_a_pipe_table() -> None:
    text = "A\x07B\x07\x071\x07\x07\x07After\r"
    blocks = [block.text for block in old_word(word(text, rows=(2, 5)))]
    assert [block for block in blocks if block] == ["| A | B |\n| --- | --- |\n| 1 |  |", "After"]


def test_the_slides_of_an_old_presentation_in_their_order() -> None:
    found = [
        [b.text for b in blocks if b.text] for blocks in old_slides(slides((0, "计划"), (4, "x")))
    ]
    assert found == [["## 计划"], ["## Slide 2", "x"]]


def test_an_old_document_comes_out_of_its_container() -> None:
    text = "Title here\r" + "Body. " * 1200 + "\r"
    streams = {"WordDocument": "worddocument", "0Table": "0table"}
    held = word(text, styles={0: 1})
    content = read_doc(ole({name: held[key] for name, key in streams.items()}), OPTIONS)
    assert content.text.startswith("# Title here\n\nBody. Body.")
    assert (content.title, content.shape) == ("Title here", "markdown")


def test_an_old_presentation_comes_out_of_its_container() -> None:
    held = slides((0, "First"), (0, "Second"))
    data = ole(
        {"PowerPoint Document": held["powerpoint document"], "Current User": held["current user"]}
    )
    content = read_ppt(data, OPTIONS)
    expected = ("## First\n\n## Second", "First", (0, 10))
    assert expected == (content.text, content.title, content.pages)


def test_encrypted_files_of_both_kinds_are_named_as_such() -> None:
    new = ole({"EncryptionInfo": b"x", "EncryptedPackage": b"x"})
    for reader in (read_docx, read_xlsx):
        with pytest.raises(SourceError, match="is encrypted: save it without a password"):
            reader(new, OPTIONS)
    with pytest.raises(SourceError, match="is encrypted"):
        list(old_word(word("x\r", flags=0x0100)))
    with pytest.raises(SourceError, match="is encrypted"):
        list(old_slides(slides((0, "x"), token=0xF3D1C4DF)))


def test_an_old_document_under_a_new_name_says_so() -> None:
    with pytest.raises(SourceError, match=r"is an old \.doc file under the name of a \.docx"):
        read_docx(ole({"WordDocument": b"x"}), OPTIONS)


def test_rtf_and_web_pages_under_an_old_name_are_read() -> None:
    assert "Plain words" in read_doc(rb"{\rtf1\ansi Plain words\par}", OPTIONS).text
    assert "A page" in read_doc(b"<html><body><p>A page of words</p></body></html>", OPTIONS).text


@pytest.mark.parametrize("reader", [read_doc, read_ppt])
def test_what_is_damaged_says_so(reader: object) -> None:
    assert callable(reader)
    whole = ole({"WordDocument": b"x", "PowerPoint Document": b"x", "Current User": b"y" * 40})
    for data in (b"hello", whole[:900], whole, OLE_MAGIC):
        with pytest.raises(SourceError, match="is damaged"):
            reader(data, OPTIONS)
