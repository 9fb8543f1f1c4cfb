"""Sentence selection: few, without repetition, covering the whole question.

The likeliest one alone is often but the first step of a question of two: it carries the words that
lead to a thing, not those that ask of it. So what a further sentence adds to the question's words
speaks for it, and sentences are added while words lack that one of them would bring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .relatives import lexical_variants
from .short import Candidate, softmax
from .weigh import ScoredSentence

SURE = 0.85
"""Target probability that a selected sentence holds the answer."""
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
    spans: Sequence[Candidate],
    *,
    wanted: Mapping[str, float],
    limit: int,
    enough: float = SURE,
) -> list[int]:
    """Select rows: the likeliest sentence, its predecessor hop first, then further ones.

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


def _shares(weighed: Sequence[ScoredSentence], spans: Sequence[Candidate]) -> NDArray[np.float64]:
    """Return each sentence's likelihood, by itself and by its spans."""
    likely = softmax(np.array([each.score for each in weighed]))
    if not spans:
        return likely
    by_span = np.zeros(len(weighed))
    for each in spans:
        by_span[each.row] += each.share
    return np.asarray((likely + by_span) / 2)


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
