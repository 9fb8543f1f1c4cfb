"""Questions for facts of a named Chinese person: *苏轼的父亲是谁* asks for the 父 of 苏轼."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from graph.text.cjk import HAN, has_han, simplified

from ....storage.graph_api import APPOINTED, KIN

OTHER_NAMES = {
    "字": "表字|字",
    "号": "道号|号",
    "小名": "小名|小字|乳名|幼名",
    "绰号": "绰号|外号|诨号|诨名|混名|花名|人称",
    "原名": "原名|本名|真名|又名|别名|曾用名|笔名|艺名|化名",
}
_WHO = "谁|什么人|何人|哪一?位|哪个人"
_WHAT = "什么(?:名字?)?|何|啥|哪个"
_X = rf"(?P<of>[{HAN}·]{{2,8}}?)"
_END = r"[？?。！\s呢]*$"


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """Question for the `relation` of a person, or (`inverse`) for whose relation the person is."""

    person: str
    relation: str
    inverse: bool = False

    @property
    def is_kin(self) -> bool:
        """Check whether a relative is asked for."""
        return self.relation in KIN


def fact_question(question: str) -> FactQuestion | None:
    """Read a Chinese question for a fact of a named person, if it asks for one."""
    if not has_han(question):
        return None
    text = simplified(question).strip()
    found = [asked for relation in KIN if (asked := _kin_question(text, relation))]
    # 岳母 is no 母 of "狗儿的岳"
    return min(found, key=lambda each: len(each.person)) if found else _other_question(text)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Compile one of the forms below; `re` forgets them among many others."""
    return re.compile(form)


def _kin_question(text: str, relation: str) -> FactQuestion | None:
    asked = KIN[relation].asked
    for form in (
        rf"^(?:{_WHO})(?:是|乃是?){_X}的(?:{asked}){_END}",
        rf"^{_X}的?(?:{asked})(?:的名字)?(?:是|叫做?|为|名叫|姓)(?:{_WHO}|{_WHAT}|哪些人?){_END}",
        rf"^{_X}(?:一共)?有(?:哪些|哪几个)(?:{asked}){_END}",
    ):
        if match := _pattern(form).match(text):
            return FactQuestion(match["of"], relation)
    match = _pattern(rf"^{_X}是(?:{_WHO})的(?:{asked}){_END}").match(text)
    return FactQuestion(match["of"], relation, inverse=True) if match else None


def _other_question(text: str) -> FactQuestion | None:
    for relation, label in OTHER_NAMES.items():
        known = _pattern(rf"^{_X}的?(?:{label})(?:是|叫做?|为|作)?(?:{_WHAT}|多少){_END}")
        if match := known.match(text):
            return FactQuestion(match["of"], relation)
        for form in (
            rf"^(?:谁|{_WHO})的(?:{label})(?:是|叫做?|为){_X}{_END}",
            rf"^{_X}是(?:谁|{_WHO})的(?:{label}){_END}",
            rf"^(?:{label})(?:是|叫做?|为)?{_X}的(?:人)?是(?:{_WHO}){_END}",
        ):
            if match := _pattern(form).match(text):
                return FactQuestion(match["of"], "原名", inverse=True)
    table = (
        (
            rf"^{_X}(?:后来|曾|现在?)?被?(?:{APPOINTED})(?:为|了|做)?(?:什么|何)[{HAN}]{{0,4}}{_END}",
            "官",
        ),
        (
            rf"^{_X}[现曾]?(?:担任|官居|官至|官拜|任|做|当)(?:过|了)?(?:什么|何)[{HAN}]{{0,4}}{_END}",
            "官",
        ),
        (rf"^{_X}的(?:官职|职位|职务|官位|爵位)是(?:什么|何){_END}", "官"),
        (rf"^{_X}是(?:哪里|哪儿|何处|何地|什么地方|哪个地方)(?:的)?人?{_END}", "籍贯"),
        (rf"^{_X}嫁给?了?(?:{_WHO}){_END}", "夫"),
        (rf"^{_X}(?:娶|迎娶)了?(?:{_WHO})(?:为妻)?{_END}", "妻"),
        (rf"^(?:{_WHO})(?:娶|迎娶)了?{_X}(?:为妻)?{_END}", "夫"),
        (rf"^(?:{_WHO})嫁给?了?{_X}{_END}", "妻"),
    )
    for form, relation in table:
        if match := _pattern(form).match(text):
            return FactQuestion(match["of"], relation)
    return None
