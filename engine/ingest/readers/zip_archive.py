"""Safe reading of untrusted zip containers: archives, office documents, e-books.

Sizes are counted while unpacking, never taken from headers; what is encrypted, damaged, overlapping
or out of proportion is refused with a reason. Entry names become safe relative paths; their
encoding is detected, since a zip says at most that a name is UTF-8.
"""

from __future__ import annotations

import bz2
import io
import itertools
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ...errors import SourceError
from ..document import Member, ReadOptions, sanitise_text

_UTF8_FLAG = 0x800
_UNICODE_PATH = 0x7075
_DRIVE = re.compile(r"^[A-Za-z]:")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_NOT_IN_CP437_NAMES = re.compile(rb"[\xa9-\xdf\xee-\xfe]")
"""Frames, blocks and signs, which nobody puts in a file's name."""
_TWO_BYTES = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]", re.S)
_COMMON_GBK = re.compile(rb"[\xb0-\xd7][\xa1-\xfe]", re.S)
_COMMON_BIG5 = re.compile(rb"[\xa4-\xc6][\x40-\x7e\xa1-\xfe]", re.S)
_KANA = re.compile("[\u3041-\u30fe]")


class NameDecoder:
    """Decoder of one archive's names; legacy names share one detected encoding."""

    def __init__(self, infos: Sequence[zipfile.ZipInfo]) -> None:
        legacy = [_raw(info) for info in infos if not info.flag_bits & _UTF8_FLAG]
        self._codec = legacy_codec(b"\n".join(name for name in legacy if not name.isascii()))

    def path(self, info: zipfile.ZipInfo) -> str:
        """Return the entry's path: forward slashes, no drive, root, `.` or `..`.

        Empty if nothing remains.
        """
        if info.flag_bits & _UTF8_FLAG:
            return safe_path(info.orig_filename)
        raw = _raw(info)
        return safe_path(_unicode_path(info, raw) or raw.decode(self._codec, "replace"))


def safe_path(name: str) -> str:
    """Return a path that cannot escape its folder; deterministic."""
    slashed = _DRIVE.sub("", _CONTROL.sub("", name).replace("\\", "/"))
    parts = (part.strip() for part in slashed.split("/"))
    return sanitise_text("/".join(part for part in parts if part not in ("", ".", "..")))


def legacy_codec(names: bytes) -> str:
    """Detect the common encoding of names not marked as UTF-8.

    GBK, Big5 and Shift-JIS share most byte pairs: what tells them apart is where the common
    characters of each lie.
    """
    if not names or _decodes(names, "utf-8"):
        return "utf-8"
    pairs = _TWO_BYTES.findall(names)
    japanese = names.decode("shift_jis", "ignore") if _decodes(names, "shift_jis") else ""
    if 2 * len(_KANA.findall(japanese)) > len(pairs):
        return "shift_jis"
    if not _NOT_IN_CP437_NAMES.search(names):
        return "cp437"
    common = {
        "gb18030": sum(map(bool, map(_COMMON_GBK.fullmatch, pairs))),
        "big5": sum(map(bool, map(_COMMON_BIG5.fullmatch, pairs))),
    }
    fitting = [codec for codec in common if _decodes(names, codec)]
    if fitting:
        return max(fitting, key=lambda codec: (common[codec], codec == "gb18030"))
    return "shift_jis" if japanese else "cp437"


def _decodes(data: bytes, codec: str) -> bool:
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _raw(info: zipfile.ZipInfo) -> bytes:
    return info.orig_filename.encode("cp437", "replace")


def _unicode_path(info: zipfile.ZipInfo, raw: bytes) -> str | None:
    """Return Info-ZIP's UTF-8 name if it matches the legacy one."""
    extra = info.extra
    while len(extra) >= 4:
        kind, length = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        belongs = int.from_bytes(field[1:5], "little") == zlib.crc32(raw)
        if kind == _UNICODE_PATH and field[:1] == b"\x01" and belongs:
            return field[5:].decode("utf-8", "replace")
    return None


_BLOCK = 1 << 16
_SMALL_BYTES = 1 << 20
"""Size below which the compression ratio is not limited: a blank page is harmless."""
_DIRECTORY_ENTRY = b"PK\x01\x02"
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_PASSED_OVER = frozenset({"__macosx", "thumbs.db", "desktop.ini"})


