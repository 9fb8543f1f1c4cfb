"""Sentences that introduce a person or another thing with a name, and that tell of two of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import combinations

from graph.text.cjk import has_han, is_chinese, simplified

from ...storage.graph_api import Chunk, han_surname, sentence_spans
from ..extractive.block_candidates import Reader
from ..introductions import ROLE, ROLE_BETWEEN_HAN, TITLE, introduction
from .sentences import Said, is_in, is_spoken
from .standalone import MAX_WORDS, has_verb, is_listing, is_unpaired, stands_alone, word_count

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
_OF_LIST, PLAINLY = 3, 3
"""Commas from which on a line without a verb is a list of names, and how well a person is
introduced by one that is none."""
_READ, _TELLS = 4, 5.0
"""Sentences with a name that are read, and the logit from which one tells who that is."""
_CLOSE, _APART = 24, 60
"""Characters around a name in which a role is that person's, and the most between two names."""


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
    name: str,
    names: Iterable[str],
    chunks: Sequence[Chunk],
    *,
    chinese: bool,
    is_person: bool,
    read: Reader | None = None,
) -> Named | None:
    """Return a thing with the sentence that says best what it is; None where there is none.

    Of an English person of whom none says a role, `read` finds one that tells who that is.
    """
    ranked = sorted({one for one in names if len(one) > 1}, key=lambda one: (-len(one), one))
    if not ranked:
        return None
    words = (r"\s+".join(map(re.escape, one.split())) for one in ranked)
    pattern = "(?:" + "|".join(w if has_han(w) else rf"(?<!\w){w}(?!\w)" for w in words) + ")"
    called = re.compile(pattern)
    bare = without_title(name)
    found, naming = [], []
    persons = ranked if is_person else ()
    told_in = {one.id: _introduced(one.text, persons) for one in chunks}
    for chunk in sorted(chunks, key=lambda one: -told_in[one.id])[:_MAX_CHUNKS]:
        for start, end in sentence_spans(chunk.text):
            said = Said(chunk, start, end)
            is_about = called.search(chunk.text, start, end) or _introduced(said.text, persons)
            if is_about and is_in(said.text, chinese):
                worth = _worth(said.text, pattern, persons)
                worth *= 1.0 if stands_alone(chunk.text[start:end]) else _LEANING
                worth *= _OF_ANOTHER if _PRONOUN.match(said.text) else 1.0
                is_named = _introduced(said.text, persons) == PLAINLY
                is_whole = bare in said.text or introduction(said.text, bare) == PLAINLY  # 姓曹名操
                worth *= 1.0 if is_whole else _PARTLY
                worth *= _OWN if called.search(chunk.title) else 1.0
                is_told = worth >= _ROLE_NEAR or not is_spoken(said)
                if not is_told or not _is_readable(said.text, is_introduction=is_named):
                    continue
                if worth:
                    found.append(replace(said, worth=round(worth, 6)))
                if bare in said.text and stands_alone(chunk.text[start:end]):
                    naming.append(said)
    best = min(found, key=lambda said: (-said.worth, said.place), default=None)
    told = _worth(best.text, pattern, persons) if best else 0.0
    if best is not None and told > _ROLE_NEAR and not _PRONOUN.match(best.text):
        return Named(name, called, best, is_told=True)
    if read is not None and is_person and not chinese and naming:
        others = [one for one in naming if best is None or one.place != best.place]
        some = [*([best] if best else []), *others][:_READ]
        logits = read(f"Who is {name}?", [f"{one.chunk.title}: {one.text}" for one in some])
        row = int(logits.argmax())
        if logits[row] >= _TELLS and _is_of_person(some[row].text, pattern):
            return Named(name, called, some[row], is_told=True)
    return Named(name, called, best, is_told=False) if best else None


def _is_of_person(text: str, name: str) -> bool:
    """Check for a person of that name who acts, is acted with, or is told of in a clause."""
    behind = r"(?:,|\s*\(|['’]s\b|\.|\s+(?:who|was|is|has|had|and|[a-z]+(?:ed|s))\b)"
    before = r"(?:\b(?:by|with|from|and|called|named|said|Dr\.|Professor)\s+)"
    return re.search(rf"{before}{name}|{name}{behind}", text) is not None


