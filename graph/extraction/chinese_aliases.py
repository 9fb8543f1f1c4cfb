"""Chinese second names: style names, appellations, short forms.

- Chains of names hang on one person: "姓刘名备，字玄德", "苏轼，字子瞻，号东坡居士", "亮字孔明";
  a given name alone is the text's only person of that name, or takes the surname of the father in
  the sentence.
- Appellations belong to the one person named before: "林川，绰号大头", "笔名白鹭"; nothing is found
  where a relative stands between ("林川之子，乳名阿潮") or several persons are at hand.
- Short forms are cut out of the full name, character by character: "世界卫生组织（世卫组织）".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..resolution.name_parsing import (
    COMPOUND_SURNAMES,
    given_name,
    han_surname,
    is_surname,
    parts_of,
)
from ..text.cjk import HAN, simplified
from ..text.names import name_key
from ..text.patterns import lazy_regex
from ..text.sentences import Segment
from .aliases import Candidate

_GAP = r"[，,、：:；;\s]{0,2}"
_STYLED = r"(?:表?字|小字|小名|乳名|幼名)"
_LABEL = (
    rf"(?:[又亦]?{_STYLED}|[又亦自别道]?号|[又亦一原本旧初]名|别[名号]|[后又]?改名?"
    r"|笔名|化名|更名|艺名|乳名|曾用名|绰号|外号|诨号|昵称|法[名号]|世称|人称)"
)
_NAME_END = rf"(?=[，,。．；;、：:！？）)”」』\s]|$|先生|[者乃是也](?![{HAN}]{{0,1}}[，,]))"
_QUOTE = "[“「『]?"
_SECOND = rf"(?:[为曰作叫是])?{_QUOTE}(?P<name>[{HAN}]{{2,4}}?)[”」』]?{_NAME_END}"
_OF_WRITING = "迹体形义面典母眼里数幅画样幕库段节符串量"
_PEN_NAME_ENDS = "(?:居士|山人|道人|散人|老人|主人|先生|翁)"
_FIRST_LABEL = lazy_regex(
    rf"{_GAP}(?:表?字(?P<styled>[{HAN}]{{2}})(?:{_NAME_END}|(?=号))|(?:{_STYLED}|道号){_SECOND}"
    rf"|号(?P<penned>[{HAN}]{{1,4}}{_PEN_NAME_ENDS}){_NAME_END})"
)
_NEXT_LABEL = lazy_regex(
    rf"(?:先生)?[”」』]?{_GAP}(?:{_LABEL}|[{HAN}]{{2,6}}[，,](?:更名|化名|改名)){_SECOND}"
)
_OPENING = lazy_regex(
    rf"(?:[复覆]?姓(?P<surname>[{HAN}]{{1,2}}?){_GAP}单?名|(?<=[子女弟侄孙者：:，,次改曰])名)"
    rf"(?P<given>[{HAN}]{{1,2}}?)(?={_GAP}(?:{_STYLED}|道号))"
    rf"|(?P<direct>(?:(?!名)[{HAN}]){{2,4}})(?:[（(][^（()）]{{1,40}}[）)])?"
    rf"(?=[，,]{_STYLED}[{HAN}]{{2}})"
    rf"|(?P<joined>(?:(?!名)[{HAN}]){{2,4}})(?:[（(][^（()）]{{1,40}}[）)])?"
    rf"(?=(?:表?字(?![{_OF_WRITING}])[{HAN}]{{2}}"
    rf"|[，,]?号[{HAN}]{{1,4}}{_PEN_NAME_ENDS})(?:{_NAME_END}|号))"
    rf"|(?:(?<![{HAN}])|(?<=[生曰]))(?P<alone>[{HAN}])(?=[，,]?{_STYLED}[{HAN}]{{2}})"
)
_FATHER = lazy_regex(
    rf"(?P<father>[{HAN}]{{2,4}})(?:之[长次幼三四]?子|[有生][一二两三四五六七八九]子)"
    rf"|(?P<clan>[{HAN}]{{1,4}})氏(?=[，,]?(?:兄弟|姐妹|姊妹|[一二两三四五六七八九]子))"
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


def name_introductions(segment: Segment, names: Iterable[str]) -> list[Introduction]:
    """Return where a Chinese segment introduces a person's other names, sorted.

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


