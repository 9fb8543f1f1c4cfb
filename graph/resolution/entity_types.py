"""The type of a name, from all that speaks for one: tags of its mentions, cues, its own words.

Cues are statements of `OF_TYPE` with weights (see `extraction.type_evidence`). What has no clear
winner is NAME; what only its place or a table's cell capitalises is no name at all.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..extraction.aliases import TRANSLITERATION, type_from_words
from ..extraction.class_nouns import CLASS_TYPES, type_of_phrase
from ..model import COMMON, CUES_OF_NO_TYPE, DETERMINED, LOCATED, ORDINARY, PHRASE
from ..text.cjk import has_han
from ..text.names import FUNCTION_WORDS, JOINTS
from .name_parsing import (
    COMMON_GIVEN_NAMES,
    DIMINUTIVES,
    NAMED_AFTER_PERSONS,
    NAMELIKE_TITLES,
    SURNAMES,
    TITLES,
)

_SURNAME_LIKE = """
abbey priory manor lodge grange head hill hills point park forest castle palace reef rock falls gulf
plateau ridge creek cove garden gardens city airport cathedral kingdom empire duchy archipelago
desert
"""
_WORKS_BY_NAME = """
charter agreement convention act guidelines policy license licence manual guide report symphony
suite bible gospel song ballad handbook protocol hymn
"""
_BEINGS = frozenset({"ghost", "spirit", "phantom", "spectre", "angel", "devil", "demon", "goblin"})
"""Beings that act in tales like persons, with an article."""
_HEADS = (
    dict.fromkeys(_SURNAME_LIKE.split(), "PLACE")
    | dict.fromkeys(_WORKS_BY_NAME.split(), "WORK")
    | dict.fromkeys(("tool", "kernel", "toolkit"), "PRODUCT")
    | dict.fromkeys(_BEINGS, "PERSON")
    | dict.fromkeys(("award", "awards", "prize", "trophy", "medal"), "EVENT")
    | {word: kind for word, kind in CLASS_TYPES.items() if kind == "PRODUCT" and word != "library"}
)
"""Last words of names that tell a type where nothing speaks against it."""

_SELDOM = 6
FEWEST = 3
"""Minimum mentions of a common word: of a noun phrase, or of a name of which nothing is told."""
_MOST_TAGGED, _TAGGED_OFTEN = 4.0, 2.0
_WITH_ARTICLE = 2.5
_MOST_AGAINST = 5.0
TITLE_WEIGHT = 8.0
_NEEDED = 0.5
_CLEAR = 1.25
_HEAD = 6.0
_PART = 4
_RULED = 5


def decide_types(
    types: Counter[str],
    cues: Mapping[str, float],
    *,
    head: str = "",
    is_surname_like: bool = False,
    is_han: bool = False,
) -> Counter[str]:
    """Return a name's counts of types, settled where the evidence has a clear winner.

    `types` counts what its mentions were tagged as, `cues` sums the evidence around them, `head`
    is the type of its own head word, which leaves a doubt where it may be a surname and nothing
    speaks for a place ("Tobias Rock"). The number of named mentions stays; without a winner all of
    them are NAME. Empty for what is no name at all: each mention is at a beginning, or the word
    stands in lower case as well, and nothing speaks for a name; or it is a word of the dictionary
    that is seldom said.
    """
    named = sum(n for kind, n in types.items() if kind != "CONCEPT")
    if not named:
        return types
    scores = _scores(types, named, is_han=is_han)
    tagged = _CLEAR * max(scores.values()) if is_han else 0.0
    for kind, weight in cues.items():
        if kind not in CUES_OF_NO_TYPE:
            scores[kind] += weight
    with_article = cues.get(DETERMINED, 0.0)
    if with_article > max(0.0, cues.get("PERSON", 0.0)) and head != "PERSON":
        scores["PERSON"] -= min(_WITH_ARTICLE * with_article, _MOST_AGAINST)
    if head:
        is_doubtful = is_surname_like and not scores["PLACE"]
        scores[head] += min(_HEAD, scores["PERSON"]) if is_doubtful else max(_HEAD, tagged)
    is_common = 2 * cues.get(COMMON, 0.0) >= named and named < _SELDOM
    is_begun = cues.get(ORDINARY, 0.0) * (2 if COMMON in cues else 1) >= named
    is_common |= types["CONCEPT"] >= named and named < _SELDOM
    is_plain = is_begun or is_common or (COMMON in cues and named < FEWEST)
    if is_plain and not head and not _is_told(cues):
        return +Counter(CONCEPT=types["CONCEPT"])
    ranked = [*sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])), ("NAME", 0.0)]
    (best, score), (_, second) = ranked[:2] if len(ranked) > 1 else (ranked[0], ("", 0.0))
    is_clear = score >= _NEEDED and score >= _CLEAR * second
    is_clear &= best != "CONCEPT" or named > FEWEST
    kind = best if is_clear else "NAME"
    settled = Counter({kind: named})
    if types["CONCEPT"]:
        settled["CONCEPT"] += types["CONCEPT"]
    return settled


def _is_told(cues: Mapping[str, float]) -> bool:
    """Check whether any words around a name speak for a type."""
    return any(weight > 0 for kind, weight in cues.items() if kind not in CUES_OF_NO_TYPE)


def head_type(key: str) -> str:
    """Return the type that a name's own words tell: "… Institute", "Count of Nassau"; or ""."""
    if has_han(key):
        is_stuff = key[-1] in _HAN_STUFF and key[0] not in SURNAMES
        return "CONCEPT" if is_stuff or key.endswith("兵") else ""  # soldiers, 魏兵
    words = key.split()
    if key in _FEASTS:
        return "EVENT"
    if key in _BEINGS:
        return "PERSON"
    if len(words) < 2:
        return ""
    if words[0] in _SHIPS:
        return "PRODUCT"
    after = key.rpartition(", ")[2].split() if ", " in key else words
    if after[1:2] == ["of"] and after[0] in _RANKS:
        return _RANKS[after[0]]
    return type_from_words(key) or _HEADS.get(words[-1], "")


