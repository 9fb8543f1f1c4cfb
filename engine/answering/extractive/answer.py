"""Extractive answers without a language model: cited sentences, or an abstention.

`select_sentences` takes as many as it takes to be sure, without repetition: what a further one adds
to the question's words speaks for it, and those of a chain come in the order of its hops.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...embeddings.span_reading import Reading
from ...plain_text import strip_markdown
from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import (
    Sentence,
    split_passages,
    with_neighbours,
)
from ...storage.tokenization import TokenWeight, tokens
from ...types import Citation, Passage, ShortAnswer
from ..packing import Draft, TextAt, abstain, cite_span
from .adjoining import from_nearest, is_title, join_adjoining, with_adjoining
from .answer_spans import Candidate, Span, rank_spans, softmax
from .chinese_fact_questions import fact_question
from .chinese_facts import Stated, mentions_fact, stated_facts
from .chinese_short import LEAST_CONFIDENCE, bounds_of_short, is_short_answer
from .comparison import TwoSidedComparison, compare_sides
from .evidence import SubjectBinding, evidence_features, score_subject_binding
from .excerpt import (
    EACH_OF,
    Excerpt,
    Reader,
    choose_excerpts,
    render_excerpt,
    told_at_one_place,
)
from .intent import (
    Intent,
    asked_person,
    introduction,
    is_defined_by,
    question_intent,
    strip_intent_words,
)
from .known_as import UNKNOWN, KnownAs
from .question_type import QuestionType, answer_types, classify_question, strip_question_words
from .read_spans import SpanReader, rank_read_spans, read_candidates
from .sentence_scoring import (
    ScoredSentence,
    numbered_things,
    score_sentences,
)

SURE = 0.85
"""Target probability that a selected sentence holds the answer."""
SURE_WHEN_READ = {"en": 0.99, "zh": SURE}
"""The same, of shares that a reader has sharpened."""
SAME = 0.8
"""Sentences that share so much of the shorter one's words say the same."""
LOOKED_AT = 40
"""Further ones are chosen from so many, the likeliest."""
GAIN = 3.0
"""Bonus in log share for a sentence that covers the whole question."""
COVERED = 0.8
"""Target share of the question's weight covered by the selection."""
LEAST_GAIN = 0.1
"""Minimum share of the weight a further sentence must add."""


def select_sentences(
    weighed: Sequence[ScoredSentence],
    share: NDArray[np.float64],
    *,
    wanted: Mapping[str, float],
    limit: int,
    enough: float = SURE,
) -> list[int]:
    """Select rows: the likeliest sentence, the one that leads to it, then further ones.

    `share` is how likely each sentence is to hold the answer. Further ones are added, at most up
    to `limit`, until one of them holds the answer with the probability `enough` and they
    carry the question's words (`wanted`, by weight). Deterministic: ties go to the earlier one.
    """
    order = [int(row) for row in np.lexsort((np.arange(share.size), -share))]
    first = order[0]
    hop = weighed[first].hop
    leads = hop is not None and limit > 1 and weighed[hop].covered > weighed[first].covered
    chosen = [first, hop] if leads and hop is not None else [first]
    carried = frozenset[str]().union(*(_carried(weighed[row], wanted) for row in chosen))
    likely = [row for row in order[:LOOKED_AT] if row not in chosen]
    while len(chosen) < limit:
        rest = [row for row in likely if row not in chosen and not _repeats(weighed, row, chosen)]
        gains = {row: _part(_carried(weighed[row], wanted) - carried, wanted) for row in rest}
        if float(share[chosen].sum()) >= enough:
            if _part(carried, wanted) >= COVERED:
                break
            rest = [row for row in rest if gains[row] >= LEAST_GAIN]
        if not rest:
            break
        row = max(rest, key=lambda row: np.log(share[row] + 1e-6) + GAIN * gains[row])
        chosen.append(row)
        carried |= _carried(weighed[row], wanted)
    return chosen


def sentence_shares(
    weighed: Sequence[ScoredSentence], spans: Sequence[Candidate]
) -> NDArray[np.float64]:
    """Return each sentence's likelihood, by itself and by its spans."""
    likely = softmax(np.array([each.score for each in weighed]))
    if not spans:
        return likely
    by_span = np.zeros(len(weighed))
    for each in spans:
        by_span[each.row] += each.share
    return np.asarray((likely + by_span) / 2)


