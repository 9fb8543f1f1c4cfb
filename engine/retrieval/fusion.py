"""Fusion of score lists into one ranking, and the calibrated relevance of passages, 0–1.

Pure arrays: rows and numbers. Lists are rescaled and added, or fused by ranks; any LlamaIndex
retriever may bring one more; older documents may count less, by their age against the newest
document that may be seen, so the same library and question give the same answer on any day.

What orders passages says nothing across questions: the best of a hopeless list scores as high as
the best of a good one. `relevance` estimates the probability that a passage is one of those a
question asks for. Its coefficients are fitted by `tests/benchmarks/fit_relevance.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import numpy.typing as npt

from graph.text.cjk import HAN

from ..storage.tokenization import tokens

if TYPE_CHECKING:
    from llama_index.core.base.base_retriever import BaseRetriever

Scores = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Weight = float | npt.ArrayLike
"""One number, or one a passage."""


SCALED_TO = 101
"""Place in a list whose score is the nought of its scale."""


def rescale(scores: npt.ArrayLike, rank: int = SCALED_TO) -> Scores:
    """Rescale scores (n) to 0–1: best is 1, the one at `rank` (or lowest) and below is 0.

    Where the best are equal up to `rank` they are not told apart: 1 where they found something.
    """
    values = np.asarray(scores, dtype=np.float64)
    scaled = np.zeros_like(values)
    if values.size:
        scale = _Scale.of(values, rank)
        scaled[scale.rows] = scale.at(values[scale.rows])  # a hundred of a million
    return scaled


@dataclass(frozen=True, slots=True)
class _Scale:
    """Scale from the score `floor` to the score `top`; `rows` are those above the floor."""

    floor: float
    top: float
    rows: Rows

    @classmethod
    def of(cls, values: Scores, rank: int) -> _Scale:
        """Return the scale of scores (n, at least one), of which `rank` is the floor."""
        lowest, top = float(values.min()), float(values.max())
        # Mostly the lowest is the score of nearly all, and partitioning so many equals is slow.
        rows = np.flatnonzero(values > lowest)
        if rows.size < rank:
            return cls(lowest, top, rows if top > lowest or top <= 0 else np.arange(values.size))
        above = values[rows]
        floor = float(np.partition(above, above.size - rank)[above.size - rank])
        return cls(floor, top, rows[above > floor if top > floor else above == top])

    def at(self, values: Scores) -> Scores:
        """Return these scores on the scale."""
        if not self.top > self.floor:
            return np.where(values == self.top, float(self.top > 0), 0.0)
        return np.maximum(values - self.floor, 0.0) / (self.top - self.floor)


def found_scores(rows: Sequence[int], scores: Sequence[float | None], *, count: int) -> Scores:
    """Expand a partial list to scores of all `count` rows, found ones above 0.

    `rows` are best first. Scores keep their distances on a scale that ends at 1 and begins at one
    part in as many as were found; where any has no score, all are scored by their places alone.
    A row that is named again keeps its first score.
    """
    values = np.zeros(count)
    if not rows:
        return values
    known = [score for score in scores if score is not None]
    if len(known) < len(rows):
        known = [float(len(rows) - place) for place in range(len(rows))]
    given = np.asarray(known, dtype=np.float64)
    low, high, least = given.min(), given.max(), 1.0 / len(rows)
    scaled = (
        least + (1 - least) * (given - low) / (high - low) if high > low else np.ones(len(rows))
    )
    values[np.asarray(rows)[::-1]] = scaled[::-1]
    return values


def score_fusion(
    lists: Sequence[npt.ArrayLike], weights: Sequence[Weight], *, rank: int = SCALED_TO
) -> Scores:
    """Return the weighted mean of rescaled lists, each (n).

    Weights are scalars or per passage.

    Where all weights of a passage are nil its score is nil.
    """
    given = [np.asarray(some, dtype=np.float64) for some in lists]
    fused = np.zeros(given[0].shape)
    if not fused.size:
        return fused
    scales = [_Scale.of(some, rank) for some in given]
    rows = np.unique(np.concatenate([scale.rows for scale in scales]))
    here = [np.broadcast_to(np.asarray(w, dtype=np.float64), fused.shape)[rows] for w in weights]
    total = sum(here)
    summed = sum(
        weight * scale.at(some[rows])
        for weight, scale, some in zip(here, scales, given, strict=True)
    )
    fused[rows] = np.divide(summed, total, out=np.zeros(rows.size), where=np.asarray(total) > 0)
    return fused


def reciprocal_rank_fusion(
    lists: Sequence[npt.ArrayLike],
    weights: Sequence[Weight] | None = None,
    *,
    k: int = 60,
    depth: int = 1000,
) -> Scores:
    """Fuse by Σ weight / (k + rank) (RRF.

    Cormack, Clarke and Büttcher, SIGIR 2009), each (n).

    A list holds its `depth` best scores above zero. Equal scores share the best of their ranks.
    The order of the lists means nothing, to the last bit. Without weights every list counts once.
    """
    given = [1.0] * len(lists) if weights is None else weights
    shares = [
        np.asarray(w, dtype=np.float64)
        * _reciprocal_ranks(np.asarray(s, dtype=np.float64), k, depth)
        for s, w in zip(lists, given, strict=True)
    ]
    if not shares:
        return np.zeros(0)
    return np.asarray(np.sort(np.stack(shares), axis=0).sum(axis=0))


def _reciprocal_ranks(scores: Scores, k: int, depth: int) -> Scores:
    found = np.flatnonzero(scores > 0)
    descending = np.sort(scores[found])[::-1]
    ranks = np.searchsorted(-descending, -scores[found], side="left") + 1
    shares = np.zeros(scores.size)
    shares[found] = np.where(ranks <= depth, 1.0 / (k + ranks), 0.0)
    return shares


ACROSS_LANGUAGES = 0.75
"""Share of its weight that BM25 loses where it finds no words across languages."""
LEVEL_ACROSS = 1.2
"""Factor of the multilingual cosine of question and passage in two languages: the model finds what
is in one language nearer."""
Fusion = Literal["score", "rrf", "weighted_score", "weighted_rrf"]
"""Rescaled scores or reciprocal ranks; every list alike, or each by its weight."""
TITLE_SHARE = 0.3
"""Weight of the BM25 score of the title alone beside that of title and body."""


class WalkOutcome(Protocol):
    """Walk result: mass of each row (n), all rows best first, and its seeds."""

    @property
    def mass(self) -> npt.NDArray[np.float32]:
        """Return the walk's mass at each row."""

    @property
    def seeds(self) -> Rows:
        """Rows that the walk began at, best first."""
        ...

    @property
    def order(self) -> Rows:
        """All rows, best first."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Scores of all rows, and each list's scores by name.

    `lists` holds `keyword` and, where they took part, `dense`, `multilingual`, `beside`, further
    lists by their names, `fused` and `walk`, each (n). `seeds` are the rows that a walk began at,
    best first.
    """

    scores: Scores
    lists: Mapping[str, Scores] = field(default_factory=dict)
    seeds: Rows = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    walk_order: Rows | None = None

    @cached_property
    def order(self) -> Rows:
        """All rows, best first: `scores[order]` never rises; ties are broken by row."""
        if self.walk_order is not None:
            return self.walk_order
        return np.lexsort((np.arange(self.scores.size), -self.scores))

    def walked(self, outcome: WalkOutcome) -> Ranking:
        """Return the ranking by the mass of a walk from the best of these scores."""
        mass = np.asarray(outcome.mass, dtype=np.float64)
        return Ranking(
            scores=mass,
            lists={**self.lists, "walk": mass},
            seeds=outcome.seeds,
            walk_order=outcome.order,
        )

    def reordered(self, order: Rows) -> Ranking:
        """Return the ranking with its rows in another order; the scores go by place."""
        scores, moved = self.scores.copy(), np.flatnonzero(order != self.order)
        scores[order[moved]] = self.scores[self.order[moved]]
        return replace(self, scores=scores, walk_order=order)


