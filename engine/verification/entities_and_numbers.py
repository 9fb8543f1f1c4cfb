"""Numbers, dates, codes and names of a text, normalised for comparison across wordings.

"1,200", "twelve hundred", "1.2 thousand" and "一千二百" are one number; "3 March 1907",
"March 3, 1907", "1907-03-03" and "1907年3月3日" are one date. A name may be shortened in the
sentence ("Brine") where the passage gives it whole ("Ada Brine"), and stand for its initials.
Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from graph.text.cjk import HAN, has_han, simplified
from graph.text.patterns import lazy_regex

from ..storage.graph_api import LanguageExtractor, Mention

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
_LAST_PLACE = 12
"""Ordinals up to here say a place in a row, no figure; beyond it a century or a day."""
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
_DATED_MONTH = lazy_regex(
    rf"\b(?P<after>{_MONTH})(?=,?\s+\d)|(?<=\d)(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<before>{_MONTH})"
    rf"|\b(?:in|since|until|by|from|of|to|late|early|mid|last|next)[\s-]+(?P<worded>{_MONTH})",
    re.IGNORECASE,
)
_ISO = lazy_regex(r"\b(\d{4})[-/.](0?[1-9]|1[0-2])[-/.](0?[1-9]|[12]\d|3[01])\b")
_HAN_MONTH = lazy_regex(r"(?<!\d)(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?![份]?[间内])")
_DAYS = r"\d{1,2}(?:st|nd|rd|th)?(?:\s*(?:,|and|to|or|[–—-])\s*\d{1,2}(?:st|nd|rd|th)?(?!\d)){0,30}"
_DAY_MONTH = lazy_regex(
    rf"(?<![\d.])(?P<days>{_DAYS})\s+(?:of\s+)?(?P<month>{_MONTH})"
    rf"|\b(?P<month_first>{_MONTH})\s+(?P<days_after>{_DAYS})(?!\d)",
    re.IGNORECASE,
)
_HAN_DAY = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_HAN_MONTH_DAY = lazy_regex(
    rf"(?<!\d)(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
    rf"(?P<days>{_HAN_DAY}[日号]?(?:[至到和、—–~-]{_HAN_DAY}[日号]){{0,30}})"
)
_CODE = lazy_regex(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9])(?=[A-Za-z0-9_/.-]{0,99}[A-Za-z])(?=[A-Za-z0-9_/.-]{0,99}\d)"
    r"(?!\d[\d.,]*(?:st|nd|rd|th|s|k|m|bn|mn|km|cm|mm|kg|g|mg|ml|l|ft|in|x|am|pm|h|nm|hz|khz|mhz|ghz"
    r"|kw|mw|gw|kb|mb|gb|tb|fold|years?|year-old|day|week|month|hour|minute)?(?![A-Za-z0-9]))"
    r"[A-Za-z0-9]+(?:[-/._][A-Za-z0-9]+)*",
    re.IGNORECASE,
)
_DIGITS = lazy_regex(
    r"(?<![\d.])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?"
    r"(?:\s?(hundred|thousand|million|billion|trillion)\b|(k|bn|mn)\b|\s?([十百千万亿]+))?"
    r"(?P<decade>s\b)?",
    re.IGNORECASE,
)
_RANGE = lazy_regex(r"(?<!\d)(\d{4})[–—-](\d{2})(?!\d)")
_WORDS = lazy_regex(
    rf"\b(?:{'|'.join([*_UNITS, *_TENS, *_SCALES, *_ORDINALS, 'dozen', 'twice'])})"
    rf"(?:[\s-]+(?:and\s+)?(?:{'|'.join([*_UNITS, *_TENS, *_SCALES, *_ORDINALS])}))*\b",
    re.IGNORECASE,
)
_HAN_NUMBER = lazy_regex(r"第?[零〇一二两三四五六七八九十百千万亿]+")
_HAN_COUNTED = lazy_regex(
    r"[个個位名人次年月日天岁元吨座艘项所部条种家只件名层楼间章回届号路倍成期代周分秒里米亩公小]"
)
_PART = lazy_regex(
    r"\b(?:(?:an?|one|two|three|four|five|six|seven|eight|nine|the|middle|last|first)[\s-]+)"
    r"(?:third|quarter|half|fourth|fifth|sixth|seventh|eighth|ninth|tenth|twelfth|twentieth"
    r"|fortieth)s?\b(?!\s+of\s+(?:january|february|march|april|may|june|july|august|september"
    r"|october|november|december))"
    r"|(?<!百分)(?<![零〇一二两三四五六七八九十百千万亿])[零〇一二两三四五六七八九十]+分之"
    r"[零〇一二两三四五六七八九十]+|百分之",
    re.IGNORECASE,
)
"""Parts of a whole, which are no figures: "about a third", 四分之三."""
_ABOUT = lazy_regex(
    r"(?:\b(?:about|around|approximately|roughly|nearly|almost|some|over|under|more than|less than"
    r"|fewer than|up to|circa|c\.|ca\.|close to)|[约近余超~≈]|大约|将近|接近|超过|不到|左右)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantities:
    """Quantities of a text: dates and numbers, each value once.

    `numbers` are plain decimals such as `1200` or `0.5`; `months` 1–12; `codes` are letters and
    digits only, folded. `about` are those of `numbers` that the text gives as approximate; `days`
    are months with their days, such as `(7, "4")`.
    """

    numbers: frozenset[str] = frozenset()
    months: frozenset[int] = frozenset()
    codes: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    days: frozenset[tuple[int, str]] = frozenset()

    @property
    def count(self) -> int:
        """Number of quantities."""
        return len(self.numbers) + len(self.months) + len(self.codes)


def extract_quantities(text: str) -> Quantities:
    """Extract the quantities of a text, in any order; empty without any."""
    text = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS])
    text = _PART.sub(" ", text)
    numbers: set[str] = set()
    about: set[str] = set()
    months: set[int] = set()
    codes: set[str] = set()
    days = _month_days(text)
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
        days=frozenset(days),
    )


_PLACES = {"first": 1, "second": 2, **_ORDINALS}
_PLACE = lazy_regex(rf"\b(?:{'|'.join(_PLACES)})\b", re.IGNORECASE)


def places_in_a_row(text: str) -> frozenset[str]:
    """Return the numbers of English ordinals, such as 2 for "second"."""
    return frozenset(str(_PLACES[match.group().lower()]) for match in _PLACE.finditer(text))


def _month_days(text: str) -> set[tuple[int, str]]:
    """Return the days of months in a text: "17 and 18 May", "May 17–18", 5月17日至18日."""
    found = {(int(match[2]), str(int(match[3]))) for match in _ISO.finditer(text)}
    for match in _DAY_MONTH.finditer(text):
        month = _MONTH_NUMBER[(match["month"] or match["month_first"]).rstrip(".").casefold()]
        days = re.findall(r"\d+", match["days"] or match["days_after"])
        found |= {(month, str(int(day))) for day in days}
    for match in _HAN_MONTH_DAY.finditer(text):
        days = re.findall(_HAN_DAY, match["days"])
        found |= {(_counted(match["month"]), str(_counted(day))) for day in days}
    return found


def _counted(said: str) -> int:
    return int(said) if said.isascii() else _han_value(said) or 0


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
    return frozenset(numbers | months | codes | _other_days(claim, evidence, numbers))


def _other_days(claim: Quantities, evidence: Quantities, missing: set[str]) -> set[str]:
    """Return days whose number and month the evidence holds, of other dates alone."""
    return {
        f"{day} {_MONTHS[month - 1].capitalize()}"
        for month, day in claim.days - evidence.days
        if evidence.days and month in evidence.months and day not in missing
    }


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
    months.add(_counted(match[1]) or 1)
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


_BACK = lazy_regex(r"\b(?:the|these|those|all|both)\s+$", re.IGNORECASE)
"""Words before a number that points back at things named before: "the two"."""


def _worded(match: re.Match[str], text: str) -> str | None:
    words = [w for w in re.split(r"[\s-]+", match.group().lower()) if w != "and"]
    if len(words) == 1 and _BACK.search(text, max(0, match.start() - 8), match.start()):
        return None
    if words in (["one"], ["zero"], ["hundred"], ["thousand"], ["million"], ["billion"]):
        return None  # "one of them", "a hundred": said too often without counting
    if words == ["dozen"]:
        return "12"
    if words == ["twice"]:
        return "2"
    if len(words) == 1 and words[0] in _ORDINALS and _ORDINALS[words[0]] <= _LAST_PLACE:
        return None
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


_WORD = lazy_regex(rf"[^\W_{HAN}]+")
_LATIN = rf"[^\W_{HAN}]"
_LESSER_WORDS = """
the of and de la von van der den del di da al bin ibn st mr mrs ms dr prof sir lord lady king
queen prince princess president captain general saint mount lake river
"""
_LESSER = frozenset(_LESSER_WORDS.split())
"""Words of names that a text may leave out."""
_DEMONYM = lazy_regex(r"(?:ians?|eans?|ans?|ese|ish|ic|s|n)$")
_SHORTEST_ROOT = 4
_OWNER = lazy_regex(r"['’]s\s+")
_POSSESSIVE = lazy_regex(r"['’]s\b")
_CLINGING = "的了是在有为被由与和于以及曾成任将把也都就还又并且等后前中共有"
_LONG_HAN, _MOST = 6, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Context of the cited sentences: whole passages and the question."""

    passages: str = ""
    question: str = ""


