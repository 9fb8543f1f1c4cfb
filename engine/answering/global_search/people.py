"""Sentences that introduce a person or another thing with a name, and that tell of two of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

from graph.text.cjk import has_han, simplified

from ...storage.graph_api import Chunk, han_surname, sentence_spans
from .sentences import Said, is_in
from .standalone import MAX_WORDS, is_listing, is_unpaired, stands_alone, word_count

_PERSON_ZH = re.compile(
    r"(?!何[故不以如]|于.{0,2}[下上中内外前后里]$)[^\W\da-zA-Z]{2,4}|[^\W\da-zA-Z]+·[^\W\da-zA-Z]+"
)
_IS, _ROLE_TOLD, _ROLE_NEAR, _ACTS, _LEANING, _PARTLY, _FEWEST = 4.0, 2.5, 1.5, 0.5, 0.7, 0.6, 5
"""Worth of "X is a …", of "the bursar, X", of a role near a name and of a sentence that begins with
the name; factors for a sentence that leans on what stands before and for one with a part of the
name, which others may share; least number of words."""
_OWN, _OF_ANOTHER = 1.5, 0.2
"""Factors for a document whose title names the person, and for a sentence that is about another."""
_PRONOUN = re.compile(r"(?:He|She|It|They)\b|[他她它]")
_MAX_CHUNKS = 60
_CLOSE, _APART = 24, 60
"""Characters around a name in which a role is that person's, and the most between two names."""
_KIN_HAN = "父|母|子|女|兄|弟|姐|妹|妻|夫|侄|甥|叔|伯|舅|姑|孙|婿|师|徒|友"
_PARTS_HAN = (
    "同窗|部将|谋士|军师|主公|义弟|义兄|兄弟|丈夫|妻子|儿子|女儿|父亲|母亲|学生|老师|上司|下属|同事"
    "|创始人|成员"
)
ROLE = re.compile(
    r"\b(?:(?:grand|god|step|foster )?-?(?:father|mother|son|daughter|child|parent)s?(?:-in-law)?"
    r"|(?:half-)?(?:brother|sister)s?(?:-in-law)?|wife|husband|widow(?:er)?|spouse|uncle|aunt"
    r"|nephew"
    r"|niece|cousin|twin|sibling|heir|fianc[ée]e?|sweetheart|friend|rival|enemy|partner|colleague"
    r"|assistant|apprentice|clerk|servant|secretary|deputy|student|pupil|teacher|tutor|mentor"
    r"|supervisor"
    r"|successor|predecessor|employer|employee|master|landlord|tenant|neighbour|owner|founder"
    r"|director|author|designer|captain|leader|member|subsidiary|branch|part)s?\b"
    rf"|[之的]?(?:{_KIN_HAN}|{_PARTS_HAN})"
)
"""A part that one plays for another, or in the world."""
_PART_HAN = re.compile(rf"[之的](?:{_KIN_HAN}|{_PARTS_HAN})|{_PARTS_HAN}")
"""Text between two Chinese names of which the second plays this part for the first."""


@dataclass(frozen=True)
class Named:
    """A thing with a name, what it is called by, and the sentence that says best what it is.

    `is_told`: the sentence says who or what that is; any other only begins with the name.
    """

    name: str
    called: re.Pattern[str]
    said: Said
    is_told: bool


def introduce(
    name: str, names: Iterable[str], chunks: Sequence[Chunk], *, chinese: bool, is_person: bool
) -> Named | None:
    """Return a thing with the sentence that says best what it is; None where there is none."""
    ranked = sorted({one for one in names if len(one) > 1}, key=lambda one: (-len(one), one))
    words = (r"\s+".join(map(re.escape, one.split())) for one in ranked)
    pattern = "(?:" + "|".join(w if has_han(w) else rf"(?<!\w){w}(?!\w)" for w in words) + ")"
    called = re.compile(pattern)
    found = []
    for chunk in chunks[:_MAX_CHUNKS]:
        for start, end in sentence_spans(chunk.text):
            said = Said(chunk, start, end)
            if called.search(chunk.text, start, end) and is_in(said.text, chinese):
                worth = _worth(said.text, pattern, has_roles=is_person)
                worth *= 1.0 if stands_alone(chunk.text[start:end]) else _LEANING
                worth *= _OF_ANOTHER if _PRONOUN.match(said.text) else 1.0
                worth *= 1.0 if name in said.text else _PARTLY
                worth *= _OWN if called.search(chunk.title) else 1.0
                if worth and _is_readable(said.text):
                    found.append(replace(said, worth=round(worth, 6)))
    best = min(found, key=lambda said: (-said.worth, said.place), default=None)
    if best is None:
        return None
    told = _worth(best.text, pattern, has_roles=is_person)
    return Named(name, called, best, told > _ACTS and not _PRONOUN.match(best.text))


