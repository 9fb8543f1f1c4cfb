"""Extractive answers without a language model: cited sentences, or an abstention."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

from graph.text.cjk import in_script_of

from ...plain_text import strip_markdown
from ...prompts import HESITATION, UNSURE, language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence, split_passages, with_neighbours
from ...storage.tokenization import TokenWeight, tokens
from ...types import Citation, Passage, ShortAnswer
from ..packing import Draft, TextAt, abstain, cite_span
from .adjoining import is_title, join_adjoining, with_adjoining
from .answer_spans import Candidate, Span, rank_spans
from .blocks import count_words, plain_excerpt
from .chinese_fact_questions import fact_question
from .chinese_facts import Stated, mentions_fact, stated_facts
from .chinese_short import LEAST_CONFIDENCE, bounds_of_short, is_short_answer
from .comparison import TwoSidedComparison, compare_sides
from .evidence import SubjectBinding, evidence_features, score_subject_binding
from .excerpt import (
    Excerpt,
    Reader,
    around,
    choose_excerpts,
    is_across,
    likeliest_place,
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
from .likeness import answer_across
from .question_type import QuestionType, answer_types, classify_question, strip_question_words
from .read_spans import SpanReader, rank_read_spans, read_candidates
from .sentence_scoring import (
    ScoredSentence,
    counted_things,
    numbered_things,
    score_sentences,
)
from .sentence_selection import (
    SURE,
    SURE_WHEN_READ,
    carried_terms,
    chain_text,
    read_shares,
    select_sentences,
    sentence_shares,
    weight_share,
)

SAID_FROM, SAID = 2.5, 0.5
"""A reader's logit from which an excerpt is taken to answer, and the probability that it does."""
LIKE, UNLIKE, UNSAID = 8.0, 5.4, 0.1
"""A Chinese reader's logits: from the first on it is the same; below the second, even odds of a
block in another language, it is said nowhere."""
SHOWN_OF = 3
"""The short answer of a Chinese question is one of so many spans, the likeliest."""
STATED = 0.8
"""Probability that a fact is as the sentence says that states it."""
LIKELY = 0.5
"""From this confidence on the sentence of the short answer, a name or figure, is shown first."""
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
    def is_chain(self) -> bool:
        """Check that a sentence of another document leads to the first one."""
        hop = self.weighed[self.rows[0]].hop
        if hop is None:
            return False
        first, leading = (self.weighed[row].sentence.passage for row in (self.rows[0], hop))
        return self.passages[first].document_id != self.passages[leading].document_id

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
    if one_excerpt and likeness is not None and passages and is_across(question, passages):
        within = partial(
            extractive_answer, question, weight=weight, max_sentences=max_sentences,
            min_evidence=min_evidence, sure=sure, one_excerpt=True, read=read, likeness=likeness,
            text_at=text_at, types=types, known_as=known_as,
        )  # fmt: skip
        return answer_across(
            question, passages, read=likeness, text_at=text_at, min_evidence=min_evidence,
            within=within,
        )  # fmt: skip
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
        counted=counted_things(question),
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
    context: Excerpt | None = None
    if one_excerpt and intent is None and asked.language == "en" and not analysis.is_decided:
        analysis, context = _in_context(analysis, excerpts, read=read, text_at=text_at)
    found = evidence_features(
        question,
        _inside(excerpts, sentences, passages) or analysis.sentences,
        passages,
        wanted=wanted,
        decided=analysis.compared is not None and analysis.compared.verdict is not None,
        bound=None if intent == "comparison" else _bound(analysis, weight=weight),
        logits=_logits(analysis, excerpts, chooser),
    )
    logits = [each.logit for each in excerpts if each.logit is not None]
    if chooser is not None and asked.language == "zh" and not analysis.is_decided:
        read_as = logits or chooser(question, _chains(analysis)).tolist()
        found = _by_likeness(found, read_as, are_sentences=intent is None or not excerpts)
    elif max(logits, default=0.0) >= SAID_FROM:
        found = {**found, "held": max(found["held"], SAID)}
    if facts or introduced:
        found = {**found, **{name: max(found[name], STATED) for name in ("held", "evidence")}}
    if excerpts and context is None:
        draft = _excerpted(excerpts, figures=found)
    else:
        draft = _told(analysis, context, figures=found)
    if found["held"] >= min_evidence:
        return draft if excerpts else _hesitant(draft, question)
    is_near = one_excerpt and _is_near(found, asked.language)
    return _declined(draft, question, is_near=is_near, least=min_evidence)


NEAR, NEAR_READ = 0.12, {"en": -5.0, "zh": 2.0}
"""Probability that the library holds the answer, or the reader's logit, from which what is nearest
is told below a word of doubt."""
HESITANT = 0.4
"""An answer that is likely to be right by less is told below a word of doubt."""


