"""Archives give up their files, whatever they are called, and never more than is allowed."""

from __future__ import annotations

import bz2
import gzip
import io
import logging
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from engine.errors import SourceError
from engine.ingest.document import Content, ReadOptions
from engine.ingest.load import read_parts
from engine.ingest.readers.archives import read_tar, read_zip
from engine.ingest.registry import FORMATS, Format

OPTIONS = ReadOptions()


def _tar(*files: tuple[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _zip(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


FILES = (("notes/a.txt", b"one"), ("notes/b.md", b"# two"), ("文档.txt", "三".encode()))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(_tar(*FILES), id="tar"),
        pytest.param(_tar(*FILES, format_=tarfile.GNU_FORMAT), id="gnu"),
        pytest.param(gzip.compress(_tar(*FILES)), id="tar.gz"),
        pytest.param(bz2.compress(_tar(*FILES)), id="tar.bz2"),
        pytest.param(lzma.compress(_tar(*FILES)), id="tar.xz"),
    ],
)
def test_every_wrapping_of_a_tar_gives_its_files(data: bytes) -> None:
    members = read_tar(data, OPTIONS).members
    assert [(member.name, member.data) for member in members] == list(FILES)


def test_a_zip_gives_its_files() -> None:
    members = read_zip(_zip(*FILES), OPTIONS).members
    assert [(member.name, member.data) for member in members] == list(FILES)


def test_a_file_compressed_alone_keeps_the_name_gzip_wrote_down() -> None:
    out = io.BytesIO()
    with gzip.GzipFile("/tmp/report.md", mode="wb", fileobj=out) as packed:  # noqa: S108
        packed.write(b"# Report")
    (member,) = read_tar(out.getvalue(), OPTIONS).members
    assert (member.name, member.data) == ("report.md", b"# Report")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        pytest.param(b"plain words", "content.txt", id="text"),
        pytest.param(b"%PDF-1.4 ...", "content.pdf", id="pdf"),
        pytest.param(b"<!doctype html><p>hi", "content.html", id="page"),
    ],
)
def test_a_file_compressed_alone_without_a_name_is_named_by_its_content(
    data: bytes, name: str
) -> None:
    assert read_tar(gzip.compress(data), OPTIONS).members[0].name == name


def test_links_devices_and_hidden_files_are_passed_over() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        for name, kind in (("null", tarfile.CHRTYPE), ("pipe", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            tar.addfile(info)
        for name in ("./.git/config", "._a.txt", "kept.txt"):
            info = tarfile.TarInfo(name)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"text"))
    assert [member.name for member in read_tar(out.getvalue(), OPTIONS).members] == ["kept.txt"]


def test_names_stay_inside_and_can_be_told_apart() -> None:
    data = _tar(("../../etc/a.txt", b"1"), ("/etc/a.txt", b"2"), ("etc/a.txt", b"3"))
    names = [member.name for member in read_tar(data, OPTIONS).members]
    assert names == ["etc/a.txt", "etc/a (2).txt", "etc/a (3).txt"]


def test_names_in_a_legacy_encoding_are_readable() -> None:
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.USTAR_FORMAT, encoding="gb18030"
    ) as tar:
        info = tarfile.TarInfo("会议记录与说明.txt")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"ok"))
    assert read_tar(out.getvalue(), OPTIONS).members[0].name == "会议记录与说明.txt"


def _sparse_header() -> bytes:
    info = tarfile.TarInfo("huge.txt")
    info.type = tarfile.GNUTYPE_SPARSE
    info.size = 0
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[386:483] = b"\0" * 97
    block[483:495] = b"77777777777\0"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + b"\0" * 1024


@pytest.mark.parametrize(
    ("make", "options", "reason"),
    [
        pytest.param(lambda: gzip.compress(b"\0" * 50_000_000), OPTIONS, "bomb", id="bomb-alone"),
        pytest.param(
            lambda: gzip.compress(_tar(("a.txt", b"\0" * 50_000_000))), OPTIONS, "bomb", id="bomb"
        ),
        pytest.param(
            lambda: _tar(("a.txt", b"x" * 1200), ("b.txt", b"x" * 1200)),
            ReadOptions(max_unpacked_bytes=1000),
            "1,000 bytes",
            id="too-large",
        ),
        pytest.param(lambda: gzip.compress(_tar(*FILES))[:100], OPTIONS, "damaged", id="cut-gzip"),
        pytest.param(lambda: _tar(("a.txt", b"x" * 5000))[:3000], OPTIONS, "damaged", id="cut-tar"),
        pytest.param(
            lambda: b"no archive at all " * 100, OPTIONS, "not a tar archive", id="no-tar"
        ),
        pytest.param(lambda: _tar(), OPTIONS, "no files|not a tar archive", id="empty"),
        pytest.param(_sparse_header, OPTIONS, "archive without files", id="sparse"),
        pytest.param(lambda: b"\xfd7zXZ\x00junk" * 9, OPTIONS, "damaged", id="damaged-xz"),
        pytest.param(lambda: b"BZh9" + b"junk" * 9, OPTIONS, "damaged", id="damaged-bzip2"),
    ],
)
def test_what_is_damaged_or_out_of_proportion_is_refused_with_a_reason(
    make: Callable[[], bytes], options: ReadOptions, reason: str
) -> None:
    with pytest.raises(SourceError, match=reason):
        read_tar(make(), options)


