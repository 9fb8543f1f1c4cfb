"""Extractive answers without a language model: cited sentences, or an abstention."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from graph.text.cjk import in_script_of

from ...prompts import HESITATION, UNSURE, Language, language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence, split_passages
from ...storage.tokenization import TokenWeight, tokens
from ...types import Passage
from ..openings import with_openings
from ..packing import Draft, TextAt, abstain
from ..passage_order import in_other_language
from .analysis import (
    STATED,
    Analysis,
    analyse,
    bound_subject,
    introducing,
    is_person_unknown,
    stating,
)
from .block_candidates import Reader, WholeReader, bare_sides
from .blocks import count_words
from .chinese.fact_questions import fact_question
from .chinese.facts import mentions_fact, stated_facts
from .chinese.known_as import UNKNOWN, KnownAs
from .evidence import (
    answers_probability,
    evidence_features,
    is_of_other_names,
    probability,
    unsaid_codes,
)
from .excerpt import (
    around,
    choose_excerpts,
    likeliest_place,
    told_at_one_place,
)
from .extent import Excerpt
from .intent import (
    Intent,
    compared_sides,
    plainly_asked,
    question_intent,
    spells_out,
    strip_intent_words,
)
from .likeness import answer_in_any_language, with_sides_told_elsewhere
from .presentation import tell_excerpts, tell_sentences
from .question_type import (
    answer_types,
    classify_question,
    leading_question,
    strip_question_words,
)
from .read_spans import SpanReader
from .sentence_scoring import (
    amount_bonus,
    numbered_things,
    score_sentences,
)
from .sentence_selection import (
    SURE,
    carried_terms,
    chain_text,
    is_title,
    unit_text,
    weight_share,
)

SAID_FROM, SAID = 2.5, 0.5
"""A reader's logit from which an excerpt is taken to answer, and the probability that it does."""
LIKE, UNLIKE, UNSAID = 4.0, -2.0, 0.1
"""A Chinese reader's logits: from the first on it is the same; below the second, where nine of ten
blocks that answer do not lie, it is said nowhere."""
LIKELY = 0.5
"""From this confidence on the sentence of the short answer, a name or figure, is shown first."""


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
    likeness: WholeReader | None = None,
    text_at: TextAt | None = None,
    types: Mapping[str, str] = MappingProxyType({}),
    known_as: KnownAs = UNKNOWN,
) -> Draft:
    """Answer from sentences of `passages` (best first), or abstain.

    `weight` is a token's idf, highest for one that the corpus does not hold. Sentences are added
    until one of them holds the answer with the probability `sure`. A comparison may take one
    sentence more than `max_sentences`, for both its sides. Abstains where it is less likely than
    `min_evidence` that there is an answer and that it is this one. With `one_excerpt` a question
    for a definition, a way, a reason, a list or a comparison is answered by one block, which `read`
    chooses, or for a Chinese question `likeness`; with `text_at` it goes on beyond its passage.
    `types` are the graph's types of names, for the short answer; `known_as` are the other names of
    those in a Chinese question. Deterministic: ties go to the earlier sentence.
    """
    question = plainly_asked(question) if one_excerpt else question
    within = partial(
        _answer_within, weight=weight, max_sentences=max_sentences, min_evidence=min_evidence,
        sure=sure, one_excerpt=one_excerpt, read=read, likeness=likeness, text_at=text_at,
        types=types, known_as=known_as,
    )  # fmt: skip
    if not one_excerpt or likeness is None:
        return within(question, passages)

    def told(asked: str) -> Draft:
        return answer_in_any_language(
            asked, passages, partial(within, asked),
            likeness=likeness, text_at=text_at, min_evidence=min_evidence,
        )  # fmt: skip

    is_mixed = bool(in_other_language(question, passages))
    draft = told(question)
    return with_sides_told_elsewhere(draft, question, told) if is_mixed else draft


