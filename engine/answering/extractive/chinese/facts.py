"""Facts asked of a named Chinese person: kin, other names, offices, origin.

A table of patterns reads the sentences that state a fact (轼父苏洵, 苏洵生轼, 苏洵之子轼), by the
words for kin of the graph's extraction. The person is meant by the full name, by the given name
where nobody else of the text has it, and by names that the passages introduce. What no sentence
states is not answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.text.cjk import HAN, simplified

from ....retrieval.query_expansion import ExpandedQuery, Expansion, FirstPassages
from ....storage.graph_api import (
    APPOINTED,
    KIN,
    SURNAMES,
    Segment,
    given_name,
    han_surname,
    name_introductions,
)
from ....types import Passage
from ..intent import asked_person
from .fact_questions import OTHER_NAMES, FactQuestion, fact_question

NEAR = 3
"""Maximum characters between a person and a word for kin."""
CANDIDATES = 60
"""Passages searched for the statement of a fact."""
SHOWN = 10
"""Of these, the first are packed, those that state the fact before all others."""
SEARCHED = 1.0
"""Weight of the search for statements beside the question's own."""

_OFFICES = frozenset({"司徒", "司马", "太史"})
"""Surnames that are offices, too."""
_VERBS = frozenset("于向和同从谢赖令问应时与")
"""Surnames that are verbs or prepositions, too."""
_RARELY = 4
_ONE_FAMILY = frozenset({"父", "兄", "弟", "姐", "妹", "叔", "侄", "祖父", "孙", "子", "女"})
"""Kin of one surname."""
_NO_PLACE = "且这某吾乃是本原曰此二三两几众等其贵敌别他我取有无"
_MARK = r"[，,：:、“”\"「」\s]"


@dataclass(frozen=True, slots=True, order=True)
class Stated:
    """Value at `start` of a sentence (by row) that states the fact; lower `rank` is surer."""

    rank: int
    row: int
    start: int
    text: str


def fact_searches(question: str, _: FirstPassages) -> ExpandedQuery:
    """Expand a question for a fact, or who a person is, by the words in which a text says it."""
    itself = Expansion(keyword=question, dense=question, weight=1.0, kind="question")
    asked = fact_question(question) or _introduction(question)
    texts = _statements(asked) if asked else []
    weight = SEARCHED
    stated = (Expansion(keyword=" ".join(texts), dense="", weight=weight, kind="mqe"),)
    return ExpandedQuery(expansions=(itself, *(stated if texts else ())))


def _introduction(question: str) -> FactQuestion | None:
    person = asked_person(question)
    return FactQuestion(person, "字") if person else None


def _statements(asked: FactQuestion) -> list[str]:
    """Return how a text may state a fact, as words to search for."""
    full, given = asked.person, given_name(asked.person) or asked.person
    if asked.relation in KIN:
        _, kin, inverse = (re.sub(r"\[[^]]*\]\??", "", each) for each in KIN[asked.relation])
        if asked.inverse:
            kin, inverse = inverse, kin
        words = [word for word in kin.split("|") if word]
        back = [word for word in inverse.split("|") if word]
        return [
            *(f"{name}{join}{word}" for word in words for name in (full, given) for join in "之的"),
            *(f"{given}{word}" for word in words),
            *(f"之{word}{full}" for word in back),
            *(f"{word}名{given}" for word in ("", "小", "乳", "取")),
            *((f"生{given}",) if asked.relation in {"父", "母"} else ()),
            *((f"{full}结为兄弟",) if asked.relation == SWORN else ()),
            *(f"{word}姓{full[: -len(given)]}名{given}" for word in back if full != given),
        ]
    if asked.inverse:
        return [f"字{full}", f"号{full}", f"名{full}"]
    surname = full[: len(full) - len(given)]
    named = [f"姓{surname}名{given}", f"名{given}"] if surname else []
    if asked.relation in OTHER_NAMES:
        return [*named, f"{full}字", f"{given}字", asked.relation]
    if asked.relation == "籍贯":
        return [*named, f"{full}人也", "人也姓" + surname]
    return [f"封{full}为", f"拜{full}为", f"以{full}为", f"封{given}为", f"拜{given}为"]