READ_SENTENCES = 10
"""Sentences that reach the reader, likeliest first."""
READ = 0.6
"""Weight of the reader's logit beside the log share."""
LOWEST, HIGHEST = -8.0, 11.0
"""Bounds of a logit; a sentence that was not read has the lowest."""


def read_shares(
    question: str,
    weighed: Sequence[ScoredSentence],
    share: NDArray[np.float64],
    passages: Sequence[Passage],
    read: Reader,
) -> NDArray[np.float64]:
    """Weigh the likeliest sentences by the reader, each behind the sentence that leads to it.

    Alone, the last sentence of a chain does not name what the question asks about.
    """
    order = _rows_to_read(weighed, share, language_of(question))
    logits = np.full(share.size, LOWEST)
    logits[order] = read(question, [_chain(weighed, int(row), passages) for row in order])
    return softmax(np.log(share + 1e-6) + READ * np.clip(logits, LOWEST, HIGHEST))


def _rows_to_read(
    weighed: Sequence[ScoredSentence], share: NDArray[np.float64], language: str
) -> list[int]:
    """Return the likeliest rows; in Chinese, which is quick to read, the best of each passage."""
    order = [int(row) for row in np.lexsort((np.arange(share.size), -share))]
    best: dict[int, int] = {}
    for row in order if language == "zh" else ():
        best.setdefault(weighed[row].sentence.passage, row)
    leading = [best[passage] for passage in sorted(best)[:EACH_OF]]
    return list(dict.fromkeys((*order[:READ_SENTENCES], *leading)))


def _chain(weighed: Sequence[ScoredSentence], row: int, passages: Sequence[Passage]) -> str:
    hop = weighed[row].hop
    chain = [weighed[row]] if hop is None else [weighed[hop], weighed[row]]
    return "\n".join(_placed(each.sentence, passages) for each in chain)


def _placed(sentence: Sentence, passages: Sequence[Passage]) -> str:
    """Return a sentence behind its title and its heading."""
    title = passages[sentence.passage].title
    above = dict.fromkeys(name for name in (title, sentence.heading) if name)
    text = strip_markdown(sentence.text, columns=sentence.columns)
    if sentence.tells:
        text = _LIFE_DATES.sub(r"(born \1, died \2)", text, count=1)
    return ": ".join((*above, text))


_LIFE_DATES = re.compile(r"\(([^()]{0,80}?\d{3,4})\s*[–—-]\s*([^()]{0,40}?\d{3,4})\)")
"""Brackets with two dates: a life, as encyclopaedias write it."""


def _carried(weighed: ScoredSentence, wanted: Mapping[str, float]) -> frozenset[str]:
    """Return the question words, or variants, present in a sentence or its headings."""
    sentence = weighed.sentence
    terms = sentence.terms | sentence.tells | sentence.context
    return frozenset(term for term in wanted if not terms.isdisjoint(lexical_variants(term)))


def _part(terms: frozenset[str], wanted: Mapping[str, float]) -> float:
    """Return the share of the question's weight of some words."""
    return sum(w for term, w in wanted.items() if term in terms) / sum(wanted.values())


def _repeats(weighed: Sequence[ScoredSentence], row: int, chosen: Sequence[int]) -> bool:
    terms = weighed[row].sentence.terms
    others = [weighed[other].sentence.terms for other in chosen]
    return any(len(terms & o) >= SAME * max(1, min(len(terms), len(o))) for o in others)


SAID_FROM, SAID = 2.5, 0.5
"""A reader's logit from which an excerpt is taken to answer, and the probability that it does."""
LIKE, UNLIKE, UNSAID = 8.0, 6.8, 0.1
"""A Chinese reader's logits: from the first on it is the same; below the second it is said nowhere.

Of CMRC's questions 2 % have no sentence above the second, of those asked without their paragraph
74 %.
"""
SHOWN_OF = 3
"""The short answer of a Chinese question is one of so many spans, the likeliest."""
STATED = 0.8
"""Probability that a fact is as the sentence says that states it."""
SHORT_FROM = 0.25
"""A short answer that is likely to be right by less is not given."""


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

    @property
    def is_decided(self) -> bool:
        compared = self.compared
        return compared is not None and (compared.verdict is not None or compared.is_choice)