@lru_cache(maxsize=1)
def _extractor() -> LanguageExtractor:
    return LanguageExtractor(spacy_model="none", concepts=False)


@lru_cache(maxsize=2_048)
def find_mentions(text: str) -> tuple[Mention, ...]:
    """Find names in a text by position: capitals in English, a tagger in Chinese."""
    (found,) = _extractor().extract([text])
    return tuple(found.mentions)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names in a claim or source as written, an owner and what it owns apart."""
    found = (text[mention.start : mention.end] for mention in find_mentions(text))
    return tuple(part for name in found for part in _OWNER.split(name) if part)


def missing_names(
    names: Sequence[str], evidence: str, beside: Beside, *, claim: str = ""
) -> tuple[str, ...]:
    """Those of the claim's names that its evidence does not hold, in their order.

    Args:
        names: as written in the claim.
        evidence: the cited sentences, and the titles and headings above them.
        beside: where a name may stand in full, or, if the question has it, at all.
        claim: a single word at its start may be no name: it counts where `beside` has it as one.
    """
    near = _folded(evidence)
    whole, asked = _folded(beside.passages), _folded(beside.question)
    missing = []
    for name in dict.fromkeys(names):
        if _only_opens(name, claim, f"{beside.passages} {beside.question}"):
            continue
        if not _stands(name, evidence, near, whole, asked, passages=beside.passages):
            missing.append(name)
    return tuple(missing)


def _stands(
    name: str, evidence: str, near: _Folded, whole: _Folded, asked: _Folded, *, passages: str
) -> bool:
    key = normalise_name(name)
    if key in near.text if has_han(key) else near.has_run(key):
        return True
    if has_han(key):
        return (key in asked.text and key in whole.text) or _han_in_part(key, near.text)
    words = [
        normalise_name(word)
        for word in _WORD.findall(_POSSESSIVE.sub("", name))
        if not word.islower()
    ]
    words = [word for word in words if word not in _LESSER]
    if not words or all(near.has(word) or _is_initials(word, evidence) for word in words):
        return True
    in_full = whole.has_run(key)
    if in_full and (asked.has_run(key) or any(near.has(word) for word in words)):
        return True
    return _by_initials(name, evidence, near) or _in_short(name, evidence, passages)


_CAPITAL = r"[A-Z][\w’'-]+"


def _in_short(name: str, evidence: str, passages: str) -> bool:
    """Check whether one word of a name stands there, and nowhere as part of another name."""
    words = name.split()
    if len(words) < 2:
        return False
    for word in {words[0], words[-1]}:
        if len(word) < _SHORTEST_ROOT or not re.search(rf"\b{re.escape(word)}\b", evidence):
            continue
        beside = re.compile(rf"({_CAPITAL}) {re.escape(word)}\b|\b{re.escape(word)} ({_CAPITAL})")
        others = {m[1] or m[2] for m in beside.finditer(passages)}
        if not {normalise_name(other) for other in others} - _LESSER - {normalise_name(name)}:
            return True
    return False


def _han_in_part(key: str, text: str) -> bool:
    """Match part of a Chinese name; a tagger may attach a verb or join several words."""
    if len(key) > _LONG_HAN:
        pairs = [key[n : n + 2] for n in range(len(key) - 1)]
        return sum(pair in text for pair in pairs) >= _MOST * len(pairs)
    bare = key.strip(_CLINGING)
    return len(bare) >= 2 and bare in text


def _is_initials(word: str, evidence: str) -> bool:
    """Check whether a word is the initials of words of the evidence."""
    if not 2 <= len(word) <= 6 or not word.isascii():
        return False
    letters = r"\w*\W+(?:of |the |and )?".join(word.upper())
    return re.search(rf"\b{letters}\w*", evidence) is not None


def _by_initials(name: str, evidence: str, near: _Folded) -> bool:
    if re.fullmatch(r"(?:[A-Z]\.?){2,6}", name):
        return _is_initials(name.replace(".", ""), evidence)
    initials = "".join(word[0] for word in re.findall(r"\b[A-Z]\w*", name))
    return len(initials) >= 2 and near.has(initials.casefold())


def _only_opens(name: str, claim: str, elsewhere: str) -> bool:
    """Check whether a capital only opens the sentence; others may confirm it is a name."""
    if " " in name or has_han(name) or not claim.lstrip("*-•#> \"'“").startswith(name):
        return False
    if not name[1:].islower():
        return False
    return re.search(rf"(?<=[a-z,;] ){re.escape(name)}\b", elsewhere) is None


@dataclass(frozen=True, slots=True)
class _Folded:
    text: str
    words: frozenset[str]
    roots: frozenset[str]

    def has_run(self, key: str) -> bool:
        """Check whether these words stand in a row."""
        return re.search(rf"(?<!{_LATIN}){re.escape(key)}(?!{_LATIN})", self.text) is not None

    def has(self, word: str) -> bool:
        """Check whether the word, or one of the same root, is present: America for American."""
        if word in self.words:
            return True
        root = _DEMONYM.sub("", word)
        return len(root) >= _SHORTEST_ROOT and (
            root in self.roots or (root != word and any(w.startswith(root) for w in self.words))
        )


@lru_cache(maxsize=64)
def _folded(text: str) -> _Folded:
    key = normalise_name(text)
    words = frozenset(_WORD.findall(key))
    roots = (_DEMONYM.sub("", word) for word in words)
    return _Folded(key, words, frozenset(r for r in roots if len(r) >= _SHORTEST_ROOT))


@lru_cache(maxsize=1_024)
def normalise_name(text: str) -> str:
    """Normalise a name for checking claims: lower case, no accents or possessives, simplified."""
    wide = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in wide if not unicodedata.combining(c)).casefold()
    plain = _POSSESSIVE.sub("", plain)
    return simplified(" ".join(plain.split()))


_NO = lazy_regex(
    r"\b(?:not|never|no(?![-–])|none|nobody|nothing|neither|nor|without|cannot|unable to"
    r"|fail(?:s|ed)? to)\b|n['’]t\b"
    r"|不(?![仅但断少久同])|没有?|未(?![来])|无(?![线论])|非(?![洲常])",
    re.IGNORECASE,
)
_NOT_DENIED = lazy_regex(
    r"\bnot even\b|\bnot only\b|\bno (?:more|less|fewer) than\b|\bno longer than\b"
    r"|不超过|不仅|不但",
    re.IGNORECASE,
)
_LEAST_SHARED = 0.45
"""Share of a clause's words that a clause must hold to be about the same."""
_MOST_SHARED, _SCOPE_SHARED = 0.5, 0.35
"""The same for a clause that denies, and for the words behind its denial."""
_DENIED_TOO = 0.55
_SCOPE = lazy_regex(
    rf"\s*(?:有?(?:发现|找到|看到|出现)?(?:任何|一点|一)?)((?:\S+\s+){{0,4}}[^\s{HAN}]+|[{HAN}]{{1,8}})"
)
_OPPOSITES = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE))
    for one, other in (
        (r"\bincreas\w*|\bris(?:es?|ing)\b|\brose\b|\bgrew\b|\bhigher\b|增加|上升|增长|提高|更高",
         r"\bdecreas\w*|\bcuts?\b|\bfall(?:s|ing)?\b|\bfell\b|\bshrank\b|\breduc\w*|\blower\b|减少|下降|降低|更低"),
        (r"\bbefore\b|\bearlier\b|以前|之前|早于", r"\bafter\b|\blater\b|以后|之后|晚于"),
        (r"\bmore\b|\bgreater\b|\blarger\b|多于|大于", r"\bless\b|\bfewer\b|\bsmaller\b|少于|小于"),
        (r"\bfirst\b|\boldest\b|\bearliest\b|最早|最先|第一",
         r"\blast\b|\bnewest\b|\blatest\b|最晚|最后"),
        (r"\blargest\b|\bhighest\b|\bbiggest\b|\bmost\b|最大|最高|最多",
         r"\bsmallest\b|\blowest\b|\bleast\b|最小|最低|最少"),
        (r"\bnorth\w*|北", r"\bsouth\w*|南"),
        (r"\beast\w*|东", r"\bwest\w*|西"),
        (r"\bke(?:ep|pt)\b|保留", r"\bclos(?:e|es|ed)\b|关闭"),
        (r"\bopen(?:s|ed)?\b|\bbeg[ai]n\w*|\bstart\w*|开放|开业|开始|启用",
         r"\bclos(?:e|es|ed)\b|\bend(?:s|ed)\b|关闭|停业|结束|停用"),
        (r"\baccept\w*|\bapprov\w*|\bpass(?:es|ed)\b|\bagree[sd]?\b|\badmit\w*|批准|通过|接受|同意|承认",
         r"\breject\w*|\brefus\w*|\bdeclin\w*|\bden(?:y|ies|ied)\b|否决|驳回|拒绝|否认|反对"),
        (r"\ballow\w*|\bpermit\w*|允许|准许", r"\bforb\w*|\bprohibit\w*|\bbann\w*|禁止|不准|不许"),
        (r"\bborn\b|出生|生于", r"\bdied\b|\bdeath\b|去世|逝世|死于"),
        (r"\bwon\b|\bdefeated\b|获胜|击败", r"\blost\b|败于|失利"),
    )
)  # fmt: skip
_CLAUSE = lazy_regex(
    r"[,;:，；：、。.!?！？()（）—–]|\b(?:and|but|although|though|while|whereas)\b|并(?![不非未没无])且?|但是?|而(?=[^且])|虽然"
)


