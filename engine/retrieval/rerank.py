"""Reranking of the first passages by a more expensive model.

The seam for rerankers, and the one place that decides how many passages are judged, when judging
is skipped, and what becomes of a list whose reranker fails. Knows no model.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ..errors import ModelError, ModelOutputError
from ..types import Passage
from .fusion import rescale

_LOGGER = logging.getLogger("loregraph.rerank")

RERANK = "rerank"
"""The name in `Passage.scores` of what the reranker gave."""
ORDER_KEPT = "order kept"
"""Trace note of a failed reranker."""


class Reranker(Protocol):
    """Puts the passages of one question in order."""

    def rerank(self, question: str, passages: Sequence[Passage]) -> list[Passage]:
        """Return the passages reordered, best first, with `scores["rerank"]` and `score` set.

        Raises:
            ModelError: it could not do its part; the order before then stays.
        """
        ...


def rerank_passages(
    passages: Sequence[Passage],
    question: str,
    *,
    reranker: Reranker,
    candidates: int,
    top_k: int,
    weight: float = 1.0,
    on_event: Callable[[str], None] | None = None,
) -> list[Passage]:
    """Return the `top_k` best of `passages` after reranking the first `candidates`.

    The others stay behind those, in their order. Judging is skipped where there are fewer than two
    candidates; not where all of them would be shown anyway, because packing, trace and reader
    take what comes first for the best. A reranker that fails leaves the order as it was.

    `score` keeps its scale: the judged passages share out, in their new order, the scores that
    they came with, so that the whole list still falls. What the reranker gave is
    `scores["rerank"]`; `relevance` is not touched.

    Args:
        passages: of one question, best first, with falling scores.
        question: in words.
        reranker: the judge.
        candidates: how many are judged; 0 judges none.
        top_k: how many are returned.
        weight: how much the judge counts against the order before, 0–1; see `blended`.
        on_event: is told in one line what was done, for the trace; a failure is logged as well.

    Raises:
        ValueError: a negative count, or a weight outside 0–1.
    """
    if candidates < 0 or top_k < 0:
        raise ValueError(f"candidates and top_k must not be negative: {candidates}, {top_k}")
    if not 0 <= weight <= 1:
        raise ValueError(f"weight must be between 0 and 1, not {weight}")
    say = on_event or _LOGGER.debug
    head, rest = list(passages[:candidates]), list(passages[candidates:])
    if len(head) < 2:
        say(f"nothing to put in order: {len(head)} candidate{'' if len(head) == 1 else 's'}")
        return list(passages[:top_k])
    try:
        order = blend_scores(_checked(reranker.rerank(question, head), head), head, weight=weight)
    except ModelError as error:
        _LOGGER.warning("not reranked: %s", error)
        say(f"{ORDER_KEPT}: {error}")
        return list(passages[:top_k])
    moved = sum(was.chunk_id != now.chunk_id for was, now in zip(head, order, strict=True))
    say(f"{len(head)} of {len(passages)} passages judged, {moved} moved")
    return [*_with_falling_scores(order, head), *rest][:top_k]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageReranker:
    """A reranker with how much it is given to judge, and how much its word counts."""

    reranker: Reranker
    candidates: int = 20
    weight: float = 1.0


def blend_scores(
    order: Sequence[Passage], before: Sequence[Passage], *, weight: float
) -> list[Passage]:
    """Blend the reranker's score by `weight` with the log of the former score.

    Both are rescaled to 0–1 over the judged passages; what was not judged stays last. A judge that
    looks at one passage at a time cannot see that it is a step on the way to the answer; the score
    before (the walk's) can. With weight 1 the judge's own order stands.

    Args:
        order: as the judge put them, with `scores["rerank"]` where judged.
        before: the same passages as found, with the scores that they were found by.
        weight: of the judge, 0–1.
    """
    judged = [each for each in order if RERANK in each.scores]
    if weight == 1 or len(judged) < 2:
        return list(order)
    scores = {_place(each): each.score for each in before}
    found = [scores[_place(each)] for each in judged]
    if min(found) > 0:
        found = [math.log(score) for score in found]
    said = rescale([each.scores[RERANK] for each in judged], rank=len(judged))
    both = weight * said + (1 - weight) * rescale(found, rank=len(judged))
    best = sorted(range(len(judged)), key=lambda place: (-round(float(both[place]), 12), place))
    return [judged[place] for place in best] + [x for x in order if RERANK not in x.scores]


def in_order_of(passages: Sequence[Passage], scores: Sequence[float | None]) -> list[Passage]:
    """Sort passages by score; ties and unscored ones keep their order.

    Those without a score (None) were not judged: they come last, as they are.
    """
    known = [
        (-score, place) for place, score in enumerate(scores[: len(passages)]) if score is not None
    ]
    judged = [with_rerank_score(passages[place], -worth) for worth, place in sorted(known)]
    places = {place for _, place in known}
    return judged + [each for place, each in enumerate(passages) if place not in places]


def with_rerank_score(passage: Passage, score: float) -> Passage:
    """Return the passage with a reranker's score."""
    return replace(passage, score=score, scores={**passage.scores, RERANK: score})


SENT_CHARACTERS = 8_000
"""Maximum characters sent to a cross-encoder, which reads no more."""


def rerank_text(passage: Passage, *, limit_characters: int = SENT_CHARACTERS) -> str:
    """Return a passage's title, headings and text, truncated.

    Names that the text begins with anyway are not said twice.
    """
    opening = passage.text[:200].casefold()
    names = [passage.title, *passage.headings]
    above = [name for name in dict.fromkeys(names) if name and name.casefold() not in opening]
    return "\n".join(filter(None, [" – ".join(above), passage.text]))[:limit_characters]


def _checked(order: Sequence[Passage], head: Sequence[Passage]) -> Sequence[Passage]:
    """Validate an order: each candidate once, comparable scores."""
    if sorted(map(_place, order)) != sorted(map(_place, head)):
        raise ModelOutputError(
            f"unusable reply of the reranker: {len(order)} passages for {len(head)}; "
            "check rerank.model"
        )
    if any(math.isnan(passage.score) for passage in order):
        raise ModelOutputError(
            "unusable reply of the reranker: scores are not numbers; check rerank.model"
        )
    return order


def _place(passage: Passage) -> tuple[str, str, int, int]:
    return passage.document_id, passage.chunk_id, passage.start, passage.end


def _with_falling_scores(order: Sequence[Passage], head: Sequence[Passage]) -> list[Passage]:
    scores = sorted((passage.score for passage in head), reverse=True)
    return [replace(each, score=score) for each, score in zip(order, scores, strict=True)]
