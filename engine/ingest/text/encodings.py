"""Encoding detection of unmarked text: UTF-16, East Asian, then others.

A statistical detector errs on short or mixed Chinese text, so the East Asian encodings are tried
first, all of them, by how everyday the characters are that they give.
"""

from __future__ import annotations

import codecs
import re
from functools import cache

SAMPLE_BYTES = 1 << 16
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_NON_ASCII_BYTES = re.compile(rb"[\x80-\xff]")
_LEAST_SHARE = 0.7
_FREQUENT_VOTES = 2
_WITH_KANA = frozenset({"euc_jp", "cp932"})
_FREQUENT_CHINESE = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过"
    "发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本"
    "前开但因只从想实日者意无力与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最"
    "重并物手应头文体政美相见被利什二等产或新制身果加西月话合回特代内信表化老给世位次度门常先海"
    "通教原东提立及比员解水名真论处各入几口条平系气题活更别打女变四总何电数安少报才结反受目太量"
    "再建务做接必场件计管期市直资山金指统区保至社便空决治科司五基书非则白光放强难权思王完设式色"
    "路记南品告类求据程北边该交规万取望术领共确传师观清今切院让识带导运你好谢请您"
    "這個們來為說時會對過後裡種經現當沒動還進樣開從實無與長機關點業將兩間問頭體見產麼給門東聲員"
    "論處義幾條題別變總電數報結務場計資統區決書則達強難權設記類據邊該規萬術領確傳師觀識帶導運學發"
)
_FREQUENT_KOREAN = frozenset(
    "이다는에을의가고하지를은로한기도사자어리시나그아인라들서있스일보대부수정해과게으전장제니면적상"
    "주구여내세만원성관국동연계것위오했습신화당경소우공까와안였음말없생조교문유개방무분비선실통회행"
    "었겠된될합니요네든며려더저때두년월글녕세감반갑"
)
"""Frequent Korean syllables, about half of usual text, unordered."""
_WESTERN = re.compile(
    "[\xa0-\xb1\xb4-\xb8\xba-\xcf\xd1-\xdc\xdf-\xef\xf1-\xfc\xff\u0152\u0153\u2013-\u2026\u20ac\u2122]"
)
"""Western European letters, without ð, ý and þ, which Turkish would turn into."""
_OTHERS = (
    *(f"cp{page}" for page in range(1250, 1259)),
    *("koi8_r", "iso8859_2", "iso8859_7", "iso8859_15", "tis_620", "cp866", "cp437"),
)
"""Further encodings in use.

Unrestricted, the detector finds Macintosh and mainframe ones.
"""


def guess(data: bytes) -> str | None:
    """Detect the codec of unmarked non-UTF-8 bytes; None if not text."""
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
    """Decode a sample, ignoring a truncated last character; None if invalid."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _east_asian(sample: bytes) -> str | None:
    """Return the most plausible East Asian codec, if any.

    The codecs share most of their byte pairs, so that a short text often fits several: each
    character votes, the most frequent ones of its language for it, rare ones against.
    """
    found: list[tuple[float, str]] = []
    size = len(_NON_ASCII_BYTES.findall(sample))
    for codec, (usual, frequent) in _languages().items():
        foreign = _foreign(sample, codec)
        known = sum(1 for c in foreign if c in usual)
        if foreign and known >= _LEAST_SHARE * len(foreign):
            best = sum(1 for c in foreign if c in frequent)
            if codec in _WITH_KANA and not best:
                continue  # hardly a text of Japan is without them
            votes = known - (len(foreign) - known) + _FREQUENT_VOTES * best
            found.append((votes / size, codec))
    return max(found, key=lambda entry: entry[0])[1] if found else None


@cache
def _languages() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return common characters of each codec, and the most frequent ones.

    The first codec wins where two are as plausible.
    """
    kana = _everyday("euc_jp", 0xA4, 0xA5)
    japanese = _everyday("euc_jp", 0xB0, 0xCF) | kana
    return {
        "gb18030": (_everyday("gb2312", 0xB0, 0xD7), _FREQUENT_CHINESE),
        "big5hkscs": (_everyday("big5", 0xA4, 0xC6), _FREQUENT_CHINESE),
        "cp949": (_everyday("euc_kr", 0xB0, 0xC8), _FREQUENT_KOREAN),
        "euc_jp": (japanese, kana),
        "cp932": (japanese, kana),
    }


def _foreign(sample: bytes, codec: str) -> str:
    text = decoded(sample, codec)
    return "".join(_NON_ASCII.findall(text)) if text else ""


def _everyday(codec: str, first: int, last: int) -> frozenset[str]:
    """Return a standard's frequent characters by leading bytes, and its punctuation."""
    leads = [*range(0xA1, 0xA4), *range(first, last + 1)]
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