def _answer_within(
    question: str,
    passages: Sequence[Passage],
    *,
    weight: TokenWeight,
    max_sentences: int,
    min_evidence: float,
    sure: float,
    one_excerpt: bool,
    read: Reader | None,
    likeness: WholeReader | None,
    text_at: TextAt | None,
    types: Mapping[str, str],
    known_as: KnownAs,
) -> Draft:
    """Answer from passages in the question's language."""
    weight = cache(weight)  # a library may have to look each token up
    chooser = read if language_of(question) == "en" else _renaming(likeness, known_as)
    intent = question_intent(question) if one_excerpt else None
    if one_excerpt and text_at is not None and language_of(question) == "en":
        asked_for = tokens(strip_question_words(question))
        wanted = {term: max(weight(term), 0.0) for term in asked_for}
        passages = with_openings(passages, wanted=wanted, text_at=text_at)
    sentences = known_as.named(_that_state(split_passages(passages), passages))
    found = _analysed(
        question, sentences, passages,
        weight=weight, intent=intent, limit=max_sentences, sure=sure, types=types,
        read=None if intent else chooser,
        known_as=known_as, in_units=one_excerpt,
    )  # fmt: skip
    if isinstance(found, Draft):
        return found
    analysis, is_stated = found

    def told(analysis: Analysis, *, is_stated: bool) -> Draft:
        draft, is_excerpt = _told(
            analysis, sentences,
            intent=intent, weight=weight, chooser=chooser, read=read, text_at=text_at,
            one_excerpt=one_excerpt, is_stated=is_stated,
        )  # fmt: skip
        is_doubted = intent == "comparison" and (
            draft.figures["unknown"] > 0 or _is_side_unsaid(question, passages)
        )
        is_doubted |= not is_stated and (
            is_person_unknown(question, passages) or is_of_other_names(question, passages)
        )
        return _decided(
            draft, question, is_excerpt=is_excerpt, may_be_near=one_excerpt,
            least=min_evidence, is_doubted=is_doubted,
        )  # fmt: skip

    draft = told(analysis, is_stated=is_stated)
    if not draft.abstained or intent != "definition":
        return draft
    rows = [
        row for row, each in enumerate(analysis.weighed) if spells_out(each.sentence.text, question)
    ]
    rows.sort(key=lambda row: -analysis.weighed[row].score)
    spelt = replace(analysis, rows=rows[:1], span=None, compared=None)
    return told(spelt, is_stated=True) if rows else draft


def _is_side_unsaid(question: str, passages: Sequence[Passage]) -> bool:
    """Check for a side of a comparison of which no passage has a word."""
    held = set(tokens("\n".join(f"{each.title}\n{each.text}" for each in passages)))
    sides = bare_sides(compared_sides(question) or (question,))
    words = (frozenset[str]().union(*map(lexical_variants, tokens(side))) for side in sides)
    return not all(map(held.intersection, words))


def _told(
    analysis: Analysis,
    sentences: Sequence[Sentence],
    *,
    intent: Intent | None,
    weight: TokenWeight,
    chooser: Reader | None,
    read: Reader | None,
    text_at: TextAt | None,
    one_excerpt: bool,
    is_stated: bool,
) -> tuple[Draft, bool]:
    """Tell the answer by excerpts or by sentences, and return whether by excerpts.

    `chooser` reads the question's language, `read` English alone; `is_stated`: what is asked is
    plainly stated.
    """
    excerpts: list[Excerpt] = []
    if one_excerpt and not is_stated and not analysis.is_decided:
        excerpts = _excerpts(analysis, intent, read=chooser, text_at=text_at)
    context: Excerpt | None = None
    is_fact = one_excerpt and intent is None and analysis.asked.language == "en"
    if is_fact and not analysis.is_decided:
        analysis, context = _in_context(analysis, excerpts, read=read, text_at=text_at)
    figures = _figures(
        analysis, excerpts, sentences,
        weight=weight, intent=intent, read=chooser, is_stated=is_stated,
    )  # fmt: skip
    if excerpts and context is None:
        return tell_excerpts(excerpts, figures=figures), True
    return tell_sentences(analysis, context, figures=figures), bool(excerpts)


def _decided(
    draft: Draft,
    question: str,
    *,
    is_excerpt: bool,
    is_doubted: bool,
    may_be_near: bool,
    least: float,
) -> Draft:
    """Answer, answer below a word of doubt, or abstain from a draft by its figures.

    What stands beside the question is always doubted: a comparison of which one side is unknown,
    a person of whom nothing says who that is, or what has not the option, version or path that is
    asked about.
    """
    language = language_of(question)
    told = (draft.text, *(citation.title for citation in draft.citations))
    if unsaid_codes(question, "\n".join(told)):
        draft, is_doubted = replace(draft, short=None), True
    likely = _likely(draft.figures, language, is_excerpt=is_excerpt)
    if likely >= least:
        is_doubted |= not _is_told(draft.figures, language, is_excerpt=is_excerpt)
        return _hesitant(draft, question) if is_doubted else draft
    if _is_read(draft.figures, language) and may_be_near:
        says = answers_probability(draft.figures, is_excerpt=is_excerpt)
        if says >= DECLINED[is_excerpt] and draft.figures["logit"] >= LEAST_READ:
            return _hesitant(draft, question)
    is_near = may_be_near and _is_near(draft.figures, language, is_excerpt=is_excerpt)
    detail = f"evidence {likely:.2f} is below {least:.2f}"
    return _declined(draft, question, is_near=is_near, detail=detail)


