"""Zip entry names as safe relative paths, in their original encoding.

A zip says of a name at most that it is UTF-8; everything else comes out as CP437, whatever the
system that wrote it used.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence

from ..content import sanitise_text

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
