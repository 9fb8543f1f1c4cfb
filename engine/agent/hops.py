"""Two-step questions: the inner part that has to be answered first, and the question after it.

"When did Lothair II's mother die?" holds "Lothair II's mother". That is asked by itself; the name
found takes its place, so that the question left stands alone. Kinship of two steps is taken apart
("mother-in-law": the mother of the spouse). In English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..prompts import language_of

_PERSON = (
    r"director|author|writer|founder|president|mother|father|husband|wife|spouse|performer|singer"
    r"|composer|artist|actor|actress|son|daughter|leader|owner|creator|designer|king|queen|mayor"
    r"|governor|minister|player|producer|screenwriter|editor|child|sibling|person|man|woman|brother"
    r"|sister|architect|inventor|painter|sculptor|poet|novelist|manager|coach|captain|chairman"
    r"|developer|politician|scientist|musician|lyricist|host|partner|predecessor|successor"
    r"|emperor|ruler|head|drummer|guitarist|bassist|rapper"
)
_PLACE = (
    r"birthplace|birth ?place|place of birth|place of death|hometown|birth country|home country"
    r"|country|city|town|state|county|province|region|district|capital|headquarters|continent"
    r"|location"
)
_BODY = (
    r"alma mater|employer|team|club|company|school|university|college|party|religion|church|label"
    r"|network|language|band|group|publisher|association|organi[sz]ation"
)
_CAPITAL = r"[\"“'‘]?[^\Wa-zà-öø-ÿ_][^\s,?]*"
_SMALL = (
    r"(?:of|the|and|de|del|della|da|di|du|la|le|von|van|der|den|bin|ibn|al|el|y|zu|in|on|at|for|to"
    r"|a|an|with|is|or)"
)
_NAME = rf"{_CAPITAL}(?:,? (?:{_SMALL} ){{0,2}}{_CAPITAL})*(?: \([^()?]*\))?"
"""Words with capitals, small ones between them, and what stands in brackets behind."""
_NOT_ASKING = (
    r"(?!(?:Who|Whom|Whose|What|Which|Where|When|Why|How|In|On|At|Is|Was|Are|Were|Did|Does|Do|Of|To"
    r"|From)\b)"
)
_KINSHIP = {
    "mother-in-law": ("spouse", "mother"),
    "father-in-law": ("spouse", "father"),
    "son-in-law": ("daughter", "husband"),
    "daughter-in-law": ("son", "wife"),
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"),
    "maternal grandmother": ("mother", "mother"),
    "stepmother": ("father", "wife"),
    "stepfather": ("mother", "husband"),
    "uncle": ("father", "brother"),
    "aunt": ("father", "sister"),
}
_KIN = "|".join(_KINSHIP)
_KIN_OF = (
    re.compile(rf"{_NOT_ASKING}(?P<name>{_NAME})['’]s (?P<role>{_KIN})\b"),
    re.compile(rf"\bthe (?P<role>{_KIN}) of (?P<name>{_NAME})"),
)
_POSSESSIVE = re.compile(
    rf"(?:\bthe )?{_NOT_ASKING}(?P<name>{_NAME})['’]s? (?P<role>{_PERSON}|{_PLACE}|{_BODY})\b"
)
_OF = re.compile(
    r"\bthe (?P<role>(?:(?!of |for |in )[a-z-]+ ){0,2}?"
    rf"(?P<noun>{_PERSON}|birth ?place|place of birth|hometown|country)) (?P<link>of|for)"
    rf" (?P<name>(?:[a-z-]+ ){{0,3}}{_NAME})"
)
_WHERE = re.compile(
    rf"\bthe (?P<role>{_PLACE})"
    r" (?:where |in which |at which |containing |that contains )?(?!of |that |for )"
    rf"(?P<name>(?:[a-z]+ ){{0,4}}?{_NAME})(?P<verb>(?: (?:is|was|are|were|took))?"
    r"(?: (?:located|situated|found|born|from|held|place|raised|based|buried))?(?: (?:in|at))?)"
    r"(?=[ ,?]|$)"
)
_CLAUSE = re.compile(
    r"\b(?:the|an?) (?P<role>(?:[a-z-]+ ){0,2}?[a-z-]+) (?:that|which|who)"
    rf" (?!the |an? |in |its? |he |she |they )(?P<rest>[a-z][^?,]*?{_NAME}(?: in \d{{4}})?)"
    r"(?=[?,]|$| (?:is|was|are|were|be|did|does|do|has|have|had|in|on|at|for|and|[a-z]+ed)\b)"
)
_CHOICE = re.compile(r"\b(?:or|both|same|older|younger|earlier|later)\b")
_ONLY_ASKS = re.compile(
    r"(?:\W++|(?:who|what|which|is|was|are|were|where|when|name|the|did|does|do|of|in)\b)*+"
)
_PERSON_ZH = (
    r"父亲|母亲|丈夫|妻子|儿子|女儿|长子|次子|哥哥|弟弟|姐姐|妹妹|兄长|义父|岳父|老师|师父|学生|前任|继任者"
    r"|导演|作者|编剧|主演|演唱者|歌手|作曲者|作曲家|创始人|创办人|创立者|设计者|设计师|发明者|发明人|校长|总统"
    r"|主席|市长|站长|馆长|队长|教练|主教练|主人|将领|医生|都督|人"
)
_PLACE_ZH = r"首都|省会|首府|故乡|家乡|出生地|所在地|所在国|总部"
_BODY_ZH = (
    r"母校|母?公司|球队|学校|大学|学院|研究院|研究所|出版社|电台|铁路|车站"
    r"|组织|机构|单位|神|近亲|工厂|电车厂"
)
_INNER_ZH = re.compile(
    rf"^(?P<inner>[^，。？?]{{2,40}}?的(?:[那这][位个座条])?"
    rf"(?P<role>{_PERSON_ZH}|{_PLACE_ZH}|{_BODY_ZH}))"
    r"(?P<rest>[^，。？?]{2,30}[？?]?)$"
)
_ONLY_ASKS_ZH = re.compile(r"(?:的|是|在|叫|为|谁|什么|名字|哪[里家个位所]?|人|呢|吗|[？?])+")
_GOES_ON_ZH = re.compile(r"[们类口物员民才生工士力数间号和与及、]")
_ASKING_ZH = re.compile(r"谁|什么|哪|何|多少|多[高大长远久重]|几|怎")
_INNER_ASKED_ZH = re.compile(r"的\w{1,4}是(?:谁|哪里|什么)？$")
_ASKED_ZH = ((_PERSON_ZH, "谁"), (_PLACE_ZH, "哪里"), (_BODY_ZH, "什么"))


@dataclass(frozen=True, slots=True)
class Hop:
    """Inner question, and the outer one with a gap for its answer."""

    inner: str
    before: str
    after: str

    def outer(self, name: str) -> str:
        """Return the question that is left, with the name found in its gap."""
        return f"{self.before}{name}{self.after}"


def find_hop(question: str) -> Hop | None:
    """Return the inner part of a two-step question; None where one step is asked."""
    if language_of(question) == "zh":
        return _chinese(question)
    if _CHOICE.search(question):
        return None
    plain = _without_kinship(question.strip())
    for read in (_possessive, _of_name, _where, _clause):
        for start, end, inner in read(plain):
            before, after = plain[:start], plain[end:]
            if not _ONLY_ASKS.fullmatch(f"{before} {after}".casefold()):
                return Hop(inner, before, after)
    return None


def _chinese(question: str) -> Hop | None:
    found = _INNER_ZH.match(question.strip())
    if found is None:
        return None
    inner, rest = found["inner"], found["rest"]
    if (
        _ASKING_ZH.search(inner)
        or not _ASKING_ZH.search(rest)
        or _ONLY_ASKS_ZH.fullmatch(rest)
        or _GOES_ON_ZH.match(rest)
    ):
        return None
    asked = next(word for roles, word in _ASKED_ZH if re.fullmatch(roles, found["role"]))
    return Hop(f"{inner}是{asked}？", "", rest)


def asks_for_name(question: str) -> bool:
    """Check whether a question is the inner part of a Chinese one."""
    return _INNER_ASKED_ZH.search(question) is not None


def _without_kinship(question: str) -> str:
    for pattern in _KIN_OF:
        found = pattern.search(question)
        if found is not None:
            first, then = _KINSHIP[found["role"]]
            said = f"the {then} of {found['name']}'s {first}"
            return question[: found.start()] + said + question[found.end() :]
    return question


_Inner = tuple[int, int, str]
"""Start and end of an inner part, and the question that asks for it."""


def _possessive(question: str) -> Iterator[_Inner]:
    found = _POSSESSIVE.search(question)
    if found is not None:
        asked = _who_or_what(found["role"])
        yield found.start(), found.end(), f"{asked} is {found['name']}'s {found['role']}?"


def _of_name(question: str) -> Iterator[_Inner]:
    for found in _innermost(_OF, question):
        asked, role = _who_or_what(found["noun"]), found["role"]
        inner = f"{asked} is the {role} {found['link']} {found['name']}?"
        yield found.start(), found.end(), inner


def _where(question: str) -> Iterator[_Inner]:
    for found in _innermost(_WHERE, question):
        role, name, verb = found["role"], found["name"], found["verb"]
        if "born" in verb:
            inner = f"Where was {name} born?"
        elif "took" in verb:
            inner = f"Where did {name} take place?"
        elif "from" in verb:
            inner = f"Which {role} is {name} from?"
        else:
            inner = f"In which {role} is {name} located?"
        yield found.start(), found.end(), inner


def _clause(question: str) -> Iterator[_Inner]:
    for found in _innermost(_CLAUSE, question):
        yield found.start(), found.end(), f"Which {found['role']} {found['rest']}?"


def _innermost(pattern: re.Pattern[str], question: str) -> Iterator[re.Match[str]]:
    """Yield the matches that begin at an article, the last first: it lies within the others."""
    for place in reversed([*re.finditer(r"\b(?:the|an?) [a-z]", question)]):
        found = pattern.match(question, place.start())
        if found is not None:
            yield found


def _who_or_what(role: str) -> str:
    return "Who" if re.fullmatch(_PERSON, role) else "What"
