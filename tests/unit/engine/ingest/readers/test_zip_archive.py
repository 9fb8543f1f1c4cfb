from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SourceError
from engine.ingest.document import ReadOptions
from engine.ingest.readers.zip_archive import (
    Container,
    legacy_codec,
    safe_path,
    zip_entries,
)

OPTIONS = ReadOptions()


def zipped(
    files: dict[str, bytes | str], *, compression: int = zipfile.ZIP_DEFLATED, mode: int = 0
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def reason(data: bytes, *, options: ReadOptions = OPTIONS) -> str:
    """Why the container, or else its first entry that fails, is not read."""
    try:
        members = list(zip_entries(data, options=options))
    except SourceError as error:
        return str(error)
    return next(member.failure for member in members if member.failure)


@pytest.mark.parametrize(
    "compression",
    [
        pytest.param(zipfile.ZIP_STORED, id="stored"),
        pytest.param(zipfile.ZIP_DEFLATED, id="deflated"),
        pytest.param(zipfile.ZIP_BZIP2, id="bzip2"),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 65_536, 300_001])
def test_what_was_packed_comes_out(compression: int, size: int) -> None:
    content = bytes(number * number % 251 for number in range(size))
    data = zipped({"报告/a.txt": content}, compression=compression)
    assert [("报告/a.txt", content)] == [
        (m.name, m.data) for m in zip_entries(data, options=OPTIONS)
    ]


def test_folders_hidden_files_and_leftovers_are_passed_over() -> None:
    names = ["a/", "__MACOSX/a/._b.txt", ".git/config", "a/.DS_Store", "a/Thumbs.db", "a/b.txt"]
    data = zipped(dict.fromkeys(names, b"x"))
    assert [member.name for member in zip_entries(data, options=OPTIONS)] == ["a/b.txt"]


def test_links_are_not_followed_and_not_read() -> None:
    data = zipped({"link": b"/etc/passwd"}, mode=0o120777)
    assert list(zip_entries(data, options=OPTIONS)) == []


def test_a_name_that_comes_twice_gets_a_number() -> None:
    data = zipped({"../a.txt": b"1", "/a.txt": b"2", "a.txt": b"3"})
    names = [member.name for member in zip_entries(data, options=OPTIONS)]
    assert names == ["a.txt", "a (2).txt", "a (3).txt"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        pytest.param("a/b.txt", "a/b.txt", id="plain"),
        pytest.param("../../etc/passwd", "etc/passwd", id="climbing"),
        pytest.param("/root/x", "root/x", id="from the root"),
        pytest.param("C:\\Users\\x.doc", "Users/x.doc", id="windows"),
        pytest.param("a/./b//c", "a/b/c", id="dots and slashes"),
        pytest.param("..", "", id="nothing left"),
        pytest.param("a\x00b\n.txt", "ab.txt", id="control characters"),
    ],
)
def test_paths_stay_where_they_are_put(name: str, safe: str) -> None:
    assert safe == safe_path(name)


@given(st.text(max_size=40))
def test_no_path_ever_climbs(name: str) -> None:
    parts = safe_path(name).split("/")
    assert parts == [""] or not {"", ".", ".."} & set(parts)


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        pytest.param("报告 2024年度总结.docx", "gb18030", id="simplified Chinese"),
        pytest.param("三國演義 第一回.txt", "big5", id="traditional Chinese"),
        pytest.param("日本語のファイル.txt", "shift_jis", id="Japanese"),
        pytest.param("Größe und Maß.txt", "cp437", id="German"),
        pytest.param("中文.txt", "utf-8", id="UTF-8 without its flag"),
    ],
)
def test_names_are_read_in_the_encoding_of_the_system_that_wrote_them(
    name: str, codec: str
) -> None:
    assert codec == legacy_codec(name.encode(codec))


def test_a_legacy_chinese_name_comes_out_of_the_archive() -> None:
    raw = "年度报告.txt".encode("gb18030")
    placeholder = "x" * len(raw)
    data = zipped({placeholder: b"text"}).replace(placeholder.encode(), raw)
    assert [member.name for member in zip_entries(data, options=OPTIONS)] == ["年度报告.txt"]


def test_an_entry_out_of_proportion_is_a_bomb_however_it_is_labelled() -> None:
    data = zipped({"zeros": bytes(30_000_000)})
    assert "zip bomb" in reason(data)
    small = data.replace(struct.pack("<L", 30_000_000), struct.pack("<L", 100))
    assert small != data
    assert "zip bomb" in reason(small)


