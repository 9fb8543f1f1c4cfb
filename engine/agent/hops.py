"""Two-step questions: the inner part that has to be answered first, and the question after it.

"When did Lothair II's mother die?" holds "Lothair II's mother". That is asked by itself; the name
found takes its place, so that the question left stands alone. Kinship of two steps is taken apart
("mother-in-law": the mother of the spouse). In English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    r"父亲|母亲|丈夫|妻子|儿子|女儿|哥哥|弟弟|姐姐|妹妹|老师|学生|导演|作者|编剧|主演|演唱者|歌手|作曲者|作曲家"
    r"|创始人|创办人|创立者|设计者|设计师|发明者|发明人|校长|总统|主席|市长|站长|馆长|队长|教练|主人"
)
_PLACE_ZH = r"首都|省会|首府|故乡|家乡|出生地|所在地|所在国|总部"
_BODY_ZH = r"母校|公司|球队|学校|出版社|母公司"
_INNER_ZH = re.compile(
    rf"(?P<inner>[^，。？?]{{2,40}}?的(?P<role>{_PERSON_ZH}|{_PLACE_ZH}|{_BODY_ZH}))"
    r"(?P<open>的|(?=是(?!谁|什么[？?]|哪里[？?])|在|于|出生|生于|死于|去世|毕业|何时|什么时候|哪))"
)
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
    chinese = _INNER_ZH.search(question)
    if chinese is not None:
        return _chinese(question, chinese)
    if _CHOICE.search(question):
        return None
    plain = _without_kinship(question.strip())
    for read in (_possessive, _of_name, _where, _clause):
        for start, end, inner in read(plain):
            before, after = plain[:start], plain[end:]
            if not _ONLY_ASKS.fullmatch(f"{before} {after}".casefold()):
                return Hop(inner, before, after)
    return None


def _chinese(question: str, found: re.Match[str]) -> Hop:
    asked = next(word for roles, word in _ASKED_ZH if re.fullmatch(roles, found["role"]))
    start, end = found.span("inner")
    return Hop(f"{found['inner']}是{asked}？", question[:start], question[end:])


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