_FEAST_DAYS = """
christmas; xmas; easter; thanksgiving; halloween; ramadan; diwali; hanukkah; passover; pentecost
candlemas; new year; christmas eve; christmas day; new year's eve; new year's day
"""
_FEASTS = frozenset(re.split(r"[;\n]\s*", _FEAST_DAYS.strip()))
_SHIPS = frozenset({"rv", "mv", "cs", "ss", "hms", "uss", "rms"})
_HAN_STUFF = frozenset("藻素菌病症酸")
"""Last characters of living things, substances and diseases."""
_RANK_WORDS = """
king queen prince princess duke duchess earl baron baroness bishop pope emperor empress governor
founder judge mayor president minister secretary chairman battle siege treaty ballad republic
kingdom province city town village university ministry
"""
_NOBLES = ("count", "countess", "margrave", "lord", "landgrave", "elector", "leader", *_BEINGS)
_RANKS = {word: CLASS_TYPES[word] for word in _RANK_WORDS.split()} | dict.fromkeys(
    _NOBLES, "PERSON"
)
"""Classes that names begin with before "of"."""
_RULING = """
king queen prince princess duke duchess earl baron baroness emperor empress count countess margrave
landgrave sultan bishop archbishop
"""
_RULERS = frozenset(_RULING.split())
"""Titles that have the name of a place behind "of"."""


def title_type(title: str) -> str:
    """Return the type that a title's brackets tell: "Dark River (2017 film)"; or ""."""
    match = _IN_BRACKETS.search(title)
    return type_of_phrase(match["noun"]) if match else ""


_IN_BRACKETS = re.compile(r"\((?P<noun>[^()]*[a-z])\)\s*$")


