"""Questions over two places or the whole collection, and questions without an answer.

All are made of what single sentences gave: a comparison of two dated events with one verb, a name
replaced by what another place says of it (two hops), a name put where nothing is said of it
(unanswerable).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.text.cjk import has_han

from ...prompts import Language
from ...storage.tokenization import tokens
from ..datasets import GoldSpan
from ..gold import UNANSWERABLE, GoldQuestion, gold_question
from .english import Fact

MAX_WORDS = 12
"""Words of a question that is put to another name."""
_COMMON_EVENTS = """
bear die found establish open publish release launch commission complete build sign begin
join retire appoint elect marry graduate form create
"""
COMMON_EVENTS = frozenset(_COMMON_EVENTS.split())
_YEAR = re.compile(r"\b(1\d{3}|20\d{2})\b")
_FEWEST_WORDS = 5


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


def comparisons(facts: Sequence[PlacedFact]) -> Iterator[GoldQuestion]:
    """Yield questions which of two events came first, each fact used once."""
    by_event: dict[tuple[str, bool, str], list[PlacedFact]] = defaultdict(list)
    for one in facts:
        fact = one.fact
        if fact.date and fact.lemma in COMMON_EVENTS and " " in fact.subject:
            words = fact.event.split()
            verb = " ".join(words[:2] if words[0] in ("was", "were") else words[:1])
            by_event[fact.lemma, fact.is_person, verb].append(one)
    for (_, person, verb), some in sorted(by_event.items()):
        for one, other in zip(some[::2], some[1::2], strict=False):
            years = [_YEAR.search(each.fact.date) for each in (one, other)]
            names = [re.sub(r"^The\b", "the", each.fact.subject) for each in (one, other)]
            if None in years or names[0] == names[1]:
                continue
            first, second = (int(year.group()) for year in years if year)
            if first != second:
                yield gold_question(
                    f"{'Who' if person else 'Which'} {verb} earlier, {names[0]} or {names[1]}?",
                    kind="comparison",
                    language="en",
                    spans=[one.span, other.span],
                    answers=[names[0] if first < second else names[1]],
                    hops=2,
                    made="two dated sentences with one verb",
                )


def designations(
    facts: Sequence[PlacedFact], definitions: Sequence[GoldQuestion]
) -> list[Designation]:
    """Return phrases for names: of people what they did, of anything its definition.

    A name with several is left out unless one document alone speaks of it.
    """
    found: list[Designation] = []
    for one in facts:
        fact = one.fact
        named = re.search(r"(?<!^)\b[A-Z][a-z]+", fact.relative) is not None
        long_enough = len(fact.relative.split()) >= _FEWEST_WORDS
        if not (fact.is_person and named and long_enough and " " in fact.subject):
            continue
        if fact.lemma != "be":
            phrase = f"the person who {fact.relative}"
            found.append(
                Designation(name=fact.subject, phrase=phrase, span=one.span, language="en")
            )
    for question in definitions:
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


_QUOTED = re.compile(r"“[^”]*”|《[^》]*》")
HOP_KINDS = ("when", "where", "how many", "how much", "table")


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
    part = re.search(r"\s[A-Z]\S* $", before) or re.match(r" [A-Z]", after)
    if has_han(name):
        return not before or before[-1] in "，、："
    return bounded and not part


def _replaced(text: str, name: str, phrase: str) -> str:
    """Replace the last place of the name: the first may be a document's title."""
    text = text.replace(f"the {name}", name)
    before, _, after = text.rpartition(name)
    return f"{before}{phrase}{after}"


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


def _shares_word(name: str, text: str) -> bool:
    return bool(set(tokens(name)) & set(tokens(text)))
