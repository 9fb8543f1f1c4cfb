"""Questions over two places or the whole collection, and questions without an answer.

All are made of what single sentences gave: a comparison of two dated events with one verb, a name
replaced by what another place says of it (two hops), a name put where nothing is said of it
(unanswerable).
"""

from __future__ import annotations

import calendar
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import rjieba

from graph.text.cjk import has_han

from ...prompts import Language
from ...storage.tokenization import tokens
from ..datasets import GoldSpan
from ..gold import TWO_FACTS, TWO_SECTIONS, UNANSWERABLE, GoldQuestion, gold_question
from .english import Fact
from .structure import SourceDocument

MAX_WORDS = 12
"""Words of a question that is put to another name."""
_COMMON_EVENTS = """
bear die found establish open publish release launch commission complete build sign begin
join retire appoint elect marry graduate form create
"""
COMMON_EVENTS = frozenset(_COMMON_EVENTS.split())
_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d{2})(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFact:
    """A fact and the sentence that it stands in."""

    fact: Fact
    span: GoldSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Designation:
    """A phrase that means `name` without naming it, and the sentence that says so."""

    name: str
    phrase: str
    span: GoldSpan
    language: Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that a name did or met in one year, and the sentence that says so."""

    verb: str
    is_person: bool
    name: str
    year: int
    span: GoldSpan
    language: Language = "en"


def events(facts: Sequence[PlacedFact], births: Sequence[GoldQuestion]) -> Iterator[Event]:
    """Yield the dated events of facts that many names have, and births."""
    for one in facts:
        fact, year = one.fact, _YEAR.search(one.fact.date)
        if year and fact.lemma in COMMON_EVENTS and " " in fact.subject:
            words = fact.event.split()
            verb = " ".join(words[:2] if words[0] in ("was", "were") else words[:1])
            name = re.sub(r"^The\b", "the", fact.subject)
            yield Event(
                verb=verb, is_person=fact.is_person, name=name, year=int(year[1]), span=one.span
            )
    for question in births:
        born, year = _BORN.fullmatch(question.text), _YEAR.search(question.answers[0])
        if born and year and "," not in question.text:
            yield Event(
                verb="was born", is_person=True, name=born["en"] or born["zh"], year=int(year[1]),
                span=question.query.gold_spans[0], language=question.language,
            )  # fmt: skip


_BORN = re.compile(r"When was (?P<en>.+) born\?|(?P<zh>.+)出生于哪一年？")


def comparisons(found: Iterable[Event]) -> Iterator[GoldQuestion]:
    """Yield questions which of two and of four events came first, each event used once."""
    by_verb: dict[tuple[str, bool, Language], list[Event]] = defaultdict(list)
    for one in found:
        by_verb[one.verb, one.is_person, one.language].append(one)
    for _, some in sorted(by_verb.items()):
        while len(some) > 1:
            for size in (2, SEVERAL):
                group, some = some[:size], some[size:]
                years = sorted(one.year for one in group)
                distinct = len({one.name for one in group}) == size == len(group)
                if distinct and years[0] != years[1]:
                    yield _compared(group)


SEVERAL = 4
"""Number of events of a question for the first of several."""


def _compared(group: Sequence[Event]) -> GoldQuestion:
    first = min(group, key=lambda one: one.year)
    names, several = [one.name for one in group], len(group) > 2
    if first.language == "zh":
        text = (
            f"{'、'.join(names)}中谁出生得最早？"
            if several
            else f"{'和'.join(names)}谁出生得更早？"
        )
    else:
        opening = f"{'Who' if first.is_person else 'Which'} {first.verb}"
        opening += " first" if several else " earlier"
        text = f"{opening}, {', '.join(names[:-1])} or {names[-1]}?"
    return gold_question(
        text,
        kind="superlative" if several else "comparison",
        language=first.language,
        spans=[one.span for one in group],
        answers=[first.name],
        hops=len(group),
        made=f"{len(group)} dated events with one verb",
    )


def definitions_of(questions: Iterable[GoldQuestion]) -> list[Designation]:
    """Return the definitions of names as phrases that mean them."""
    found: list[Designation] = []
    for question in questions:
        name, phrase = _defined(question)
        if phrase:
            found.append(
                Designation(
                    name=name,
                    phrase=phrase,
                    span=question.query.gold_spans[0],
                    language=question.language,
                )
            )
    return sorted(found, key=lambda one: (one.name, one.span.document_id, one.span.start))


_BRIDGES: tuple[tuple[str, str], ...] = (
    (r"Who (?P<s>.+)\?", "the person who {}"),
    (r"Which organisation (?P<s>.+)\?", "the organisation that {}"),
    (r"(?:According to “[^”]+”, )?[Ww]hat is the (?P<s>[^?]+ of [^?]+)\?", "the {}"),
    (r"What does (?P<d>“[^”]+”) give as (?P<s>“[^”]+”)\?", "the person given as {} in {d}"),
    (r"(?P<s>[^，根]+的[^，]+)是(?:谁|什么)？", "{}"),
    (r"谁(?P<s>.+)？", "{}的人"),
)
"""Questions whose answer is a name, and the phrase that each makes of that name."""
_NAME = re.compile(
    r"(?:the )?(?P<n>[A-Z][\w'’.-]+(?: (?:&|of|de|van|von)| [A-Z][\w'’.-]*)+)(?=,|$)"
)


def bridges(questions: Sequence[GoldQuestion], people: Collection[str]) -> list[Designation]:
    """Return phrases for names that a question asks for: *the maker of Old Bess*."""
    found = []
    for one in questions:
        if one.kind not in ("who", "which", "table", "field"):
            continue
        match = _NAME.match(one.answers[0])
        name = match["n"] if match else one.answers[0]
        chinese = has_han(name)
        if not (match or name in people) or (one.kind == "field" and name not in people):
            continue
        for pattern, phrase in _BRIDGES:
            said = re.fullmatch(pattern, one.text)
            if said is not None and chinese == (one.language == "zh"):
                text = phrase.format(said["s"], d=said.groupdict().get("d"))
                span = one.query.gold_spans[0]
                found.append(Designation(name=name, phrase=text, span=span, language=one.language))
                break
    return found


_DEFINED_EN = re.compile(r"(?:What|Who) (?:is|are|was|were) (?:the )?(?P<s>.+)\?")
_DEFINED_ZH = re.compile(r"(?P<s>.+)是(?:什么|谁)？")


def _defined(question: GoldQuestion) -> tuple[str, str]:
    """Return the name that a definition is of and the phrase that can stand for it."""
    pattern = _DEFINED_ZH if question.language == "zh" else _DEFINED_EN
    match = pattern.fullmatch(question.text)
    value = question.answers[0]
    if match is None or match["s"].casefold() in value.casefold():
        return "", ""
    if question.language == "zh":
        phrase = re.sub(r"^一[个种座部位所家名条款支队间本首届份]", "", value)
        return match["s"], phrase if len(phrase) >= 8 and "的" in phrase else ""
    if not re.match(r"(?:an?|the) ", value):
        return "", ""
    phrase = re.sub(r"^an? ", "the ", value)
    specific = len(re.findall(r"\b[A-Z][\w-]+|\d{4}", phrase)) > 0
    return match["s"], phrase if specific and 4 <= len(phrase.split()) <= 16 else ""


PART_KINDS = ("when", "where", "how many", "how much", "who", "which", "what is", "table")
_APART = 1_000
"""Least characters between two spans of one document that are asked for together."""


_LOOKED_AT = 200
"""Questions looked at to find the second fact for one; a table of one value has none."""


def two_facts(questions: Sequence[GoldQuestion]) -> Iterator[GoldQuestion]:
    """Yield questions for two facts that stand in two places, each used once.

    Two questions name the same thing, two documents have the same label, or one document speaks of
    two things under two headings.
    """
    groups: dict[str, list[GoldQuestion]] = defaultdict(list)
    for one in questions:
        for key in _keys(one):
            groups[key].append(one)
    used: set[str] = set()
    for _, some in sorted(groups.items(), key=lambda each: (len(each[1]), each[0])):
        for place, one in enumerate(some, 1):
            following = some[place : place + _LOOKED_AT]
            free = (o for o in following if o.text not in used and _are_apart(one, o))
            other = next(free, None) if one.text not in used else None
            if other is not None:
                used |= {one.text, other.text}
                yield _joined(one, other)


def _keys(question: GoldQuestion) -> list[str]:
    """Return what a question can be joined by: its label, its document or the names in it."""
    source = _SOURCE.match(question.text)
    if question.kind == "field":
        return [_QUOTED.sub("", question.text, count=1)]
    if question.kind == "section":
        return [f"section {question.query.documents[0]}"]
    if question.kind not in PART_KINDS:
        return []
    if source is not None:
        return [f"{source.group()}{question.kind == 'table'}"]
    if question.language == "zh":
        return [word for word, tag in rjieba.tag(question.text) if tag in _HAN_TAGS and word[1:]]
    return [name for name in _NAME_WITHIN.findall(question.text) if name not in _CALENDAR]


_NAME_WITHIN = re.compile(r"(?<=[a-z,] )[A-Z][\w'’-]{2,}(?: [A-Z][\w'’-]+)*\b(?! [A-Z])")
_SOURCE = re.compile(r"According to “[^”]*”, |根据(?:“[^”]*”|《[^》]*》)，")
_CALENDAR = frozenset((*calendar.month_name, *calendar.day_name))
_HAN_TAGS = ("nr", "ns", "nt", "nz", "nrt")


def _are_apart(one: GoldQuestion, other: GoldQuestion) -> bool:
    first, second = one.query.gold_spans[0], other.query.gold_spans[0]
    apart = first.document_id != second.document_id or abs(first.start - second.start) > _APART
    return (
        apart
        and one.language == other.language
        and (one.kind == "section") == (other.kind == "section")
        and (not one.answers or one.answers != other.answers)
    )


def _joined(one: GoldQuestion, other: GoldQuestion) -> GoldQuestion:
    chinese = one.language == "zh"
    mark = "和" if chinese else " and "
    if one.kind in ("field", "section"):
        place = 0 if one.kind == "field" or chinese else -1
        text = one.text.replace(cited := _cited(one, place), cited + mark + _cited(other, place))
        if one.kind == "field":
            text = text.replace("What does ", "What do ").replace(" give as ", " each give as ")
            text = text.replace("是什么？", "分别是什么？")
    else:
        second = _SOURCE.sub("", other.text, count=1)
        second = second if chinese else second[0].lower() + second[1:]
        text = f"{one.text.rstrip('?？')}{'，' if chinese else ', and '}{second}"
    return gold_question(
        text,
        kind=TWO_SECTIONS if one.kind == "section" else TWO_FACTS,
        language=one.language,
        spans=[*one.query.gold_spans, *other.query.gold_spans],
        points=[*(one.points or one.answers[:1]), *(other.points or other.answers[:1])],
        hops=2,
        made=f"{one.kind} and {other.kind} of one name, label or document, in two places",
    )


def _cited(question: GoldQuestion, place: int) -> str:
    return str(_QUOTED.findall(question.text)[place])


_QUOTED = re.compile(r"“[^”]*”|《[^》]*》")
HOP_KINDS = ("when", "where", "how many", "how much", "why", "which", "who", "table")


def two_hops(
    named: Sequence[Designation], questions: Sequence[GoldQuestion]
) -> Iterator[GoldQuestion]:
    """Yield questions about a name that only another place identifies."""
    by_name: Mapping[str, list[Designation]] = defaultdict(list)
    for one in named:
        by_name[one.name].append(one)
    names = sorted(
        (name for name in by_name if len(name) >= 3), key=lambda name: (-len(name), name)
    )
    for question in questions:
        if question.kind not in HOP_KINDS or len(question.query.gold_spans) != 1:
            continue
        bare = _QUOTED.sub("", question.text)
        name = next((name for name in names if _stands_in(name, bare)), "")
        for one in by_name[name][:1] if name else ():
            own = question.query.gold_spans[0]
            held = question.answers[0].casefold() in one.phrase.casefold()
            if one.span == own or one.language != question.language or held:
                continue
            text = _replaced(question.text, name, one.phrase)
            if tokens(question.answers[0])[:1] and text != question.text:
                yield gold_question(
                    text,
                    kind="two hops",
                    language=question.language,
                    spans=[one.span, own],
                    answers=question.answers,
                    hops=2,
                    made=f"{question.kind}, its name replaced by what another sentence says of it",
                )


def _stands_in(name: str, text: str) -> bool:
    at = text.find(name)
    if at < 0:
        return False
    before, after = text[:at], text[at + len(name) :]
    bounded = not any(c.isalnum() or c in "'’-" for c in before[-1:] + after[:1])
    part = re.search(r"\s[A-Z]\S* $", before) or re.match(r" (?:of )?[A-Z]", after)
    if has_han(name):
        return not before or before[-1] in "，、："
    return bounded and not part


def _replaced(text: str, name: str, phrase: str) -> str:
    """Replace the last place of the name: the first may be a document's title."""
    text = text.replace(f"the {name}", name)
    before, _, after = text.rpartition(name)
    return f"{before}{phrase}{after}"


_OF_LIVES = frozenset(tokens("born die 出生于 逝世于"))
"""Words of what a document may say by dates in brackets alone."""


def unanswerables(
    questions: Sequence[GoldQuestion],
    subjects: Mapping[str, str],
    *,
    says: Callable[[str, Sequence[str]], bool],
) -> Iterator[GoldQuestion]:
    """Yield questions with another name of the same kind of which the library does not say this.

    `subjects` gives the kind of each name; `says(name, words)` tells whether a chunk that holds
    the name holds half of the words too.
    """
    by_kind: dict[str, list[str]] = defaultdict(list)
    for name, kind in sorted(subjects.items()):
        by_kind[kind].append(name)
    uses: Counter[str] = Counter()
    for number, question in enumerate(questions):
        if question.kind not in ("when", "where", "how many", "how much"):
            continue
        if _QUOTED.search(question.text) or len(question.text.split()) > MAX_WORDS:
            continue
        name = next((n for n in subjects if _stands_in(n, question.text)), "")
        others = by_kind[subjects[name]] if name else []
        words = [word for word in tokens(question.text) if word not in tokens(name)]
        lives = set(words) & _OF_LIVES
        if not name or (lives and (question.kind == "when" or set(words) - _OF_LIVES)):
            continue
        for step in range(min(8, len(others))):
            other = others[(number * 7 + step) % len(others)]
            if uses[other] or other == name or _shares_word(other, question.text):
                continue
            if not says(other, words):
                uses[other] += 1
                yield gold_question(
                    question.text.replace(name, other, 1),
                    kind=UNANSWERABLE,
                    language=question.language,
                    made=f"{question.kind}, with a name of which it is not said",
                )
                break


def absent(
    questions: Sequence[GoldQuestion], documents: Sequence[SourceDocument]
) -> Iterator[GoldQuestion]:
    """Yield questions for what a document says about another's heading, having no word of it."""
    named = {one.id: one for one in documents if one.is_named}
    long = [one for one in named.values() if len(one.text) >= _LEAST_DOCUMENT]
    held = {one.id: set(tokens(one.text)) for one in long}
    for number, question in enumerate(questions):
        own = named.get(next(iter(question.query.documents), ""))
        if question.kind != "section" or own is None:
            continue
        heading = _QUOTED.findall(question.text)[0 if own.language == "zh" else -1]
        words = set(tokens(heading))
        others = [one for one in long if one.language == own.language and one != own]
        some = others[number % max(1, len(others)) :][:_OTHERS]
        lacking = [one for one in some if held[one.id] and words and not words & held[one.id]]
        if lacking and not _VAGUE.match(heading):
            alike = set(tokens(own.text))
            other = max(lacking, key=lambda one: len(alike & held[one.id]) / len(held[one.id]))
            yield gold_question(
                question.text.replace(own.cited, other.cited, 1),
                kind=UNANSWERABLE,
                language=own.language,
                made="a heading, put to a document that has no word of it",
            )


_OTHERS = 100
"""Documents among which the one most like a heading's own is chosen."""
_VAGUE = re.compile(r"“?(?:What|An?|The|For|More|How)\b")
_LEAST_DOCUMENT = 1_500
"""Least characters of a document that is asked for what it does not hold."""


def _shares_word(name: str, text: str) -> bool:
    return bool(set(tokens(name)) & set(tokens(text)))