def _introduced(text: str, persons: Sequence[str]) -> int:
    """Return how well a text introduces a person by any name; Chinese ones stand apart in it."""
    folded = text.casefold()
    some = (one for one in persons if has_han(one) or one.casefold() in folded)
    return max((introduction(text, one) for one in some), default=0)


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
        return len(between) if ROLE_BETWEEN_HAN.fullmatch(between) else math.inf
    is_told = ROLE.search(between) or ROLE.search(text[last : last + _CLOSE])
    return len(between) if is_told and len(between) <= _APART else math.inf


def _is_readable(text: str, *, is_introduction: bool = False) -> bool:
    """Check for a sentence of some length that is no list; shorter ones may say who one is.

    An introduction needs no verb: *Ann Pyke, a tall, silent woman, the bursar of the station*.
    """
    is_said = is_introduction and is_chinese(text)  # 其人曰：“吾姓关名羽，河东解良人也。
    is_whole = text.endswith((".", "。", "”")) and (is_said or not is_unpaired(text))
    has_commas = not is_chinese(text) and text.count(",") >= _OF_LIST
    is_list = has_commas and not is_introduction and not has_verb(text)
    is_told = is_whole and not is_list
    return _FEWEST <= word_count(text) <= MAX_WORDS and not is_listing(text) and is_told


def _worth(text: str, name: str, persons: Sequence[str]) -> float:
    """Return how well a sentence says who or what is called so; 0 where it does not.

    `name` is an expression for all names, which are a person's where `persons` has them.
    """
    if not persons:
        return _worth_of_thing(text, name)
    told = _introduced(text, persons)
    if told > 1:
        return _ROLE_TOLD if told < PLAINLY else _IS
    if is_chinese(text):
        return _worth_in_chinese(text, name)
    if re.match(rf"{name} ?:", text):
        return 0.0
    around = (text[max(0, m.start() - _CLOSE) : m.end() + _CLOSE] for m in re.finditer(name, text))
    if told or any(ROLE.search(some) for some in around):
        return _ROLE_NEAR
    return _ACTS if re.match(name, text) else 0.0


def _worth_in_chinese(text: str, name: str) -> float:
    """Return how well a Chinese sentence says who a person is."""
    if re.match(rf"{name}(?:[（(][^）)]*[）)])?(?:是|，?字|，.{{0,12}}人也)", text):
        return _IS
    if re.search(rf"(?:[之的](?:父|母|子|女|兄|弟|姐|妹|妻|夫|侄)|将军|太守|丞相|军师|都督|谋士"
                 rf"|教授|主任|校长|站长|院长|船长|记者|律师|议员|博士){name}"
                 rf"|[拜封]{name}为|{name}(?:为|乃"
                 rf"|任).{{0,8}}[督军守相师牧侯尉史长授任]", text):  # fmt: skip
        return _ROLE_TOLD
    is_spoken = re.match(rf"{name} ?[:：]", text)
    return _ACTS if re.match(name, text) and not is_spoken else 0.0


def _worth_of_thing(text: str, name: str) -> float:
    """Return how well a sentence says what an institution, a place or a product is."""
    behind = r"(?: ?[（(][^）)]*[）)])?"
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


def without_title(name: str) -> str:
    """Return a name without the title before it: *Mr. Stubb* is *Stubb* where he is told of."""
    match = _TITLED.match(name)
    return name[match.end() :] if match else name


_TITLED = re.compile(f"{TITLE}+")


def is_person(name: str, *, things: Set[str] = frozenset()) -> bool:
    """Check for the form of a person's name; a Chinese one begins with a surname.

    It holds no word that names a thing: *Linux Mint*. `things` are in lower case.
    """
    if not has_han(name):
        return " " in name and things.isdisjoint(name.casefold().split())
    is_foreign = "·" in name
    return bool(_PERSON_ZH.fullmatch(name)) and (is_foreign or bool(han_surname(simplified(name))))