def test_a_small_entry_may_be_packed_tightly() -> None:
    data = zipped({"blank": bytes(900_000)})
    (blank,) = zip_entries(data, options=OPTIONS)
    assert blank.name == "blank"


def test_entries_together_stay_below_the_limit() -> None:
    data = zipped({str(n): bytes(100_000) for n in range(20)}, compression=zipfile.ZIP_STORED)
    options = ReadOptions(max_unpacked_bytes=1_500_000)
    assert "max_unpacked_bytes" in reason(data, options=options)


def test_of_too_many_files_the_first_are_read_and_one_stands_for_the_others() -> None:
    data = zipped({str(number): b"x" for number in range(30)})
    *read, last = zip_entries(data, options=ReadOptions(max_members=20))
    assert [member.name for member in read] == [str(number) for number in range(20)]
    assert not any(member.failure for member in read)
    assert (last.name, last.data) == ("20", b"")
    assert "past the first 20 files, of 30 in all" in last.failure


def test_a_bomb_ends_only_itself() -> None:
    data = zipped({"a.txt": b"first", "bomb.txt": bytes(30_000_000), "c.txt": b"last"})
    for labelled in (data, data.replace(struct.pack("<L", 30_000_000), struct.pack("<L", 100))):
        first, bomb, last = zip_entries(labelled, options=OPTIONS)
        assert (first.data, bomb.data, last.data) == (b"first", b"", b"last")
        assert "zip bomb" in bomb.failure


def test_what_is_too_large_for_what_is_left_does_not_keep_out_what_is_not() -> None:
    files = {"a": bytes(600), "b": bytes(600), "c": bytes(300)}
    data = zipped(files, compression=zipfile.ZIP_STORED)
    members = list(zip_entries(data, options=ReadOptions(max_unpacked_bytes=1_000)))
    assert [bool(member.failure) for member in members] == [False, True, False]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: data.replace(b"secret", b"sEcret"), id="damaged"),
        pytest.param(lambda data: _with_flag(data, of=1, flag=1), id="encrypted"),
    ],
)
def test_an_entry_that_cannot_be_taken_out_does_not_lose_the_others(
    spoil: Callable[[bytes], bytes],
) -> None:
    files = {"a.txt": b"first", "b.txt": b"a secret", "c.txt": b"last"}
    members = list(
        zip_entries(spoil(zipped(files, compression=zipfile.ZIP_STORED)), options=OPTIONS)
    )
    assert [member.data for member in members] == [b"first", b"", b"last"]
    assert [bool(member.failure) for member in members] == [False, True, False]


def _with_flag(data: bytes, *, of: int, flag: int) -> bytes:
    """The container with a flag set in the directory's entry number `of`."""
    changed, at = bytearray(data), -1
    for _ in range(of + 1):
        at = data.index(b"PK\x01\x02", at + 1)
    changed[at + 8] |= flag
    return bytes(changed)


def test_entries_that_share_bytes_are_refused() -> None:
    data = bytearray(zipped({"a": b"A" * 50, "b": b"B" * 50}, compression=zipfile.ZIP_STORED))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<L", 10)
    assert "overlap" in reason(bytes(data))


def test_an_encrypted_entry_is_named() -> None:
    data = bytearray(zipped({"secret.txt": b"x"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert reason(bytes(data)).startswith("is encrypted (its entry 'secret.txt')")


def test_every_cut_has_a_reason() -> None:
    data = zipped({"a.txt": b"hello " * 100, "b.txt": bytes(range(256))})
    for end in range(0, len(data), 7):
        assert "is damaged" in reason(data[:end])


@given(position=st.integers(0, 400), value=st.integers(0, 255))
def test_a_changed_byte_never_gives_other_text_or_another_error(position: int, value: int) -> None:
    original = {"a.txt": b"hello " * 20, "b.txt": bytes(range(100))}
    data = bytearray(zipped(original))
    data[position % len(data)] = value
    try:
        members = list(zip_entries(bytes(data), options=OPTIONS))
        found = [member.data for member in members if not member.failure]
    except SourceError:
        return
    assert set(found) <= set(original.values())


def test_parts_are_found_whatever_the_case_of_their_names() -> None:
    container = Container(zipped({"Word/Document.xml": b"<a/>"}), options=OPTIONS)
    assert container.find("word/document.xml") == "Word/Document.xml"
    assert container.find("word/other.xml") is None
    assert container.read("Word/Document.xml") == b"<a/>"
    assert zlib.crc32(b"<a/>") == zlib.crc32(container.read("Word/Document.xml"))