def stated_facts(
    asked: FactQuestion, sentences: Sequence[str], passages: Sequence[Passage]
) -> list[Stated]:
    """Return what the sentences state of the fact, surest first; ties by position."""
    text = simplified("\n".join(passage.text for passage in passages))
    forms = _forms(asked.person, passages, text)
    name = _named(forms)
    found: dict[tuple[int, int], Stated] = {}
    for row, sentence in enumerate(map(simplified, sentences)):
        said = [*_read(asked, name, sentence, text), *_read_on(asked, name, sentence, text)]
        for rank, start, value in said:
            if value in forms and asked.relation not in OTHER_NAMES:
                continue
            stated = Stated(rank, row, start, sentences[row][start : start + len(value)])
            found[row, start] = min(stated, found.get((row, start), stated))
    return sorted(found.values())


def mentions_fact(
    asked: FactQuestion, sentences: Sequence[str], passages: Sequence[Passage]
) -> bool:
    """Check whether any sentence has the person near a word for the relation or its inverse."""
    if asked.relation not in KIN:
        return True
    forms = _forms(asked.person, passages, simplified("\n".join(p.text for p in passages)))
    name = _named([form for form in forms if len(form) > 1])
    _, kin, inverse = KIN[asked.relation]
    kin = inverse if asked.inverse else kin
    long = "|".join(w for w in kin.split("|") if len(re.sub(r"\[[^]]*\]\??", "", w)) > 1)
    near = re.compile(
        rf"{name}(?:[之的]?(?:{kin})|[^。！？；]{{0,{NEAR}}}(?:{long or kin}))"
        rf"|(?:{kin}){name}|{name}[^。！？；]{{0,40}}其(?:{kin})"
    )
    return any(near.search(sentence) for sentence in map(simplified, sentences))