def extractive_answer(
    question: str,
    passages: Sequence[Passage],
    *,
    weight: TokenWeight,
    max_sentences: int = 3,
    min_evidence: float = 0.25,
    sure: float = SURE,
    one_excerpt: bool = False,
    read: Reader | None = None,
    likeness: Reader | None = None,
    text_at: TextAt | None = None,
    types: Mapping[str, str] = MappingProxyType({}),
    known_as: KnownAs = UNKNOWN,
) -> Draft:
    """Answer from sentences of `passages` (best first), or abstain.

    `weight` is a token's idf, highest for one that the corpus does not hold. Sentences are added
    until one of them holds the answer with the probability `sure`. A comparison may take one
    sentence more than `max_sentences`, for both its sides. Abstains where the probability that the
    passages hold an answer is below `min_evidence`. With `one_excerpt` a question for a definition,
    a way, a reason, a list or a comparison is answered by one block, which `read` chooses, or for
    a Chinese question `likeness`; with `text_at` it goes on beyond its passage. `types` are the
    graph's types of names, for the short answer; `known_as` are the other names of those in a
    Chinese question. Deterministic: ties go to the earlier sentence.
    """
    asked = classify_question(question)
    weight = cache(weight)  # a library may have to look each token up
    intent = question_intent(question) if one_excerpt else None
    plain = strip_intent_words(question) if intent else question
    wanted = {term: max(weight(term), 0.0) for term in tokens(strip_question_words(plain))}
    sentences = known_as.named(_that_state(split_passages(passages)))
    chooser = read if asked.language == "en" else _renaming(likeness, known_as)
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
    texts = [each.sentence.text for each in weighed]
    fact = fact_question(question) if asked.language == "zh" else None
    facts = stated_facts(fact, texts, passages) if fact else []
    if fact and not facts and not mentions_fact(fact, texts, passages):
        return abstain(asked.language, detail=f"nothing states the {fact.relation} asked for")
    analysis = _read(
        question, asked, passages, weighed, wanted=wanted,
        limit=max_sentences,
        sure=sure,
        read=None if intent else chooser,
        types=types,
    )  # fmt: skip
    if facts:
        analysis = _stating(analysis, facts, limit=max_sentences)
    elif fact and fact.is_kin:
        analysis = replace(analysis, span=None)
    introduced = _introducing(question, passages, weighed, known_as, limit=max_sentences)
    if introduced:
        analysis = replace(analysis, rows=introduced, span=None, compared=None)
    excerpts: list[Excerpt] = []
    if one_excerpt and not facts and not introduced and not analysis.is_decided:
        excerpts = _excerpts(analysis, intent, read=chooser, text_at=text_at)
    found = evidence_features(
        question,
        _inside(excerpts, sentences, passages) or analysis.sentences,
        passages,
        wanted=wanted,
        decided=analysis.compared is not None and analysis.compared.verdict is not None,
        bound=None if intent == "comparison" else _bound(analysis, weight=weight),
        readings=_readings(analysis, excerpts, chooser),
    )
    logits = [each.logit for each in excerpts if each.logit is not None]
    if chooser is not None and asked.language == "zh" and not analysis.is_decided:
        read_as = logits or chooser(question, _chains(analysis)).tolist()
        found = _by_likeness(found, read_as, are_sentences=not excerpts)
    elif max(logits, default=0.0) >= SAID_FROM:
        found = {**found, "held": max(found["held"], SAID)}
    if facts or introduced:
        found = {**found, **{name: max(found[name], STATED) for name in ("held", "evidence")}}
    if found["held"] < min_evidence:
        detail = f"evidence {found['held']:.2f} is below {min_evidence:.2f}"
        return abstain(asked.language, detail=detail, evidence=found["evidence"], figures=found)
    if excerpts:
        return _excerpted(excerpts, figures=found)
    return _told(analysis, figures=found)


def _by_likeness(
    found: Mapping[str, float], logits: Sequence[float], *, are_sentences: bool
) -> dict[str, float]:
    """Judge by likeness where that is clear whether a Chinese question is answered.

    A block is no more unlike for all that it says besides.
    """
    logit = max(logits)
    held = found["held"]
    if logit >= LIKE:
        held = max(held, SAID)
    elif logit < UNLIKE and are_sentences:
        held = min(held, UNSAID)
    return {**found, "logit": logit, "held": held, "evidence": held}


def _chains(analysis: _Read) -> list[str]:
    return [_chain(analysis.weighed, row, analysis.passages) for row in analysis.rows]


