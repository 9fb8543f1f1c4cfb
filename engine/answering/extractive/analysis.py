"""Analysis of a question with its passages: sentences selected, and the short answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...prompts import language_of
from ...retrieval.passages import Sentence
from ...storage.tokenization import TokenWeight
from ...types import Passage
from ..introductions import introduction
from .answer_spans import Candidate, Span, rank_spans
from .block_candidates import Reader, read_places
from .chinese.facts import Stated
from .chinese.known_as import KnownAs
from .chinese.short_answers import LEAST_CONFIDENCE, bounds_of_short, is_short_answer
from .comparison import TwoSidedComparison, compare_sides
from .evidence import SubjectBinding, score_subject_binding
from .intent import asked_person, is_defined_by
from .question_type import QuestionType
from .read_spans import SpanReader, rank_read_spans, read_candidates
from .sentence_scoring import (
    ScoredSentence,
)
from .sentence_selection import (
    SURE_WHEN_READ,
    Unit,
    chain_text,
    read_shares,
    select_sentences,
    sentence_shares,
    sentence_units,
    with_adjoining,
    with_beside,
)

SHOWN_OF = 3
"""The short answer of a Chinese question is one of so many spans, the likeliest."""
STATED = 0.8
"""Probability that a fact is as the sentence says that states it."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Question and its analysis; `rows` are the selected sentences in reading order."""

    question: str
    asked: QuestionType
    wanted: Mapping[str, float]
    passages: Sequence[Passage]
    weighed: list[ScoredSentence]
    rows: list[int]
    span: Candidate | None
    compared: TwoSidedComparison | None
    units: Sequence[Unit | None] = ()

    @property
    def sentences(self) -> list[Sentence]:
        """Return the selected sentences in reading order."""
        return [self.weighed[row].sentence for row in self.rows]

    @property
    def told(self) -> list[Sentence]:
        """Return the selected sentences, and behind them all others of their units."""
        rows = with_beside(self.rows, np.zeros(len(self.weighed)), self.units, most=None)
        return [self.weighed[row].sentence for row in rows]

    @property
    def is_chain(self) -> bool:
        """Check that a sentence of another document leads to the first one."""
        hop = self.weighed[self.rows[0]].hop
        if hop is None:
            return False
        first, leading = (self.weighed[row].sentence.passage for row in (self.rows[0], hop))
        return self.passages[first].document_id != self.passages[leading].document_id

    @property
    def is_decided(self) -> bool:
        """Check for a comparison that came out."""
        compared = self.compared
        return compared is not None and (compared.verdict is not None or compared.is_choice)


