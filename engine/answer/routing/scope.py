"""Is a question about something in the corpus, or about the corpus as a whole?

Everything that speaks for either adds to one sum: cue words of both languages, names, numbers and
quotes (`cues`), and likeness to typical questions (`likeness`). A positive sum means the whole
corpus (`global`); how far it is from 0 is the confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...types import Mode, Route
from ..language import language_of
from .cues import extract_features
from .likeness import lexical_similarity
from .reasons import LIKENESS, explain_route


@dataclass(frozen=True, slots=True)
class _Weights:
    """Of a sum: what it begins with, and what likeness and cues count in it."""

    prior: float
    likeness: float
    cues: float


_BY_VECTORS = _Weights(prior=-0.1, likeness=3.0, cues=1.0)
_BY_WORDS = {
    "en": _Weights(prior=-0.4, likeness=0.6, cues=1.2),
    "zh": _Weights(prior=-0.8, likeness=1.5, cues=1.1),
}
"""Coefficients fitted to example questions (leave-one-out) and labelled ones.

Shrunk towards 0.
"""


def classify_scope(
    question: str,
    *,
    vector_likeness: float | None = None,
    known_names: int = 0,
) -> Route:
    """Classify the scope of a question, with its strongest feature.

    Args:
        question: in words.
        vector_likeness: about −1 to 1, by an embedding model that can read the question (see
            `ExampleSimilarity`); None compares words instead.
        known_names: how many names of the knowledge graph stand in the question.
    """
    language = language_of(question)
    weights = _BY_WORDS[language] if vector_likeness is None else _BY_VECTORS
    found = lexical_similarity(question, language) if vector_likeness is None else vector_likeness
    signs = {LIKENESS: weights.likeness * found} | {
        name: weights.cues * weight
        for name, weight in extract_features(question, known_names=known_names)
    }
    total = weights.prior + sum(signs.values())
    mode: Mode = "global" if total > 0 else "local"
    return Route(
        mode=mode,
        reason=explain_route(signs, mode, language),
        confidence=1.0 / (1.0 + math.exp(-abs(total))),
        signs=signs,
    )