def tell_pairs(some: Sequence[Named], chunks: Sequence[Chunk], *, chinese: bool) -> list[Said]:
    """Return for each two of these the sentence that tells best what one is to the other.

    A word for a part that one plays stands between their names or close to them. The nearest names
    first; a sentence once.
    """
    best: dict[tuple[int, int], tuple[float, Said]] = {}
    for chunk in chunks:
        named = [one.called.search(chunk.text) is not None for one in some]
        if sum(named) < 2:
            continue
        for start, end in sentence_spans(chunk.text):
            said = Said(chunk, start, end)
            if not is_in(said.text, chinese) or not _is_readable(said.text):
                continue
            places = {
                row: found.span()
                for row, one in enumerate(some)
                if named[row] and (found := one.called.search(said.text))
            }
            for one, other in combinations(places, 2):
                distance = _told_apart(said.text, places[one], places[other])
                worth = distance * (1.0 if stands_alone(said.text) else 1 / _LEANING)
                if worth < best.get((one, other), (math.inf, said))[0]:
                    best[one, other] = worth, said
    ranked = sorted(best.values(), key=lambda pair: (pair[0], pair[1].place))
    return list({said.place: said for _, said in ranked}.values())


def _told_apart(text: str, one: tuple[int, int], other: tuple[int, int]) -> float:
    """Return the characters between two names with a part told there; infinite where none is."""
    (_, end), (start, last) = sorted((one, other))
    between = text[end:start]
    if has_han(text):
        return len(between) if _PART_HAN.fullmatch(between) else math.inf
    is_told = ROLE.search(between) or ROLE.search(text[last : last + _CLOSE])
    return len(between) if is_told and len(between) <= _APART else math.inf


def _is_readable(text: str) -> bool:
    """Check for a sentence of some length that is no list; shorter ones may say who one is."""
    is_whole = text[-1] in ".。”" and not is_unpaired(text)
    return _FEWEST <= word_count(text) <= MAX_WORDS and not is_listing(text) and is_whole


def _worth(text: str, name: str, *, has_roles: bool) -> float:
    """Return how well a sentence says who or what is called so; 0 where it does not."""
    behind = r"(?: ?[（(][^）)]*[）)])?"
    if not has_roles:
        return _worth_of_thing(text, name, behind)
    if re.match(rf"(?:\w+\.? ){{0,2}}{name}{behind},? (?:(?:is|was|has been) (?:an?|the|one)\b"
                rf"|(?<=, )(?:[a-z]|[A-Z]\w+['’]s? [a-z]))"
                rf"|{name}{behind}(?:是|，?字|，.{{0,12}}人也)", text):  # fmt: skip
        return _IS
    if re.search(rf"(?<!Since )(?<!Before )(?<!After )(?<!In )(?<!With )(?<!From ){name}{behind}"
                 rf", (?:the|an?|his|her|who|age|\d\d,|(?:[A-Z]\w+ ){{1,4}}(?:for|of|to|and)\b)"
                 rf"|\b(?:the|an?) (?:[a-z-]+ ){{0,3}}[a-z-]+, (?:\w+\. )?{name}"
                 rf"|(?:[之的](?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄)|将军|太守|丞相|军师|都督|谋士"
                 rf"|教授|主任|校长|站长|院长|船长|记者|律师|议员|博士){name}"
                 rf"|[拜封]{name}为|{name}(?:为|乃"
                 rf"|任).{{0,8}}[督军守相师牧侯尉史长授任]", text):  # fmt: skip
        return _ROLE_TOLD
    if re.match(rf"{name} ?[:：]", text):
        return 0.0
    begins = _ACTS if re.match(name, text) else 0.0
    if has_han(text):
        return begins
    around = (text[max(0, m.start() - _CLOSE) : m.end() + _CLOSE] for m in re.finditer(name, text))
    return _ROLE_NEAR if any(ROLE.search(some) for some in around) else begins


def _worth_of_thing(text: str, name: str, behind: str) -> float:
    """Return how well a sentence says what an institution, a place or a product is."""
    english = (
        r"(?:is|was|are|were|has been) (?:an?|the|one)\b"
        r"|(?:is|was|were) (?:founded|established|opened|built|formed|set up|created)\b"
        r"|(?:provides?|runs|operates|consists|belongs)\b"
    )
    chinese = "，?简称|，?又称|，?位于|是|，?[^，。]{0,6}(?:成立|创办|创立|建于|建立)"
    if re.match(rf"(?:[Tt]he )?{name}{behind}(?:,? (?:{english})|{chinese})", text):
        return _IS
    told = re.search(rf"{name}{behind}, (?:an?|the) [a-z][^,]*,", text)
    return _ROLE_TOLD if told else _ACTS if re.match(rf"(?:[Tt]he )?{name}", text) else 0.0


def is_person(name: str, *, things: Set[str] = frozenset()) -> bool:
    """Check for the form of a person's name; a Chinese one begins with a surname.

    It holds no word that names a thing: *Linux Mint*. `things` are in lower case.
    """
    if not has_han(name):
        return " " in name and things.isdisjoint(name.casefold().split())
    is_foreign = "·" in name
    return bool(_PERSON_ZH.fullmatch(name)) and (is_foreign or bool(han_surname(simplified(name))))