def _renaming(read: Reader | None, known_as: KnownAs) -> Reader | None:
    """Return a reader of texts in which things have the names that the question uses."""
    if read is None:
        return None
    return lambda question, texts: read(question, [known_as.read(text) for text in texts])


def _that_state(sentences: list[Sentence]) -> list[Sentence]:
    """Leave out questions and Chinese titles, which answer none, unless there are no others."""
    stating = [
        each
        for each in sentences
        if not each.text.rstrip(" *_").endswith(("?", "？")) and not is_title(each.text)
    ]
    return [replace(each, order=row) for row, each in enumerate(stating)] or sentences


def _excerpts(
    analysis: _Read, intent: Intent | None, *, read: Reader | None, text_at: TextAt | None
) -> list[Excerpt]:
    """Choose the excerpts that answer; for a fact one that does so better than the sentences."""
    question, passages, weighed = analysis.question, analysis.passages, analysis.weighed
    if intent is not None:
        found = choose_excerpts(
            question, intent, passages, weighed,
            wanted=analysis.wanted, read=read, text_at=text_at,
        )  # fmt: skip
        if read is None or analysis.asked.language != "zh" or intent in ("list", "comparison"):
            return found
        return [from_nearest(question, each, read) for each in found]
    if read is None or analysis.compared is not None or analysis.asked.language != "en":
        return []
    if weighed[analysis.rows[0]].hop is not None:
        return []  # a chain is told at two places
    chains = [_chain(weighed, row, passages) for row in analysis.rows]
    return told_at_one_place(
        question, passages, weighed,
        wanted=analysis.wanted, read=read, text_at=text_at,
        beside=float(read(question, chains).max()),
    )  # fmt: skip


def _readings(analysis: _Read, excerpts: Sequence[Excerpt], read: Reader | None) -> list[Reading]:
    """Read what is shown, if there is a reader of the question's language."""
    if not isinstance(read, SpanReader):
        return []
    texts = [f"{each.heading}: {each.text}" for each in excerpts] or _chains(analysis)
    return read.read(analysis.question, texts)


def _inside(
    excerpts: Sequence[Excerpt], sentences: Sequence[Sentence], passages: Sequence[Passage]
) -> list[Sentence]:
    """Return the sentences that stand in excerpts."""
    return [
        each
        for each in sentences
        if any(_holds(one, passages[each.passage], each.start) for one in excerpts)
    ]


def _holds(excerpt: Excerpt, passage: Passage, start: int) -> bool:
    """Check that a place of a passage stands in an excerpt."""
    source, place = excerpt.source, passage.start + start
    is_same = source.chunk_id == passage.chunk_id
    return is_same and source.start + excerpt.start <= place < source.start + excerpt.end


def _excerpted(excerpts: Sequence[Excerpt], *, figures: Mapping[str, float]) -> Draft:
    """Present excerpts below their headings, each cited as a whole."""
    parts, citations = [], []
    for number, each in enumerate(excerpts, start=1):
        parts.append(render_excerpt(each, number))
        citations.append(cite_span(each.source, each.start, each.end, number=number))
    best = max(each.score for each in excerpts)
    return Draft(
        text="\n\n".join(parts),
        citations=tuple(citations),
        evidence=figures["evidence"],
        detail=f"{len(excerpts)} excerpt(s), score {best:.2f}, evidence {figures['evidence']:.2f}",
        figures=figures,
    )


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
    limit: int,
    sure: float,
    read: Reader | None,
    types: Mapping[str, str],
) -> _Read:
    """Select sentences and the short answer."""
    compared = compare_sides(
        question,
        [each.sentence for each in weighed],
        passages,
        wanted=wanted,
        scores=[each.score for each in weighed],
    )
    span = None
    if compared is not None and (compared.verdict is not None or compared.is_choice):
        rows = _both(compared, limit=limit)
    else:
        spans = rank_spans(question, weighed, asked=asked, wanted=wanted)
        share = sentence_shares(weighed, spans)
        if read is not None:
            share = read_shares(question, weighed, share, passages, read)
            sure = max(sure, SURE_WHEN_READ[asked.language])
        rows = select_sentences(weighed, share, wanted=wanted, limit=limit, enough=sure)
        shown = [each for each in spans if each.row in rows]
        if asked.language == "zh":
            rows = with_adjoining(rows, weighed, passages)
        if isinstance(read, SpanReader):
            chains = {row: _chain(weighed, row, passages) for row in rows}
            found, matrix = read_candidates(
                question, weighed, chains, asked=asked, wanted=wanted, reader=read, types=types
            )
            shown = rank_read_spans(found, matrix)
        span = _shown(question, asked, shown, weighed)
    return _Read(question, asked, wanted, passages, weighed, rows, span, compared)


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
        if asked.kind == "thing" and each.confidence < LEAST_CONFIDENCE:
            continue
        sentence = weighed[each.row].sentence.text
        start, end = bounds_of_short(sentence, each.span.start, each.span.end, question, asked)
        if is_short_answer(sentence[start:end], question, asked):
            span = Span(start, end, each.span.kind)
            return replace(each, span=span, text=sentence[start:end])
    return None