def _hesitant(draft: Draft, question: str) -> Draft:
    is_read = "logit" in draft.figures  # without a reader the short answer is less calibrated
    is_sure = is_read and draft.short is not None and draft.short.is_confident
    if is_sure or draft.evidence is None or draft.evidence >= HESITANT:
        return draft
    doubt = in_script_of(question, HESITATION[language_of(question)])
    return replace(draft, text=f"{doubt}\n\n{draft.text}")


def _is_near(figures: Mapping[str, float], language: str) -> bool:
    return figures["held"] >= NEAR or figures.get("logit", -math.inf) >= NEAR_READ[language]


def _declined(draft: Draft, question: str, *, is_near: bool, least: float) -> Draft:
    """Abstain; with what is nearest where that may be the answer."""
    language = language_of(question)
    detail = f"evidence {draft.figures['held']:.2f} is below {least:.2f}"
    if not is_near:
        return abstain(
            language, detail=detail, evidence=draft.evidence or 0.0, figures=draft.figures
        )
    text = f"{in_script_of(question, UNSURE[language])}\n\n{draft.text}"
    return replace(draft, text=text, abstained=True, short=None, detail=f"{detail}; {draft.detail}")


def _by_likeness(
    found: Mapping[str, float], logits: Sequence[float], *, are_sentences: bool
) -> dict[str, float]:
    """Judge by likeness where that is clear whether a Chinese question is answered.

    A block is no more unlike for all that it says besides, nor a sentence that has every word.
    """
    logit = max(logits)
    held = found["held"]
    if logit >= LIKE:
        held = max(held, SAID)
    elif logit < UNLIKE and are_sentences and found["coverage"] < 1.0:
        held = min(held, UNSAID)
    return {**found, "logit": logit, "held": held, "evidence": held}


def _chains(analysis: _Read) -> list[str]:
    return [chain_text(analysis.weighed, row, analysis.passages) for row in analysis.rows]


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
    is_told = read is not None and analysis.compared is None and analysis.asked.language == "zh"
    if intent is not None or is_told:
        return choose_excerpts(
            question, intent or "explanation", passages, weighed,
            wanted=analysis.wanted, read=read, text_at=text_at,
        )  # fmt: skip
    if read is None or analysis.compared is not None or analysis.asked.language != "en":
        return []
    if analysis.is_chain:
        return []  # told at two places
    chains = [chain_text(weighed, row, passages) for row in analysis.rows]
    return told_at_one_place(
        question, passages, weighed,
        wanted=analysis.wanted, read=read, text_at=text_at,
        beside=float(read(question, chains).max()),
    )  # fmt: skip


STRAY = 2.0
"""Logits below the first sentence at which a further one is left out, unless it adds to it."""
ADDS, CERTAIN = 0.15, 7.0
"""Share of the question's weight from which on a further sentence adds; nothing adds to one that
has such a logit."""


def _in_context(
    analysis: _Read, excerpts: Sequence[Excerpt], *, read: Reader | None, text_at: TextAt | None
) -> tuple[_Read, Excerpt | None]:
    """Return the sentence that says a fact, with what leads to it, and the block around it.

    Of `excerpts`, which tell it at one place, it is the sentence where the answer is read; none
    where that is an item or a row, which is shown with its like.
    """
    if excerpts:
        row = _sentence_at(excerpts[0], analysis, read)
        if row is None:
            return analysis, None
        return replace(analysis, rows=[row], span=None), excerpts[0]
    span, (first, *others) = analysis.span, analysis.rows
    is_likely = span is not None and span.confidence >= LIKELY and analysis.asked.kind != "thing"
    if span is not None and is_likely and span.row in others:
        others = [first, *(row for row in others if row != span.row)]
        first = span.row
    context = around(analysis.weighed[first].sentence, analysis.passages, text_at=text_at)
    rows = [first, *_further(first, others, context, analysis, read=read)]
    if span is not None and span.row not in rows:
        span = None
    return replace(analysis, rows=rows, span=span), context


def _further(
    first: int,
    others: Sequence[int],
    context: Excerpt | None,
    analysis: _Read,
    *,
    read: Reader | None,
) -> list[int]:
    """Return what does not stand around the first sentence and is as near, or adds to it."""
    weighed, passages, wanted = analysis.weighed, analysis.passages, analysis.wanted
    known = carried_terms(weighed[first], wanted)
    if context is not None:
        around_it = set(tokens(context.text))
        known |= {term for term in wanted if not around_it.isdisjoint(lexical_variants(term))}
        told = (weighed[row].sentence for row in others)
        others = [
            row
            for row, each in zip(others, told, strict=True)
            if not _holds(context, passages[each.passage], each.start)
        ]
    if read is None or not others or analysis.is_chain:
        return list(others)
    logits = read(
        analysis.question, [chain_text(weighed, row, passages) for row in (first, *others)]
    )
    return [
        row
        for row, logit in zip(others, logits[1:], strict=True)
        if logit >= logits[0] - STRAY
        or (
            logits[0] < CERTAIN
            and weight_share(carried_terms(weighed[row], wanted) - known, wanted) >= ADDS
        )
    ]