def rank_passages(
    lexical_body: npt.ArrayLike | None,
    lexical_title: npt.ArrayLike | None = None,
    *,
    reachable: float = 0.0,
    dense: npt.ArrayLike | None = None,
    dense_weight: float | npt.ArrayLike = 1.0,
    multilingual: npt.ArrayLike | None = None,
    multilingual_weight: float | npt.ArrayLike = 1.0,
    beside_weight: float | npt.ArrayLike = 0.0,
    apart: float | npt.ArrayLike = 0.0,
    further: Mapping[str, npt.ArrayLike] | None = None,
    fusion: Fusion = "score",
    weights: Mapping[str, float] | None = None,
    decay: npt.ArrayLike | None = None,
) -> Ranking:
    """Rank rows by fused score.

    Args:
        lexical_body: BM25 of title and body (n); None or empty where keyword search is off.
        lexical_title: BM25 of the title alone (n).
        reachable: the score of a passage in whose words the question asks (see `_by_words`).
        dense: cosine of question and passage (n).
        dense_weight: 0–1, one number or one a row: how much of the question and of the passage
            the encoder can read. Where it is nil, the keyword score alone decides.
        multilingual: cosine by the second model (n), compared over all rows.
        multilingual_weight: 0–1, one number or one a row: what the first model leaves to it.
        beside_weight: 0–1, one number or one a row: weight of the second model's cosine for what
            the first one reads, too, compared over these rows.
        apart: 0–1, one number or one a row: how far question and passage differ in language. There
            BM25 says something where it finds words (a name in both), and nothing where not, and
            the second model's cosine counts more.
        further: more lists by name, each (n), nil where a list did not find the passage.
        fusion: how lists become one; by ranks is rescaled to 0–1 for the walk's sake.
        weights: of lists by name, 1 where not given; they count in the weighted fusions alone.
        decay: a factor for each fused score (n) (see `time_decay`).

    Ties are broken by row, so the same input gives the same order.
    """
    lists = _lists(lexical_body, lexical_title, dense, dense_weight)
    row_weights = {"dense": np.asarray(dense_weight, dtype=np.float64)}
    across = np.asarray(apart, dtype=np.float64)
    if multilingual is not None:
        row_weights["multilingual"] = np.asarray(multilingual_weight, dtype=np.float64)
        row_weights["beside"] = np.asarray(beside_weight, dtype=np.float64)
        second = _second_lists(multilingual, multilingual_weight, beside_weight, across)
        if fusion == "rrf" and "multilingual" in second:
            second.pop("beside", None)  # there each model has one vote
        lists |= second
    if "keyword" in lists:
        vectors = [weight for name, weight in row_weights.items() if name in lists]
        said = _by_words(lists["keyword"], reachable, vectors)
        heard = 1.0 if multilingual is None else _heard_across(lists["keyword"], across)
        row_weights["keyword"] = said * heard
    lists |= {name: np.asarray(some, np.float64) for name, some in (further or {}).items()}
    lists = lists or {"keyword": np.zeros(0)}
    fused = _fused(lists, row_weights, fusion=fusion, weights=weights or {})
    if decay is not None:
        fused = fused * np.asarray(decay, dtype=np.float64)
    return Ranking(scores=fused, lists={**lists, "fused": fused})