def _analysed(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    weight: TokenWeight,
    intent: Intent | None,
    limit: int,
    sure: float,
    types: Mapping[str, str],
    read: Reader | None,
    known_as: KnownAs,
    in_units: bool,
) -> tuple[Analysis, bool] | Draft:
    """Select sentences, and return whether they plainly state what is asked; or abstain."""
    asked = classify_question(question)
    plain = strip_intent_words(question) if intent else question
    wanted = {term: max(weight(term), 0.0) for term in tokens(strip_question_words(plain))}
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
        amount=amount_bonus(question),
    )
    texts = [each.sentence.text for each in weighed]
    fact = fact_question(question) if asked.language == "zh" else None
    facts = stated_facts(fact, texts, passages) if fact else []
    if fact and not facts and not mentions_fact(fact, texts, passages):
        return abstain(asked.language, detail=f"nothing states the {fact.relation} asked for")
    analysis = analyse(
        question, asked, passages, weighed,
        wanted=wanted, limit=limit, sure=sure, read=read, types=types, in_units=in_units,
    )  # fmt: skip
    if facts:
        analysis = stating(analysis, facts, limit=limit)
    elif fact and fact.is_kin:
        analysis = replace(analysis, span=None)
    introduced = introducing(question, passages, weighed, known_as, limit=limit)
    if introduced:
        analysis = replace(analysis, rows=introduced, span=None, compared=None)
    return analysis, bool(facts or introduced)


def _figures(
    analysis: Analysis,
    excerpts: Sequence[Excerpt],
    sentences: Sequence[Sentence],
    *,
    weight: TokenWeight,
    intent: Intent | None,
    read: Reader | None,
    is_stated: bool,
) -> dict[str, float]:
    """Return the figures of what is shown (see `evidence_features`), read where there is a reader.

    What is plainly stated is likely to be held, and right.
    """
    compared = analysis.compared
    found = evidence_features(
        analysis.question,
        _inside(excerpts, sentences, analysis.passages) or analysis.told,
        analysis.passages,
        wanted=analysis.wanted,
        decided=compared is not None and compared.verdict is not None,
        bound=None if intent == "comparison" else bound_subject(analysis, weight=weight),
        logits=_logits(analysis, excerpts, read),
    )
    logits = [each.logit for each in excerpts if each.logit is not None]
    likely = excerpts[0].likely if excerpts else None
    if likely is not None and intent != "comparison":
        found = {**found, "logit": max(logits), "held": likely, "evidence": likely}
    elif read is not None and analysis.asked.language == "zh" and not analysis.is_decided:
        read_as = logits or read(analysis.question, _chains(analysis)).tolist()
        found = _by_likeness(found, read_as, are_sentences=intent is None or not excerpts)
    elif max(logits or _of_units(analysis, read), default=0.0) >= SAID_FROM:
        found = {**found, "held": max(found["held"], SAID)}
    if is_stated:
        found = {**found, **{name: max(found[name], STATED) for name in ("held", "evidence")}}
    return found


NEAR, NEAR_READ, NEAR_BLOCK = 0.12, {"en": -5.0, "zh": 0.0}, {"en": -7.5, "zh": -2.0}
"""Probability that the library holds the answer, or the reader's logit of sentences and of blocks,
from which what is nearest is told below a word of doubt."""
TOLD = {True: 0.4, False: 0.3}
"""An English excerpt (True), or sentences, that answer with less than this are told below a word of
doubt. Of 135 right answers on manuals and the sample documents 11 are, of 61 to questions that
nothing answers 41; by their evidence 21 and 35 were."""
DECLINED, LEAST_READ = {True: 0.4, False: 0.1}, -5.0
"""The same, and a logit, from which one that is as unlikely as what is declined is told below a
word of doubt: of 8 right answers that were declined 7 are, of 14 to what nothing answers 1 is."""
HESITANT, DOUBTED = 0.4, {"en": 0.28, "zh": 0.35}
"""The same of the evidence, where no reader has read the answer or it is Chinese; of an excerpt by
language."""