_BEHIND_MARK = re.compile(r"(?:^|\n)[ \t]*(?:[-*+•|]|\d{1,3}[.)])[ \t]*\Z")


def _sentence_at(excerpt: Excerpt, analysis: _Read, read: Reader | None) -> int | None:
    """Return the row of the sentence of an excerpt in which the answer is read."""
    if not isinstance(read, SpanReader):
        return None
    place = excerpt.source.start + likeliest_place(analysis.question, excerpt, read)
    for row, each in enumerate(analysis.weighed):
        sentence, passage = each.sentence, analysis.passages[each.sentence.passage]
        start, end = (passage.start + at for at in (sentence.start, sentence.end))
        if passage.chunk_id == excerpt.source.chunk_id and start <= place < end:
            in_list = sentence.columns or _BEHIND_MARK.search(passage.text[: sentence.start])
            return None if in_list else row
    return None


def _logits(analysis: _Read, excerpts: Sequence[Excerpt], read: Reader | None) -> list[float]:
    """Return how what is shown is read, an excerpt by the part for which it was chosen.

    None where there is no reader of the question's language.
    """
    if not isinstance(read, SpanReader):
        return []
    chosen = [each.logit for each in excerpts if each.logit is not None]
    return chosen or read(analysis.question, _chains(analysis)).tolist()


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


def _told(read: _Read, context: Excerpt | None, *, figures: Mapping[str, float]) -> Draft:
    """Present sentences, and below them the block around the first."""
    lines, citations = _present(read.sentences, read.passages)
    if context is not None:
        lines, citations = _with_context(lines, citations, context)
    text = "\n".join(f"{line} [{number}]" for number, line in enumerate(lines, start=1))
    strength, of = figures["evidence"], len(read.weighed)
    return Draft(
        text=text,
        citations=tuple(citations),
        evidence=strength,
        short=_short(read, citations),
        detail=f"{len(citations)} sentence(s) of {of}, evidence {strength:.2f}",
        figures=figures,
    )


_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+•|]|\d{1,3}[.)])[ \t]")
SHORT_BLOCK, PRECEDES, FOLLOWS = 60, 40, 15
"""A block of so many words, and any list, is shown whole, and one with so few words before the
sentence; else from the sentence on, and what stands before it below where so few words follow."""
WHOLE_ITEM = 8
"""Least words of a list item that is understood without the others."""


def _with_context(
    lines: list[str], citations: list[Citation], context: Excerpt
) -> tuple[list[str], list[Citation]]:
    """Show the first sentence within the block around it, nothing of it twice.

    Of a list its item is shown. A short block, or one in which it stands near the beginning, is
    shown whole; a long one from the sentence on, and where little follows, what stands before it
    comes below.
    """
    source, text = context.source, context.source.text
    first, last = (each - source.start for each in (citations[0].start, citations[0].end))
    is_inside = citations[0].document_id == source.document_id
    if not (is_inside and context.start <= first < last <= context.end):
        return lines, citations
    is_short = count_words(context.text) <= SHORT_BLOCK or _ITEM.search(context.text)
    item = _item_of(context, first, last)
    if item is not None:
        shown = [item]
    elif is_short or count_words(text[context.start : first]) <= PRECEDES:
        shown = [(context.start, context.end)]
    else:
        shown = [(first, context.end)]
        if count_words(text[last : context.end]) < FOLLOWS:
            shown.append((context.start, first))
    told = [(start, start + len(text[start:end].rstrip())) for start, end in shown if end > start]
    parts = [lines[0] if place == (first, last) else plain_excerpt(text, *place) for place in told]
    cited = [cite_span(source, *place, number=1) for place in told]
    return (
        [*parts[:1], *lines[1:], *parts[1:]],
        [
            replace(each, number=number)
            for number, each in enumerate([*cited[:1], *citations[1:], *cited[1:]], start=1)
        ],
    )


def _item_of(context: Excerpt, first: int, last: int) -> tuple[int, int] | None:
    """Return the item of a list that holds a sentence and says enough to stand alone."""
    items = [match for match in _ITEM.finditer(context.text) if "|" not in match.group()]
    starts = [context.start + match.start() for match in items]
    start = max((each for each in starts if each <= first), default=None)
    end = min((each for each in starts if each >= last), default=context.end)
    if start is None or count_words(context.source.text[start:end]) < WHOLE_ITEM:
        return None
    return start, end


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
            chains = {row: chain_text(weighed, row, passages) for row in rows}
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
        if each.confidence < LEAST_CONFIDENCE:
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
) -> tuple[list[str], list[Citation]]:
    """Return a line and a citation of each sentence; of adjoining ones together."""
    lines, citations = [], []
    for number, sentence in enumerate(join_adjoining(chosen, passages), start=1):
        passage = passages[sentence.passage]
        line = with_neighbours(
            strip_markdown(sentence.text, columns=sentence.columns), title=passage.title
        )
        lines.append(line)
        citations.append(cite_span(passage, sentence.start, sentence.end, number=number))
    return lines, citations


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