def person_words(
    types: Mapping[str, Counter[str]], cues: Mapping[str, Mapping[str, float]]
) -> set[str]:
    """Return the first and last words of the full names of which more than a tag says a person."""
    found: set[str] = set()
    for key, some in types.items():
        words = key.split()
        plain = "," not in key and not has_han(key) and not {*words} & {*JOINTS, "the", "and"}
        is_told = cues.get(key, {}).get("PERSON", 0.0) > 0 or words[0] in COMMON_GIVEN_NAMES
        if 1 < len(words) <= _MOST_OF_PERSON and plain and some["PERSON"] and is_told:
            found.update({words[0], words[-1]} - (TITLES - NAMELIKE_TITLES))
    return found


_MOST_OF_PERSON = 4


def _scores(types: Counter[str], named: int, *, is_han: bool) -> defaultdict[str, float]:
    """Return what the tagger says, of which many mentions say no more than a few.

    In Chinese they say somewhat more: three cues among 250 tags of a place make no person.
    """
    most = _MOST_TAGGED
    if is_han and named > most:
        most += _TAGGED_OFTEN * math.log2(named / most)
    share = min(float(named), most) / named
    scores: defaultdict[str, float] = defaultdict(float)
    for kind, n in types.items():
        if kind != "CONCEPT":
            scores[kind] = n * share * (_UNTYPED if kind == "NAME" else 1.0)
    return scores


_UNTYPED = 0.3
"""Weight of a mention that no tagger gives a type: some doubt of the others'."""


def settle_types(
    types: Mapping[str, Counter[str]],
    cues: Mapping[str, Mapping[str, float]],
    surfaces: Mapping[str, Iterable[str]],
) -> dict[str, Counter[str]]:
    """Return all names' counts of types as `decide_types` settles them.

    A class noun alone ("Captain", "the Contractor") is no name but a noun; a word that begins or
    ends persons' full names is taken for a person where no place is meant.
    """
    first = settle_alone(types, cues, surfaces)
    return settle_by_parts(first, person_words(first.settled, first.cues))


@dataclass(frozen=True, slots=True)
class SettledAlone:
    """Types of names before words of persons' names count, and what they rest on."""

    settled: dict[str, Counter[str]]
    known: Mapping[str, Counter[str]]
    cues: Mapping[str, Mapping[str, float]]


def settle_alone(
    types: Mapping[str, Counter[str]],
    cues: Mapping[str, Mapping[str, float]],
    surfaces: Mapping[str, Iterable[str]],
) -> SettledAlone:
    """Return the counts of types as each name, and those that contain it, settle them."""
    settled: dict[str, Counter[str]] = defaultdict(Counter)
    known = {key: _tagged(some, surfaces[key]) for key, some in types.items()}
    known = {key: _as_person(key, some, cues.get(key, {})) for key, some in known.items()}
    cues = {key: _with_places(some, known.get(key, Counter())) for key, some in cues.items()}
    cues = _with_parts(known, cues)
    for key, some in known.items():
        found = _decided(key, some, cues.get(key, {}))
        settled[key] = _unless_shouted(found, surfaces[key], cues.get(key, {}))
    return SettledAlone(settled, known, cues)


def settle_by_parts(first: SettledAlone, parts: Collection[str]) -> dict[str, Counter[str]]:
    """Return all names' counts of types; `parts` are the first and last words of persons' names."""
    settled = defaultdict(Counter, first.settled)
    for key, some in first.known.items():
        told = first.cues.get(key, {})
        is_place = some["PLACE"] > some["PERSON"] + some["ORGANISATION"] + some["NAME"]
        if key not in parts and (key in CLASS_TYPES or key.removesuffix("s") in CLASS_TYPES):
            settled[key] = +Counter(CONCEPT=some["CONCEPT"])
        elif (key in COMMON_GIVEN_NAMES or key in DIMINUTIVES) and 2 * some[
            "PERSON"
        ] > some.total():
            continue
        elif not is_place and (key in parts or (key.endswith("s") and key[:-1] in parts)):
            told = {**told, "PERSON": told.get("PERSON", 0.0) + _PART}
            settled[key] = _decided(key, some, told)
        elif has_han(key) and some == Counter(NAME=1) and not {*key} <= TRANSLITERATION:
            settled[key] = settled[key] if _is_told(told) else Counter()
        elif (
            not is_place
            and not head_type(key)
            and " " not in key
            and (not has_han(key) or {*key} <= TRANSLITERATION)
        ):
            settled[key] = _unless_only_tagged(key, settled[key], told)
    return settled


