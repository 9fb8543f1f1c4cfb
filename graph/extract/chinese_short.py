"""Other names of Chinese things: "世界卫生组织（世卫组织）", "番茄又名西红柿".

A short form is cut out of the full one, character by character in order; no tagger knows most of
them. Where neither a label nor the characters say so, where the label is a person's (that is
`chinese_called`), or where the full name's beginning is not sure, nothing is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..han import simplified
from ..name_parts import given_name
from ..names import name_key
from .chinese_aliases import Introduction
from .segments import Segment

_HAN = "\u4e00-\u9fff"
_OPEN, _CLOSE = '“"「『‘《', '”"」』’》'
_END = rf"(?=[{_CLOSE}]?(?:[）)，,。；;、：:！？\s]|$))"
_LABEL = r"(?:以下|下文|后文)?(?:简称|下称)"
_SHORT = re.compile(
    rf"(?:(?P<bracket>[（(])(?:(?:[^（()）]{{0,60}}[，,；;、]\s*)?(?P<inner>{_LABEL}))?"
    rf"|[，,]?(?P<outer>{_LABEL}))[为作]?[：:]?[{_OPEN}]?(?P<name>[{_HAN}]{{2,6}}){_END}"
)
_OTHER = re.compile(
    rf"(?:(?:[又亦别原本旧古全学俗]|曾用)名|(?:[又亦也别俗旧古通全原]|曾)被?称)[为作]?[：:]?"
    rf"[{_OPEN}]?(?P<name>(?![赞呼])[{_HAN}]{{2,6}}?){_END}"
)
_NEXT = re.compile(rf"[{_CLOSE}]?、[{_OPEN}]?(?P<name>(?:(?![称名])[{_HAN}]){{2,8}}){_END}")
_OF_A_LEMMA = ("又名", "别名", "又称", "亦称", "俗称", "俗名", "学名")
_OF_A_PERSON = ("原名", "本名")
_LEMMA = re.compile(rf"(?:^|\n)(?P<lemma>(?![该这那其此本他她它我])(?:(?!称)[{_HAN}]){{2,8}})$")
_BEFORE = re.compile(rf"(?![是即为叫于])[{_HAN}]")
_ORGANISATION = re.compile(
    r"(?:公司|集团|[大中]学|学[院校会]|组织|协会|委员会|研究[所院]|科学院|银行|医院|中心|法院|检察院|联盟"
    r"|联合会|基金会|出版社|通讯社)$"
)
_RUN = re.compile(rf"[{_HAN}]+$")
_LONGEST = 24
_NO_NAME = frozenset("的了着和与及或是在之者们其所于")
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
        end -= shadow[end - 1 : end] in set(_CLOSE)
        named = _whose(shadow, end, match, types)
        if named is not None:
            start, kind = named
            for second in _listed(shadow, match):
                yield _introduction(segment, (start, end), second, kind)


def _listed(shadow: str, match: re.Match[str] | None) -> Iterator[tuple[int, int]]:
    """Return the spans of a labelled name and of a following list."""
    while match is not None:
        if not _NO_NAME & {*match["name"]}:
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
