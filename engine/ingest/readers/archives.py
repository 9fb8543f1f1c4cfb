"""Archive readers: members of zip, tar and compressed files, under names that can be told apart.

Sizes are counted while unpacking, never taken from headers. Links, devices, sparse files and what
systems leave behind are skipped.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from ...errors import SourceError
from ..document import Content, Member, ReadOptions, one_line
from .zip_archive import is_os_junk, legacy_codec, safe_path, skip_entries, zip_entries


def distinct_names(members: Iterable[Member]) -> tuple[Member, ...]:
    """Return an archive's members in order under distinct safe relative paths.

    Repeats get a number before the suffix.
    """
    taken: set[str] = set()
    numbers: dict[PurePosixPath, int] = {}  # tried so far: a name that comes often is not slow
    kept: list[Member] = []
    for position, member in enumerate(members, start=1):
        path = PurePosixPath(safe_path(member.name) or f"entry {position}")
        candidate = path
        while str(candidate) in taken:
            numbers[path] = numbers.get(path, 1) + 1
            candidate = path.with_name(f"{path.stem} ({numbers[path]}){path.suffix}")
        taken.add(str(candidate))
        kept.append(replace(member, name=str(candidate)))
    return tuple(kept)


_SMALL_BYTES = 1 << 20
"""Below this anything may be packed as tightly as it likes."""
_WRAPPINGS: tuple[tuple[bytes, Callable[[BinaryIO], object]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
_TAR_MARK, _TAR_MARK_AT, _TAR_BLOCK = b"ustar", 257, 512
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, ValueError)
_NAMED_BY_CONTENT = (
    (b"%PDF-", ".pdf"),
    (b"PK\x03\x04", ".zip"),
    (b"{\\rtf", ".rtf"),
    (b"<!DOCTYPE html", ".html"),
    (b"<html", ".html"),
    (b"<?xml", ".xml"),
)
_GZIP_NAME, _GZIP_EXTRA = 0x08, 0x04


def read_zip(data: bytes, options: ReadOptions) -> Content:
    """Read a zip's files as members in directory order; unreadable ones carry a failure.

    Raises:
        SourceError: damaged, encrypted or out of proportion as a whole, or nothing in it.
    """
    return _content(tuple(zip_entries(data, options=options)))


def read_tar(data: bytes, options: ReadOptions) -> Content:
    """Read a tar's files, bare or in gzip, bzip2 or xz.

    A wrapped non-tar is one member. After damage, earlier files are returned and one
    failure stands for the rest.

    Raises:
        SourceError: damaged or out of proportion from the start, or nothing in it.
    """
    source = _unwrapped(data, options=options)
    try:
        head = source.read(_TAR_BLOCK)
        rest = _Joined(head, source)
        if head[_TAR_MARK_AT : _TAR_MARK_AT + len(_TAR_MARK)] == _TAR_MARK or _is_old_tar(head):
            return _content(distinct_names(_tar_members(rest, options=options)))
        if isinstance(source, io.BytesIO):
            raise SourceError("is damaged: not a tar archive; get it again")
        return _content(distinct_names([_single(data, rest.read())]))
    except _DAMAGED as error:
        raise SourceError(_damaged(error)) from error


def _damaged(error: Exception) -> str:
    return f"is a damaged archive ({one_line(str(error)) or 'cut off'}): get it again"


def _content(members: tuple[Member, ...]) -> Content:
    """Return the members; if none could be extracted, fail with the first one's reason."""
    if not members:
        raise SourceError("is an archive without files: add files to it")
    if all(member.failure for member in members):
        raise SourceError(members[0].failure)
    return Content(text="", members=members)


class _Counted(io.RawIOBase):
    """A stream that refuses to give more than its source may unfold to."""

    def __init__(self, stream: BinaryIO, *, packed: int, options: ReadOptions) -> None:
        self._stream = stream
        self._packed = packed
        self._options = options
        self._given = 0

    def readable(self) -> bool:
        """Report the stream as readable."""
        return True

    def readinto(self, buffer: object, /) -> int:
        """Fill the buffer, counting."""
        view = memoryview(cast(bytearray, buffer))
        block = self._stream.read(len(view))
        view[: len(block)] = block
        self._given += len(block)
        ratio, limit = self._options.max_ratio, self._options.max_unpacked_bytes
        if self._given > _SMALL_BYTES and self._given > ratio * self._packed:
            raise SourceError(
                f"looks like a decompression bomb: it unpacks to more than {ratio:,} times its "
                "size; unpack it by hand if you trust it"
            )
        if self._given > limit + _SMALL_BYTES:
            raise SourceError(_too_large(self._options))
        return len(block)