NOISE = random.Random(1).randbytes(200_000)  # noqa: S311 - noise, not a secret


@pytest.mark.parametrize(
    ("make", "options", "read", "failed", "reason"),
    [
        pytest.param(
            lambda: _tar(*((f"{n}.txt", b"x") for n in range(12))),
            ReadOptions(max_members=10),
            [f"{n}.txt" for n in range(10)],
            "10.txt",
            "past the first 10 files, and so are all after it",
            id="too many",
        ),
        pytest.param(
            lambda: _tar(("a.txt", b"x" * 600), ("b.txt", b"x" * 600), ("c.txt", b"x" * 300)),
            ReadOptions(max_unpacked_bytes=1000),
            ["a.txt", "c.txt"],
            "b.txt",
            "1,000 bytes",
            id="too large",
        ),
        pytest.param(
            lambda: _tar(("a.txt", b"x" * 600), ("b.txt", b"x" * 5000))[:4000],
            OPTIONS,
            ["a.txt"],
            "b.txt",
            "damaged",
            id="cut off",
        ),
        pytest.param(
            lambda: gzip.compress(
                _tar(("a.txt", b"x" * 600), ("b.txt", bytes(80_000_000)), ("c.txt", b"x"))
            ),
            OPTIONS,
            ["a.txt"],
            "b.txt",
            "bomb",
            id="bomb",
        ),
        pytest.param(
            lambda: gzip.compress(_tar(("a.txt", b"x" * 600), ("b.txt", NOISE)))[:150_000],
            OPTIONS,
            ["a.txt"],
            "b.txt",
            "damaged",
            id="cut-off gzip",
        ),
    ],
)
def test_what_could_be_taken_out_is_kept_and_the_rest_is_named(
    make: Callable[[], bytes], options: ReadOptions, read: list[str], failed: str, reason: str
) -> None:
    members = read_tar(make(), options).members
    assert [member.name for member in members if not member.failure] == read
    (failure,) = [member for member in members if member.failure]
    assert (failure.name, failure.data) == (failed, b"")
    assert reason in failure.failure


def test_a_member_that_could_not_be_taken_out_is_a_failure_beside_the_others() -> None:
    data = _zip(("a.txt", b"first"), ("b.txt", bytes(30_000_000)), ("c.txt", b"last"))
    parts = read_parts(data, name="all.zip", options=OPTIONS)
    assert [part.name for part in parts] == ["a.txt", "b.txt", "c.txt"]
    assert [part.content.text for part in parts if part.content] == ["first", "last"]
    assert parts[1].failure.startswith("looks like a zip bomb")


def test_a_reader_that_breaks_on_one_member_does_not_lose_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Panic(BaseException):
        """As libraries in Rust raise it."""

    def broken(data: bytes, options: ReadOptions) -> Content:
        raise (Panic if data == b"panic" else ValueError)("no such\nthing")

    monkeypatch.setitem(FORMATS, ".md", Format("markdown", broken))
    data = _zip(("a.txt", b"first"), ("b.md", b"x"), ("c.md", b"panic"), ("d.txt", b"last"))
    with caplog.at_level(logging.INFO, logger="loregraph.ingest"):
        parts = read_parts(data, name="all.zip", options=OPTIONS)
    assert [part.content.text for part in parts if part.content] == ["first", "last"]
    assert [part.failure.partition(":")[0] for part in parts[1:3]] == [
        "failed in its reader (ValueError",
        "failed in its reader (Panic",
    ]
    assert "Traceback" in caplog.text
    assert "b.md" in caplog.text
    with pytest.raises(ValueError, match="no such"):
        read_parts(b"x", name="b.md", options=OPTIONS)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(MemoryError(), id="memory"),
        pytest.param(ValueError("std::bad_alloc"), id="memory of a library"),
        pytest.param(KeyboardInterrupt(), id="the user"),
    ],
)
def test_what_is_not_about_the_member_ends_the_reading(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(data: bytes, options: ReadOptions) -> Content:
        raise error

    monkeypatch.setitem(FORMATS, ".md", Format("markdown", broken))
    with pytest.raises(type(error)):
        read_parts(_zip(("a.md", b"x")), name="all.zip", options=OPTIONS)


def test_archives_in_archives_are_read_and_ids_tell_the_way() -> None:
    inner = gzip.compress(_tar(("deep.txt", b"deep words")))
    parts = read_parts(
        _zip(("inner.tar.gz", inner), ("top.md", b"# Top")), name="all.zip", options=OPTIONS
    )
    assert sorted(part.name for part in parts if part.content) == [
        "inner.tar.gz!/deep.txt",
        "top.md",
    ]
