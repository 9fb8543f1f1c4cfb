"""Sentences that introduce a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from graph.text.cjk import has_han, simplified

from ...storage.graph_api import Chunk, han_surname, sentence_spans
from .sentences import Said, is_in
from .standalone import MAX_WORDS, is_listing, is_unpaired, stands_alone, word_count

_PERSON_ZH = re.compile(r"(?!何[故不以如])[^\W\da-zA-Z]{2,4}|[^\W\da-zA-Z]+·[^\W\da-zA-Z]+")
_IS, _ROLE_TOLD, _ROLE_NEAR, _ACTS, _LEANING, _PARTLY, _FEWEST = 4.0, 2.5, 1.5, 0.5, 0.7, 0.6, 5
"""Worth of "X is a …", of "the bursar, X", of a role near a name and of a sentence that begins with
the name; factors for a sentence that leans on what stands before and for one with a part of the
name, which others may share; least number of words."""
_OWN = 1.5
"""Factor for a document whose title names the person."""
_MAX_CHUNKS = 60
_CLOSE = 24
"""Characters around a name in which a role is that person's."""
ROLE = re.compile(
    r"\b(?:(?:grand|god|step|foster )?-?(?:father|mother|son|daughter|child|parent)s?(?:-in-law)?"
    r"|(?:half-)?(?:brother|sister)s?(?:-in-law)?|wife|husband|widow(?:er)?|spouse|uncle|aunt"
    r"|nephew"
    r"|niece|cousin|twin|sibling|heir|fianc[ée]e?|sweetheart|friend|rival|enemy|partner|colleague"
    r"|assistant|apprentice|clerk|servant|secretary|deputy|student|pupil|teacher|tutor|mentor"
    r"|supervisor"
    r"|successor|predecessor|employer|employee|master|landlord|tenant|neighbour|owner|founder"
    r"|director|author|designer|captain|leader|member|subsidiary|branch|part)s?\b"
    r"|[之的]?(?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄|甥|叔|伯|舅|姑|孙|婿|师|徒|友|同窗|部将|谋士"
    r"|军师|主公|义弟|义兄"
    r"|兄弟|丈夫|妻子|儿子|女儿|父亲|母亲|学生|老师|上司|下属|同事|创始人|成员)"
)
"""A part that one plays for another, or in the world."""


@dataclass(frozen=True)
class Person:
    """A person's name and the sentence that says who that is."""

    name: str
    said: Said


def introduce(
    name: str, names: Iterable[str], chunks: Sequence[Chunk], *, chinese: bool
) -> Person | None:
    """Return a person with the sentence that says best who that is; None where there is none."""
    ranked = sorted({one for one in names if len(one) > 1}, key=lambda one: (-len(one), one))
    words = (r"\s+".join(map(re.escape, one.split())) for one in ranked)
    pattern = "(?:" + "|".join(w if has_han(w) else rf"(?<!\w){w}(?!\w)" for w in words) + ")"
    called = re.compile(pattern)
    found = []
    for chunk in chunks[:_MAX_CHUNKS]:
        for start, end in sentence_spans(chunk.text):
            said = Said(chunk, start, end)
            if called.search(chunk.text, start, end) and is_in(said.text, chinese):
                worth = _worth(said.text, pattern)
                worth *= 1.0 if stands_alone(chunk.text[start:end]) else _LEANING
                worth *= 1.0 if name in said.text else _PARTLY
                worth *= _OWN if called.search(chunk.title) else 1.0
                if worth and _is_readable(said.text):
                    found.append(replace(said, worth=round(worth, 6)))
    best = min(found, key=lambda said: (-said.worth, said.place), default=None)
    return Person(name, best) if best else None


def _is_readable(text: str) -> bool:
    """Check for a sentence of some length that is no list; shorter ones may say who one is."""
    is_whole = text[-1] in ".。”" and not is_unpaired(text)
    return _FEWEST <= word_count(text) <= MAX_WORDS and not is_listing(text) and is_whole


def _worth(text: str, name: str) -> float:
    """Return how well a sentence says who is called so; 0 where it does not."""
    behind = r"(?: ?[（(][^）)]*[）)])?"
    if re.match(rf"(?:\w+\.? ){{0,2}}{name}{behind},? (?:(?:is|was|has been) (?:an?|the|one)\b"
                rf"|(?<=, )(?:[a-z]|[A-Z]\w+['’]s? [a-z]))"
                rf"|{name}{behind}(?:是|，?字|，.{{0,12}}人也)", text):  # fmt: skip
        return _IS
    if re.search(rf"(?<!Since )(?<!Before )(?<!After )(?<!In )(?<!With )(?<!From ){name}{behind}"
                 rf", (?:the|an?|his|her|who|age|\d\d,|(?:[A-Z]\w+ ){{1,4}}(?:for|of|to|and)\b)"
                 rf"|\b(?:the|an?) (?:[a-z-]+ ){{0,3}}[a-z-]+, (?:\w+\. )?{name}"
                 rf"|(?:[之的](?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄)|将军|太守|丞相|军师|都督|谋士"
                 rf"|教授|主任|校长|站长|院长|船长|记者|律师|议员|博士){name}"
                 rf"|{name}[之的](?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄)"
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


def is_person(name: str, *, things: Set[str] = frozenset()) -> bool:
    """Check for the form of a person's name; a Chinese one begins with a surname.

    It holds no word that names a thing: *Linux Mint*. `things` are in lower case.
    """
    if not has_han(name):
        return " " in name and things.isdisjoint(name.casefold().split())
    is_foreign = "·" in name
    return bool(_PERSON_ZH.fullmatch(name)) and (is_foreign or bool(han_surname(simplified(name))))
