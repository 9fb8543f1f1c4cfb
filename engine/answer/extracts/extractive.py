"""Extractive answers without a language model: cited sentences, or an abstention.

The sentences are weighed (`weigh`), so are the spans in them that could be what was asked for
(`short`); a comparison is worked out from what is said of its two sides (`sides`). As many
sentences are given as it takes to be sure, those of a chain in the order of its hops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from ...types import Citation, Passage, ShortAnswer
from ..draft import Draft, abstain, cite_span
from ..sentences import (
    Sentence,
    SentenceSpans,
    Tokens,
    split_passages,
    strip_markdown,
    with_neighbours,
)
from .asked import QuestionType, classify_question
from .bound import SubjectBinding, score_subject_binding
from .choose import SURE, select_sentences
from .evidence import evidence_features as figures_of
from .expect import answer_types, strip_question_words
from .short import Candidate, rank_spans
from .sides import TwoSidedComparison, compare
from .spans import NameSpans
from .weigh import ScoredSentence, numbered_things, score_sentences

SHORT_FROM = 0.25
"""A short answer that is likely to be right by less is not given."""


@lru_cache(maxsize=50_000)
def _kept(tokens: Tokens, text: str) -> list[str]:
    """Tokenise a word or span, memoised."""
    return tokens(text)


@dataclass(frozen=True, slots=True)
class _Read:
    """Question and its analysis; `rows` are the selected sentences in reading order."""

    question: str
    asked: QuestionType
    wanted: Mapping[str, float]
    passages: Sequence[Passage]
    weighed: list[ScoredSentence]
    rows: list[int]
    span: Candidate | None
    compared: TwoSidedComparison | None

    @property
    def sentences(self) -> list[Sentence]:
        return [self.weighed[row].sentence for row in self.rows]


def extractive_answer(
    question: str,
    passages: Sequence[Passage],
    *,
    tokens: Tokens,
    weight: Callable[[str], float],
    sentence_spans: SentenceSpans,
    names: NameSpans,
    max_sentences: int = 3,
    min_evidence: float = 0.25,
    sure: float = SURE,
) -> Draft:
    """Answer from sentences of `passages` (best first), or abstain.

    `tokens` are the keyword index's, stop words removed; `weight` is a token's idf, highest for one
    that the corpus does not hold; `names` finds runs of capitals. Sentences are added until one of
    them holds the answer with the probability `sure`. A comparison may take one sentence more than
    `max_sentences`, for both its sides. Abstains where the evidence (see `evidence`) is below
    `min_evidence`. Deterministic: ties go to the earlier sentence.
    """
    asked = classify_question(question, tokens=tokens)
    weight = cache(weight)  # a library may have to look each token up
    wanted = {term: max(weight(term), 0.0) for term in tokens(strip_question_words(question))}
    sentences = split_passages(passages, tokens=tokens, sentence_spans=sentence_spans)
    if not wanted or not sum(wanted.values()) or not sentences:
        return abstain(asked.language, detail="nothing to compare the question with")
    weighed = score_sentences(
        sentences,
        passages,
        wanted=wanted,
        kinds=answer_types(question),
        weight=weight,
        language=asked.language,
        numbered=numbered_things(question),
    )
    read = _read(
        question, asked, passages, weighed, wanted=wanted, tokens=tokens, names=names,
        limit=max_sentences,
        sure=sure,
    )  # fmt: skip
    found = figures_of(
        question,
        read.sentences,
        passages,
        wanted=wanted,
        tokens=tokens,
        decided=read.compared is not None and read.compared.verdict is not None,
        bound=_bound(read, weight=weight, tokens=tokens, names=names),
    )
    strength = found["evidence"]
    if strength < min_evidence:
        detail = f"evidence {strength:.2f} is below {min_evidence:.2f}"
        return abstain(asked.language, detail=detail, evidence=strength, figures=found)
    return _told(read, figures=found)


def _told(read: _Read, *, figures: Mapping[str, float]) -> Draft:
    """Describe the selection for the trace."""
    text, citations = _present(read.sentences, read.passages)
    strength, of = figures["evidence"], len(read.weighed)
    return Draft(
        text=text,
        citations=citations,
        evidence=strength,
        short=_short(read, citations),
        detail=f"{len(citations)} sentence(s) of {of}, evidence {strength:.2f}",
        figures=figures,
    )


def _read(
    question: str,
    asked: QuestionType,
    passages: Sequence[Passage],
    weighed: list[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    tokens: Tokens,
    names: NameSpans,
    limit: int,
    sure: float,
) -> _Read:
    """Select sentences and the short answer."""
    compared = compare(
        question,
        [each.sentence for each in weighed],
        passages,
        wanted=wanted,
        tokens=tokens,
        scores=[each.score for each in weighed],
    )
    span = None
    if compared is not None and (compared.verdict is not None or compared.is_choice):
        rows = _both(compared, limit=limit)
    else:
        spans = rank_spans(
            question,
            weighed,
            asked=asked,
            wanted=wanted,
            tokens=lambda text: _kept(tokens, text),
            names=names,
        )
        rows = select_sentences(weighed, spans, wanted=wanted, limit=limit, enough=sure)
        span = next((each for each in spans if each.row in rows), None)
    return _Read(question, asked, wanted, passages, weighed, rows, span, compared)


def _bound(
    read: _Read, *, weight: Callable[[str], float], tokens: Tokens, names: NameSpans
) -> SubjectBinding | None:
    if read.compared is not None:
        return None
    return score_subject_binding(
        read.question,
        read.weighed,
        asked=read.asked,
        wanted=read.wanted,
        weight=weight,
        tokens=lambda text: _kept(tokens, text),
        names=names,
    )


def _both(compared: TwoSidedComparison, *, limit: int) -> list[int]:
    """Select sentences for both sides of a comparison, then their bridges if room is left."""
    rows = [list(dict.fromkeys(some)) for some in compared.rows]
    while len(rows[0]) + len(rows[1]) > max(limit + 1, 2):
        longer = rows[0] if len(rows[0]) >= len(rows[1]) else rows[1]
        longer.pop(0)
    return list(dict.fromkeys((*rows[0], *rows[1])))


def _present(
    chosen: Sequence[Sentence], passages: Sequence[Passage]
) -> tuple[str, tuple[Citation, ...]]:
    lines, citations = [], []
    for number, sentence in enumerate(chosen, start=1):
        passage = passages[sentence.passage]
        line = with_neighbours(
            strip_markdown(sentence.text, columns=sentence.columns), title=passage.title
        )
        lines.append(f"{line} [{number}]")
        citations.append(cite_span(passage, sentence.start, sentence.end, number=number))
    return "\n".join(lines), tuple(citations)


def _short(read: _Read, citations: Sequence[Citation]) -> ShortAnswer | None:
    if read.compared is not None and read.compared.verdict is not None:
        return _verdict(read, read.compared, citations)
    if read.span is None or read.asked.twofold or read.span.confidence < SHORT_FROM:
        return None
    number = read.rows.index(read.span.row)
    citation = citations[number]
    start = citation.start + read.span.span.start
    return ShortAnswer(
        text=read.span.text,
        kind=read.asked.kind,
        confidence=read.span.confidence,
        rests_on=(citation.number,),
        document_id=citation.document_id,
        start=start,
        end=start + len(read.span.text),
    )


_SAID = {"en": {"yes": "Yes", "no": "No"}, "zh": {"yes": "是", "no": "否"}}


def _verdict(
    read: _Read, compared: TwoSidedComparison, citations: Sequence[Citation]
) -> ShortAnswer:
    """Yes or no, or the side, as it stands in a cited sentence where one names it."""
    rests_on = tuple(citation.number for citation in citations)
    confidence = compared.confidence
    if compared.verdict in ("yes", "no"):
        said = _SAID[read.asked.language][compared.verdict]
        return ShortAnswer(text=said, kind="verdict", confidence=confidence, rests_on=rests_on)
    side = compared.sides[0 if compared.verdict == "first side" else 1]
    name = read.question[side.start : side.end]
    for citation in citations:
        place = citation.quote.casefold().find(name.casefold())
        if place >= 0 and len(citation.quote) == len(citation.quote.casefold()):
            return ShortAnswer(
                text=citation.quote[place : place + len(name)],
                kind="side",
                confidence=confidence,
                rests_on=rests_on,
                document_id=citation.document_id,
                start=citation.start + place,
                end=citation.start + place + len(name),
            )
    return ShortAnswer(text=name, kind="side", confidence=confidence, rests_on=rests_on)