def facts_first(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Order passages so that those that state the fact asked for come first, surest first."""
    asked = fact_question(question)
    if asked is None:
        return list(passages)
    said = [
        (row, sentence)
        for row, passage in enumerate(passages)
        for sentence in _SENTENCE.findall(passage.text)
    ]
    found = stated_facts(asked, [sentence for _, sentence in said], passages)
    rows = dict.fromkeys(said[each.row][0] for each in found)
    return [passages[row] for row in dict.fromkeys((*rows, *range(len(passages))))]


def _forms(person: str, passages: Sequence[Passage], text: str) -> list[str]:
    """Return the ways in which the passages name a person, longest first."""
    introduced = []
    for passage in passages:
        shadow = simplified(passage.text)
        segment = Segment(0, len(shadow), shadow, True, ())
        introduced += [{i.key, i.second_key} for i in name_introductions(segment, {person})]
    forms: set[str] = set()
    more = {person}
    while more != forms:
        forms = more
        more = forms.union(
            *(names for names in introduced if names & forms),
            {given_name(full) for full in forms if _is_known_by_given(full, text)},
        )
    return sorted(forms, key=lambda each: (-len(each), each))


def _is_known_by_given(full: str, text: str) -> bool:
    """Check that the text has a person, and nobody else of that given name."""
    given = given_name(full)
    if not given or (full not in text and f"姓{han_surname(full)}" not in text):
        return False
    others = set(re.findall(rf"[{HAN}]{given}", text)) - {full} if len(given) > 1 else set()
    return not any(
        given_name(other) == given
        and len(other) == len(full)
        and other[0] not in _VERBS
        and _RARELY * text.count(other) >= text.count(full)
        for other in others
    )


def _named(forms: Sequence[str]) -> str:
    """Return an expression for any form; a single character only without a surname before it."""
    surnames = "".join(sorted(each for each in SURNAMES if len(each) == 1))
    long = [re.escape(form) for form in forms if len(form) > 1]
    short = [rf"(?<![{surnames}]){re.escape(form)}" for form in forms if len(form) == 1]
    return f"(?:{'|'.join(long + short)})"


_SENTENCE = re.compile(r"[^。！？；\n]+[。！？；]?")
_BEFORE_IT = 120
"""Characters before a sentence in which its person is looked for."""
_LATER = 20
"""Rank of what a sentence states of the person of the one before."""
_BEHIND = rf"(?P<behind>[{HAN}·]{{2,8}})"
_BEFORE = rf"(?P<before>[{HAN}·]{{2,10}}?)"
_OF = "[之的]?"
_IS = "(?:乃是?|是|即是?|为|原是|本是|系|正是|便是|就是)"
_GAP = rf"(?:{_MARK}{{0,2}}(?:单?名[叫为]?|叫做?|唤做?|{_IS}|姓名)?{_MARK}?)"


def _read(
    asked: FactQuestion, name: str, sentence: str, text: str
) -> Iterator[tuple[int, int, str]]:
    if asked.relation in KIN:
        for rank, form in enumerate(_kin_forms(asked, name)):
            for each in _spans(form, sentence, text, rank, family=han_surname(asked.person)):
                if (
                    asked.relation not in _PARENTS
                    or asked.inverse
                    or _may_be(asked.relation, each[2], form)
                ):
                    yield each
        return
    if asked.relation in OTHER_NAMES and asked.inverse:
        label = "|".join(OTHER_NAMES.values())
        for match in re.finditer(
            rf"(?:姓(?P<sur>[{HAN}]{{1,2}}){_MARK}?名(?P<giv>[{HAN}]{{1,2}})|{_BEFORE})"
            rf"{_MARK}?(?:{label})[为曰作叫是]?{_MARK}?{name}",
            sentence,
        ):
            if match["sur"]:
                start = match.start("sur") - 1
                yield 0, start, sentence[start : match.end("giv")]
            elif value := _ending(match["before"], text):
                yield 0, match.end("before") - len(value), value
        return
    for rank, form in enumerate(_value_forms(asked, name)):
        yield from _spans(form, sentence, text, rank)


_BORN = (
    r"(?:[只仅止]?有|[亦又也]?生[得下了有]?|[幸遗现]存|遗下)[一二]?[子女][，,]?"
    r"(?:[乳小取学]?名|取名)(?:[唤叫]作?|为)?"
)
_NAMED_CHILD = rf"(?P<value>[{HAN}]{{1,3}}?)(?=[，,。；;、者]|$)"
_PARENT = rf"(?:^|{_MARK})(?P<before>[{HAN}]{{1,10}}?)(?:[虽已早][^。！？；，]{{0,4}})?[，,]?"


def _read_on(
    asked: FactQuestion, name: str, sentence: str, text: str
) -> Iterator[tuple[int, int, str]]:
    """Return what sentences without a subject state of the person of the sentence before."""
    if asked.inverse or (asked.relation in OTHER_NAMES):
        return
    place = text.find(sentence)
    for piece in re.finditer(r"[^。！？；\n]+", sentence):
        start = place + piece.start()
        before = text[max(0, start - _BEFORE_IT) : start]
        if not re.search(name, before):
            continue
        for rank, form in enumerate(_forms_on(asked, name, before)):
            for at, found, value in _spans(form, piece.group(), text, rank + _LATER):
                yield at, piece.start() + found, value


def _forms_on(asked: FactQuestion, name: str, before: str) -> list[str]:
    """Return expressions for a sentence that goes on about the person of the text before it."""
    last = re.split(r"[。！？；\n]+", before.rstrip("。！？；\n ”"))[-1]
    is_subject = bool(
        re.search(rf"(?:姓[{HAN}]{{1,2}}{_MARK}?名|字[{HAN}]{{2}}$)", last)
        and re.search(name, last)
    )
    if asked.relation not in KIN:
        return _value_forms(asked, "^") if is_subject else []
    kin = KIN[asked.relation].stated
    forms = [rf"^(?:{kin}){_GAP}{_BEHIND}"] if is_subject else []
    surname = han_surname(asked.person)
    if surname and asked.relation in _ONE_FAMILY:
        forms.append(
            rf"(?:^|{_MARK})[他其](?:{kin})(?P<behind>{surname}(?:(?!现任|曾)[{HAN}]){{1,2}})"
        )
    if asked.relation in {"子", "女"} and re.search(rf"(?:^|[。！？\n]).{{0,4}}{name}", before):
        forms.append(_child(asked))
    return forms


SWORN = "义兄弟"
_AND = "[并及与和同]"
"""Before 其 it joins a relative to the name in front of it: 斩许昌并其子许韶."""
_WITH = "[与和同、]"
_SWORN_TO = rf"(?P<behind>[{HAN}]{{2,4}}?)(?=[，,、等虽既结义二两三])"
_SWEAR = r"[^。！？；]{0,14}结(?:为|拜为?|义为?)(?:异姓|义)?兄弟"
_PARENTS = frozenset({"父", "母"})
_WOMAN = re.compile("(?:氏|夫人|后|公主|姨妈)$")


def _may_be(relation: str, name: str, form: str) -> bool:
    """Check the sex of who "has a child": a woman is named by her family."""
    is_woman = bool(_WOMAN.search(name))
    return not is_woman if relation == "父" else is_woman or "生" not in form


def _spans(
    form: str, sentence: str, text: str, rank: int, *, family: str = ""
) -> Iterator[tuple[int, int, str]]:
    if "(?P<value>" not in form:
        yield from _names(form, sentence, text, rank, family)
        return
    for match in re.finditer(form, sentence):
        yield rank, match.start("value"), match["value"]


def _child(asked: FactQuestion) -> str:
    return _BORN.replace("[子女]", asked.relation) + _NAMED_CHILD


def _kin_forms(asked: FactQuestion, name: str) -> list[str]:
    """Return expressions of statements, surest first; `behind` or `before` names the other one."""
    _, kin, inverse = KIN[asked.relation]
    if asked.inverse:
        kin, inverse = inverse, kin
    forms = [
        rf"{name}[之的](?:{kin}){_GAP}{_BEHIND}",
        rf"{name}(?:有[一二三四五六七两]?)?(?:{kin}){_GAP}{_BEHIND}",
        rf"{_BEFORE}[之的](?:{inverse}){_GAP}{name}",
        rf"{_BEFORE}(?:{inverse}){name}",
        rf"{_BEFORE}[之的](?:{inverse})[，,：:][^。！？；]{{0,12}}名{name}",
        rf"{name}[^。！？；]{{0,24}}?(?:{_IS}|{_MARK}){_BEFORE}[之的](?:{inverse})(?![{HAN}])",
        rf"{name}[^。！？；]{{0,24}}?(?:{_IS}|{_MARK}){_BEFORE}[之的](?:{inverse})也",
        rf"(?:^|{_MARK}){_BEHIND}{_MARK}?(?:{_IS}|{_MARK}){name}[之的](?:{kin})",
        rf"{name}(?:{_AND}|[^。！？；]{{0,40}}?(?<!{_AND}))其(?:{kin}){_GAP}{_BEHIND}",
        rf"{name}[^。！？；]{{0,40}}?[，,](?:{kin})名[叫唤]?{_BEHIND}",
        rf"{name}[{HAN}]{{1,3}}(?:{kin}){_BEHIND}",
        rf"{name}[^。！？；]{{0,40}}?[，,][{HAN}]{{0,3}}他(?:{kin}){_BEHIND}",
        rf"{_BEFORE}[之的](?:{inverse})[现世袭任]{{2}}[{HAN}]{{0,10}}{name}",
    ]
    relation = asked.relation
    forms[2:2] = _introduced(asked.person, inverse)
    if relation == SWORN:
        forms[:0] = [
            rf"{name}{_WITH}(?:[{HAN}]{{2,4}}{_WITH})?{_SWORN_TO}{_SWEAR}",
            rf"(?:^|[念{_MARK[1:]}){_BEFORE}{_WITH}(?:[{HAN}]{{2,4}}{_WITH})?{name}{_SWEAR}",
        ]
    if relation in {"父", "母"} and not asked.inverse:
        forms.insert(2, rf"{_BEFORE}生(?:下|了)?{name}")
        forms.insert(3, rf"{_PARENT}{_BORN}{name}")
    if relation in {"子", "女"} and not asked.inverse:
        forms.insert(2, rf"{name}生(?:下|了)?(?:[一二]?[子女])?{_GAP}{_BEHIND}")
        forms.insert(3, rf"{name}[^。！？；]{{0,40}}?{_child(asked)}")
    if (relation == "妻") != asked.inverse and relation in {"妻", "夫"}:
        forms[:0] = [rf"{name}(?:娶|迎娶|纳|续娶)了?{_BEHIND}", rf"{_BEFORE}嫁(?:给|与|了)*{name}"]
    elif relation in {"妻", "夫"}:
        forms[:0] = [
            rf"{name}[^。！？；，]{{0,6}}嫁(?:给|与|了)*{_BEHIND}",
            rf"{_BEFORE}娶了?{name}",
        ]
    return forms


def _introduced(person: str, inverse: str) -> list[str]:
    """Return the expression for one introduced in two parts: 董卓有一义儿，姓吕，名布."""
    family, given = han_surname(person), given_name(person)
    if not (family and given):
        return []
    named = rf"[复覆]?姓{family}{_MARK}?名{given}"
    return [rf"{_BEFORE}[之的]?(?:有[一二]?)?(?:{inverse}){_MARK}{{0,2}}{named}"]


def _value_forms(asked: FactQuestion, name: str) -> list[str]:
    value = rf"(?P<value>[{HAN}]{{1,4}}?)(?=[，,。；;、：:！？”」）)]|号|$)"
    if asked.relation in OTHER_NAMES:
        label = OTHER_NAMES[asked.relation]
        between = rf"[^。！？；]{{0,30}}?{_MARK}" if asked.relation != "字" else rf"{_MARK}"
        return [
            rf"{name}{_MARK}?(?:{label})[为曰作叫是]?[“「]?{value}",
            rf"{name}{between}(?:{label})[为曰作叫是]?[“「]?{value}",
        ]
    if asked.relation == "籍贯":
        syllable = rf"(?![{_NO_PLACE}])[{HAN}]"
        place = rf"(?P<value>(?:{syllable}){{2,8}}?)人(?:也|氏|士)?(?=[，,。；;]|$)"
        return [
            rf"(?:乃|是|^|{_MARK})[某吾]?(?:乃|是)?{place}"
            rf"{_MARK}?(?:[复覆]?姓[{HAN}]{{1,2}}{_MARK}?名)?{name}",
            rf"{name}(?:[^。！？；]{{0,40}}?{_MARK})?(?:本贯|祖籍|原籍|原系|世居){place}",
            rf"{name}(?:[^。！？；]{{0,16}}?{_MARK}|{_IS})[某吾]?(?:乃|是|本|原)?{place}",
        ]
    office = rf"(?P<value>[{HAN}]{{2,8}}?)(?=[，,。；;、：:！？”\s]|以|之职|$)"
    return [
        rf"(?:{APPOINTED}){name}[等]?(?:为|做|作|任){office}",
        rf"{name}(?:被|曾)?(?:{APPOINTED})(?:{APPOINTED})?(?:为|做|任)?{office}",
        rf"以{name}为{office}",
        rf"{name}[^。！？；]{{0,20}}?(?:{APPOINTED}|现|官)(?:为|至|拜|任){office}",
    ]


def _names(
    form: str, sentence: str, text: str, rank: int, family: str
) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(form, sentence):
        groups = match.groupdict()
        if groups.get("behind"):
            given = match["behind"][:2]
            is_given = len(given) == 2 and family and family + given in text
            if value := _beginning(match["behind"], text) or (given if is_given else ""):
                yield rank, match.start("behind"), value
        elif groups.get("before"):
            run = match["before"]
            is_given = len(run) == 1 and family and family + run in text
            if value := run if is_given else _ending(run, text):
                yield rank, match.end("before") - len(value), value


def _likely(names: Sequence[str], text: str) -> str:
    """Return the longest name that stands in the text about as often as a shorter one."""
    best = ""
    plain = [name for name in names if name[:2] not in _OFFICES] or names
    for name in sorted(plain, key=len):
        if not best or 2 * text.count(name) > text.count(best):
            best = name
    return best


def _beginning(run: str, text: str) -> str:
    """Return the name that a run of characters begins with, or ""."""
    if dotted := re.match(rf"[{HAN}]+(?:·[{HAN}]+)+", run):
        return dotted.group()
    if clan := re.match(rf"(?:(?![皆所其])[{HAN}]){{1,2}}(?:氏|夫人|太后|皇后|公主)", run):
        return clan.group()
    whole = [run[:n] for n in (2, 3, 4) if len(run) >= n and _is_name(run[:n])]
    return _likely(whole, text)


def _ending(run: str, text: str) -> str:
    """Return the name that a run of characters ends with, or ""."""
    if clan := re.search(rf"[{HAN}](?:氏|夫人|太后|皇后)$", run):
        return clan.group()
    return _likely([run[-n:] for n in (2, 3, 4) if len(run) >= n and _is_name(run[-n:])], text)


def _is_name(name: str) -> bool:
    if len(name) == 2 and name[1] == "儿":
        return True
    given = given_name(name)
    return (
        bool(given)
        and len(given) <= 2
        and len(name) <= len(han_surname(name)) + 2
        and not set(name) & set("的之了是为不也乃曰其此皆所原亦遂")
    )
