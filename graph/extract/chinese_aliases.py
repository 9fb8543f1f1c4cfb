"""Chinese introductions: "姓刘名备，字玄德", "苏轼，字子瞻，号东坡居士", "亮字孔明".

A chain of second names (style, pen and childhood names) hangs on one person, whom the text names
in full, by surname and given name apart, or by the given name alone. In the last case the person is
the only one of the text with that given name, or takes the surname of the father whom the sentence
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..han import simplified
from ..model import ALSO_KNOWN_AS, Statement
from ..name_parts import given_name, han_surname, is_surname
from ..names import name_key
from ..person_words import COMPOUND_SURNAMES
from .candidates import Candidate
from .segments import Layout, Segment

_HAN = "\u4e00-\u9fff"
_GAP = r"[，,、：:；;\s]{0,2}"
_STYLED = r"(?:表?字|小字|小名|乳名|幼名)"
_LABEL = (
    rf"(?:[又亦]?{_STYLED}|[又亦自别道]?号|[又亦一原本旧初]名|别[名号]|[后又]?改名?"
    r"|笔名|化名|更名|艺名|乳名|曾用名|绰号|外号|诨号|昵称|法[名号]|世称|人称)"
)
_NAME_END = rf"(?=[，,。．；;、：:！？）)”」』\s]|$|先生|[者乃是也](?![{_HAN}]{{0,1}}[，,]))"
_QUOTE = "[“「『]?"
_SECOND = rf"(?:[为曰作叫是])?{_QUOTE}(?P<name>[{_HAN}]{{2,4}}?)[”」』]?{_NAME_END}"
_OF_WRITING = "迹体形义面典母眼里数幅画样幕库段节符串量"
_PEN_NAME_ENDS = "(?:居士|山人|道人|散人|老人|主人|先生|翁)"
_FIRST_LABEL = re.compile(
    rf"{_GAP}(?:表?字(?P<styled>[{_HAN}]{{2}})(?:{_NAME_END}|(?=号))|(?:{_STYLED}|道号){_SECOND}"
    rf"|号(?P<penned>[{_HAN}]{{1,4}}{_PEN_NAME_ENDS}){_NAME_END})"
)
_NEXT_LABEL = re.compile(
    rf"(?:先生)?[”」』]?{_GAP}(?:{_LABEL}|[{_HAN}]{{2,6}}[，,](?:更名|化名|改名)){_SECOND}"
)
_OPENING = re.compile(
    rf"(?:[复覆]?姓(?P<surname>[{_HAN}]{{1,2}}?){_GAP}单?名|(?<=[子女弟侄孙者：:，,次改曰])名)"
    rf"(?P<given>[{_HAN}]{{1,2}}?)(?={_GAP}(?:{_STYLED}|道号))"
    rf"|(?P<direct>(?:(?!名)[{_HAN}]){{2,4}})(?:[（(][^（()）]{{1,40}}[）)])?"
    rf"(?=[，,]{_STYLED}[{_HAN}]{{2}})"
    rf"|(?P<joined>(?:(?!名)[{_HAN}]){{2,4}})(?:[（(][^（()）]{{1,40}}[）)])?"
    rf"(?=(?:表?字(?![{_OF_WRITING}])[{_HAN}]{{2}}"
    rf"|[，,]?号[{_HAN}]{{1,4}}{_PEN_NAME_ENDS})(?:{_NAME_END}|号))"
    rf"|(?:(?<![{_HAN}])|(?<=[生曰]))(?P<alone>[{_HAN}])(?=[，,]?{_STYLED}[{_HAN}]{{2}})"
)
_FATHER = re.compile(
    rf"(?P<father>[{_HAN}]{{2,4}})(?:之[长次幼三四]?子|[有生][一二两三四五六七八九]子)"
    rf"|(?P<clan>[{_HAN}]{{1,4}})氏(?=[，,]?(?:兄弟|姐妹|姊妹|[一二两三四五六七八九]子))"
)

_BEFORE_GIVEN = frozenset("生曰")
_PERSON_NOUN_ENDS = frozenset("人士将臣官吏弟兄")
_OFFICES = frozenset({"司徒", "司马", "太史"})
"""Surnames that are offices, too."""


@dataclass(frozen=True, slots=True, order=True)
class Introduction:
    """Introduced alias of a person or thing; `person` is the text naming them.

    `key` is the key of the full name, which may not stand there in one piece.
    """

    person: tuple[int, int]
    key: str
    second: tuple[int, int]
    second_key: str
    type: str = "PERSON"

    def candidates(self) -> tuple[Candidate, Candidate]:
        """Both names, of one type."""
        return (
            Candidate(*self.person, self.type, self.key),
            Candidate(*self.second, self.type, self.second_key),
        )


def introductions(segment: Segment, names: Iterable[str]) -> list[Introduction]:
    """Return a segment's introductions, sorted, with document offsets.

    `names` are the surfaces of names that were found in the text, of any type (a tagger takes 甘宁
    for a place); they say who is meant by a given name alone, and where a full name begins.
    """
    segment = replace(segment, shadow=simplified(segment.shadow))
    surfaces = set(map(simplified, names))
    known = {name for name in surfaces if given_name(name)}
    found: set[Introduction] = set()
    for opening in _OPENING.finditer(segment.shadow):
        named = _person(segment, opening, known, surfaces)
        if named is None:
            continue
        (start, end), name = named
        for first, last in _second_names(segment.shadow, opening.end()):
            if segment.shadow[first:last] != name:
                found.add(
                    Introduction(
                        (segment.start + start, segment.start + end),
                        name_key(name),
                        (segment.start + first, segment.start + last),
                        name_key(segment.shadow[first:last]),
                    )
                )
    return sorted(found)


def _second_names(shadow: str, place: int) -> Iterator[tuple[int, int]]:
    """Return the spans of a chain of aliases beginning at `place`."""
    second = _FIRST_LABEL.match(shadow, place)
    while second is not None:
        groups = second.groupdict()
        group = next(name for name in ("styled", "penned", "name") if groups.get(name))
        yield second.span(group)
        second = _NEXT_LABEL.match(shadow, second.end(group))


def stated_by(layout: Layout, found: Iterable[Introduction]) -> Iterator[Statement]:
    """Return a statement `(name, "also known as", alias)` for each, with its sentence."""
    for introduction in found:
        index = layout.sentence_at(introduction.person[0])
        if index is None or introduction.key == introduction.second_key:
            continue
        start, end = layout.sentences[index]
        yield Statement(
            start=start,
            end=max(end, introduction.second[1]),
            subject=introduction.key,
            predicate=ALSO_KNOWN_AS,
            object=introduction.second_key,
        )


def _person(
    segment: Segment, opening: re.Match[str], known: set[str], surfaces: set[str]
) -> tuple[tuple[int, int], str] | None:
    """Return the text naming the introduced person, and the full name."""
    if opening["surname"]:
        name = opening["surname"] + opening["given"]
        return (opening.span("given"), name) if is_surname(opening["surname"]) else None
    if opening["joined"]:
        name = _last_name(opening["joined"], known, whole=False, is_sure=True)
        end = opening.end("joined")
        return ((end - len(name), end), name) if name else None
    if opening["direct"]:
        start, end = opening.span("direct")
        whole = not segment.shadow[start - 1 : start].isalpha()
        name = _last_name(opening["direct"], known, whole=whole)
        if name:
            return (end - len(name), end), name
        if opening["direct"][-2] not in _BEFORE_GIVEN:
            return None
        span = (end - 1, end)
    else:
        span = opening.span("given" if opening["given"] else "alone")
    given = segment.shadow[slice(*span)]
    if opening["alone"]:
        name = _just_named(segment.shadow, opening.start(), given=given, surfaces=surfaces)
        if name:
            return span, name
    surname = _fathers_surname(segment, opening.start()) if opening["given"] else ""
    full = {surname + given} if surname else {name for name in known if given_name(name) == given}
    if not surname:  # a surname of two characters is sure even where the tagger cut it
        full |= {two + given for two in COMPOUND_SURNAMES if two + given in segment.shadow}
    return (span, min(full)) if len(full) == 1 else None


def _last_name(run: str, known: set[str], *, whole: bool, is_sure: bool = False) -> str:
    """Return the full name that ends a run of characters, or "" if uncertain.

    One that is known; else one with a surname of two characters; else the whole run, where it
    begins behind a mark; else two characters, where three could not be a name. `is_sure` takes
    the first two alone.
    """
    endings = [run[start:] for start in range(len(run) - 1) if given_name(run[start:])]
    likely = [name for name in endings if name in known]
    compound = [name for name in endings if len(han_surname(name)) == 2]
    if likely or compound:
        return max(likely or compound, key=len)
    if is_sure:
        return ""
    if whole and run in endings:
        return run
    return endings[0] if len(endings) == 1 and len(endings[0]) == 2 else ""


def _just_named(shadow: str, place: int, *, given: str, surfaces: set[str]) -> str:
    """Return the name before this clause that ends in `given`: "友人法正。正字孝直"; or "".

    One that was found in the text, else the two characters behind a word for a person.
    """
    before = shadow[:place].rstrip("。，,；;：:“「『\n ")
    if not before.endswith(given) or len(before) == place:
        return ""
    if before[-3:] in surfaces:
        return before[-3:]
    return before[-2:] if before[-2:] in surfaces or before[-3:-2] in _PERSON_NOUN_ENDS else ""


def _fathers_surname(segment: Segment, place: int) -> str:
    """Return the surname of the father or family last named in the sentence, or ""."""
    start = max(segment.shadow.rfind(stop, 0, place) for stop in "。！？\n") + 1
    surname = ""
    for father in _FATHER.finditer(segment.shadow, start, place):
        if father["clan"]:
            last = [father["clan"][-length:] for length in (2, 1)]  # 夏侯 before 侯
            surname = next((each for each in last if is_surname(each)), "")
            continue
        run = father["father"]
        if run[:2] in _OFFICES and given_name(run[2:]):
            run = run[2:]  # 司徒袁逢 is a minister of the name 袁逢
        found = [han_surname(run[i:]) for i in range(len(run) - 1) if given_name(run[i:])]
        surname = max(reversed(found), key=len) if found else ""  # 夏侯 before 侯
    return surname