class _Joined(io.RawIOBase):
    """The bytes that were read to see what a stream is, and then the rest of it."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes; everything left if `size` is negative."""
        if size < 0:
            return self._head + self._stream.read()
        block, self._head = self._head[:size], self._head[size:]
        return block + self._stream.read(size - len(block)) if size > len(block) else block


def _unwrapped(data: bytes, *, options: ReadOptions) -> BinaryIO:
    for mark, opened in _WRAPPINGS:
        if data.startswith(mark):
            stream = cast(BinaryIO, opened(io.BytesIO(data)))
            counted = _Counted(stream, packed=len(data), options=options)
            return cast(BinaryIO, io.BufferedReader(counted, 1 << 16))
    return io.BytesIO(data)


def _is_old_tar(head: bytes) -> bool:
    """Check for the header of an unmarked old tar, by its checksum."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True


def _tar_members(stream: _Joined, *, options: ReadOptions) -> Iterator[Member]:
    """Yield the regular files in tar order, in one pass without seeking.

    What stops the reading is the failure of the entry at which it does.
    """
    at = "entry 1"
    try:
        with tarfile.open(
            fileobj=cast(BinaryIO, stream), mode="r|", errors="surrogateescape"
        ) as tar:
            left, count = options.max_unpacked_bytes, 0
            for info in tar:
                if not info.isreg() or info.issparse() or _is_left_behind(info.name):
                    continue
                count, at = count + 1, _name(info.name)
                if count > options.max_members:
                    yield Member(name=at, data=b"", failure=skip_entries(None, options=options))
                    return
                member = _tar_member(tar, info, name=at, left=left, options=options)
                left -= len(member.data)
                yield member
                at = f"entry {count + 1}"
    except _DAMAGED as error:
        yield Member(name=at, data=b"", failure=_damaged(error))
    except SourceError as error:
        yield Member(name=at, data=b"", failure=str(error))


def _tar_member(
    tar: tarfile.TarFile, info: tarfile.TarInfo, *, name: str, left: int, options: ReadOptions
) -> Member:
    if info.size > left:
        return Member(name=name, data=b"", failure=_too_large(options))
    file = tar.extractfile(info)
    data = file.read() if file else b""
    if len(data) < info.size:
        raise EOFError("cut off")
    return Member(name=name, data=data)


def _too_large(options: ReadOptions) -> str:
    return (
        f"is too large: with it, more than {options.max_unpacked_bytes:,} bytes are unpacked; "
        "unpack or split it, or raise ingest.max_unpacked_bytes"
    )


def _name(name: str) -> str:
    """Decode an entry's name; tar does not declare an encoding."""
    raw = name.encode("utf-8", "surrogateescape")
    return raw.decode(legacy_codec(raw), "replace")


def _is_left_behind(name: str) -> bool:
    parts = [
        part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in (".", "..")
    ]
    return is_os_junk("/".join(parts))


def _single(packed: bytes, data: bytes) -> Member:
    """Return the single compressed file, named by gzip's header, else by its content."""
    name = _gzip_name(packed)
    if not PurePosixPath(name).suffix:
        start = data[:64].lstrip().lower()
        suffixes = (end for mark, end in _NAMED_BY_CONTENT if start.startswith(mark.lower()))
        name = f"{name or 'content'}{next(suffixes, '.txt')}"
    return Member(name=name, data=data)


def _gzip_name(packed: bytes) -> str:
    if not packed.startswith(b"\x1f\x8b") or not packed[3] & _GZIP_NAME:
        return ""
    start = 10
    if packed[3] & _GZIP_EXTRA:
        start += 2 + int.from_bytes(packed[10:12], "little")
    raw = packed[start : start + 1024].split(b"\x00")[0]
    return PurePosixPath(raw.decode(legacy_codec(raw), "replace")).name