def denies(text: str) -> bool:
    """Check whether a text denies something, in either language."""
    return _NO.search(_NOT_DENIED.sub(" ", text)) is not None


def opposed(claim: str, sentence: str) -> bool:
    """Check whether one has a word and the other its opposite, in either language."""
    return any(
        (_only(one, other, claim) and _only(other, one, sentence))
        or (_only(other, one, claim) and _only(one, other, sentence))
        for one, other in _OPPOSITES
    )


def _only(one: re.Pattern[str], other: re.Pattern[str], text: str) -> bool:
    return one.search(text) is not None and other.search(text) is None


def contradicts(
    claim: str, sentences: str, around: str, *, shared: Callable[[str, str], float]
) -> bool:
    """Check whether a claim asserts what its sources deny, or the reverse, by their words.

    Args:
        claim: the claim.
        sentences: those that say most of it.
        around: the same with their neighbours, where a denial may stand as well.
        shared: the share of the first text's words that the second holds, 0 to 1.
    """
    told = [clause for clause in _clauses(sentences) if clause.strip()]
    if denies(claim):
        denying = [clause for clause in _clauses(around) if denies(clause)]
        if _denies_alone(claim, told, denying, shared):
            return True
    elif any(_denied_by(clause, claim, shared) for clause in told if denies(clause)):
        return True
    return any(
        _opposite_of(clause, told, shared, claim) and not _holds_same(claim, sentences)
        for clause in _clauses(claim)
    )


