"""Form of Chinese short answers: a name, a date, a number with its measure, a place, a noun phrase.

A span of the text is shown as the short answer only if it has the form that the question asks for;
what asks for a list, a reason or an explanation has no short answer.
"""

from __future__ import annotations

import re

from graph.text.cjk import HAN, simplified
from graph.text.patterns import lazy_regex

from ....storage.graph_api import given_name
from ..question_type import QuestionType

_NOT_SHORT = lazy_regex(
    r"哪些|哪[两几二三四五]|有什么|有何|什么样|怎样|怎么|如何|为什么|为何|"
    r"(?:作用|特点|特征|意义|用途|影响|原因|目的|措施|贡献|习性|内容|功能|才能|著作|威胁)(?:是|有)?"
)
_CLAUSE = lazy_regex(r"[了没被而但并且却也将把曾则使让已]|因为|由于|以及其|是")
_DATE = lazy_regex(
    r"[\d一二三四五六七八九十元初正][^，]{0,3}[年月日号时点]|世纪|年代|时期|时代|期间|[春夏秋冬]|[朝代晨晚夜]"
)
_NUMBER = lazy_regex(
    r"^(?:约|大约|近|超过|共|第)?(?:百分之)?[\d.,一二两三四五六七八九十百千万亿零〇余多半数几]+"
)
_MEASURED = lazy_regex(
    r"(?:多少|几)(?P<unit>[个位名人次岁年月天日米元吨座艘项所部条种家艘层届票席集首辆号本章回场匹头代])"
)
_PERSON = lazy_regex(rf"[{HAN}]{{2,5}}|[{HAN}]+(?:·[{HAN}]+)+|[A-Z][\w'’.-]*(?:\s[\w'’.-]+){{0,4}}")
_LEFT = lazy_regex(
    r"^(?:位于|坐落于|先后|分别|主要|用作|兴趣是|效力于|毕业于|出生于|来自|分布于|隶属于?|受|由|于|在|被|"
    r"就读于|担任|曾任|任|名为|称为|叫做?|即|是|为|以|从|因|但因|但|一种|一名|一位|一座|一家|一个|一部|一款|一间)+"
)
_RIGHT = lazy_regex(
    r"(?:的一[个种名位座家部款间条]?[^，]{0,6}|一带|等地|等人|等|的|之一|[两三四五]种|[一二两三四五六七八九]类型)$"
)
_YEAR = lazy_regex(r"[^月日]{1,8}?年")
_ASKS_YEAR = lazy_regex(r"哪一?年(?!代)|何年")
_TO_THE_HOUR = lazy_regex(
    r"[正一二三四五六七八九十冬腊闰]+月(?:初?[一二三四五六七八九十廿]+日?)?|(?:凌晨|上午|中午|下午|晚上?)?\d{1,2}[时点](?:\d{1,2}分)?"
)
_NAME_BEFORE = lazy_regex(
    rf"(?P<name>[{HAN}]{{2,4}}|[{HAN}]{{1,12}}(?:[·-][{HAN}]{{1,12}}){{1,6}})[（(]$"
)
"""Chinese name before the bracket in which the Latin one stands."""
_NO_PERSON = lazy_regex("[于之其此不有立]|离任")
_VAGUE = lazy_regex(r"^[这该此其本那]|^[^\w《“「]|正式")
LEAST_CONFIDENCE = 0.35
"""Confidence below which none is shown."""
_LEAST = 2
_LONGEST = 14
_LONGEST_PLACE = 20


def bounds_of_short(
    sentence: str, start: int, end: int, question: str, asked: QuestionType
) -> tuple[int, int]:
    """Return a span's bounds without the words that cling to it, and with its measure."""
    text = sentence[start:end]
    if asked.kind == "time":
        year = _YEAR.match(text)
        if year and _ASKS_YEAR.search(question):
            return start, start + year.end()
        more = _TO_THE_HOUR.match(sentence, end)
        return start, more.end() if more else end
    if asked.kind == "amount":
        unit = _MEASURED.search(question)
        return start, end + (unit is not None and sentence.startswith(unit["unit"], end))
    if asked.kind not in {"thing", "person", "place", "nationality"}:
        return start, end
    if asked.kind == "person" and (named := _NAME_BEFORE.search(sentence, 0, start)):
        return named.span("name")
    left = _LEFT.match(text)
    first = left.end() if left and len(text) - left.end() >= _LEAST else 0
    right = _RIGHT.search(text, first)
    last = right.start() if right and right.start() - first >= _LEAST else len(text)
    said = asked.right.lstrip("的")
    if (
        len(said) >= _LEAST
        and text[first:last].endswith(said)
        and last - len(said) - first >= _LEAST
    ):
        last -= len(said)
        last -= text[last - 1] == "的"
    return start + first, start + last


def is_short_answer(text: str, question: str, asked: QuestionType) -> bool:
    """Check whether a span has the form that a Chinese question asks for."""
    said, question = simplified(text), simplified(question)
    if asked.kind in {"reason", "definition"} or _NOT_SHORT.search(question):
        return False
    if _VAGUE.search(said) or _asks_who_one_is(question):
        return False
    match asked.kind:
        case "person":
            is_clause = _CLAUSE.search(said) or _NO_PERSON.search(said)
            return (
                bool(_PERSON.fullmatch(said))
                and not is_clause
                and (bool(given_name(said)) or "·" in said or "的" not in said)
            )
        case "time":
            return bool(_DATE.search(said)) and len(said) <= _LONGEST_PLACE
        case "amount" | "money":
            unit = _MEASURED.search(question)
            return (
                bool(_NUMBER.match(said))
                and len(said) <= _LONGEST
                and (unit is None or unit["unit"] in said or not re.search(rf"[{HAN}]$", said))
            )
        case "place" | "nationality":
            return (
                len(said) <= _LONGEST_PLACE
                and re.search(r"[^\W\d]", said) is not None
                and not _CLAUSE.search(said)
                and not re.search(r"的一|\d次|\d年|[者手员人选]$", said)
            )
        case _:
            return (
                len(said) <= _LONGEST
                and not _CLAUSE.search(said)
                and not re.search(r"例如|服务于|生产$|\d年|\d元", said)
            )


def _asks_who_one_is(question: str) -> bool:
    """Check for *苏轼是谁？*: what tells it is no name."""
    asked = re.match(rf"^(?P<of>[{HAN}·]{{2,12}})是(?:谁|什么人|何人)[？?\s]*$", question)
    return asked is not None and ("·" in asked["of"] or bool(given_name(asked["of"])))
