"""Which encoding a text without a mark is in: UTF-16, the East Asian ones, then the rest.

A statistical detector errs on short or mixed Chinese text, so the East Asian encodings are tried
first by what only they produce: kana, Hangul, or the everyday half of the Chinese characters.
Knows nothing of files.
"""

from __future__ import annotations

import codecs
import re
from functools import cache

SAMPLE_BYTES = 1 << 16
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA = re.compile("[\u3041-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_WESTERN = re.compile(
    "[\xa0-\xb1\xb4-\xb8\xba-\xcf\xd1-\xdc\xdf-\xef\xf1-\xfc\xff\u0152\u0153\u2013-\u2026\u20ac\u2122]"
)
"""Latin letters of Western Europe; without ð, ý and þ, which Turkish text would turn into."""
_OTHERS = (
    *(f"cp{page}" for page in range(1250, 1259)),
    *("koi8_r", "iso8859_2", "iso8859_7", "iso8859_15", "tis_620", "cp866", "cp437"),
)
"""What else plain text is found in; without a list the detector finds Macintosh and mainframes."""


def guess(data: bytes) -> str | None:
    """The codec of bytes that are not UTF-8 and carry no byte order mark; None if not text."""
    sample = data[:SAMPLE_BYTES]
    if b"\x00" in sample:
        return _wide(sample)
    return _east_asian(sample) or _western(sample) or _detected(sample)


def _wide(sample: bytes) -> str | None:
    """UTF-16 without a mark: one byte of each pair is nearly always NUL in Latin text."""
    half = max(1, len(sample) // 2)
    for codec, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        text = decoded(sample, codec)
        if zeros.count(0) > 0.7 * half and text is not None and "\x00" not in text:
            return codec
    return None


def decoded(sample: bytes, codec: str) -> str | None:
    """The sample in this codec, without a character cut at its end; None if it does not fit."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _east_asian(sample: bytes) -> str | None:
    for codec, pattern, least in (
        ("cp949", _HANGUL, 0.8),
        ("euc_jp", _KANA, 0.25),
        ("cp932", _KANA, 0.25),
    ):
        foreign = _foreign(sample, codec)
        if foreign and sum(1 for c in foreign if pattern.match(c)) >= least * len(foreign):
            return codec
    shares = []
    for codec, everyday in (
        ("gb18030", _everyday("gb2312", 0xD7)),
        ("big5hkscs", _everyday("big5", 0xC6)),
    ):
        foreign = _foreign(sample, codec)
        if foreign:
            shares.append((sum(1 for c in foreign if c in everyday) / len(foreign), codec))
    best = max(shares, default=(0.0, ""))
    return best[1] if best[0] >= 0.7 else None


def _foreign(sample: bytes, codec: str) -> str:
    text = decoded(sample, codec)
    return "".join(_NON_ASCII.findall(text)) if text else ""


@cache
def _everyday(codec: str, last: int) -> frozenset[str]:
    """The characters of the standard's first plane (frequent ones) and its punctuation."""
    first_han = 0xB0 if codec == "gb2312" else 0xA4
    leads = [*range(0xA1, 0xA4), *range(first_han, last + 1)]
    trails = [*range(0x40, 0x7F), *range(0xA1, 0xFF)]
    pairs = (bytes((lead, trail)).decode(codec, "ignore") for lead in leads for trail in trails)
    return frozenset(pair for pair in pairs if len(pair) == 1 and not pair.isascii())


def _western(sample: bytes) -> str | None:
    foreign = _foreign(sample, "cp1252")
    fits = foreign and all(_WESTERN.match(c) for c in foreign) and len(foreign) < 0.3 * len(sample)
    return "cp1252" if fits else None


def _detected(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(_OTHERS)).best()
    return None if best is None else best.encoding
