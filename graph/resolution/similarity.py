"""Similar names: candidate pairs, scores and reasons.

A pure function of the set of names and their neighbours. Pairs above `SURE` are one thing spelt
twice; those between `DOUBTFUL` and it stay apart unless a model or a user judges them. Scores come
from spelling, shared neighbours, and name vectors where there are any; differences that tell things
apart (numbers, directions, generations, opposites) are checked first. Names are compared only
within small blocks (all words but one, consonants, rare letter groups or words, near vectors), so
the work is linear in the number of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from ..text.cjk import has_han
from .name_parsing import COMMON_GIVEN_NAMES, NameParts
from .rules import BOTH, CROWD, Block, Link, Profile, Profiles, is_owner, share_document

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
def unify_romanisation(word: str) -> str:
    """Unify romanisations of a name: "tolstoy" and "tolstoi", "zakhary" and "zachary".

    What letters stand for in many languages is meant, so two words may agree by chance.
    """
    word = _WRITTEN.sub(lambda match: ROMANISATIONS[match.group()], word)
    return _REPEATED.sub(r"\1", _H_BEHIND.sub("", word))


def consonant_skeleton(word: str) -> str:
    """Return a name's word without inner vowels."""
    bare = unify_romanisation(word)
    return bare[:1] + _VOWELS.sub("", bare[1:])


def compare_spellings(one: Spelling, other: Spelling) -> Likeness:
    """Compare two names' spellings; OTHER where the difference separates two things."""
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
        return Likeness.CLOSE if spelling_ratio(one.plain, other.plain) >= 0.8 else Likeness.OTHER
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