READ_ODDS, NAMELESS = 0.27, 0.5
"""Log odds of an English excerpt's logit that it answers, and the share of unknown names from which
that says nothing. Of 169 questions in users' own words on four sets of documents the logit alone
tells right answers from wrong ones and from those of 56 that nothing answers (AUC .78); with the
question's words it tells less (.73), as what nothing answers is asked in the documents' words."""


def _likely(figures: Mapping[str, float], language: Language, *, is_excerpt: bool) -> float:
    """Return how likely there is an answer, and with a reader this one, by both probabilities.

    Their geometric mean: the last sentence of a chain is read as no answer. An excerpt is as likely
    as it is read, where the documents know the question's names.
    """
    held = figures["held"]
    if not _is_read(figures, language):
        return held
    likely = math.sqrt(held * figures["evidence"])
    if is_excerpt and figures["unknown"] < NAMELESS:
        likely = max(likely, probability(READ_ODDS * figures["logit"]))
    return likely


def _is_read(figures: Mapping[str, float], language: Language) -> bool:
    """Check that a reader has read an English answer."""
    return language == "en" and "logit" in figures


def _is_told(figures: Mapping[str, float], language: Language, *, is_excerpt: bool) -> bool:
    """Check that an answer is likely enough to be told without a doubt."""
    if _is_read(figures, language):
        return answers_probability(figures, is_excerpt=is_excerpt) >= TOLD[is_excerpt]
    return figures["evidence"] >= (DOUBTED[language] if is_excerpt else HESITANT)


def _hesitant(draft: Draft, question: str) -> Draft:
    """Put a word of doubt above an answer, unless its short answer is sure."""
    is_read = "logit" in draft.figures  # without a reader the short answer is less calibrated
    if is_read and draft.short is not None and draft.short.is_confident:
        return draft
    return replace(draft, text=f"{_doubt(question)}\n\n{draft.text}")


def _doubt(question: str) -> str:
    return in_script_of(question, HESITATION[language_of(question)])


def _is_near(figures: Mapping[str, float], language: Language, *, is_excerpt: bool) -> bool:
    """Check that what was found may be the answer; a block is shown sooner than loose sentences."""
    least = (NEAR_BLOCK if is_excerpt else NEAR_READ)[language]
    return figures["held"] >= NEAR or figures.get("logit", -math.inf) >= least


def _declined(draft: Draft, question: str, *, is_near: bool, detail: str) -> Draft:
    """Abstain; tell what is nearest where that may be the answer, else keep it beside."""
    language = language_of(question)
    if not is_near:
        declined = abstain(
            language, detail=detail, evidence=draft.evidence or 0.0, figures=draft.figures
        )
        return replace(declined, nearest=draft.citations)
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


def _read_rows(analysis: Analysis, read: Reader) -> NDArray[np.float64]:
    """Return how each selected sentence is read, alone or with what belongs to it, the higher."""
    units = [
        unit_text(analysis.weighed, row, analysis.passages, analysis.units) for row in analysis.rows
    ]
    alone = read(analysis.question, _chains(analysis))
    return np.maximum(alone, read(analysis.question, units))


def _of_units(analysis: Analysis, read: Reader | None) -> list[float]:
    """Return how the selected sentences are read that are shown with what belongs to them."""
    if read is None or not analysis.units:
        return []
    logits = _read_rows(analysis, read).tolist()
    return [one for row, one in zip(analysis.rows, logits, strict=True) if analysis.units[row]]


def _chains(analysis: Analysis) -> list[str]:
    return [chain_text(analysis.weighed, row, analysis.passages) for row in analysis.rows]


def _renaming(read: Reader | None, known_as: KnownAs) -> Reader | None:
    """Return a reader of texts in which things have the names that the question uses."""
    if read is None:
        return None
    return _RenamingReader(read, known_as)


class _RenamingReader:
    """Reader of texts in which things have the names that the question uses."""

    def __init__(self, read: Reader, known_as: KnownAs) -> None:
        self._read = read
        self._known_as = known_as

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        return self._read(question, [self._known_as.read(text) for text in texts])


def _that_state(sentences: list[Sentence], passages: Sequence[Passage]) -> list[Sentence]:
    """Leave out questions, titles and markup, which answer none, unless there are no others."""
    stating = [
        each
        for each in sentences
        if not _is_question(each.text)
        and not is_title(each.text)
        and len(_TAG.findall(each.text)) < _MARKUP
        and not _is_heading(each, passages[each.passage])
    ]
    return [replace(each, order=row) for row, each in enumerate(stating)] or sentences


