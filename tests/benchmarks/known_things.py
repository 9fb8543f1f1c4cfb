"""Questions about things that a library knows: what it says of them, and what it does not.

*When was X born?* of a person whose own article says so, and of one of whom no document gives a
birth: such a question has all the marks of an answerable one but the fact. Made by rule from the
articles themselves, a few of each kind and the same ones every time: an opening sentence tells
what a thing is; whether the fact is there, an expression over its article and over every sentence
that names it. The expressions are wide where a fact is to be missing and narrow where it is to be
there; what is between is not asked. Chinese ones are fewer: its articles are longer, and say more.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

HAN = re.compile(r"[\u4e00-\u9fff]")
OF_EACH = 6
"""At least so many questions of a kind, if there are so many; more where kinds are few."""
ALL = 40
_TRIED = 60


@dataclass(frozen=True, slots=True)
class Known:
    """A question about a known thing, the document about it, and whether that says the answer."""

    text: str
    document_id: str
    said: bool


@dataclass(frozen=True, slots=True)
class _Kind:
    """Of what it is asked, how; how a text says it, and what must be nowhere if it does not."""

    about: str
    question: str
    says: str
    hints: str
    title: str = ""


_IS = r"(?:(?!\b(?:is|was)\b).)*\b(?:is|was) an? (?:[\w,/-]+ ){0,5}"
_PERSON = (
    rf"^(?!.*\b(?:song|album|film|single|novel|episode|list)\b){_IS}(?:actor|actress|singer|writer"
    r"|author|politician|player|footballer|director|musician|composer|painter|poet|journalist"
    r"|lawyer|engineer|scientist|professor|artist|officer|coach|producer|novelist|king|queen|prince"
    r"|princess|bishop|priest|model|cricketer|rapper|songwriter|guitarist|drummer|wrestler|swimmer"
    r"|architect|historian|philosopher|photographer|physician|businessman|screenwriter|comedian"
    r"|nobleman|general|soldier|athlete)\b"
)
_FILM = rf"^{_IS}film\b"
_PLACE = rf"^{_IS}(?:village|town|city|municipality|commune|suburb|census-designated place)\b"
_BODY = (
    rf"^(?!.*\b(?:song|album|film|person|player|actor)\b){_IS}(?:company|school|university|college"
    r"|club|organi[sz]ation|band|newspaper|magazine|airline|museum|institute|hospital|church)\b"
)
_PERSON_ZH = (
    r"(?:演员|歌手|作家|诗人|政治|将军|将领|运动员|球员|教授|学者|导演|画家|皇帝|官员|教练|科学家"
    r"|音乐家|军人|企业家|记者)"
)
_NAME_ZH = r"^(?:.{2,3}|.+·.+)$"
KINDS = (
    _Kind(_PERSON, "When was {} born?", r"\bborn\b[^.]*\d{3,4}|\([^)]*\b\d{3,4}\b[^)]*\)",
          r"born|birth|\([^)]*\d{3,4}|\bb\.|aged? \d|\d years old"),
    _Kind(_PERSON, "When did {} die?", r"\bdied\b[^.]*\d{3,4}"
          r"|\([^)]*\d{3,4}\s*[–—-]+[^)]*\d{3,4}\)",
          r"\bdie|death|dead|kill|decease|buried|murder|execut|suicide|\d{3,4}\s*[–—-]|assassin"),
    _Kind(_PERSON, "Where was {} born?", r"\bborn\b[^.]*\b(?:in|at|near) [A-Z]",
          r"born|birth|native|from [A-Z]|raised|grew up|hometown"),
    _Kind(_PERSON, "Who was {} married to?",
          r"\bmarried (?!to\b)(?:[a-z]+ )*[A-Z]|married to [A-Z]"
          r"|(?:his|her) (?:wife|husband|spouse),? [A-Z]",
          r"marri|wife|husband|spouse|widow|wed"),
    _Kind(_PERSON, "Who is the father of {}?", r"\b(?:son|daughter) of (?:[a-z]+ )*[A-Z]"
          r"|father,? [A-Z]",
          r"\bson\b|daughter|father|parent|child|born to|family|brother|sister"),
    _Kind(_FILM, "Who directed {}?", r"directed[^.]* by [A-Z]", r"direct|\bby [A-Z]"),
    _Kind(_FILM, "Who composed the music of {}?",
          r"(?:music|score|soundtrack)[^.]*\bby [A-Z]|composed[^.]* by [A-Z]",
          r"music|score|compos|song"),
    _Kind(_PLACE, "What is the population of {}?", r"population[^.]*\d",
          r"population|inhabitants|people|resident|census"),
    _Kind(_BODY, "When was {} founded?", r"\b(?:founded|established|formed)\b[^.]*\d{4}",
          r"found|establish|form|creat|incorporat|open|start|launch|built|since|beg[ai]n|first"
          r"|\d{4}"),
    _Kind(_PERSON_ZH, "{}是哪一年出生的？",
          r"\d{3,4}年[^。]{0,12}(?:出生|生于)|(?:出生|生于)[^。]{0,12}\d{3,4}年"
          r"|（[^）]*\d{3,4}年[^）]*[-－—–～][^）]*）",
          r"出生|生于|诞生|（[^）]*\d{3,4}|岁", _NAME_ZH),
    _Kind(_PERSON_ZH, "{}的父亲是谁？", r"父亲|之子|长子|次子|第[一二三四五六七八九十]+子",
          r"父|子|母|女", _NAME_ZH),
    _Kind(r"(?:大学|中学|学校|公司|俱乐部|组织|乐团|机构|学院|医院|球队|集团)",
          "{}是哪一年成立的？",
          r"(?:成立|创立|创办|创建|建立)[^。]{0,10}\d{4}年"
          r"|\d{4}年[^。]{0,15}(?:成立|创立|创办|创建|建立)",
          r"成立|创|建|设立|开办|年", r"[学校司部织团构院队会社]$"),
    _Kind(r"(?:县|镇|市|区|村|乡|州|岛)", "{}的人口有多少？", r"人口[^。]{0,15}\d",
          r"人口|居民|万人", r"[县镇市区村乡州岛]$"),
)  # fmt: skip


def known_things(documents: Sequence[dict[str, str]]) -> list[Known]:
    """The questions about a corpus of `{id, title, text}`."""
    by_title: dict[str, list[dict[str, str]]] = defaultdict(list)
    for document in documents:
        by_title[re.sub(r"\s*[(（].*$", "", document["title"])].append(document)
    things = {title: some[0] for title, some in by_title.items() if len(some) == 1}
    found: list[Known] = []
    for said in (True, False):
        kinds = [(kind, list(_of_kind(kind, things, said))) for kind in KINDS]
        kinds = [(kind, some) for kind, some in kinds if some]
        for kind, some in kinds:
            some.sort(key=lambda title: zlib.crc32(kind.question.format(title).encode()))
            kept = [
                title
                for title in some[:_TRIED]
                if said or not _said_elsewhere(kind, title, documents)
            ]
            found.extend(
                Known(kind.question.format(title), things[title]["id"], said)
                for title in kept[: max(OF_EACH, ALL // len(kinds))]
            )
    return found


def _of_kind(kind: _Kind, things: dict[str, dict[str, str]], said: bool) -> Iterator[str]:
    chinese = bool(HAN.search(kind.question))
    for title, document in things.items():
        if bool(HAN.search(title)) != chinese or len(title) < (2 if chinese else 6):
            continue
        text = document["text"]
        opening = text[:60] if chinese else re.split(r"(?<=\.)\s", text)[0][:400]
        named = title if chinese else title.split()[-1]
        if named not in opening or not re.search(kind.title, title):
            continue
        if not re.search(kind.about, opening) or bool(re.search(kind.says, text)) != said:
            continue
        if said or not re.search(kind.hints, text):
            yield title


def _said_elsewhere(kind: _Kind, title: str, documents: Sequence[dict[str, str]]) -> bool:
    """Whether some sentence that names the thing could say it after all."""
    return any(
        title in sentence and re.search(kind.hints, sentence)
        for document in documents
        if title in document["text"]
        for sentence in re.split(r"[.。]", document["text"])
    )
