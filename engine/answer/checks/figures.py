"""Normalised numbers, dates and codes of a text, for comparison across wordings.

"1,200", "twelve hundred", "1.2 thousand" and "一千二百" are one number; "3 March 1907",
"March 3, 1907", "1907-03-03" and "1907年3月3日" are one date. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

MAX_CHARACTERS = 20_000
"""Maximum characters of a text that are examined."""

_UNIT_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_MONTH_WORDS = """
january february march april may june july august september october november december
"""
_UNITS = {word: value for value, word in enumerate(_UNIT_WORDS.split())}
_TENS = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(), 2)}
_MONTHS = _MONTH_WORDS.split()
_ORDINALS = {
    "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15,
    "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20,
}  # fmt: skip
_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_SHORT_SCALES = {"k": 1_000, "bn": 10**9, "mn": 10**6}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10**4, "亿": 10**8}
_HAN_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5,
               "六": 6, "七": 7, "八": 8, "九": 9}  # fmt: skip
_MONTH_NUMBER = {name[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))}
_MONTH_NUMBER["sept"] = 9

_MONTH = rf"(?:{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_DATED_MONTH = re.compile(
    rf"\b(?P<after>{_MONTH})(?=,?\s+\d)|(?<=\d)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<before>{_MONTH})"
    rf"|\b(?:in|since|until|by|from|of|to|late|early|mid|last|next)[\s-]+(?P<worded>{_MONTH})",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(\d{4})[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])\b")
_HAN_MONTH = re.compile(r"(?<!\d)(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?![份]?[间内])")
_CODE = re.compile(
    r"(?<![\w-])(?=[A-Za-z0-9])(?=[\w/.-]{0,99}[A-Za-z])(?=[\w/.-]{0,99}\d)"
    r"(?!\d[\d.,]*(?:st|nd|rd|th|s|k|m|bn|mn|km|cm|mm|kg|g|mg|ml|l|ft|in|x|am|pm|h|nm|hz|khz|mhz|ghz"
    r"|kw|mw|gw|kb|mb|gb|tb|fold|years?|year-old|day|week|month|hour|minute)?(?![A-Za-z0-9]))"
    r"[A-Za-z0-9]+(?:[-/._][A-Za-z0-9]+)*",
    re.IGNORECASE,
)
_DIGITS = re.compile(
    r"(?<![\d.])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
    r"(?:\s?(hundred|thousand|million|billion|trillion)\b|(k|bn|mn)\b|\s?([十百千万亿]+))?"
    r"(?P<decade>s\b)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?<!\d)(\d{4})[–—-](\d{2})(?!\d)")
_WORDS = re.compile(
    rf"\b(?:{'|'.join([*_UNITS, *_TENS, *_SCALES, *_ORDINALS, 'dozen'])})"
    rf"(?:[\s-]+(?:and\s+)?(?:{'|'.join([*_UNITS, *_TENS, *_SCALES, *_ORDINALS])}))*\b",
    re.IGNORECASE,
)
_HAN_NUMBER = re.compile(r"第?[零〇一二两三四五六七八九十百千万亿]+")
_HAN_COUNTED = re.compile(
    r"[个個位名人次年月日天岁元吨座艘项所部条种家只件名层楼间章回届号路倍成期代周分秒里米亩公]"
)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|over|under|more than|less than"
    r"|fewer than|up to|circa|c\.|ca\.|close to)|[约近余超~≈]|大约|将近|接近|超过|不到|左右)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantities:
    """Quantities of a text: dates and numbers, each value once.

    `numbers` are plain decimals such as `1200` or `0.5`; `months` 1–12; `codes` are letters and
    digits only, folded. `about` are those of `numbers` that the text gives as approximate.
    """

    numbers: frozenset[str] = frozenset()
    months: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """Number of quantities."""
        return len(self.numbers) + len(self.months) + len(self.codes)


def extract_quantities(text: str) -> Quantities:
    """Extract the quantities of a text, in any order; empty without any."""
    text = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS])
    numbers: set[str] = set()
    about: set[str] = set()
    months: set[int] = set()
    codes: set[str] = set()
    text = _ISO.sub(lambda match: _dated(match, numbers, months), text)
    text = _CODE.sub(lambda match: _coded(match, codes), text)
    for match in _RANGE.finditer(text):
        numbers.add(match[1][:2] + match[2])
    text = _DATED_MONTH.sub(lambda match: _month(match, months), text)
    text = _HAN_MONTH.sub(lambda match: _han_month(match, months), text)
    for pattern, value in ((_DIGITS, _digits), (_WORDS, _worded), (_HAN_NUMBER, _han)):
        for match in pattern.finditer(text):
            found = value(match, text)
            if found is not None:
                numbers.add(found)
                if _ABOUT.search(text[max(0, match.start() - 16) : match.start()]):
                    about.add(found)
    return Quantities(
        numbers=frozenset(numbers),
        months=frozenset(months),
        codes=frozenset(codes),
        about=frozenset(about),
    )


def missing_quantities(claim: Quantities, evidence: Quantities) -> frozenset[str]:
    """Return quantities of the claim that the evidence lacks, as text for the trace.

    A number given as approximate may be a tenth off.
    """
    known = evidence.numbers
    numbers = {
        number
        for number in claim.numbers - known
        if not (number in claim.about and any(_near(number, other) for other in known))
    }
    months = {_MONTHS[month - 1].capitalize() for month in claim.months - evidence.months}
    codes = {
        code
        for code in claim.codes - evidence.codes
        if not any(code in whole for whole in evidence.codes if len(code) >= 3)
    }
    return frozenset(numbers | months | codes)


def _near(number: str, other: str) -> bool:
    one, two = Decimal(number), Decimal(other)
    return abs(one - two) <= abs(one) / 10


def _dated(match: re.Match[str], numbers: set[str], months: set[int]) -> str:
    numbers.update((match[1], str(int(match[3]))))
    months.add(int(match[2]))
    return " "


def _coded(match: re.Match[str], codes: set[str]) -> str:
    codes.add(re.sub(r"[^a-z0-9]", "", match.group().casefold()))
    return " "


def _month(match: re.Match[str], months: set[int]) -> str:
    name = match["after"] or match["before"] or match["worded"]
    months.add(_MONTH_NUMBER[name.rstrip(".").casefold()])
    return " "


def _han_month(match: re.Match[str], months: set[int]) -> str:
    months.add(int(match[1]) if match[1].isascii() else int(_han_value(match[1]) or 1))
    return " "


def _digits(match: re.Match[str], _: str) -> str | None:
    value = _decimal(match[1].replace(",", "") + (match[2] or ""))
    if value is None:
        return None
    scale = 1
    if match[3]:
        scale = _SCALES[match[3].lower()]
    elif match[4]:
        scale = _SHORT_SCALES[match[4].lower()]
    elif match[5]:
        for character in match[5]:
            scale *= _HAN_SCALES[character]
    return _plain(value * scale)


def _worded(match: re.Match[str], _: str) -> str | None:
    words = [w for w in re.split(r"[\s-]+", match.group().lower()) if w != "and"]
    if words in (["one"], ["zero"], ["hundred"], ["thousand"], ["million"], ["billion"]):
        return None  # "one of them", "a hundred": said too often without counting
    if words == ["dozen"]:
        return "12"
    total = current = 0
    for word in words:
        if word in _SCALES:
            current = max(current, 1) * _SCALES[word]
            if _SCALES[word] >= 1_000:
                total, current = total + current, 0
        else:
            current += _UNITS.get(word, _TENS.get(word, _ORDINALS.get(word, 0)))
    return str(total + current)


def _han(match: re.Match[str], text: str) -> str | None:
    said = match.group().removeprefix("第")
    counted = match.group() != said or _HAN_COUNTED.match(text, match.end())
    before = text[match.start() - 1 : match.start()]
    if before.isdigit():
        return None  # the scale of digits in front of it
    if len(said) == 1 and (said == "一" or said in _HAN_SCALES.keys() - {"十"} or not counted):
        return None
    value = _han_value(said)
    return None if value is None or (value == 1 and len(said) == 1) else str(value)


def _han_value(said: str) -> int | None:
    """一千二百 and 一九七四 as numbers; None for what is none, such as 千万 alone."""
    if all(character in _HAN_DIGITS for character in said):
        return int("".join(str(_HAN_DIGITS[character]) for character in said))
    total = section = digit = 0
    if all(c in "百千万亿" for c in said):
        return None
    for character in said:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in "万亿":
            total = (total + section + digit or 1) * _HAN_SCALES[character]
            section = digit = 0
        else:
            section += (digit or 1) * _HAN_SCALES[character]
            digit = 0
    return total + section + digit


def _decimal(digits: str) -> Decimal | None:
    try:
        return Decimal(digits) if len(digits) <= 30 else None
    except InvalidOperation:
        return None


def _plain(value: Decimal) -> str:
    text = format(value.normalize(), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