Known = Mapping[str, str]
"""Name surfaces mapped to the key of the full name, as known so far."""
_OPEN, _CLOSE = '“"「『‘', '”"」』’'
_END = rf"(?=[，,。．；;、：:！？）)\s{_CLOSE}]|$|先生)"
_NAME = rf"(?:[{_OPEN}](?P<quoted>[{HAN}]{{2,6}})[{_CLOSE}]|(?P<plain>[{HAN}]{{2,4}}?){_END})"
_QUOTED = rf"[{_OPEN}](?P<said>[{HAN}]{{2,6}})[{_CLOSE}]"
_OWN = lazy_regex(
    r"(?<![其之])(?:(?:乳|小|幼|本|原|曾用|笔|艺|化|别|又|更|改|花|网|诨|法)名|(?:绰|外|诨|别|道|法)号"
    rf"|昵称|小字|江湖人称|[人世]称|(?<=[，,；;])号(?![称召令码角手房]))(?:[为叫是曰作：:]|叫做|叫作)?{_NAME}"
)
_IS_BESIDE_ONLY = lazy_regex(r"[^，,；;][人世]称|[，,；;](?:世称|号)")
_CALLED = lazy_regex(
    r"(?:[时世众乡]人|人[皆都]|[中里民间][皆都]|[们家][都皆]?|[，,；;]人|被(?:人们?|大家|球迷|粉丝|读者)?)"
    rf"[称呼唤叫](?P<whom>[之其他她]|[{HAN}]{{1,4}}?)??(?:[为作做曰]{_NAME}|(?=[{_OPEN}]){_QUOTED})"
)
_PARTED = lazy_regex("[子女妻弟兄父母妹姐姊侄孙妇儿姓婢仆奴婿徒]|有[一二三两]")
_OBJECT_OF = lazy_regex("[明告知见问请向与对给]")
"""Last characters of words whose object a person is: "回明林川，更名小海"."""
_ANOTHER = lazy_regex("[有生养存][一二两三四五六七][子女婢仆]")
"""Someone whose name follows, whoever else the sentence names: "还有一女，比林川小两岁"."""
_CALLED_GAP = lazy_regex(r"(?:[（(][^（()）]{0,40}[）)])?[，,、]?$")
_MAX_GAP = 43
_STOP = "。！？!?\n"
_NO_NAME_START = frozenset("一第最全不被的了他她它我你这那是为")
_NO_NAME = frozenset("的了着和与或是在之者们其所")


def appellation_aliases(
    segment: Segment, names: Iterable[str], *, introduced: Iterable[Introduction] = ()
) -> list[Introduction]:
    """Return appellations of a segment's persons, sorted, with document offsets.

    `names` are the surfaces of what may be persons of the text, `introduced` the second names that
    are known to be theirs.
    """
    segment = replace(segment, shadow=simplified(segment.shadow))
    found: set[Introduction] = set()
    same = {each.second_key: each.key for each in introduced}
    known = {each: each for each in map(simplified, names) if _may_be_person(each)}
    known = {each: key for each, key in known.items() if each[1:] not in same} | same
    full = {each: key for each, key in known.items() if given_name(each)}
    for match in _OWN.finditer(segment.shadow):
        place = match.start()
        person = _beside(segment.shadow, place, known)
        if person is None and not _IS_BESIDE_ONLY.match(segment.shadow, max(0, place - 1)):
            person = _before(segment.shadow, place, full, known)
        found.update(_introduced(segment, match, person))
    for match in _CALLED.finditer(segment.shadow):
        found.update(
            _introduced(segment, match, _called_person(segment.shadow, match, full, known))
        )
    return sorted(found)


def _may_be_person(name: str) -> bool:
    return 2 <= len(name) <= 4 and not parts_of(name).han_title


def _introduced(
    segment: Segment, match: re.Match[str], person: tuple[int, int, str] | None
) -> Iterator[Introduction]:
    group = next(name for name in ("quoted", "plain", "said") if match.groupdict().get(name))
    second = match[group]
    if person is None or second[0] in _NO_NAME_START or _NO_NAME & set(second):
        return
    start, end, name = person
    if name_key(name) != name_key(second):
        yield Introduction(
            (segment.start + start, segment.start + end),
            name_key(name),
            (segment.start + match.start(group), segment.start + match.end(group)),
            name_key(second),
        )


