"""Form of a Chinese short answer: a name, a date, a number with its measure, a place, a noun phrase.

A span of the text is shown as the short answer only if it has the form that the question asks for;
what asks for a list, a reason or an explanation has no short answer.
"""

from __future__ import annotations

import re

from graph.resolution.name_parsing import given_name
from graph.text.cjk import HAN, simplified

from .question_type import QuestionType

_NOT_SHORT = re.compile(
    r"哪些|哪[两几二三四五]|有什么|有何|什么样|怎样|怎么|如何|为什么|为何|"
    r"(?:作用|特点|特征|意义|用途|影响|原因|目的|措施|贡献|习性|内容|功能|才能|著作|威胁)(?:是|有)?"
)
_CLAUSE = re.compile(r"[了没被而但并且却也将把曾则使让已]|因为|由于|以及其|是")
_DATE = re.compile(r"[\d一二三四五六七八九十元初正][^，]{0,3}[年月日号时点]|世纪|年代|时期|时代|期间|[春夏秋冬]|[朝代晨晚夜]")
_NUMBER = re.compile(r"^(?:约|大约|近|超过|共|第)?(?:百分之)?[\d.,一二两三四五六七八九十百千万亿零〇余多半数几]+")
_MEASURED = re.compile(r"(?:多少|几)(?P<unit>[个位名人次岁年月天日米元吨座艘项所部条种家艘层届票席集首辆号本章回场匹头])")
_PERSON = re.compile(rf"[{HAN}]{{2,5}}|[{HAN}]+(?:·[{HAN}]+)+|[A-Z][\w'’.-]*(?:\s[\w'’.-]+){{0,4}}")
_LEFT = re.compile(
    r"^(?:位于|坐落于|先后|分别|主要|用作|兴趣是|效力于|毕业于|出生于|来自|分布于|隶属于?|受|由|于|在|被|"
    r"就读于|担任|曾任|任|名为|称为|叫做?|即|是|为|以|从|因|但因|但|一种|一名|一位|一座|一家|一个|一部|一款|一间)+"
)
_RIGHT = re.compile(r"(?:的一[个种名位座家部款间条]?[^，]{0,6}|一带|等地|等人|等|的|之一|[两三四五]种|[一二两三四五六七八九]类型)$")
_LONGEST = 14
_LONGEST_PLACE = 20


def trim_short(text: str, asked: QuestionType) -> tuple[int, int]:
    """Return the start and end of a span without the words that cling to it."""
    if asked.kind not in {"thing", "person", "place", "nationality"}:
        return 0, len(text)
    left = _LEFT.match(text)
    start = left.end() if left and len(text) - left.end() >= 2 else 0
    right = _RIGHT.search(text, start)
    return start, right.start() if right and right.start() - start >= 2 else len(text)


def is_short_answer(text: str, question: str, asked: QuestionType) -> bool:
    """Check whether a span has the form that a Chinese question asks for."""
    said, question = simplified(text), simplified(question)
    if asked.kind in {"reason", "definition"} or _NOT_SHORT.search(question):
        return False
    match asked.kind:
        case "person":
            return bool(_PERSON.fullmatch(said)) and not _CLAUSE.search(said) and (
                bool(given_name(said)) or "·" in said or "的" not in said
            )
        case "time":
            return bool(_DATE.search(said)) and len(said) <= _LONGEST_PLACE
        case "amount" | "money":
            unit = _MEASURED.search(question)
            return bool(_NUMBER.match(said)) and len(said) <= _LONGEST and (
                unit is None or unit["unit"] in said or not re.search(rf"[{HAN}]$", said)
            )
        case "place" | "nationality":
            return len(said) <= _LONGEST_PLACE and not _CLAUSE.search(said) and not re.search(
                r"的一|\d次", said
            )
        case _:
            return len(said) <= _LONGEST and not _CLAUSE.search(said)