def _second_lists(
    cosines: npt.ArrayLike, weight: Weight, beside: Weight, across: Scores
) -> dict[str, Scores]:
    """Return the lists of the second model by name: over all rows, and of those that both read."""
    lists: dict[str, Scores] = {}
    if np.any(np.asarray(weight)):
        level = (LEVEL_ACROSS - 1.0) * across
        level += 1.0
        lists["multilingual"] = level * np.asarray(cosines, dtype=np.float64)
    return lists | _readable("beside", cosines, beside)


def _by_words(keyword: Scores, reachable: float, vectors: Sequence[Scores]) -> Scores:
    """Return the weight of the keyword score: that of all vectors, less where words say less.

    A question in other words than the documents' has a best score far below the `reachable` one,
    and what BM25 finds then shares words that do not matter. (Weights of lists by how they score:
    Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023.)
    """
    weight = np.maximum(1.0, sum(vectors, start=np.zeros(())))
    best = float(keyword.max(initial=0.0))
    return weight * min(1.0, best / reachable) ** 2 if reachable > 0.0 else weight


def _heard_across(keyword: Scores, across: Scores) -> Scores:
    """Return the weight of the keyword score of each row (n) by its difference in language."""
    silent = np.broadcast_to(across, keyword.shape).copy()
    if keyword.size:
        scale = _Scale.of(keyword, SCALED_TO)
        silent[scale.rows] *= 1.0 - scale.at(keyword[scale.rows])
    silent *= -ACROSS_LANGUAGES
    silent += 1.0
    return silent