def _called_person(
    shadow: str, match: re.Match[str], full: Known, known: Known
) -> tuple[int, int, str] | None:
    """Return the person so called: between verb and name, or before the verb."""
    whom = match["whom"] or ""
    if whom and whom not in "之其他她":
        owners = {name for name in full if whom in {name, given_name(name)}}
        return (*match.span("whom"), min(owners)) if len(owners) == 1 else None
    sentence = _sentence_start(shadow, match.start())
    if _persons(shadow, sentence, match.start(), known):
        return _before(shadow, match.start(), known, known)
    return _only(shadow, _sentence_start(shadow, sentence - 1), match.start(), known)


def _beside(shadow: str, place: int, known: Known) -> tuple[int, int, str] | None:
    """Return the person whose name directly precedes the label, brackets and commas aside."""
    gap = _CALLED_GAP.search(shadow[max(0, place - _MAX_GAP) : place])
    end = place - len(gap[0]) if gap else place
    names = [name for name in known if shadow.endswith(name, 0, end)]
    name = max(names, key=lambda each: (len(each), each), default="")
    if not name or _OBJECT_OF.match(shadow, max(0, end - len(name) - 1)):
        return None
    return (end - len(name), end, name)


def _before(shadow: str, place: int, full: Known, known: Known) -> tuple[int, int, str] | None:
    """Return the only person named earlier in the sentence, by a full name.

    Nothing where the sentence speaks of a relative or servant.
    """
    start = _sentence_start(shadow, place)
    if _ANOTHER.search(shadow, start, place) or _only(shadow, start, place, known) is None:
        return None
    return _only(shadow, start, place, full)


def _only(shadow: str, start: int, place: int, known: Known) -> tuple[int, int, str] | None:
    persons = _persons(shadow, start, place, known)
    if len({known[name] for *_, name in persons}) != 1:
        return None
    person = persons[-1]
    is_object = _OBJECT_OF.match(shadow, max(0, person[0] - 1))
    return None if is_object or _PARTED.search(shadow, person[1], place) else person


def _sentence_start(shadow: str, place: int) -> int:
    return max(shadow.rfind(stop, 0, max(0, place)) for stop in _STOP) + 1


def _persons(shadow: str, start: int, end: int, known: Known) -> list[tuple[int, int, str]]:
    """Find known names in order, longest on overlap."""
    found: list[tuple[int, int, str]] = []
    for name in sorted(known, key=lambda each: (-len(each), each)):
        place = shadow.find(name, start, end)
        while place != -1:
            span = (place, place + len(name))
            if all(span[1] <= a or b <= span[0] for a, b, _ in found):
                found.append((*span, name))
            place = shadow.find(name, place + 1, end)
    return sorted(found)


_SHORT_OPEN, _SHORT_CLOSE = '“"「『‘《', '”"」』’》'
_SHORT_END = rf"(?=[{_SHORT_CLOSE}]?(?:[）)，,。；;、：:！？\s]|$))"
_SHORT_LABEL = r"(?:以下|下文|后文)?(?:简称|下称)"
_SHORT = lazy_regex(
    rf"(?:(?P<bracket>[（(])(?:(?:[^（()）]{{0,60}}[，,；;、]\s*)?(?P<inner>{_SHORT_LABEL}))?"
    rf"|[，,]?(?P<outer>{_SHORT_LABEL}))[为作]?[：:]?[{_SHORT_OPEN}]?(?P<name>[{HAN}]{{2,6}}){_SHORT_END}"
)
_OTHER = lazy_regex(
    rf"(?:(?:[又亦别原本旧古全学俗]|曾用)名|(?:[又亦也别俗旧古通全原]|曾)被?称)[为作]?[：:]?"
    rf"[{_SHORT_OPEN}]?(?P<name>(?![赞呼])[{HAN}]{{2,6}}?){_SHORT_END}"
)
_NEXT = lazy_regex(
    rf"[{_SHORT_CLOSE}]?、[{_SHORT_OPEN}]?(?P<name>(?:(?![称名])[{HAN}]){{2,8}}){_SHORT_END}"
)
_OF_A_LEMMA = ("又名", "别名", "又称", "亦称", "俗称", "俗名", "学名")
_OF_A_PERSON = ("原名", "本名")
_LEMMA = lazy_regex(rf"(?:^|\n)(?P<lemma>(?![该这那其此本他她它我])(?:(?!称)[{HAN}]){{2,8}})$")
_BEFORE = lazy_regex(rf"(?![是即为叫于])[{HAN}]")
_ORGANISATION = lazy_regex(
    r"(?:公司|集团|[大中]学|学[院校会]|组织|协会|委员会|研究[所院]|科学院|银行|医院|中心|法院|检察院|联盟"
    r"|联合会|基金会|出版社|通讯社)$"
)
_RUN = lazy_regex(rf"[{HAN}]+$")
_LONGEST = 24
_NO_SHORT = frozenset("的了着和与及或是在之者们其所于")
_STRONG = frozenset({"PERSON", "ORGANISATION", "PLACE", "EVENT", "WORK"})