def spelling_ratio(one: str, other: str) -> float:
    """Return how much of two names' spellings is the same, 0–1 (rapidfuzz)."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100.0


def _compare_words(one: str, other: str) -> Likeness:
    """Two different words in the same place of two names."""
    if one[0] != other[0]:
        return Likeness.CLOSE
    if min(len(one), len(other)) < SHORTEST:
        same_sounds = min(len(one), len(other)) > 3 and unify_romanisation(
            one
        ) == unify_romanisation(other)
        return Likeness.ROMANISED if same_sounds else Likeness.CLOSE
    one_more = abs(len(one) - len(other)) == 1
    if one_more and _REPEATED.sub(r"\1", one) == _REPEATED.sub(r"\1", other):
        return Likeness.DOUBLED
    if unify_romanisation(one) == unify_romanisation(other):
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
    return Likeness.CLOSE if spelling_ratio(one.plain, other.plain) >= 0.85 else Likeness.OTHER


def _compare_han(one: Spelling, other: Spelling) -> Likeness:
    """Compare Han names: foreign ones by sound, others by meaning."""
    short, long = sorted((one.plain, other.plain), key=len)
    if len(short) == len(long):
        foreign = len(short) >= 4 and short.translate(BORROWED) == long.translate(BORROWED)
        return Likeness.ROMANISED if foreign else Likeness.OTHER
    return Likeness.SHORTENED if len(short) > 1 and short in long else Likeness.OTHER


BLOCK = 12
"""Block size for all-pairs comparison; larger blocks use a sliding window."""

_RAREST = 3
_PLANES, _TABLES, _SEED = 10, 6, 20240601
_NEAREST = 0.8

Pair = tuple[str, str]


def near_pairs(spellings: Mapping[str, Spelling]) -> Iterator[Pair]:
    """Return few candidate pairs of spelling variants; with repeats, each sorted."""
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in sorted(spellings):
        for form in _near_forms(spellings[key]):
            blocks[form].append(key)
    yield from _within({form: some for form, some in blocks.items() if len(some) <= CROWD})


def far_pairs(spellings: Mapping[str, Spelling]) -> Iterator[Pair]:
    """Pairs of keys that share letters or words that few names have; as `near_pairs`."""
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    grams = Counter(g for spelling in spellings.values() for g in _grams(spelling))
    words = Counter(word for spelling in spellings.values() for word in set(spelling.words))
    for key in sorted(spellings):
        for form in _far_forms(spellings[key], grams=grams, words=words):
            blocks[form].append(key)
    yield from _within(blocks)


def vector_pairs(vectors: Mapping[str, NDArray[np.float32]]) -> Iterator[Pair]:
    """Return pairs of near unit vectors by hyperplane hashing (Charikar, 2002)."""
    if not vectors:
        return
    keys = sorted(vectors)
    matrix = np.stack([vectors[key] for key in keys])
    random = np.random.default_rng(_SEED)
    blocks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for table in range(_TABLES):
        planes = np.round(random.standard_normal((matrix.shape[1], _PLANES)), 4)
        for key, row in zip(keys, matrix, strict=True):
            # One row at a time: the sums of a product of matrices depend on how many rows it has.
            side = "".join("1" if value > 0 else "0" for value in np.round(row @ planes, 4))
            blocks[f"v{table}", side].append(key)
    for one, other in _within(blocks):
        if float(vectors[one] @ vectors[other]) >= _NEAREST:
            yield one, other


def _within(blocks: Mapping[tuple[str, str], list[str]]) -> Iterator[Pair]:
    """Return pairs inside each block; large ones are sorted, most similar adjacent."""
    for form in sorted(blocks):
        block = blocks[form]
        for place, one in enumerate(block):
            for other in block[place + 1 : place + 1 + BLOCK]:
                yield one, other


def _near_forms(spelling: Spelling) -> Iterator[tuple[str, str]]:
    yield "letters", spelling.plain.translate(BORROWED) if spelling.is_han else spelling.plain
    for place, word in enumerate(spelling.words if not spelling.is_han else ()):
        rest = " ".join((*spelling.words[:place], "", *spelling.words[place + 1 :]))
        yield "sounds", f"{rest}|{unify_romanisation(word)}"
        if len(word) >= LONG - 1:
            yield "consonants", f"{rest}|{consonant_skeleton(word)}|{word[-1]}"


def _far_forms(
    spelling: Spelling, *, grams: Counter[str], words: Counter[str]
) -> Iterator[tuple[str, str]]:
    for gram in _rarest(_grams(spelling), grams):
        yield "letter groups", gram
    for word in _rarest(set(spelling.words), words):
        if len(word) > 2:
            yield "words", word


def _grams(spelling: Spelling) -> set[str]:
    """Return groups by letter trigrams, or Chinese character bigrams."""
    size = 2 if spelling.is_han else 3
    plain = spelling.plain
    return {plain[at : at + size] for at in range(len(plain) - size + 1)}


def _rarest(some: Iterable[str], counts: Counter[str]) -> list[str]:
    """Those that fewest names share with one another, but at least two do."""
    shared = [gram for gram in some if counts[gram] > 1]
    return sorted(shared, key=lambda gram: (counts[gram], gram))[:_RAREST]


SURE = 0.92
DOUBTFUL = 0.6
"""Score thresholds for merging by rule and for a judgement."""

HUB = 100
"""Neighbour count above which a name is uninformative."""

Neighbours = Mapping[str, Collection[str]]
"""Keys that share a sentence with a key, both ways."""

Embed = Callable[[Sequence[str]], NDArray[np.floating]]
"""Texts to one row each."""

_SPELLING_SCORES = {
    Likeness.SAME_LETTERS: 0.99,
    Likeness.DOUBLED: 0.95,
    Likeness.ROMANISED: 0.88,
    Likeness.ONE_LETTER: 0.86,
}
_BORROWED_SCORE = 0.95
"""Score of transliterated names; their characters carry no meaning."""
_SHORT_SCORE = 0.75
_NEVER_SURE = 0.9
_REASONS = {
    Likeness.SAME_LETTERS: "the same name but for accents, apostrophes or hyphens",
    Likeness.DOUBLED: "the same name with a letter doubled",
    Likeness.ROMANISED: "one sound written in two ways",
    Likeness.ONE_LETTER: "the same long name but for one letter",
    Likeness.CLOSE: "spelt much alike",
    Likeness.SHORTENED: "one name is a part of the other",
    Likeness.OTHER: "near in meaning",
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SimilarPair:
    """Pair of sorted keys; `score` is 0–1, `reason` explains it."""

    first: str
    second: str
    score: float
    reason: str

    @property
    def is_sure(self) -> bool:
        """Check whether a rule may merge the pair."""
        return self.score >= SURE


def similar_pairs(
    profiles: Profiles, *, neighbours: Neighbours | None = None, embed: Embed | None = None
) -> list[SimilarPair]:
    """Every pair of at least `DOUBTFUL`, sorted. Depends on the set of names alone.

    Args:
        profiles: the names by key; noun phrases are compared only where their letters are the same.
        neighbours: which keys stand beside a key; None: nothing is known of it.
        embed: makes vectors of names; None: vectors say nothing.
    """
    compared = _compared(profiles)
    spellings = {key: spelling_of(key, profile.parts) for key, profile in compared.items()}
    vectors = _vectors(compared, embed)
    pairs = {*near_pairs(spellings), *far_pairs(spellings), *vector_pairs(vectors)}
    weigh = _Weighing(compared, spellings, _Beside(neighbours or {}), vectors)
    return weigh.all_of(pairs)


def similar_links(
    profiles: Profiles,
    *,
    neighbours: Neighbours | None = None,
    only: Collection[str] | None = None,
    note: Callable[[str, str], object] | None = None,
) -> Iterator[Link]:
    """Return links of sure pairs. Vectors never make a pair sure.

    With `only`, those whose first key is among these. Pairs of which neighbours decide are told to
    `note`.
    """
    weigh = _weighing(profiles, neighbours or {})
    pairs = {p for p in near_pairs(weigh.spellings) if only is None or p[0] in only}
    for pair in weigh.all_of(pairs):
        if note is not None and weigh.is_in_doubt(pair):
            note(pair.first, pair.second)
        if pair.is_sure:
            lesser = _rarer(profiles[pair.first], profiles[pair.second])
            yield Link(key=pair.first, other=pair.second, reason=pair.reason, lesser=lesser)


def similar_blocks(profile: Profile) -> Iterator[Block]:
    """Yield the blocks of `similar_links`."""
    if _is_compared(profile):
        for kind, form in _near_forms(spelling_of(profile.name.key, profile.parts)):
            yield f"{kind} {form}", BOTH


def _weighing(profiles: Profiles, neighbours: Neighbours) -> _Weighing:
    compared = _compared(profiles)
    spellings = {key: spelling_of(key, profile.parts) for key, profile in compared.items()}
    return _Weighing(compared, spellings, _Beside(neighbours), {})


def _compared(profiles: Profiles) -> dict[str, Profile]:
    return {key: profiles[key] for key in sorted(profiles) if _is_compared(profiles[key])}


def _is_compared(profile: Profile) -> bool:
    return not profile.parts.han_title and len(profile.name.key) > 2


def _rarer(one: Profile, other: Profile) -> str:
    """Return the less frequent spelling; "" if equal."""
    if one.count == other.count:
        return ""
    return min(one, other, key=lambda profile: (profile.count, profile.name.key)).name.key


def _vectors(keys: Iterable[str], embed: Embed | None) -> dict[str, NDArray[np.float32]]:
    """Return a rounded unit vector for each key, independent of batches."""
    if embed is None:
        return {}
    found: dict[str, NDArray[np.float32]] = {}
    for key in sorted(keys):
        vector = np.asarray(embed([key]), dtype=np.float32).reshape(-1)
        length = float(np.linalg.norm(vector))
        if length > 0:
            found[key] = np.round(vector / length, 4)
    return found


@dataclass(frozen=True, slots=True)
class _Beside:
    """Neighbours of names, weighted by rarity."""

    neighbours: Neighbours
    _near: dict[str, frozenset[str]] = field(default_factory=dict)

    def near(self, key: str) -> frozenset[str]:
        """Return the neighbours of a key but itself."""
        if key not in self._near:
            self._near[key] = frozenset(self.neighbours.get(key, ())) - {key}
        return self._near[key]

    def overlap(self, one: str, other: str) -> float:
        """Return the share of the rarer name's neighbours that both have, 0–1."""
        first, second = self.near(one), self.near(other)
        shared = first & second
        if not shared:
            return 0.0
        whole = self._lesser_weight(first - {other}, second - {one})
        enough = min(1.0, len(shared) / 2)  # a single one may be chance
        return enough * min(1.0, self._weight(shared) / whole) if whole > 0 else 0.0

    def together(self, one: str, other: str) -> bool:
        """Check whether one sentence names both, which variants hardly do."""
        return other in self.near(one) or one in self.near(other)

    def _lesser_weight(self, one: Collection[str], other: Collection[str]) -> float:
        """Return the lesser weight of two sets; of a far larger one not all are looked at."""
        fewer, more = sorted((one, other), key=len)
        least, reached = self._weight(fewer), 0.0
        for key in sorted(more):
            reached += self._weight((key,))
            if reached > least + 1e-6:  # beyond what rounding changes
                return least
        return min(least, self._weight(more))

    def _weight(self, keys: Collection[str]) -> float:
        degrees = sorted((len(self.near(key)) for key in keys), reverse=True)
        return sum(1.0 / log2(2 + degree) for degree in degrees if 0 < degree <= HUB)