def _fused(
    lists: Mapping[str, Scores],
    row_weights: Mapping[str, Scores],
    *,
    fusion: Fusion,
    weights: Mapping[str, float],
) -> Scores:
    given = {name: weights.get(name, 1.0) if "weighted" in fusion else 1.0 for name in lists}
    if fusion == "rrf":
        return rescale(reciprocal_rank_fusion(list(lists.values())))
    scaled = [
        row_weights.get(name, 1.0) if weight == 1.0 else weight * row_weights.get(name, 1.0)
        for name, weight in given.items()
    ]
    if fusion == "weighted_rrf":
        return rescale(reciprocal_rank_fusion(list(lists.values()), scaled))
    return score_fusion(list(lists.values()), scaled)


def _lists(
    body: npt.ArrayLike | None,
    title: npt.ArrayLike | None,
    dense: npt.ArrayLike | None,
    dense_weight: float | npt.ArrayLike,
) -> dict[str, Scores]:
    lists: dict[str, Scores] = {}
    if body is not None:
        keyword = np.asarray(body, dtype=np.float64)
        if title is not None:
            keyword = keyword + TITLE_SHARE * np.asarray(title, dtype=np.float64)
        lists["keyword"] = keyword
    return lists | (_readable("dense", dense, dense_weight) if dense is not None else {})


def _readable(
    name: str, cosines: npt.ArrayLike, weights: float | npt.ArrayLike
) -> dict[str, Scores]:
    """Return a list by its name, of the rows that have a weight; none where no row has."""
    cosine = np.asarray(cosines, dtype=np.float64)
    reads = np.broadcast_to(np.asarray(weights, dtype=np.float64), cosine.shape) > 0
    if not reads.any():
        return {}
    # What the encoder cannot read looks alike to it: such cosines must not set the scale.
    return {name: cosine if reads.all() else np.where(reads, cosine, cosine[reads].min())}


OWN_NAMES = frozenset(
    {"keyword", "dense", "multilingual", "beside", "fused", "walk", "expanded", "rerank"}
)


@dataclass(frozen=True, slots=True)
class ExtraRetriever:
    """A list by its name; `weight` counts where fusion is weighted.

    The retriever's nodes are chunks by their ids; what is no chunk that may be seen is passed over.

    Raises:
        ValueError: a name that the engine's own scores have, or a weight below 0.
    """

    name: str
    retriever: BaseRetriever
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.name or self.name in OWN_NAMES:
            raise ValueError(f"a further list cannot be called {self.name!r}: choose another name")
        if self.weight < 0:
            raise ValueError(f"the weight of list {self.name!r} must be 0 or more: {self.weight}")