def analyse(
    question: str,
    asked: QuestionType,
    passages: Sequence[Passage],
    weighed: list[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    limit: int,
    sure: float,
    read: Reader | None,
    types: Mapping[str, str],
    in_units: bool = False,
) -> Analysis:
    """Select sentences and the short answer; `in_units`: with what belongs to each."""
    compared = compare_sides(
        question,
        [each.sentence for each in weighed],
        passages,
        wanted=wanted,
        scores=[each.score for each in weighed],
    )
    span = None
    units: Sequence[Unit | None] = ()
    if compared is not None and (compared.verdict is not None or compared.is_choice):
        rows = _both(compared, limit=limit)
    else:
        spans = rank_spans(question, weighed, asked=asked, wanted=wanted)
        share = sentence_shares(weighed, spans)
        if read is not None:
            places = None
            if in_units and asked.language == "en":
                units = sentence_units(weighed, passages)
                places = read_places(question, passages, weighed, wanted=wanted, read=read)
            share = read_shares(
                question, weighed, share, passages, read, units=units, places=places
            )
            sure = max(sure, SURE_WHEN_READ[asked.language])
        rows = select_sentences(
            weighed, share, wanted=wanted, limit=limit, enough=sure, units=units
        )
        shown = [each for each in spans if each.row in rows]
        if asked.language == "zh":
            rows = with_adjoining(rows, weighed, passages)
        if isinstance(read, SpanReader):
            beside = with_beside(rows, share, units)
            chains = {row: chain_text(weighed, row, passages) for row in beside}
            found, matrix = read_candidates(
                question, weighed, chains, asked=asked, wanted=wanted, reader=read, types=types
            )
            shown = rank_read_spans(found, matrix, kind=asked.kind)
        pages = _named_pages(weighed, wanted)
        shown = [each for each in shown if not _is_of_another(weighed[each.row], pages)]
        span = _shown(question, asked, shown, weighed)
        if span is not None and span.row not in rows:  # it stands beside the selected one
            rows = [span.row if units[row] == units[span.row] else row for row in rows]
    return Analysis(question, asked, wanted, passages, weighed, rows, span, compared, units)


def _named_pages(
    weighed: Sequence[ScoredSentence], wanted: Mapping[str, float]
) -> list[frozenset[str]]:
    """Return the titles, of two words at least, that a question names whole."""
    titles = {each.sentence.title for each in weighed}
    return [title for title in titles if len(title) > 1 and title <= wanted.keys()]


def _is_of_another(one: ScoredSentence, pages: Sequence[frozenset[str]]) -> bool:
    """Check for a sentence on another page than the named ones that says nothing of them.

    *The institute has 130 staff* is no answer for a station. What another sentence leads to may be.
    """
    if not pages or one.hop is not None or one.sentence.title in pages:
        return False
    said = one.sentence.terms | one.sentence.title
    return all(said.isdisjoint(title) for title in pages)


def _shown(
    question: str,
    asked: QuestionType,
    spans: Sequence[Candidate],
    weighed: Sequence[ScoredSentence],
) -> Candidate | None:
    """Return the likeliest span; for a Chinese question one in the form asked for."""
    if asked.language != "zh":
        return next(iter(spans), None)
    for each in spans[:SHOWN_OF]:
        if each.confidence < LEAST_CONFIDENCE:
            continue
        sentence = weighed[each.row].sentence.text
        start, end = bounds_of_short(sentence, each.span.start, each.span.end, question, asked)
        if is_short_answer(sentence[start:end], question, asked):
            span = Span(start, end, each.span.kind)
            return replace(each, span=span, text=sentence[start:end])
    return None


def stating(read: Analysis, facts: Sequence[Stated], *, limit: int) -> Analysis:
    """Replace the selection by the sentences that state the fact asked for."""
    first = facts[0]
    rows = list(dict.fromkeys(each.row for each in facts if each.text == first.text))[:limit]
    span = Span(first.start, first.start + len(first.text), "name")
    stated = Candidate(row=first.row, span=span, text=first.text, share=1.0, confidence=STATED)
    return replace(read, rows=rows, span=stated, compared=None)


def introducing(
    question: str,
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    known_as: KnownAs,
    *,
    limit: int,
) -> list[int]:
    """Return the rows that introduce the person asked for, best first; for Chinese those behind.

    Of one document in its order. None where the library has a text about that person, which begins
    with it.
    """
    person = asked_person(question)
    if not person or _has_a_text(question, passages):
        return []
    names = known_as.all_of(person)
    told = [max(introduction(each.sentence.text, name) for name in names) for each in weighed]
    rows = [row for row, worth in enumerate(told) if worth]
    homes = {passages[each.sentence.passage].document_id for each in weighed}
    if len(homes) == 1 and language_of(person) == "en":  # a book says who is who as it goes on
        starts = {row: passages[weighed[row].sentence.passage].start for row in rows}
        rows.sort(key=lambda row: (-told[row], starts[row], row))
    else:
        rows.sort(key=lambda row: (-told[row], -weighed[row].score))
    if not rows or language_of(person) != "zh":
        return rows[:limit]
    first, passage = rows[0], weighed[rows[0]].sentence.passage
    goes_on = _OF_NO_ONE.match(weighed[first].sentence.text) is not None
    if goes_on and first and weighed[first - 1].sentence.passage == passage:
        first -= 1
    behind = range(first, len(weighed))
    return [row for row in behind if weighed[row].sentence.passage == passage][:limit]


_OF_NO_ONE = re.compile(
    r"\W*(?:道号|表字|小字|别号|绰号|人称|世称|官[拜至居]|[字号乃][^，。]{1,6}[，。])"
)
"""Beginnings that say more of the person in the sentence before: 道号水镜先生。"""


def is_person_unknown(question: str, passages: Sequence[Passage]) -> bool:
    """Check for a person, asked for in English, about whom the library has no text."""
    person = asked_person(question)
    return bool(person) and language_of(person) == "en" and not _has_a_text(question, passages)


def _has_a_text(question: str, passages: Sequence[Passage]) -> bool:
    """Check for a text about what a question for a definition asks for."""
    return any(is_defined_by(each.title, "definition", question) for each in passages)


def bound_subject(read: Analysis, *, weight: TokenWeight) -> SubjectBinding | None:
    """Score how far what is sought is stated of its subject; None for a comparison."""
    if read.compared is not None:
        return None
    return score_subject_binding(
        read.question, read.weighed, asked=read.asked, wanted=read.wanted, weight=weight
    )


def _both(compared: TwoSidedComparison, *, limit: int) -> list[int]:
    """Select sentences for both sides of a comparison, then their bridges if room is left."""
    rows = [list(dict.fromkeys(some)) for some in compared.rows]
    while len(rows[0]) + len(rows[1]) > max(limit + 1, 2):
        longer = rows[0] if len(rows[0]) >= len(rows[1]) else rows[1]
        longer.pop(0)
    return list(dict.fromkeys((*rows[0], *rows[1])))