@dataclass(frozen=True, slots=True)
class _Weighing:
    """Scoring of a pair."""

    profiles: Mapping[str, Profile]
    spellings: Mapping[str, Spelling]
    beside: _Beside
    vectors: Mapping[str, NDArray[np.float32]]

    def all_of(self, pairs: Collection[Pair]) -> list[SimilarPair]:
        """Those of at least `DOUBTFUL`, sorted."""
        found = (self.one(first, second) for first, second in sorted(pairs))
        return [pair for pair in found if pair is not None]

    def one(self, first: str, second: str) -> SimilarPair | None:
        """Return the scored pair; None if not worth considering."""
        one, other = self.profiles[first], self.profiles[second]
        if _are_different(one, other):
            return None
        likeness = compare_spellings(self.spellings[first], self.spellings[second])
        near = _cosine(self.vectors, first, second)
        if likeness == Likeness.OTHER and (near <= 0 or self._told_apart(first, second)):
            return None
        if "CONCEPT" in {one.kind, other.kind} and likeness < Likeness.SAME_LETTERS:
            return None
        overlap = self.beside.overlap(first, second)
        score = _base_score(likeness, one, other, spelling=self.spellings[first])
        score = 1 - (1 - score) * (1 - 0.5 * overlap) * (1 - 0.5 * max(0.0, 2 * near - 1))
        if not self._may_be_sure(likeness, first, second):
            score = min(score, _NEVER_SURE)
        if score < DOUBTFUL:
            return None
        reason = _REASONS[likeness]
        if overlap > 0:
            reason += ", and the same names stand beside both"
        return SimilarPair(first=first, second=second, score=round(score, 4), reason=reason)

    def is_in_doubt(self, pair: SimilarPair) -> bool:
        """Check whether what stands beside both names decides if a pair is sure."""
        likeness = compare_spellings(self.spellings[pair.first], self.spellings[pair.second])
        return Likeness.ONE_LETTER <= likeness < Likeness.SAME_LETTERS

    def _told_apart(self, first: str, second: str) -> bool:
        return told_apart(self.spellings[first], self.spellings[second])

    def _may_be_sure(self, likeness: Likeness, first: str, second: str) -> bool:
        """Check whether the pair may be sure without a judge."""
        if likeness == Likeness.SAME_LETTERS:
            return COMMON_GIVEN_NAMES.isdisjoint((first, second))
        if likeness < Likeness.ONE_LETTER:
            return False
        one, other = self.profiles[first], self.profiles[second]
        if self.beside.together(first, second) or (one.name.titles and other.name.titles):
            return False
        return not {*one.parts.words} ^ {*other.parts.words} <= COMMON_GIVEN_NAMES


