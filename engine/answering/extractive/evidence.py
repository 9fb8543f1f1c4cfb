"""Evidence of an extractive answer: the calibrated probability, 0–1, that it is right.

Whether to answer at all is decided by another: the probability that the library holds an answer.

`score_subject_binding` asks whether what is sought is stated of the thing asked about: a page on
Ada Roe does not answer when she was born, and neither does another person's birth beside it. The
coefficients are fitted by `tests/benchmarks/abstention.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...prompts import language_of
from ...retrieval.lexical_variants import lexical_variants
from ...retrieval.passages import Sentence
from ...storage.tokenization import TokenWeight, tokens
from ...types import Passage
from .answer_spans import span_features, span_tokens
from .question_type import QuestionType
from .sentence_scoring import RELATIVE, ScoredSentence

BOUND_PASSAGES = 30
"""Maximum sentences examined, best first."""
NAMED = 0.8
"""From this share of its title's weight on, a question is taken to name a thing."""
WITHOUT_KIND = 0.5
"""Credit of a sentence without the expected answer type."""

DISTINCTIVE = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][\w'’-]+|\b[A-Za-z]*\d[\w.-]*\w|\b\d\b")
"""Names, codes and numbers of an English question."""
_CODE = re.compile(
    r"(?<![\w./-])--?[A-Za-z][A-Za-z\d]*(?:-[A-Za-z\d]+)*"
    r"|(?<![\w./-])~?(?:/[\w.-]*\w)+"
    r"|(?<![\w./-])[A-Za-z\d-]+(?:[._]+[A-Za-z\d-]+)+(?![\w/])",
    re.ASCII,
)
_ABBREVIATED = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?|(?:[A-Z][a-z]?\.)+(?:[A-Z][a-z]?)?")
"""No code: *U.S.*, *e.g.*, *Ph.D.*"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectBinding:
    """Binding of the subject.

    `share`, 0–1, of the sought words stated of it by the best sentence; `sought` counts
    words besides question words and its name.
    """

    share: float
    sought: int


def score_subject_binding(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    asked: QuestionType,
    wanted: Mapping[str, float],
    weight: TokenWeight,
) -> SubjectBinding:
    """Score how much of what is sought is stated of its subject; 1 if nothing is sought."""
    subject = _subject(question, weighed, wanted=wanted, weight=weight)
    about = {term: value for term, value in wanted.items() if term in subject}
    sought = {term: value for term, value in wanted.items() if term not in subject}
    order = sorted(range(len(weighed)), key=lambda row: (-weighed[row].score, row))[:BOUND_PASSAGES]
    said = {row: _said(weighed, row, about, sought) for row in order}
    best = 0.0
    for row in sorted(order, key=lambda row: -said[row]):
        if said[row] <= best:
            break  # no kind can lift this one above the best
        fit = span_features(question, weighed[row], asked=asked, wanted=wanted)
        best = max(best, said[row] * (WITHOUT_KIND + (1 - WITHOUT_KIND) * fit))
    return SubjectBinding(share=best, sought=len(sought))


def _subject(
    question: str,
    weighed: Sequence[ScoredSentence],
    *,
    wanted: Mapping[str, float],
    weight: TokenWeight,
) -> set[str]:
    """Return question words that stand in its names or in matching titles."""
    named = {
        term for match in DISTINCTIVE.finditer(question) for term in span_tokens(match.group())
    }
    for title in {each.sentence.title for each in weighed}:
        whole = sum(max(weight(term), 0.0) for term in sorted(title))
        held = sum(max(weight(term), 0.0) for term in sorted(title & wanted.keys()))
        if whole and held >= NAMED * whole:
            named |= title
    return named & wanted.keys()


def _said(
    weighed: Sequence[ScoredSentence],
    row: int,
    about: Mapping[str, float],
    sought: Mapping[str, float],
) -> float:
    """Return the share of the subject a sentence names, times its share of sought words."""
    sentence, hop = weighed[row].sentence, weighed[row].hop
    chain = [sentence] if hop is None else [sentence, weighed[hop].sentence]
    names = [each.terms | each.tells | each.context for each in chain]
    tells = [each.terms | each.tells | (each.context - each.title) for each in chain]
    return _share(about, names) * _share(sought, tells)


def _share(which: Mapping[str, float], where: Sequence[frozenset[str]]) -> float:
    total = sum(which.values())
    if not total:
        return 1.0
    return sum(w * max(_held(term, terms) for terms in where) for term, w in which.items()) / total


def _held(term: str, terms: frozenset[str]) -> float:
    first, *others = lexical_variants(term)
    if first in terms:
        return 1.0
    return RELATIVE if others and not terms.isdisjoint(others) else 0.0


FEATURES = ("constant", "log relevance", "log coverage", "unknown", "decided", "bound", "unsaid")
COEFFICIENTS = (1.75, 1.09, 0.75, -2.49, 1.27, 0.53, -1.28)
"""In the order of `FEATURES`."""
RIGHT_FEATURES = ("constant", "log odds", "logit", "read decided")
RIGHT_COEFFICIENTS = (-0.963, 0.357, 0.183, 1.977)
"""Of the log odds that an answer is right, by those that the library holds one and the reader."""
ANSWERS_COEFFICIENTS = {True: (2.09, 0.18, -5.2), False: (0.12, 0.31, -3.97)}
"""Of the log odds that an English excerpt (True), or sentences, answer: constant, logit, unsaid up
to `MOST_UNSAID`. From 226 answers read by others and 61 to questions that nothing answers."""
MOST_UNSAID = 0.6
UNREAD_COEFFICIENTS = (-0.215, 0.644, 0.0, 0.0)
"""The same where nobody has read what is shown."""
LOWEST, HIGHEST = -8.0, 8.0
"""Bounds of a reader's logit."""

LEAST_RELEVANCE, LEAST_COVERAGE = 0.01, 0.01
"""Below these there is none."""
UNSAID = 3.0
"""Prior count of unstated sought words: one more weighs, five more hardly."""
CONTEXT = 0.7
BEFORE = 0.35
"""Credit of a question word in the title, headings or previous sentence."""


def evidence_features(
    question: str,
    chosen: Sequence[Sentence],
    passages: Sequence[Passage],
    *,
    wanted: Mapping[str, float],
    decided: bool,
    bound: SubjectBinding | None,
    logits: Sequence[float] = (),
) -> dict[str, float]:
    """Compute the evidence features by name.

    `relevance`: the best passage's. `coverage`: which share of the question's weight the chosen
    sentences carry together, titles and the sentence before counted in part. `unknown`: the share
    of the question's names, codes and numbers that stand in no passage. `decided`: whether a
    comparison came out. `bound` as of `score_subject_binding`; `unsaid`: what lacks of it, by the
    words that are sought. For a comparison, which has two subjects, `bound` is None and nothing
    lacks. `logit` is the best of the `logits` that a reader gave what is shown.

    Of these `held` is the probability that the library holds the answer, and `evidence` that the
    answer given is right.
    """
    total = sum(wanted.values())
    carried = sum(w * max(_credit(term, each) for each in chosen) for term, w in wanted.items())
    coverage = carried / total
    relevance = max(passage.relevance for passage in passages)
    found = {
        "relevance": relevance,
        "log relevance": math.log(max(relevance, LEAST_RELEVANCE)),
        "coverage": coverage,
        "log coverage": math.log(max(coverage, LEAST_COVERAGE)),
        "unknown": oov_ratio(question, passages),
        "decided": float(decided),
        "bound": bound.share if bound else 1.0,
        "unsaid": UNSAID * (1.0 - bound.share) / max(1, bound.sought) if bound else 0.0,
    }
    if logits:
        found["logit"] = min(max(max(logits), LOWEST), HIGHEST)
    found["held"] = logistic_probability(found)
    is_english = language_of(question) == "en"  # nothing is fitted for Chinese
    return {**found, "evidence": right_probability(found) if is_english else found["held"]}


def probability(odds: float) -> float:
    """Return the probability of log odds."""
    return 1.0 / (1.0 + math.exp(-odds))


def logistic_probability(found: Mapping[str, float]) -> float:
    """Return the logistic probability of answer features by fitted coefficients."""
    odds = sum(c * found.get(name, 1.0) for name, c in zip(FEATURES, COEFFICIENTS, strict=True))
    return probability(odds)


def right_features(found: Mapping[str, float]) -> tuple[float, ...]:
    """Return the values of `RIGHT_FEATURES`; of a comparison that came out the logit says nothing.

    What is decided by dates or countries stands in no sentence.
    """
    held, decided = found["held"], found["decided"]
    log_odds = math.log(held / (1.0 - held))
    return 1.0, log_odds, (1.0 - decided) * found.get("logit", 0.0), decided


def right_probability(found: Mapping[str, float]) -> float:
    """Return the probability that the answer is right."""
    weights = RIGHT_COEFFICIENTS if "logit" in found else UNREAD_COEFFICIENTS
    odds = sum(c * value for c, value in zip(weights, right_features(found), strict=True))
    return probability(odds)


def answers_probability(found: Mapping[str, float], *, is_excerpt: bool) -> float:
    """Return the probability that what a reader has read answers, by it and what lacks of it."""
    values = (1.0, found["logit"], min(found["unsaid"], MOST_UNSAID))
    return probability(
        sum(c * value for c, value in zip(ANSWERS_COEFFICIENTS[is_excerpt], values, strict=True))
    )


def _credit(term: str, sentence: Sentence) -> float:
    first, *others = lexical_variants(term)
    for where, share in (
        (sentence.terms | sentence.tells, 1.0),
        (sentence.context, CONTEXT),
        (sentence.before, BEFORE),
    ):
        if first in where:
            return share
        if others and not where.isdisjoint(others):
            return share * RELATIVE
    return 0.0


def unsaid_codes(question: str, told: str) -> list[str]:
    """Return the options, versions, paths and dotted names of a question that a text has not."""
    codes = (match.group() for match in _CODE.finditer(question))
    named = (code for code in codes if not (_ABBREVIATED.fullmatch(code) or _ANY.search(code)))
    return [code for code in named if not _has(told, code)]


_ANY = re.compile(r"xxx|foo\b", re.IGNORECASE)
"""Part of a code that stands for any: `-lxxx`."""
_VERSION = re.compile(r"[-.]?[vV]?\d[\d.]*$")
_LATIN = re.compile(r"(?<![A-Za-z])[A-Za-z][A-Za-z0-9+.-]{2,}(?<![.-])")


def is_of_other_names(question: str, passages: Sequence[Passage]) -> bool:
    """Check that passages lack most of the names in Latin letters of a Chinese question."""
    if language_of(question) != "zh":
        return False
    told = " ".join(f"{each.document_id} {each.title} {each.text}" for each in passages)
    names = {_VERSION.sub("", match.group()).casefold() for match in _LATIN.finditer(question)}
    folded = told.casefold()
    return 2 * sum(name not in folded for name in names) > len(names)


def _has(text: str, code: str) -> bool:
    """Check for a code by itself in a text; a version is the same with a "v" before it."""
    bare = re.escape(code[1:] if re.match(r"[vV]\d", code) else code)
    behind = r"(?!\w|\.\d)" if code[-1].isdigit() else r"(?!\w)"
    return re.search(rf"(?<![\w.])v?{bare}{behind}", text, re.IGNORECASE | re.ASCII) is not None


def oov_ratio(question: str, passages: Sequence[Passage]) -> float:
    """Return the share of the question's names, codes and numbers found in no passage."""
    names = {match.group() for match in DISTINCTIVE.finditer(question)}
    parts = [terms for name in sorted(names) if (terms := set(tokens(name)))]
    if not parts:
        return 0.0
    known: set[str] = set()
    for passage in passages:
        known.update(tokens(" ".join((passage.title, *passage.headings, passage.text))))
    return sum(1 for terms in parts if not terms & known) / len(parts)
