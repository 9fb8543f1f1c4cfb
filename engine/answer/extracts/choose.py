"""Which of the weighed sentences are given: few, none twice, and for all of the question.

The likeliest one alone is often but the first step of a question of two: it carries the words that
lead to a thing, not those that ask of it. So what a further sentence adds to the question's words
speaks for it, and sentences are added while words lack that one of them would bring. Knows nothing
of passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .relatives import variants
from .short import Candidate, softmax
from .weigh import Weighed

SURE = 0.85
"""Sentences are added until one of those chosen holds the answer with this probability."""
SAME = 0.8
"""Sentences that share so much of the shorter one's words say the same."""
LOOKED_AT = 40
"""Further ones are chosen from so many, the likeliest."""
GAIN = 3.0
"""What the logarithm of a sentence's share gains where it adds all of the question's weight."""
COVERED = 0.8
"""Of the question's weight so much is to stand in those chosen, if others can add to it."""
LEAST_GAIN = 0.1
"""Where one is sure enough, a sentence is still added that brings so much of the weight."""


def choose(
    weighed: Sequence[Weighed],
    spans: Sequence[Candidate],
    *,
    wanted: Mapping[str, float],
    limit: int,
    enough: float = SURE,
) -> list[int]:
    """Rows of the likeliest sentence, in front of it the one that leads to it, then further ones.

    A sentence is as likely as it is by itself and by the spans in it. Further ones are added, at
    most up to `limit`, until one of them holds the answer with the probability `enough` and they
    carry the question's words (`wanted`, by weight). Deterministic: ties go to the earlier one.
    """
    share = _shares(weighed, spans)
    order = [int(row) for row in np.lexsort((np.arange(share.size), -share))]
    first = order[0]
    hop = weighed[first].hop
    leads = hop is not None and limit > 1 and weighed[hop].covered > weighed[first].covered
    chosen = [hop, first] if leads and hop is not None else [first]
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


def _shares(weighed: Sequence[Weighed], spans: Sequence[Candidate]) -> NDArray[np.float64]:
    """How likely each sentence holds the answer, by itself and by the spans in it."""
    likely = softmax(np.array([each.score for each in weighed]))
    if not spans:
        return likely
    by_span = np.zeros(len(weighed))
    for each in spans:
        by_span[each.row] += each.share
    return np.asarray((likely + by_span) / 2)


def _carried(weighed: Weighed, wanted: Mapping[str, float]) -> frozenset[str]:
    """The question's words, or relatives of them, that stand in a sentence or above it."""
    sentence = weighed.sentence
    terms = sentence.terms | sentence.tells | sentence.context
    return frozenset(term for term in wanted if not terms.isdisjoint(variants(term)))


def _part(terms: frozenset[str], wanted: Mapping[str, float]) -> float:
    """The share of the question's weight that some of its words have."""
    return sum(w for term, w in wanted.items() if term in terms) / sum(wanted.values())


def _repeats(weighed: Sequence[Weighed], row: int, chosen: Sequence[int]) -> bool:
    terms = weighed[row].sentence.terms
    others = [weighed[other].sentence.terms for other in chosen]
    return any(len(terms & o) >= SAME * max(1, min(len(terms), len(o))) for o in others)