def _is_question(text: str) -> bool:
    """Check for a question; a long sentence that ends in one tells something before."""
    return text.rstrip(" *_").endswith(("?", "？")) and count_words(text) <= LONGEST_QUESTION


LONGEST_QUESTION = 50
"""Words of a sentence that asks and tells nothing."""
_TAG, _MARKUP = re.compile(r"</?[a-zA-Z][^<>\n]*>"), 3
"""Lines of a page's source with so many tags are no sentence."""


def _is_heading(sentence: Sentence, passage: Passage) -> bool:
    """Check for the words of a heading above it, or the title of its document."""
    text = sentence.text.strip(" #*_")
    above = (*passage.headings, sentence.heading)
    return text == passage.title or (bool(text) and any(each.endswith(text) for each in above))


def _excerpts(
    analysis: Analysis, intent: Intent | None, *, read: Reader | None, text_at: TextAt | None
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
    return told_at_one_place(
        question, passages, weighed,
        wanted=analysis.wanted, read=read, text_at=text_at,
        beside=float(_read_rows(analysis, read).max()),
    )  # fmt: skip


STRAY, BEGUN = 2.0, 60
"""Logits below the first sentence at which one on another page's subject is left out, and
characters in which it names that."""
ADDS, WEAK, CERTAIN = 0.15, -2.0, 7.0
"""Share of the question's weight from which on a further sentence adds, the least logit of both,
and one of the first from which nothing adds to it."""


def _in_context(
    analysis: Analysis, excerpts: Sequence[Excerpt], *, read: Reader | None, text_at: TextAt | None
) -> tuple[Analysis, Excerpt | None]:
    """Return the sentence that says a fact, with what leads to it, and the block around it.

    Of `excerpts`, which tell it at one place, it is the sentence where the answer is read; none
    where that is a row of a table, which is shown with its like.
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
    analysis: Analysis,
    *,
    read: Reader | None,
) -> list[int]:
    """Return what does not stand around the first sentence and adds to it, or may lead on from it.

    The latter is as near and begins with a word of its own page's title: *Franz, Duke of Hohenberg,
    was the son of …*. What else is as near is a stray: of 59 such sentences on 1,000 questions 5
    held what the first one had not, and beside 36 the first one was right.
    """
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
        analysis.question,
        [unit_text(weighed, row, passages, analysis.units) for row in (first, *others)],
    )
    if logits[0] < WEAK:
        return []
    of = passages[weighed[first].sentence.passage].document_id

    def belongs(row: int, logit: float) -> bool:
        each = weighed[row].sentence
        page = passages[each.passage]
        begun = {*tokens(each.text[:BEGUN])}
        is_own = page.document_id != of and not begun.isdisjoint(tokens(page.title))
        more = weight_share(carried_terms(weighed[row], wanted) - known, wanted)
        is_near = logit >= logits[0] - STRAY
        adds = logits[0] < CERTAIN and logit >= WEAK and more >= ADDS
        return adds or (is_near and is_own)

    return [row for row, logit in zip(others, logits[1:], strict=True) if belongs(row, logit)]


def _sentence_at(excerpt: Excerpt, analysis: Analysis, read: Reader | None) -> int | None:
    """Return the row of the sentence of an excerpt in which the answer is read."""
    if not isinstance(read, SpanReader):
        return None
    place = excerpt.source.start + likeliest_place(analysis.question, excerpt, read)
    for row, each in enumerate(analysis.weighed):
        sentence, passage = each.sentence, analysis.passages[each.sentence.passage]
        start, end = (passage.start + at for at in (sentence.start, sentence.end))
        if passage.chunk_id == excerpt.source.chunk_id and start <= place < end:
            return None if sentence.columns else row
    return None


def _logits(analysis: Analysis, excerpts: Sequence[Excerpt], read: Reader | None) -> list[float]:
    """Return how what is shown is read, an excerpt by the part for which it was chosen.

    None where there is no reader of the question's language. Of several questions in one it may
    answer the first by itself.
    """
    if not isinstance(read, SpanReader):
        return []
    chosen = [each.logit for each in excerpts if each.logit is not None]
    leading = leading_question(analysis.question)
    if leading == analysis.question:
        return chosen or _read_rows(analysis, read).tolist()
    if not chosen:
        first = read(leading, _chains(analysis))
        return np.maximum(_read_rows(analysis, read), first).tolist()
    texts = [f"{each.source.title}: {each.heading}\n{each.text}" for each in excerpts]
    return [max(chosen), *read(leading, texts).tolist()]


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