def further_scores(
    lists: Sequence[ExtraRetriever], question: str, *, row_of: Mapping[str, int]
) -> dict[str, Scores]:
    """Return each extra retriever's scores `(n,)` by name; its errors propagate.

    `row_of` holds the row of each chunk that may be seen, by id.
    """
    scores: dict[str, Scores] = {}
    for each in lists:
        found = [node for node in each.retriever.retrieve(question) if node.node_id in row_of]
        scores[each.name] = found_scores(
            [row_of[node.node_id] for node in found],
            [node.score for node in found],
            count=len(row_of),
        )
    return scores


_SECONDS_A_DAY = 86_400.0


def time_decay(dates: Sequence[object], *, half_life_days: float) -> Scores:
    """Return 0.5 ** (age / half life) for each date, `(n)`: 1 for the newest.

    `dates` are ISO 8601 text ("2024", "2024-03", "2024-03-05", with a time or without), of which
    what says no time zone is UTC. What has no date, or none that can be read, counts as old as the
    oldest that has one: nothing is known for it. Where none has a date all are 1.

    Raises:
        ValueError: a half life of nil or less.
    """
    if not half_life_days > 0:
        raise ValueError(f"half_life_days must be above 0, not {half_life_days}")
    days = np.array([_day(date) for date in dates], dtype=np.float64)
    known = days[~np.isnan(days)]
    if not known.size:
        return np.ones(days.size)
    ages = known.max() - np.where(np.isnan(days), known.min(), days)
    return np.asarray(0.5 ** (ages / half_life_days))


def _day(date: object) -> float:
    """Days since 1970, NaN where there is no date to be read."""
    text = date.strip() if isinstance(date, str) else str(date) if isinstance(date, int) else ""
    for ending in ("", "-01", "-01-01"):
        try:
            read = datetime.fromisoformat(text + ending)
        except ValueError:
            continue
        aware = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / _SECONDS_A_DAY
    return float("nan")


_ASKING = re.compile(
    r"为什么|是什么|什么样|什么|怎么样|怎么|怎样|如何|哪[些个里位家种年几两一]?|多少|多大|多久|多长"
    r"|几[个年位种]?|是谁|谁|何时|何地|何处|何种|是否|吗|呢|请问|有没有|请"
)


_BINDING = re.compile(r"[的了是在被与]")
"""Characters that bind words: a pair with one of them in it is hardly ever a word."""
_IS_HAN = re.compile(f"[{HAN}]+")
_HAN_TOKEN = re.compile(rf"(?<!\S)[{HAN}]+(?!\S)")
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


def token_coverage(
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
    written = frozenset("".join(_HAN_TOKEN.findall(" ".join(passage)))) if some else frozenset()

    def share(token: str, parts: frozenset[str] | None) -> float:
        if token in passage:
            return 1.0
        return SCATTERED if parts is not None and parts <= written else 0.0

    return np.array([share(*each) for each in zip(question, characters, strict=True)])


def _idf(frequency: int, count: int) -> float:
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5)) if count else 1.0


def calibrated_cosine(cosine: float, *, floor: float) -> float:
    """Return a cosine on a scale that begins at the model's floor: 0 there and below, 1 at 1."""
    return max(0.0, (cosine - floor) / (1.0 - floor))


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceFeatures:
    """Relevance features of one passage in a result list.

    Args:
        covered: `coverage` of the question by title and text, 0–1.
        share: its score divided by the best score of the list, 0–1: walk mass where there was a
            walk, else the fused score.
        cosine: of question and passage, calibrated; None where no encoder took part.
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


def relevance_features(evidences: Sequence[RelevanceFeatures]) -> npt.NDArray[np.float64]:
    """Return the feature matrix (k, len(FEATURES)) of one retrieved list of passages."""
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


def relevance_probability(evidences: Sequence[RelevanceFeatures]) -> list[float]:
    """Return the probability, 0–1, that each retrieved passage is relevant, in list order.

    A list is judged as a whole: what its best passages show speaks for those that links led to.
    """
    odds = relevance_features(evidences) @ np.array(COEFFICIENTS)
    return [float(p) for p in 1.0 / (1.0 + np.exp(-odds))]
