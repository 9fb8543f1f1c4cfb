"""Calibrated relevance of passages to a question, 0–1.

What orders passages (fused scores, the mass of a walk) says nothing across questions: the best of
a hopeless list scores as high as the best of a good one. Relevance is the estimated probability
that a passage is one of those a question asks for, from how much of the question stands in it,
its cosine, its place in the list, and the question's names. The coefficients are fitted by
`tests/benchmarks/fit_relevance.py`; nothing here knows of indexes or models.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .fuse import Scores
from .tokens import tokens

_ASKING = re.compile(
    r"为什么|是什么|什么样|什么|怎么样|怎么|怎样|如何|哪[些个里位家种年几两一]?|多少|多大|多久|多长"
    r"|几[个年位种]?|是谁|谁|何时|何地|何处|何种|是否|吗|呢|请问|有没有|请"
)


_BINDING = re.compile(r"[的了是在被与]")
"""Characters that bind words: a pair with one of them in it is hardly ever a word."""
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_IS_HAN = re.compile(rf"[{_HAN}]+")
SCATTERED = 0.5
"""Credit of a Chinese word whose characters occur, but reordered (水位高 for 高水位).

Abbreviated (海大 for 海洋大学) or apart.
"""


def question_tokens(question: str) -> list[str]:
    """Return a question's distinct tokens without question words, in order.

    Chinese is taken apart at characters that bind words; what single ones this leaves say little
    and are left out, if there is anything else.
    """
    asked = _ASKING.sub(" ", question)
    plain = list(dict.fromkeys(tokens(asked)))
    bound = _BINDING.sub(" ", asked)
    if bound == asked:
        return plain
    words = [w for w in tokens(bound) if not (len(w) == 1 and _IS_HAN.fullmatch(w))]
    return list(dict.fromkeys(words)) or plain


def coverage(
    question: Sequence[str],
    passages: Sequence[Collection[str]],
    *,
    document_frequency: Callable[[str], int],
    passage_count: int,
) -> Scores:
    """Return the idf-weighted share of question tokens in each passage: (k), 0–1.

    `passages` are the tokens of title and text together. A token that no passage of the corpus
    has weighs most of all; a Chinese one whose characters stand scattered counts `SCATTERED`.
    A question without tokens is covered by nothing.
    """
    weights = np.array([_idf(document_frequency(token), passage_count) for token in question])
    if not weights.sum():
        return np.zeros(len(passages))
    characters = [frozenset(token) if _IS_HAN.fullmatch(token) else None for token in question]
    held = [_held(question, characters, frozenset(passage)) for passage in passages]
    return np.array([(weights * shares).sum() / weights.sum() for shares in held])


def _held(
    question: Sequence[str],
    characters: Sequence[frozenset[str] | None],
    passage: frozenset[str],
) -> Scores:
    """Return how far a passage holds each question token, 0–1, by characters for Chinese."""
    some = any(characters)
    written = (
        frozenset("".join(t for t in passage if _IS_HAN.fullmatch(t))) if some else frozenset()
    )

    def share(token: str, parts: frozenset[str] | None) -> float:
        if token in passage:
            return 1.0
        return SCATTERED if parts is not None and parts <= written else 0.0

    return np.array([share(*each) for each in zip(question, characters, strict=True)])


def _idf(frequency: int, count: int) -> float:
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5)) if count else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceFeatures:
    """Relevance features of one passage in a result list.

    Args:
        covered: `coverage` of the question by title and text, 0–1.
        share: its score divided by the best score of the list, 0–1: walk mass where there was a
            walk, else the fused score.
        cosine: of question and passage; None where no encoder took part.
        readable: how much of question and passage the encoder can read, 0–1.
        names: the share of the question's names that stand in the passage or are its title;
            None where the question holds no name.
    """

    covered: float
    share: float
    cosine: float | None = None
    readable: float = 1.0
    names: float | None = None


FEATURES = (
    "constant",
    "coverage",
    "cosine",
    "blind",
    "blind × coverage",
    "share",
    "names",
    "no names",
    "best coverage",
    "best cosine",
)
"""Logistic features. `blind`: unreadable share; `best …`: over the list."""


def features(evidences: Sequence[RelevanceFeatures]) -> npt.NDArray[np.float64]:
    """Return the feature matrix (k, len(FEATURES)) of one result list."""
    sees = [0.0 if e.cosine is None else e.readable for e in evidences]
    likeness = [
        s * min(max(e.cosine or 0.0, 0.0), 1.0) for s, e in zip(sees, evidences, strict=True)
    ]
    best_covered = max((e.covered for e in evidences), default=0.0)
    best_likeness = max(likeness, default=0.0)
    rows = [
        (
            1.0,
            e.covered,
            like,
            1.0 - see,
            (1.0 - see) * e.covered,
            e.share,
            e.names or 0.0,
            float(e.names is None),
            best_covered,
            best_likeness,
        )
        for e, see, like in zip(evidences, sees, likeness, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))


COEFFICIENTS = (-7.58, 0.75, 1.67, 1.38, 2.8, 3.34, 2.45, -0.19, 1.15, 3.18)
"""Fitted; in the order of `FEATURES`."""


def relevance(evidences: Sequence[RelevanceFeatures]) -> list[float]:
    """Return the probability, 0–1, that each passage is relevant, in list order.

    A list is judged as a whole: what its best passages show speaks for those that links led to.
    """
    odds = features(evidences) @ np.array(COEFFICIENTS)
    return [float(p) for p in 1.0 / (1.0 + np.exp(-odds))]
