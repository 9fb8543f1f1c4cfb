"""Spelling comparison: variants of one name, or different names.

Works on name keys (see `graph.names.name_key`) and the words of `graph.name_parts`.
Differences that tell things apart (numbers, directions, generations, opposites) are
looked for before anything that makes two spellings look alike.

Words, letters and sounds for spelling comparison; lower case.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from ..text.cjk import has_han
from .name_parsing import NameParts

LETTERS = {
    "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i",
    "ħ": "h", "ŋ": "ng", "ƒ": "f", "ə": "e", "ŧ": "t", "ĸ": "k",
}  # fmt: skip
"""Letters that no decomposition makes plain."""

ROMANISATIONS = {
    "sch": "sh", "tsch": "k", "tch": "k", "kh": "k", "ch": "k", "ck": "k", "c": "k", "q": "k",
    "qu": "kv", "x": "ks", "ph": "f", "tz": "z", "ts": "z", "dj": "i", "dzh": "i", "ou": "u",
    "oo": "u", "w": "v", "ie": "i", "ee": "i", "iy": "i", "yi": "i", "y": "i", "j": "i",
}  # fmt: skip
"""Romanised forms, longest first, and the sound of each."""

_NUMBER_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve twenty hundred thousand first
second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth i ii iii iv v vi vii
viii ix x xi xii single double triple
"""
_DIRECTIONS = """
north south east west northern southern eastern western northeast northwest southeast southwest
northeastern northwestern southeastern southwestern central left right upper lower inner outer
front back top bottom middle high low
"""
_OPPOSITES = """
jr sr junior senior elder younger old new former great greater little lesser big small major minor
long short early late pre post pro anti male female man woman men women boy girl boys girls king
queen prince princess father mother son daughter brother sister husband wife widow black white red
green blue yellow internal external domestic foreign public private import export maximum minimum
primary secondary first last day night summer winter spring autumn alpha beta gamma delta epsilon
under over
"""
_CALENDAR = """
january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday
"""
TELLING_WORDS = frozenset(f"{_NUMBER_WORDS} {_DIRECTIONS} {_OPPOSITES} {_CALENDAR}".split())
"""Words by which things that are otherwise called the same are told apart."""

TELLING_CHARACTERS = frozenset(
    "零一二三四五六七八九十百千万首次末甲乙丙丁戊己庚辛东西南北中上下左右前后内外大小新旧老少长幼男女父母子"
    "兄弟姐妹夫妻正副高低远近早晚春夏秋冬日夜红黄蓝绿白黑"
)
"""The same in Chinese."""

OPPOSED_PREFIXES = (
    "un", "in", "im", "ir", "il", "non", "anti", "pro", "pre", "post", "sub", "super", "dis", "mis",
    "de", "re", "inter", "intra", "micro", "macro", "mini", "mega", "hyper", "hypo", "over",
    "under", "ex", "co", "bi", "tri", "mono", "poly", "semi", "ante", "trans", "cis", "up", "down",
    "north", "south", "east", "west", "step", "grand", "counter",
)  # fmt: skip
"""Prefixes that change a word's meaning."""

_SOUND_GROUPS = (
    "莱赖来", "尔耳", "德得", "斯司思", "洛罗", "里理利", "维韦", "姆默", "瑟塞", "卡喀", "克科",
    "特忒", "拉腊", "恩安", "布卜", "伦轮", "顿敦", "森逊", "弗佛", "泽则", "奥欧", "伊依", "莫摩",
    "鲁卢", "丹旦", "雷累", "夫弗",
)  # fmt: skip
BORROWED_SOUNDS = {character: group[0] for group in reversed(_SOUND_GROUPS) for character in group}
"""Characters for one sound of foreign names, and their representative."""


_WRITTEN = re.compile("|".join(sorted(ROMANISATIONS, key=lambda some: (-len(some), some))))
_PREFIX = re.compile("|".join(sorted(OPPOSED_PREFIXES, key=lambda some: (-len(some), some))))
_SEPARATORS = re.compile(r"[.\-–—‐,/]")
_REPEATED = re.compile(r"(.)\1+")
_VOWELS = re.compile(r"[aeiou]")
_DIGIT = re.compile(r"\d")
_LETTERS = str.maketrans(LETTERS)
BORROWED = str.maketrans(BORROWED_SOUNDS)
"""Table folding characters of one sound in foreign names."""
_H_BEHIND = re.compile(r"(?<=[bdgjklmnrtvz])h")
SHORTEST = 5
"""In letters: in shorter words one letter makes another word."""
LONG = 7


class Likeness(IntEnum):
    """Similarity levels of spellings, the surest last."""

    OTHER = 0
    SHORTENED = 1
    """All words of one stand in the other."""
    CLOSE = 2
    """Most letters are the same."""
    ONE_LETTER = 3
    """One letter more or less, or two swapped, inside a long word."""
    ROMANISED = 4
    """One sound written in two usual ways."""
    DOUBLED = 5
    """A letter doubled in one of them."""
    SAME_LETTERS = 6
    """Other apostrophes, accents or special letters only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """Name for comparison: words in plain letters, and distinguishing parts.

    `telling` are numbers, directions, generations and the like, in their order.
    """

    words: tuple[str, ...]
    telling: tuple[str, ...]
    is_han: bool

    @property
    def plain(self) -> str:
        """The letters alone."""
        return "".join(self.words)


def spelling_of(key: str, parts: NameParts) -> Spelling:
    """Return a name's comparison form with titles, articles and suffixes."""
    written = _SEPARATORS.sub(" ", key).split() or [key]
    words = tuple(word for word in map(plain_letters, written) if word) or (key,)
    text = " ".join(words)
    han = has_han(text)
    telling = [word for word in words if len(word) == 1 or word in TELLING_WORDS]
    if han:
        telling = [character for character in text if character in TELLING_CHARACTERS]
    numbered = [word for word in words if _DIGIT.search(word)]
    return Spelling(
        words=words,
        telling=tuple(dict.fromkeys([*parts.numbers, *numbered, *telling])),
        is_han=han,
    )


