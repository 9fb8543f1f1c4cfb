"""Support of a summarising claim by several sources together: 0–1.

What says in few words what no one sentence says shares few words with any. So all of its sources
count, and what they mean. Figures and names are not looked at here. Fitted on summaries that people
wrote and what they rest on (`tests/benchmarks/summing_up.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .support import CheckedClaim, EntailmentScorer, EvidenceSource, is_han

BY_WORDS = (-1.3, 11.5)
BY_WORDS_AND_MEANING = (-3.5, 7.3, 7.7)
"""Logistic coefficients: constant, word coverage and cosine.

Shifted towards supported, as most summaries are.
"""

_MOST_SOURCES = 4
"""Maximum sources compared by embedding at a time."""
_WORDS_ENOUGH = 0.5


def multi_source_support(
    claim: CheckedClaim, sources: Sequence[EvidenceSource], *, reader: EntailmentScorer
) -> float:
    """Return how well the sources support the claim together; 0 without words."""
    if not claim.terms:
        return 0.0
    held = [
        claim.terms.keys() & set(reader.tokens(f"{source.above} {source.passage.text}"))
        for source in sources
    ]
    covered = sum(claim.terms[term] for term in set[str]().union(*held)) / claim.total
    cosine = None
    if covered < _WORDS_ENOUGH and reader.alike is not None and not is_han(claim.text):
        nearest = sorted(range(len(sources)), key=lambda n: (-len(held[n]), n))[:_MOST_SOURCES]
        text = " ".join(sources[n].passage.text for n in sorted(nearest))
        cosine = reader.alike(claim.text, text)
    if cosine is None:
        constant, by_words = BY_WORDS
        odds = constant + by_words * covered
    else:
        constant, by_words, by_meaning = BY_WORDS_AND_MEANING
        odds = constant + by_words * covered + by_meaning * cosine
    return 1.0 / (1.0 + math.exp(-odds))
