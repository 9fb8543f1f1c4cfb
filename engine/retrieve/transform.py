"""Query expansion: several searches of one question, merged into one ranking.

    searches = expanded(question, kinds=("steps",), complete=…, first_passages=…).expansions
    found = [(each, <rank its keyword and dense text, without a walk>) for each in searches]
    ranking = rank_expanded(found, walk=walk)

With a language model: other wordings (`mqe`), a hypothetical passage (`hyde`), sub-questions
(`decompose`), steps of which each is told what the one before found (`steps`). Without one:
sub-questions by grammar (`decompose`), words of the first passages (`feedback`). Knows nothing of
indexes or of who ranks; what each kind buys is measured by `tests/benchmarks/transforms.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import ModelError
from .expand_feedback import feedback_terms
from .expand_merge import Method, merge
from .expand_parts import question_parts
from .expand_steps import FirstPassages, steps
from .expand_with_model import Complete, hypothetical_passage, multi_query, sub_questions
from .ranking import Ranking, Walk

Kind = Literal["mqe", "hyde", "decompose", "steps", "feedback"]
KINDS: tuple[Kind, ...] = ("mqe", "hyde", "decompose", "steps", "feedback")
FEEDBACK_PASSAGES = 3
"""Number of first passages used for feedback."""
_WEIGHTS: dict[Kind, float] = {
    "mqe": 0.5,
    "hyde": 0.5,
    "decompose": 1.0,
    "steps": 1.0,
    "feedback": 0.3,
}
"""Expansion weights besides the question's 1.

Paraphrases share theirs, sub-questions have it each.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """One search: BM25 text, embedded text ("" for neither) and its weight.

    `kind` is `question` for the question itself, else what made it.
    """

    keyword: str
    dense: str
    weight: float
    kind: Kind | Literal["question"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedQuery:
    """Expanded query: searches with the question first, model calls and failures."""

    expansions: tuple[Expansion, ...]
    asked: int = 0
    failed: tuple[str, ...] = ()


Expander = Callable[[str, FirstPassages], ExpandedQuery]
"""A question, and how its first passages are found → its searches, itself first."""


def expand_query(
    question: str,
    *,
    kinds: Sequence[Kind],
    complete: Complete | None = None,
    first_passages: FirstPassages | None = None,
    idf: Callable[[str], float] | None = None,
) -> ExpandedQuery:
    """Expand a question into several searches, itself first.

    Args:
        question: in words.
        kinds: what to make of it; the order means nothing.
        complete: prompt to text. Without it `mqe`, `hyde` and `steps` give nothing and `decompose`
            goes by grammar; where it raises a `ModelError` the kind is left out and the reason is
            kept (`decompose` then goes by grammar too).
        first_passages: a text and how many are wanted → title and text of the first passages that
            it finds; `feedback` and `steps` ask for them, and give nothing without.
        idf: how rare a token is; None takes all alike.
    """
    searches = [Expansion(keyword=question, dense=question, weight=1.0, kind="question")]
    asked, failed = 0, list[str]()

    def counted(prompt: str) -> str:
        nonlocal asked
        asked += 1
        return complete(prompt) if complete is not None else ""

    for kind in sorted(set(kinds), key=KINDS.index):
        made: list[Expansion] = []
        if complete is not None:
            try:
                made = _by_model(question, kind, counted, first_passages)
            except ModelError as error:
                failed.append(f"{kind}: {error}")
        if not made and kind == "decompose":
            made = _searches(question_parts(question), kind)
        if kind == "feedback" and first_passages is not None:
            made = _by_feedback(question, first_passages(question, FEEDBACK_PASSAGES), idf)
        searches += made
    return ExpandedQuery(expansions=tuple(searches), asked=asked, failed=tuple(failed))


def rank_expanded(
    found: Sequence[tuple[Expansion, Ranking]],
    *,
    walk: Walk | None = None,
    method: Method | None = None,
    pool: int = 100,
) -> Ranking:
    """Merge the rankings of several searches and walk once.

    Args:
        found: the searches with what each found, ranked without a walk, the question's first.
        walk: as in `rank_passages`; None leaves the merged order.
        method: how to merge (see `merge`); None takes a row's best score where there are steps,
            each of which is sure of what it looks for, and adds up where there are none.
        pool: how many of its best rows each search brings.

    One search alone gives what `rank_passages` gives. The lists are those of the question itself,
    and `expanded`, the merged scores.
    """
    first = found[0][1]
    if len(found) == 1:
        merged = first.scores
    else:
        weights = [expansion.weight for expansion, _ in found]
        scores = [ranking.scores for _, ranking in found]
        by_steps = any(expansion.kind == "steps" for expansion, _ in found)
        merged = merge(scores, weights, method=method or ("max" if by_steps else "sum"), pool=pool)
    lists = {**first.lists, "expanded": merged} if len(found) > 1 else dict(first.lists)
    if walk is None:
        order = np.lexsort((np.arange(merged.size), -merged))
        return Ranking(order=order, scores=merged, lists=lists)
    outcome = walk(merged)
    mass = np.asarray(outcome.mass, dtype=np.float64)
    lists["walk"] = mass
    return Ranking(order=outcome.order, scores=mass, lists=lists, seeds=outcome.seeds)


def _by_model(
    question: str,
    kind: Kind,
    complete: Complete,
    first_passages: FirstPassages | None,
) -> list[Expansion]:
    match kind:
        case "mqe":
            wordings = multi_query(question, complete=complete)
            return _searches(wordings, kind, shared=True)
        case "decompose":
            return _searches(sub_questions(question, complete=complete), kind)
        case "steps":
            if first_passages is None:
                return []
            return _searches(
                steps(question, complete=complete, first_passages=first_passages), kind
            )
        case "hyde":
            passage = hypothetical_passage(question, complete=complete)
            # Its words are guesses: exact matching of them misleads, nearness does not.
            found = Expansion(keyword="", dense=passage, weight=_WEIGHTS[kind], kind=kind)
            return [found] if passage else []
        case "feedback":
            return []


def _by_feedback(
    question: str, passages: Sequence[str], idf: Callable[[str], float] | None
) -> list[Expansion]:
    terms = feedback_terms(question, passages, idf=idf or (lambda _token: 1.0))
    words = " ".join(terms)
    found = Expansion(keyword=words, dense="", weight=_WEIGHTS["feedback"], kind="feedback")
    return [found] if words else []


def _searches(texts: Sequence[str], kind: Kind, *, shared: bool = False) -> list[Expansion]:
    weight = _WEIGHTS[kind] / (len(texts) if shared and texts else 1)
    return [Expansion(keyword=text, dense=text, weight=weight, kind=kind) for text in texts]