def short_name_aliases(segment: Segment, types: Mapping[str, str]) -> list[Introduction]:
    """Return short and other names of a segment, sorted, with document offsets.

    `types` are those of the names that were found, by surface in simplified characters.
    """
    segment = replace(segment, shadow=simplified(segment.shadow))
    found = {*_short_forms(segment, types), *_labelled(segment, types)}
    return sorted(each for each in found if each.key != each.second_key)


def _short_forms(segment: Segment, types: Mapping[str, str]) -> Iterator[Introduction]:
    shadow = segment.shadow
    for match in _SHORT.finditer(shadow):
        short, labelled = match["name"], bool(match["inner"] or match["outer"])
        if not labelled and shadow[match.end("name") : match.end("name") + 1] not in set("）)"):
            continue
        long = _full_name(shadow, match.start(), short, types)
        if long is None:
            continue
        start, kind = long
        if labelled or types.get(short, kind) in {kind} | ({*types.values()} - _STRONG):
            yield _introduction(segment, (start, match.start()), match.span("name"), kind)


def _full_name(
    shadow: str, end: int, short: str, types: Mapping[str, str]
) -> tuple[int, str] | None:
    """Return the start and type of the full name behind `short`; None if uncertain.

    The longest that was found; else what ends as organisations do, from where `short` begins.
    """
    for start in range(max(0, end - _LONGEST), end - len(short)):
        kind = types.get(shadow[start:end], "")
        if kind not in {"", "PERSON"} and _is_cut(short, shadow[start:end]):
            return start, kind
    run = _RUN.search(shadow, max(0, end - _LONGEST), end)
    if run is None or not _ORGANISATION.search(run[0]):
        return None
    for start in range(end - len(short) - 2, run.start() - 1, -1):
        if shadow[start] == short[0] and _is_cut(short, shadow[start:end]):
            return start, "ORGANISATION"
    return None


def _is_cut(short: str, long: str) -> bool:
    """Check whether the characters of `short` occur in `long` in order."""
    rest = iter(long)
    return all(character in rest for character in short)


def _labelled(segment: Segment, types: Mapping[str, str]) -> Iterator[Introduction]:
    shadow = segment.shadow
    for match in _OTHER.finditer(shadow):
        end = match.start()
        end -= shadow[end - 1 : end] in set("，,（(")
        end -= shadow[end - 1 : end] in set(_SHORT_CLOSE)
        named = _whose(shadow, end, match, types)
        if named is not None:
            start, kind = named
            for second in _listed(shadow, match):
                yield _introduction(segment, (start, end), second, kind)


def _listed(shadow: str, match: re.Match[str] | None) -> Iterator[tuple[int, int]]:
    """Return the spans of a labelled name and of a following list."""
    while match is not None:
        if not _NO_SHORT & {*match["name"]}:
            yield match.span("name")
        match = _NEXT.match(shadow, match.end("name"))


def _whose(
    shadow: str, end: int, match: re.Match[str], types: Mapping[str, str]
) -> tuple[int, str] | None:
    """Return the start and type of the name before a label; None if uncertain.

    The longest that was found and is no person's; else what a paragraph begins with.
    """
    for start in range(max(0, end - _LONGEST), end - 1):
        if (kind := types.get(shadow[start:end], "")) and not (
            start and _BEFORE.match(shadow, start - 1)
        ):
            return None if kind == "PERSON" else (start, kind)
    lemma = _LEMMA.search(shadow, max(0, end - _LONGEST), end)
    if lemma is None:
        return None
    if match[0].startswith(_OF_A_LEMMA):
        return lemma.start("lemma"), "NAME"
    is_person = end < match.start() and match[0].startswith(_OF_A_PERSON)
    return (lemma.start("lemma"), "PERSON") if is_person and given_name(match["name"]) else None


def _introduction(
    segment: Segment, name: tuple[int, int], second: tuple[int, int], kind: str
) -> Introduction:
    return Introduction(
        (segment.start + name[0], segment.start + name[1]),
        name_key(segment.shadow[slice(*name)]),
        (segment.start + second[0], segment.start + second[1]),
        name_key(segment.shadow[slice(*second)]),
        kind,
    )