def _base_score(likeness: Likeness, one: Profile, other: Profile, *, spelling: Spelling) -> float:
    """Return the spelling score, with a bonus within one document."""
    if likeness == Likeness.DOUBLED and len(spelling.words) == 1:
        likeness = Likeness.ROMANISED  # no second word says that the same thing is meant
    if likeness == Likeness.ROMANISED and spelling.is_han:
        return _BORROWED_SCORE
    if likeness == Likeness.ROMANISED and len(spelling.plain) <= SHORTEST:
        return _SHORT_SCORE
    if likeness in _SPELLING_SCORES:
        return _SPELLING_SCORES[likeness]
    at_hand = 0.1 if share_document(one, other) else 0.0
    if likeness == Likeness.CLOSE:
        return 0.7 * spelling_ratio(one.name.key, other.name.key) + at_hand
    return 0.4 + 2 * at_hand


def _are_different(one: Profile, other: Profile) -> bool:
    """Check for evidence against a pair."""
    genders = {one.parts.gender, other.parts.gender} - {""}
    kinds = {one.kind, other.kind} - {""}
    if len(genders) > 1 or len(kinds) > 1 or one.parts.numbers != other.parts.numbers:
        return True
    return is_owner(one, other)


def _cosine(vectors: Mapping[str, NDArray[np.float32]], one: str, other: str) -> float:
    if one not in vectors or other not in vectors:
        return 0.0
    return round(float(vectors[one] @ vectors[other]), 3)
