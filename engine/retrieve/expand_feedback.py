"""Pseudo-relevance feedback from the first passages, without a model.

Pseudo-relevance feedback takes the first passages for good ones and asks again with their words
(after Lavrenko and Croft's relevance models, mixed with the question as in RM3, Abdul-Jaleel et
al., TREC 2004) or with a vector moved towards theirs (Rocchio, 1971). Pure: passages and the rarity
of tokens come by argument.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .tokens import tokens

_PIECE = re.compile(r"\S+")
_HAN = re.compile(r"[\u3400-\u9fff]")


def feedback_terms(
    question: str,
    passages: Sequence[str],
    *,
    idf: Callable[[str], float],
    count: int = 10,
) -> list[str]:
    """Return terms that distinguish the first passages and are absent from the question.

    Args:
        question: in words.
        passages: title and text of the first ones, best first; each counts alike.
        idf: how rare a token is.
        count: how many words at most.

    Words as they stand in the passages, weightiest first; of Chinese, pairs of characters.
    """
    asked = set(tokens(question))
    weights: dict[str, float] = defaultdict(float)
    written: dict[str, Counter[str]] = defaultdict(Counter)
    for passage in passages:
        held = Counter(tokens(passage))
        for token, times in sorted(held.items()):
            weights[token] += times / held.total() * idf(token)
        for piece in _PIECE.findall(passage):
            for token in tokens(piece):
                written[token][token if _HAN.search(token) else piece.strip(".,;:!?()\"'“”")] += 1
    best = sorted(weights.keys() - asked, key=lambda token: (-weights[token], token))[:count]
    return [_commonest(written[token]) or token for token in best]


def _commonest(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form), default="")


def shift_query_vector(
    question: NDArray[np.float32], passages: NDArray[np.float32], *, share: float = 0.3
) -> NDArray[np.float32]:
    """Shift the question's unit vector (d) by `share` of the passages' mean (k, d)."""
    if not len(passages):
        return question
    vector = question + share * passages.mean(axis=0)
    length = float(np.linalg.norm(vector))
    return np.asarray(vector / length if length else question, dtype=np.float32)
