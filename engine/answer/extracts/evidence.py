"""Evidence: calibrated probability, 0–1, that the library holds the answer.

Relevant passages are not yet an answer: a library that knows the captain need not know when he was
born. So it is judged by what the best passage is worth, by how much of the question the chosen
sentences carry, which of its names stand in no passage, whether what is asked is said of the thing
that it is asked about (`bound`), and whether a comparison came out. The
coefficients are fitted by `tests/benchmarks/abstention.py` to questions with and without their
answer in the library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...types import Passage
from ..sentences import Sentence, Tokens
from .bound import DISTINCTIVE, SubjectBinding
from .relatives import RELATIVE, lexical_variants

FEATURES = ("constant", "log relevance", "log coverage", "unknown", "decided", "bound", "unsaid")
COEFFICIENTS = (1.75, 1.09, 0.75, -2.49, 1.27, 0.53, -1.28)
"""In the order of `FEATURES`."""

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
    tokens: Tokens,
    decided: bool,
    bound: SubjectBinding | None,
) -> dict[str, float]:
    """Compute the evidence features by name; `evidence` is the resulting probability.

    `relevance`: the best passage's. `coverage`: which share of the question's weight the chosen
    sentences carry together, titles and the sentence before counted in part. `unknown`: the share
    of the question's names, codes and numbers that stand in no passage. `decided`: whether a
    comparison came out. `bound` as of `score_subject_binding`; `unsaid`: what lacks of it, by the words
    that are sought. For a comparison, which has two subjects, `bound` is None and nothing lacks.
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
        "unknown": oov_ratio(question, passages, tokens=tokens),
        "decided": float(decided),
        "bound": bound.share if bound else 1.0,
        "unsaid": UNSAID * (1.0 - bound.share) / max(1, bound.sought) if bound else 0.0,
    }
    return {**found, "evidence": probability(found)}


def probability(found: Mapping[str, float]) -> float:
    """Return the logistic probability of features by coefficients."""
    odds = sum(c * found.get(name, 1.0) for name, c in zip(FEATURES, COEFFICIENTS, strict=True))
    return 1.0 / (1.0 + math.exp(-odds))


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


def oov_ratio(question: str, passages: Sequence[Passage], *, tokens: Tokens) -> float:
    """Return the share of the question's names, codes and numbers found in no passage."""
    names = {match.group() for match in DISTINCTIVE.finditer(question)}
    parts = [terms for name in sorted(names) if (terms := set(tokens(name)))]
    if not parts:
        return 0.0
    known: set[str] = set()
    for passage in passages:
        known.update(tokens(" ".join((passage.title, *passage.headings, passage.text))))
    return sum(1 for terms in parts if not terms & known) / len(parts)