def names_inside(key: str) -> set[str]:
    """Return the names that a longer one may speak for: "Burgundy" of "Duke of Burgundy"."""
    rank, _, domain = key.partition(" of ")
    found = {domain} if rank in _RULERS else set()
    name, _, noun = key.rpartition(" ")
    if name and type_of_phrase(noun) == "PRODUCT":
        found.add(name)
    return found - {""}


def _with_parts(
    types: Mapping[str, Counter[str]], cues: Mapping[str, Mapping[str, float]]
) -> Mapping[str, Mapping[str, float]]:
    """Return the cues with those that longer names and phrases hold.

    "Duke of Burgundy" speaks for a place; "Debian system" for a product, of what no tagger types.
    """
    added: dict[str, Counter[str]] = defaultdict(Counter)
    for key, some in types.items():
        rank, _, domain = key.partition(" of ")
        if rank in _RULERS and domain in types:
            added[domain]["PLACE"] += _RULED
        name, _, noun = key.rpartition(" ")
        untyped = types.get(name, Counter())
        if 2 * untyped["NAME"] <= untyped.total() or not some["CONCEPT"]:
            continue
        is_name = 2 * cues.get(name, {}).get(COMMON, 0.0) < untyped.total()
        if is_name and type_of_phrase(noun) == "PRODUCT":
            added[name]["PRODUCT"] += min(some["CONCEPT"], _PART)
    told = {key: dict(some) for key, some in cues.items()}
    for key, some in added.items():
        own = told.setdefault(key, {})
        for kind in sorted(some):
            own[kind] = own.get(kind, 0.0) + some[kind]
    return told


def _with_places(cues: Mapping[str, float], types: Counter[str]) -> Mapping[str, float]:
    """Return the cues, with a place where enough of all mentions stand behind "in" or "at".

    Few of the mentions of a program do ("in Exim"), however many there are.
    """
    located = cues.get(LOCATED, 0.0)
    named = types.total() - types["CONCEPT"]
    is_tagged = types["PLACE"] >= _SOME_TAGGED * named
    if not located or located < _LEAST_LOCATED[is_tagged] * named:
        return cues
    return {**cues, "PLACE": cues.get("PLACE", 0.0) + _IN_OR_AT * located}


_SOME_TAGGED, _LEAST_LOCATED, _IN_OR_AT = 0.05, (0.25, 0.1), 0.7
"""Share of mentions that a tagger takes for a place; least shares of those that stand behind "in"
or "at" where it takes fewer or so many; weight of each."""


def _decided(key: str, types: Counter[str], cues: Mapping[str, float]) -> Counter[str]:
    last = key.rpartition(" ")[2]
    may_be = last in _SURNAME_LIKE.split() or CLASS_TYPES.get(last) == "PRODUCT"
    is_surname_like = may_be and (last in SURNAMES or types["PERSON"] > 0)
    head = head_type(key)
    found = decide_types(
        types, cues, head=head, is_surname_like=is_surname_like, is_han=has_han(key)
    )
    named = found.total() - found["CONCEPT"]
    is_phrase = bool(found["PERSON"]) and not head and 2 * cues.get(PHRASE, 0.0) >= named
    return _unless_only_tagged(key, found, cues) if is_phrase else found


def _tagged(types: Counter[str], surfaces: Iterable[str]) -> Counter[str]:
    """Take acronyms, which a tagger calls organisations, for untyped."""
    if not all(
        s.isupper() and s.isascii() and s.replace(".", "").isalpha() and len(s) <= _LONG_ACRONYM
        for s in surfaces
    ):
        return types
    named = types.total() - types["CONCEPT"]
    return +Counter(NAME=named, CONCEPT=types["CONCEPT"])