def _stating(read: _Read, facts: Sequence[Stated], *, limit: int) -> _Read:
    """Replace the selection by the sentences that state the fact asked for."""
    first = facts[0]
    rows = list(dict.fromkeys(each.row for each in facts if each.text == first.text))[:limit]
    span = Span(first.start, first.start + len(first.text), "name")
    stated = Candidate(row=first.row, span=span, text=first.text, share=1.0, confidence=STATED)
    return replace(read, rows=rows, span=stated, compared=None)


def _introducing(
    question: str,
    passages: Sequence[Passage],
    weighed: Sequence[ScoredSentence],
    known_as: KnownAs,
    *,
    limit: int,
) -> list[int]:
    """Return the rows that introduce the person asked for, best first; for Chinese those behind.

    None where the library has a text about that person, which begins with it.
    """
    person = asked_person(question)
    if not person or any(is_defined_by(each.title, "definition", question) for each in passages):
        return []
    names = known_as.all_of(person)
    told = [max(introduction(each.sentence.text, name) for name in names) for each in weighed]
    rows = [row for row, worth in enumerate(told) if worth]
    rows.sort(key=lambda row: (-told[row], -weighed[row].score))
    if not rows or language_of(person) != "zh":
        return rows[:limit]
    passage = weighed[rows[0]].sentence.passage
    behind = range(rows[0], len(weighed))
    return [row for row in behind if weighed[row].sentence.passage == passage][:limit]


def _bound(read: _Read, *, weight: TokenWeight) -> SubjectBinding | None:
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


def _present(
    chosen: Sequence[Sentence], passages: Sequence[Passage]
) -> tuple[str, tuple[Citation, ...]]:
    lines, citations = [], []
    for number, sentence in enumerate(join_adjoining(chosen, passages), start=1):
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
    sentence = read.weighed[read.span.row].sentence
    passage = read.passages[sentence.passage]
    start = passage.start + sentence.start + read.span.span.start
    citation = next(
        each
        for each in citations
        if each.chunk_id == passage.chunk_id and each.start <= start < each.end
    )
    return ShortAnswer(
        text=read.span.text,
        kind=read.asked.kind,
        confidence=read.span.confidence,
        citation_numbers=(citation.number,),
        document_id=citation.document_id,
        start=start,
        end=start + len(read.span.text),
    )


_SAID = {"en": {"yes": "Yes", "no": "No"}, "zh": {"yes": "是", "no": "否"}}


def _verdict(
    read: _Read, compared: TwoSidedComparison, citations: Sequence[Citation]
) -> ShortAnswer:
    """Yes or no, or the side, as it stands in a cited sentence where one names it."""
    numbers = tuple(citation.number for citation in citations)
    confidence = compared.confidence
    if compared.verdict in ("yes", "no"):
        said = _SAID[read.asked.language][compared.verdict]
        return ShortAnswer(
            text=said, kind="verdict", confidence=confidence, citation_numbers=numbers
        )
    side = compared.sides[0 if compared.verdict == "first side" else 1]
    name = read.question[side.start : side.end]
    for citation in citations:
        place = citation.quote.casefold().find(name.casefold())
        if place >= 0 and len(citation.quote) == len(citation.quote.casefold()):
            return ShortAnswer(
                text=citation.quote[place : place + len(name)],
                kind="side",
                confidence=confidence,
                citation_numbers=numbers,
                document_id=citation.document_id,
                start=citation.start + place,
                end=citation.start + place + len(name),
            )
    return ShortAnswer(text=name, kind="side", confidence=confidence, citation_numbers=numbers)
