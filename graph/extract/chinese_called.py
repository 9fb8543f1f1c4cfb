"""Chinese appellations: "林川，绰号大头", "笔名白鹭", "人皆呼为海龙王".

Such a name belongs to the one person whom its sentence has named before it; what people call
somebody may also follow the sentence that names them. Where a relative stands between ("林川之子，
乳名阿潮"), where two persons or none are at hand, or where no name follows, nothing is found. Style
names and the chains that hang on them are read by `chinese_aliases`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..han import simplified
from ..name_parts import given_name, parts_of
from ..names import name_key
from .chinese_aliases import Introduction
from .segments import Segment

_HAN = "\u4e00-\u9fff"
Known = Mapping[str, str]
"""Name surfaces mapped to the key of the full name, as known so far."""
_OPEN, _CLOSE = '“"「『‘', '”"」』’'
_END = rf"(?=[，,。．；;、：:！？）)\s{_CLOSE}]|$|先生)"
_NAME = rf"(?:[{_OPEN}](?P<quoted>[{_HAN}]{{2,6}})[{_CLOSE}]|(?P<plain>[{_HAN}]{{2,4}}?){_END})"
_QUOTED = rf"[{_OPEN}](?P<said>[{_HAN}]{{2,6}})[{_CLOSE}]"
_OWN = re.compile(
    r"(?<![其之])(?:(?:乳|小|幼|本|原|曾用|笔|艺|化|别|又|更|改|花|网|诨|法)名|(?:绰|外|诨|别|道|法)号"
    rf"|昵称|小字|江湖人称|[人世]称|(?<=[，,；;])号(?![称召令码角手房]))(?:[为叫是曰作：:]|叫做|叫作)?{_NAME}"
)
_IS_BESIDE_ONLY = re.compile(r"[^，,；;][人世]称|[，,；;](?:世称|号)")
_CALLED = re.compile(
    r"(?:[时世众乡]人|人[皆都]|[中里民间][皆都]|[们家][都皆]?|[，,；;]人|被(?:人们?|大家|球迷|粉丝|读者)?)"
    rf"[称呼唤叫](?P<whom>[之其他她]|[{_HAN}]{{1,4}}?)??(?:[为作做曰]{_NAME}|(?=[{_OPEN}]){_QUOTED})"
)
_PARTED = re.compile("[子女妻弟兄父母妹姐姊侄孙妇儿姓]|有[一二三两]")
_GAP = re.compile(r"(?:[（(][^（()）]{0,40}[）)])?[，,、]?$")
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
            person = _before(segment.shadow, place, full)
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
        return _before(shadow, match.start(), known)
    return _only(shadow, _sentence_start(shadow, sentence - 1), match.start(), known)


def _beside(shadow: str, place: int, known: Known) -> tuple[int, int, str] | None:
    """Return the person whose name directly precedes the label, brackets and commas aside."""
    gap = _GAP.search(shadow[max(0, place - _MAX_GAP) : place])
    end = place - len(gap[0]) if gap else place
    names = [name for name in known if shadow.endswith(name, 0, end)]
    name = max(names, key=lambda each: (len(each), each), default="")
    return (end - len(name), end, name) if name else None


def _before(shadow: str, place: int, known: Known) -> tuple[int, int, str] | None:
    """Return the only person named earlier in the sentence, unless a relative follows."""
    return _only(shadow, _sentence_start(shadow, place), place, known)


def _only(shadow: str, start: int, place: int, known: Known) -> tuple[int, int, str] | None:
    persons = _persons(shadow, start, place, known)
    if len({known[name] for *_, name in persons}) != 1:
        return None
    person = persons[-1]
    return None if _PARTED.search(shadow, person[1], place) else person


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