def _as_person(key: str, types: Counter[str], cues: Mapping[str, float]) -> Counter[str]:
    """Take for a person what a tagger does now and then, and a firm else: "Fanny Price".

    Its first word is a usual given name, and nothing around it speaks for a firm.
    """
    first, *rest = key.split()
    is_given = first in COMMON_GIVEN_NAMES or first in DIMINUTIVES
    is_firm = not NAMED_AFTER_PERSONS.isdisjoint(rest) or cues.get("ORGANISATION", 0.0) > 0
    is_tagged = _FIRMS * types["PERSON"] >= types["ORGANISATION"] > 0
    if not is_given or len(rest) not in {1, 2} or is_firm or not is_tagged:
        return types
    return +Counter({**types, "PERSON": types["PERSON"] + types["ORGANISATION"], "ORGANISATION": 0})


def _unless_only_tagged(key: str, types: Counter[str], cues: Mapping[str, float]) -> Counter[str]:
    """Take for untyped what nothing but a tagger gives its type: "Bash", "Access Control List".

    Or next to nothing: less than is said of others that are named as often, or than speaks for no
    name at all. Products, of which texts say least what they are, and Chinese names keep theirs.
    """
    named = types.total() - types["CONCEPT"]
    is_often = named >= _OFTEN and not types["PRODUCT"] and not has_han(key)
    plain = max(cues.get(ORDINARY, 0.0), cues.get(COMMON, 0.0))
    least = max(_LEAST_TOLD * named, plain) if is_often else 0.0
    if any(cues.get(kind, 0.0) > least for kind in types if kind != "CONCEPT"):
        return types
    return +Counter(NAME=named, CONCEPT=types["CONCEPT"])


_FIRMS = 5
"""Tags of a firm for one of a person, at most, in a person's name."""
_OFTEN, _LEAST_TOLD = 10, 0.08
"""Number of mentions from which a type needs more than one cue, and the least weight a mention."""
_ACRONYM, _LONG_ACRONYM = 6, 9
_WORDS_OF_ACRONYMS = 2


def _unless_shouted(
    types: Counter[str], surfaces: Iterable[str], cues: Mapping[str, float]
) -> Counter[str]:
    """Leave out what stands in capitals alone, as headings do, and is no acronym."""
    every = list(surfaces)
    if any(not s.isupper() or _INITIALS.match(s) for s in every):
        return types
    if _is_told(cues):
        return types
    is_long = any(
        any(len(word) > _ACRONYM and word.isalpha() for word in s.split())
        or len(s.split()) > _WORDS_OF_ACRONYMS
        or not FUNCTION_WORDS.isdisjoint(s.casefold().split())
        for s in every
    )
    return Counter() if is_long else types


_INITIALS = re.compile(r"(?:[A-Z]\.[ -]?)+[^\W\d_]")
"""A person's name is written so, too: "M. TOLLAND"."""
_MOST_WORDS, _FEW_WORDS = 12, 3


def is_namelike(titles: Iterable[str]) -> bool:
    """Check for a title that could be a thing's name: no sentence, no numbered heading.

    Of a few words any may be small, "Gila monster"; of more all longer ones stand in capitals, and
    in what ends with a question mark all, "Do You Believe?".
    """
    for title in titles:
        words = [word for word in re.findall(r"[^\W\d_]{4,}", title) if not has_han(word)]
        if has_han(title) and len(title) <= _MOST_HAN and not re.search(r"[？?！!，,/]", title):
            return True
        plain = not re.match(
            r"(?:chapter|section|part|appendix)\s+[\dA-Z]+\b", title, re.IGNORECASE
        )
        asks = "?" in title and not all(word[0].isupper() for word in title.split())
        short = len(title.split()) <= _MOST_WORDS and not asks and not has_han(title)
        few = len(title.split()) <= _FEW_WORDS
        if plain and short and (few or all(word[0].isupper() for word in words)):
            return True
    return False


_MOST_HAN = 14