def _opposite_of(
    clause: str, told: Sequence[str], shared: Callable[[str, str], float], claim: str
) -> bool:
    """Check whether the counterpart of a clause has the opposite of one of the claim's words."""
    best = max(told, key=lambda other: shared(clause, other), default="")
    alike = bool(best) and shared(clause, best) >= _LEAST_ALIKE
    return alike and opposed(clause, best) and opposed(claim, best)


_LEAST_ALIKE = 0.3


def _denies_alone(
    claim: str,
    told: Sequence[str],
    denying: Sequence[str],
    shared: Callable[[str, str], float],
) -> bool:
    """Check whether a clause of the claim denies what the sources say and nowhere deny."""
    for clause in _clauses(claim):
        what = _denied_words(clause)
        if what is None or _denied_too(what, told, denying, shared):
            continue
        plain = _NO.sub(" ", clause)
        if any(shared(plain, other) > _LEAST_SHARED for other in told):
            return True
    return False


def _denied_too(
    what: str, told: Sequence[str], denying: Sequence[str], shared: Callable[[str, str], float]
) -> bool:
    """Check whether what a claim denies stands among what is denied rather than what is said."""
    said = max((shared(what, other) for other in told if not denies(other)), default=0.0)
    denied = max((shared(what, other) for other in denying), default=-1.0)
    return denied >= _DENIED_TOO * said


def _denied_words(clause: str) -> str | None:
    """Return the words behind the denial of a clause; None where it denies nothing."""
    plain = _NOT_DENIED.sub(" ", clause)
    match = _NO.search(plain)
    what = _SCOPE.match(plain, match.end()) if match else None
    if what is not None:
        return what[1]
    return plain if match else None


def _denied_by(clause: str, claim: str, shared: Callable[[str, str], float]) -> bool:
    """Check whether a denying clause is about what the claim says: all of it, or what is denied."""
    what = _denied_words(clause)
    return shared(clause, claim) >= _MOST_SHARED or (
        what is not None and shared(what, claim) >= _SCOPE_SHARED
    )


def _holds_same(claim: str, sentences: str) -> bool:
    """Check whether the sources hold both words of each pair of opposites of the claim."""
    return all(
        (one.search(sentences) is not None and other.search(sentences) is not None)
        or not (one.search(claim) or other.search(claim))
        for one, other in _OPPOSITES
    )


def _clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE.split(text) if clause]