class Container:
    """Open zip with a validated directory; `names` in directory order.

    `read` unpacks one entry; all reads of one container share one allowance of unpacked bytes.
    """

    def __init__(self, data: bytes, *, options: ReadOptions) -> None:
        infos = _directory(data, options=options)
        for info in infos:
            _check_not_encrypted(info)
        self._data = data
        self._options = options
        self._left = options.max_unpacked_bytes
        self._entries = {info.filename: info for info in infos}
        self._lower = {name.lower(): name for name in sorted(self._entries, reverse=True)}

    @property
    def names(self) -> tuple[str, ...]:
        """The entries' names as the directory has them, folders left out."""
        return tuple(name for name in self._entries if not name.endswith("/"))

    def find(self, name: str) -> str | None:
        """Return the entry of this name, case-insensitively if needed; None if absent."""
        return name if name in self._entries else self._lower.get(name.lower())

    def read(self, name: str) -> bytes:
        """One entry's bytes.

        Raises:
            KeyError: no entry has this name.
            SourceError: it is encrypted, damaged, or larger than the options allow.
        """
        return b"".join(self._blocks(self._entries[name]))

    def _blocks(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        for block in _checked_blocks(self._data, info, left=self._left, options=self._options):
            self._left -= len(block)
            yield block


def _checked_blocks(
    data: bytes, info: zipfile.ZipInfo, *, left: int, options: ReadOptions
) -> Iterator[bytes]:
    """Yield an entry's bytes, at most `left`, and verify its declared size and checksum."""
    unpacked = crc = 0
    for block in _unpacked(data, info):
        unpacked += len(block)
        _check_sizes(info, unpacked, left=left, options=options)
        crc = zlib.crc32(block, crc)
        yield block
    if unpacked != info.file_size or crc != info.CRC:
        raise SourceError(
            f"is damaged: its entry {info.filename!r} does not match its checksum; get it again"
        )


def _check_sizes(info: zipfile.ZipInfo, unpacked: int, *, left: int, options: ReadOptions) -> None:
    if unpacked > _SMALL_BYTES and unpacked > options.max_ratio * max(1, info.compress_size):
        raise SourceError(
            f"looks like a zip bomb: its entry {info.filename!r} unpacks to more than "
            f"{options.max_ratio:,} times its size; unpack it by hand if you trust it"
        )
    if unpacked > left:
        raise SourceError(
            f"is too large: with it, more than {options.max_unpacked_bytes:,} bytes are unpacked; "
            "unpack or split it, or raise ingest.max_unpacked_bytes"
        )


def _check_not_encrypted(info: zipfile.ZipInfo) -> None:
    if info.flag_bits & _ENCRYPTED:
        raise SourceError(f"is encrypted (its entry {info.filename!r}): save it without a password")


def zip_entries(data: bytes, *, options: ReadOptions) -> Iterator[Member]:
    """Yield the files in a zip in directory order under safe relative paths.

    Folders, links, hidden files and what systems leave behind are passed over. Names are unique:
    a repeated one gets a number before its suffix. An entry that is encrypted, damaged or out of
    proportion, or for which no bytes are left of what may be unpacked, is a member with a failure;
    so is the first one past `max_members`, for all that follow it.

    Raises:
        SourceError: no zip, no directory in it, far too many entries, or overlapping ones.
    """
    infos = _directory(data, options=options)
    decoder = NameDecoder(infos)
    kept = [(info, decoder.path(info)) for info in infos if not _is_folder_or_link(info)]
    kept = [(info, path) for info, path in kept if not is_os_junk(path)]
    seen: set[str] = set()
    left = options.max_unpacked_bytes
    for position, (info, path) in enumerate(kept, start=1):
        name = _unique(path or f"entry {position}", seen)
        if position > options.max_members:
            yield Member(name=name, data=b"", failure=skip_entries(len(kept), options=options))
            return
        try:
            member = Member(name=name, data=_entry(data, info, left=left, options=options))
        except SourceError as error:
            member = Member(name=name, data=b"", failure=str(error))
        left -= len(member.data)
        yield member


def skip_entries(count: int | None, *, options: ReadOptions) -> str:
    """Return the failure for members past `max_members`, of `count` if known."""
    others = "and so are all after it" if count is None else f"of {count:,} in all"
    return (
        f"is past the first {options.max_members:,} files, {others}: unpack the archive, "
        "or raise ingest.max_members"
    )


def _entry(data: bytes, info: zipfile.ZipInfo, *, left: int, options: ReadOptions) -> bytes:
    """Return the bytes of one entry; oversized declarations are refused before reading.

    Raises:
        SourceError: it is encrypted, damaged, out of proportion, or larger than `left`.
    """
    _check_not_encrypted(info)
    _check_sizes(info, info.file_size, left=left, options=options)
    return b"".join(_checked_blocks(data, info, left=left, options=options))


def _directory(data: bytes, *, options: ReadOptions) -> list[zipfile.ZipInfo]:
    """Return the directory's entries, none of which share bytes."""
    # A document of many small parts (a book, a workbook) holds more entries than it has texts.
    limit = 10 * options.max_members
    if data.count(_DIRECTORY_ENTRY) > 10 * limit:  # before a library makes an object of each
        raise SourceError(f"holds far more than {limit:,} entries: unpack it, or split it")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
        raise SourceError(_why_no_zip(data)) from error
    if len(infos) > limit:
        raise SourceError(
            f"holds {len(infos):,} entries, the limit is {limit:,}: unpack it, "
            "or raise ingest.max_members"
        )
    _check_overlaps(infos)
    return infos


def _why_no_zip(data: bytes) -> str:
    if data[:4] == b"PK\x03\x04":
        return "is damaged: the end of the zip container is missing (cut off?); get it again"
    return "is damaged: not a zip container; get it again"


def _check_overlaps(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse entries with shared bytes, which let a small file unpack to petabytes (D.

    Fifield, "A better zip bomb", 2019).
    """
    ordered = sorted(infos, key=lambda info: info.header_offset)
    for info, after in itertools.pairwise(ordered):
        if info.header_offset + _LOCAL_HEADER.size + info.compress_size > after.header_offset:
            raise SourceError("looks like a zip bomb: its entries overlap; do not unpack it")


def _unpacked(data: bytes, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the entry's bytes in bounded blocks, regardless of its headers."""
    packed = memoryview(data)[_start(data, info) :][: info.compress_size]
    if len(packed) < info.compress_size:
        raise SourceError("is damaged: it is cut off; get it again")
    if info.compress_type == zipfile.ZIP_STORED:
        for start in range(0, len(packed), _BLOCK):
            yield bytes(packed[start : start + _BLOCK])
        return
    try:
        if info.compress_type == zipfile.ZIP_DEFLATED:
            yield from _inflated(packed)
        elif info.compress_type == zipfile.ZIP_BZIP2:
            yield from _bunzipped(packed)
        else:
            raise SourceError(
                f"has an unsupported compression (method {info.compress_type}, entry "
                f"{info.filename!r}): pack it as an ordinary zip"
            )
    except (zlib.error, OSError, EOFError) as error:
        raise SourceError(
            f"is damaged: its entry {info.filename!r} does not unpack; get it again"
        ) from error


def _start(data: bytes, info: zipfile.ZipInfo) -> int:
    """Return the start of the compressed bytes, behind the local header."""
    header = data[info.header_offset : info.header_offset + _LOCAL_HEADER.size]
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
        raise SourceError(
            f"is damaged: its entry {info.filename!r} is not where it should be; get it again"
        )
    _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
    return info.header_offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)


def _inflated(packed: memoryview) -> Iterator[bytes]:
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    for start in range(0, len(packed), _BLOCK):
        pending: bytes | memoryview = packed[start : start + _BLOCK]
        while pending and not inflater.eof:
            yield inflater.decompress(pending, _BLOCK)
            pending = inflater.unconsumed_tail
    while not inflater.eof:
        block = inflater.decompress(b"", _BLOCK)
        if not block:
            raise EOFError
        yield block


def _bunzipped(packed: memoryview) -> Iterator[bytes]:
    unzipper = bz2.BZ2Decompressor()
    start = 0
    while not unzipper.eof:
        block = b""
        if unzipper.needs_input:
            block = bytes(packed[start : start + _BLOCK])
            start += _BLOCK
            if not block:
                raise EOFError
        yield unzipper.decompress(block, _BLOCK)


def _is_folder_or_link(info: zipfile.ZipInfo) -> bool:
    mode = info.external_attr >> 16
    return info.filename.endswith(("/", "\\")) or stat.S_ISLNK(mode)  # a name may be empty


def is_os_junk(path: str) -> bool:
    """Check for files left by an operating system: hidden or generated."""
    parts = PurePosixPath(path).parts
    return any(part.startswith(".") or part.lower() in _PASSED_OVER for part in parts)


def _unique(path: str, seen: set[str]) -> str:
    name = PurePosixPath(path)
    candidate, number = name, 1
    while str(candidate) in seen:
        number += 1
        candidate = name.with_name(f"{name.stem} ({number}){name.suffix}")
    seen.add(str(candidate))
    return str(candidate)
