"""Parts of names: titles, surnames, initials, numbers, suffixes, in two scripts.

Works on name keys (see `graph.names.name_key`) and surfaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .person_words import (
    COMPOUND_SURNAMES,
    CORPORATE_SUFFIXES,
    FEMALE_TITLES,
    HAN_FEMALE_TITLES,
    HAN_MALE_TITLES,
    HAN_TITLES,
    MALE_TITLES,
    SURNAMES,
    TITLES,
)

_HAN_CORPORATE = re.compile(r"(?:股份)?有限(?:责任)?公司$")
_HAN_TITLED = re.compile(rf"(?P<surname>[\u4e00-\u9fff]{{1,2}})(?P<title>{'|'.join(HAN_TITLES)})")
_NUMBER = re.compile(
    r"\d[\d.,]*"
    r"|\b(?:x{0,3}(?:ix|iv|vi{1,3}|ii{1,2})|xx{1,2})\b|(?<=\s)[ivx]$"
    r"|(?<![一二三四五六七八九十])[一二三四五六七八九十]+(?=[号期届代])"
)
_SEPARATORS = re.compile(r"[.\-–—‐,]")
_SMALL = frozenset(
    {"of", "the", "and", "for", "de", "la", "des", "du", "in", "on", "at", "to", "&"}
)


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name key taken apart.

    `words` is the key without titles, leading "the" and corporate suffixes, with dots and hyphens
    gone; `gender` is "m", "f" or "" as the title says.
    """

    words: tuple[str, ...]
    titles: tuple[str, ...] = ()
    gender: str = ""
    numbers: tuple[str, ...] = ()
    article: bool = False
    suffix: bool = False
    han_title: str = ""

    @property
    def plain(self) -> str:
        """The words as one string, the same for hyphen and space variants."""
        return "".join(self.words)


def parts_of(key: str) -> NameParts:
    """Split a name key into parts; never without words."""
    titled = _HAN_TITLED.fullmatch(key)
    if titled and is_surname(titled["surname"]):
        return _titled_in_chinese(titled["surname"], titled["title"])
    words = _SEPARATORS.sub(" ", key).split() or [key]
    article = len(words) > 1 and words[0] == "the"
    words = words[1:] if article else words
    titles: list[str] = []
    while len(words) > 1 and words[0] in TITLES and words[1] not in _SMALL:
        titles.append(words.pop(0))
    bare = _without_suffix(words)
    genders = ["m" if t in MALE_TITLES else "f" for t in titles if t in MALE_TITLES | FEMALE_TITLES]
    return NameParts(
        words=tuple(bare),
        titles=tuple(titles),
        gender=genders[0] if genders else "",
        numbers=tuple(_NUMBER.findall(" ".join(words))),
        article=article,
        suffix=bare != words,
    )


def _titled_in_chinese(surname: str, title: str) -> NameParts:
    gender = "m" if title in HAN_MALE_TITLES else "f" if title in HAN_FEMALE_TITLES else ""
    return NameParts(words=(surname,), titles=(title,), gender=gender, han_title=title)


def _without_suffix(words: list[str]) -> list[str]:
    bare = words
    while len(bare) > 1 and bare[-1] in CORPORATE_SUFFIXES:
        bare = bare[:-1]
    han = _HAN_CORPORATE.sub("", bare[-1])
    return [*bare[:-1], han] if len(han) > 1 else bare


def is_surname(text: str) -> bool:
    """Check for a Chinese surname."""
    return text in COMPOUND_SURNAMES or (len(text) == 1 and text in SURNAMES)


def han_surname(name: str) -> str:
    """Return the surname of a Chinese name of two to four characters, or ""."""
    if not 2 <= len(name) <= 4:
        return ""
    if name[:2] in COMPOUND_SURNAMES and len(name) > 2:
        return name[:2]
    return name[0] if name[0] in SURNAMES and len(name) <= 3 else ""


def given_name(name: str) -> str:
    """Return the given name of a full Chinese name, or ""."""
    surname = han_surname(name)
    given = name[len(surname) :] if surname else ""
    return given if given not in {"字", "号", "名"} else ""


def initials_of(name: str) -> frozenset[str]:
    """Return lower-case initials with and without small words ("of", "the")."""
    words = [w for w in re.split(r"[\s\-/]+", name.casefold()) if w and w[0].isalpha()]
    main = [w for w in words if w not in _SMALL]
    return frozenset("".join(w[0] for w in some) for some in (words, main) if len(some) > 1)


def initials_match(short: str, long: str) -> bool:
    """Check whether `short` is an acronym (2–8 letters) of the words of `long`.

    Small words of `long` may or may not count: NATO and "Department of Defense" DoD both match.
    """
    letters = short.replace(".", "").replace(" ", "")
    if not 2 <= len(letters) <= 8 or not letters.isalpha() or sum(map(str.isupper, letters)) < 2:
        return False
    return letters.casefold() in initials_of(long)


def abbreviates(short: str, long: str) -> bool:
    """Check whether `short`, mostly capitals, abbreviates the words of `long`.

    Its letters and digits are found in `long` from the right, each somewhere before the one after
    it, the first where a word begins (Schwartz and Hearst 2003, section 3.2). What stands before
    that word may be a place ("U.S. Office …"), but nothing "of" what is abbreviated.
    """
    sought = [c for c in short.casefold() if c.isalnum()]
    capitals = sum(c.isupper() or c.isdigit() for c in short)
    if not 2 <= len(sought) <= 10 or 2 * capitals <= len(sought) or len(long.split()) < 2:
        return False
    text = long.casefold()
    place = len(text)
    for letter in reversed(sought[1:]):
        place = text.rfind(letter, 0, place)
        if place < 0:
            return False
    starts = [m.start() for m in re.finditer(r"\b\w", text[:place]) if m[0] == sought[0]]
    is_shorter = len(sought) < sum(map(str.isalnum, text))
    return is_shorter and bool(starts) and "of" not in text[: starts[-1]].split()


def singular(word: str) -> str:
    """Return an English plural's likely singular, for comparing noun phrases."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