def plain_letters(word: str) -> str:
    """Transliterate a word to a–z without diacritics."""
    if word.isascii() and word.isalnum():
        return word
    mapped = word.translate(_LETTERS)
    return "".join(c for c in mapped if unicodedata.category(c)[0] in "LN" and c not in "ʾʿʼ")


@lru_cache(maxsize=50_000)
def romanised(word: str) -> str:
    """Unify romanisations: "tolstoy" and "tolstoi", "zakhary" and "zachary".

    What letters stand for in many languages is meant, so two words may agree by chance.
    """
    word = _WRITTEN.sub(lambda match: ROMANISATIONS[match.group()], word)
    return _REPEATED.sub(r"\1", _H_BEHIND.sub("", word))


def consonants(word: str) -> str:
    """Return a word without inner vowels."""
    bare = romanised(word)
    return bare[:1] + _VOWELS.sub("", bare[1:])


def compare(one: Spelling, other: Spelling) -> Likeness:
    """Compare two spellings; OTHER where the difference separates two things."""
    if told_apart(one, other):
        return Likeness.OTHER
    if one.plain == other.plain:
        return Likeness.SAME_LETTERS if len(one.plain) > 3 else Likeness.OTHER
    if one.is_han:
        return _compare_han(one, other)
    if len(one.words) != len(other.words):
        return _compare_lengths(one, other)
    different = _different(one, other)
    found = min(_compare_words(a, b) for a, b in different)
    if found <= Likeness.CLOSE:
        return Likeness.CLOSE if ratio(one.plain, other.plain) >= 0.8 else Likeness.OTHER
    return found if len(different) == 1 else min(found, Likeness.ROMANISED)


def told_apart(one: Spelling, other: Spelling) -> bool:
    """Check whether numbers, directions, opposites or script separate two names."""
    if one.telling != other.telling or one.is_han != other.is_han:
        return True
    return any(_are_opposed(a, b) for a, b in _different(one, other))


def _different(one: Spelling, other: Spelling) -> list[tuple[str, str]]:
    """Return differing words by position; empty if lengths differ."""
    if len(one.words) != len(other.words):
        return []
    return [(a, b) for a, b in zip(one.words, other.words, strict=True) if a != b]


def ratio(one: str, other: str) -> float:
    """0–1: how much of two texts is the same, by insertions and deletions (rapidfuzz)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100.0


def _compare_words(one: str, other: str) -> Likeness:
    """Two different words in the same place of two names."""
    if one[0] != other[0]:
        return Likeness.CLOSE
    if min(len(one), len(other)) < SHORTEST:
        same_sounds = min(len(one), len(other)) > 3 and romanised(one) == romanised(other)
        return Likeness.ROMANISED if same_sounds else Likeness.CLOSE
    one_more = abs(len(one) - len(other)) == 1
    if one_more and _REPEATED.sub(r"\1", one) == _REPEATED.sub(r"\1", other):
        return Likeness.DOUBLED
    if romanised(one) == romanised(other):
        return Likeness.ROMANISED
    if max(len(one), len(other)) >= LONG and _is_one_slip(one, other):
        return Likeness.ONE_LETTER
    return Likeness.CLOSE


def _is_one_slip(one: str, other: str) -> bool:
    """Check for one missing letter or a swap of neighbours, inside the word."""
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    if len(long) - len(short) == 1:
        return any(short == long[:at] + long[at + 1 :] for at in range(1, len(long) - 1))
    if len(long) != len(short) or one[0] != other[0] or one[-1] != other[-1]:
        return False
    places = [at for at in range(len(one)) if one[at] != other[at]]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    first, second = places
    return one[first] == other[second] and one[second] == other[first]


def _are_opposed(one: str, other: str) -> bool:
    """Check whether words differ by an opposing prefix."""
    rests = [word[match.end() :] for word in (one, other) if (match := _PREFIX.match(word))]
    if one in rests or other in rests:
        return True
    return len(rests) == 2 and rests[0] == rests[1] and len(rests[0]) > 2


def _compare_lengths(one: Spelling, other: Spelling) -> Likeness:
    short, long = sorted((one.words, other.words), key=len)
    if set(short) <= set(long):
        return Likeness.SHORTENED
    return Likeness.CLOSE if ratio(one.plain, other.plain) >= 0.85 else Likeness.OTHER


def _compare_han(one: Spelling, other: Spelling) -> Likeness:
    """Compare Han names: foreign ones by sound, others by meaning."""
    short, long = sorted((one.plain, other.plain), key=len)
    if len(short) == len(long):
        foreign = len(short) >= 4 and short.translate(BORROWED) == long.translate(BORROWED)
        return Likeness.ROMANISED if foreign else Likeness.OTHER
    return Likeness.SHORTENED if len(short) > 1 and short in long else Likeness.OTHER
