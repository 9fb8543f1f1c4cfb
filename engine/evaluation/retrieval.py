"""Retrieval evaluation: measures over an open library's answers to questions with gold.

A ranked list is judged as the set of gold items at each of its positions, best first: for documents
one or none, for spans those that a passage holds. Two evaluations are compared in pairs, with
bootstrap intervals; `variations` disables each list and tries every other fusion.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, get_args

import numpy as np

from ..config import RetrieveSettings, Settings
from ..errors import SourceError
from .datasets import EvaluationQuery, resolve_gold_ids

if TYPE_CHECKING:
    from ..engine import KnowledgeEngine
    from ..retrieval.retriever import SearchResult
    from ..types import Passage

Judged = Sequence[frozenset[int]]


def recall(judged: Judged, gold_count: int, *, at: int) -> float:
    """Return the share of gold among the first positions (recall)."""
    return len(_found(judged[:at])) / gold_count


def precision(judged: Judged, *, at: int) -> float:
    """Return the share of the first positions that hold gold; missing ones hold none."""
    return sum(bool(gold) for gold in judged[:at]) / at


def all_gold(judged: Judged, gold_count: int, *, at: int) -> float:
    """1 where all gold stands among the first positions, else 0."""
    return float(len(_found(judged[:at])) == gold_count)


def reciprocal_rank(judged: Judged) -> float:
    """1 / the first position that holds gold; 0 where none does."""
    return next((1.0 / place for place, gold in enumerate(judged, start=1) if gold), 0.0)


def discounted_gain(judged: Judged, gold_count: int, *, at: int) -> float:
    """Return nDCG with binary gains and logarithmic discount (Järvelin and Kekäläinen 2002).

    A position gains where it holds gold that none before it held; the ideal list has one item of
    gold at each of its first positions.
    """
    known: set[int] = set()
    gain = 0.0
    for place, gold in enumerate(judged[:at], start=1):
        if gold - known:
            gain += 1.0 / math.log2(place + 1)
        known |= gold
    ideal = sum(1.0 / math.log2(place + 1) for place in range(1, min(gold_count, at) + 1))
    return gain / ideal


def retrieval_measures(
    judged: Judged, gold_count: int, *, cutoffs: Sequence[int]
) -> Mapping[str, float]:
    """Return the retrieval measures of one question: `R@5`, `P@5`, `nDCG@5`, `all@5`, `MRR`."""
    found: dict[str, float] = {}
    for at in cutoffs:
        found[f"R@{at}"] = recall(judged, gold_count, at=at)
        found[f"P@{at}"] = precision(judged, at=at)
        found[f"nDCG@{at}"] = discounted_gain(judged, gold_count, at=at)
        found[f"all@{at}"] = all_gold(judged, gold_count, at=at)
    return found | {"MRR": reciprocal_rank(judged[: max(cutoffs)])}


def _found(judged: Judged) -> frozenset[int]:
    return frozenset().union(*judged)


CUTOFFS = (2, 5, 10)
COVERED = 0.5
"""The share of a gold span that a passage must hold to count as having found it."""
MOST_PASSAGES = 1_000
WHOLE = "in all"


class Searcher(Protocol):
    """Protocol of retrieval under evaluation."""

    def search(self, question: str, *, top_k: int | None = None) -> SearchResult:
        """Return the passages found, best first, and a step for each stage."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTime:
    """Time of one stage over all questions."""

    stage: str
    median_seconds: float
    p95_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """Retrieval measures over the gold.

    `means` holds each figure's mean over the questions, `by_query` its values in the order of
    `query_ids`. Figures with a cutoff count documents where gold is documents (each where its best
    passage stands), passages where gold is spans. `unknown` are gold documents that the library
    does not hold, sorted: they count as not found. `stages` are times as a user waits for them,
    `cpu_seconds` what a question takes of all processors together, on average.
    """

    label: str
    query_ids: tuple[str, ...]
    chunks: int
    top: int
    means: Mapping[str, float]
    by_query: Mapping[str, tuple[float, ...]]
    stages: tuple[StageTime, ...]
    cpu_seconds: float = 0.0
    unknown: tuple[str, ...] = field(default=())


def evaluate_retrieval(
    engine: KnowledgeEngine,
    queries: Sequence[EvaluationQuery],
    *,
    top: int = 10,
    label: str = "as set",
    searcher: Searcher | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> RetrievalReport:
    """Ask every question once, after a warm-up, and judge the first `top`.

    `searcher` is asked in place of the engine's own retriever; it must search the same library.

    Raises:
        SourceError: no question, no gold document of any question is in the library, or a gold
            span ends after its document (see `gold.located`).
    """
    if not queries:
        raise SourceError("no questions to evaluate; add them to the dataset")
    held = {document.id for document in engine.documents()}
    queries = resolve_gold_ids(
        queries, held, length_of=lambda name: len(engine.document_text(name))
    )
    gold = {name for query in queries for name in query.documents}
    searcher = searcher or engine.as_retriever()
    searcher.search(queries[0].text, top_k=top)  # what is loaded once is not a question's time
    cutoffs = sorted({*(at for at in CUTOFFS if at < top), top})
    values: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    cpu_seconds = 0.0
    for number, query in enumerate(queries):
        search, seconds = _timed(searcher, query, top)
        judged = _judged(searcher, query, top, first=search)
        _add_times(times, search)
        cpu_seconds += seconds
        for name, value in retrieval_measures(judged, _gold_count(query), cutoffs=cutoffs).items():
            values[name].append(value)
        if progress is not None:
            progress("ask", number + 1, len(queries))
    return RetrievalReport(
        label=label,
        query_ids=tuple(query.id for query in queries),
        chunks=int(engine.stats()["chunks"]),
        top=top,
        means={name: float(np.mean(some)) for name, some in values.items()},
        by_query={name: tuple(some) for name, some in values.items()},
        stages=tuple(_stage_time(stage, seconds) for stage, seconds in times.items()),
        cpu_seconds=cpu_seconds / len(queries),
        unknown=tuple(sorted(gold - held)),
    )


def _wanted(query: EvaluationQuery, top: int) -> int:
    """Return the number of passages to request; several of one document share a position."""
    return top if query.gold_spans else 3 * top


def _timed(searcher: Searcher, query: EvaluationQuery, top: int) -> tuple[SearchResult, float]:
    """Run a search; return it with its processor seconds."""
    started = time.process_time()
    search = searcher.search(query.text, top_k=_wanted(query, top))
    return search, time.process_time() - started


def _judged(searcher: Searcher, query: EvaluationQuery, top: int, *, first: SearchResult) -> Judged:
    """Judge each position; request more passages until there are enough documents."""
    if query.gold_spans:
        return [_spans_in(passage, query) for passage in first.passages[:top]]
    search, wanted = first, _wanted(query, top)
    while True:
        ranked = list(dict.fromkeys(passage.document_id for passage in search.passages))
        if len(ranked) >= top or len(search.passages) < wanted or wanted >= MOST_PASSAGES:
            break
        wanted = min(4 * wanted, MOST_PASSAGES)
        search = searcher.search(query.text, top_k=wanted)
    number = {name: place for place, name in enumerate(query.gold_ids)}
    return [frozenset({number[d]} if d in number else ()) for d in ranked[:top]]


def _spans_in(passage: Passage, query: EvaluationQuery) -> frozenset[int]:
    """Return the numbers of gold spans that the passage covers sufficiently."""
    return frozenset(
        number
        for number, span in enumerate(query.gold_spans)
        if span.document_id == passage.document_id
        and min(span.end, passage.end) - max(span.start, passage.start)
        >= COVERED * (span.end - span.start)
    )


def _gold_count(query: EvaluationQuery) -> int:
    return len(query.gold_spans or query.gold_ids)


def _add_times(times: dict[str, list[float]], search: SearchResult) -> None:
    spent: dict[str, float] = defaultdict(float)
    for step in search.trace:
        spent[step.stage] += step.seconds
    for stage, seconds in {**spent, WHOLE: sum(spent.values())}.items():
        times[stage].append(seconds)


def _stage_time(stage: str, seconds: Iterable[float]) -> StageTime:
    middle, late = np.percentile(list(seconds), [50, 95])
    return StageTime(stage=stage, median_seconds=float(middle), p95_seconds=float(late))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean difference and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Check whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def is_nil(self) -> bool:
        """Check whether no question differs."""
        return self.mean == self.low == self.high == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Gain of `label` over `against`, by measure; positive is better."""

    label: str
    against: str
    gains: Mapping[str, Interval]


def compare_evaluations(report: RetrievalReport, against: RetrievalReport) -> Comparison:
    """Compare two retrieval evaluations in every measure that both have.

    Raises:
        SourceError: they asked different questions.
    """
    if report.query_ids != against.query_ids:
        raise SourceError(
            f"results of different questions cannot be compared: {report.label!r}, "
            f"{against.label!r}; evaluate both with the same dataset"
        )
    return Comparison(
        label=report.label,
        against=against.label,
        gains={
            name: paired_bootstrap(values, against.by_query[name])
            for name, values in report.by_query.items()
            if name in against.by_query
        },
    )


def paired_bootstrap(
    values: Sequence[float],
    against: Sequence[float],
    *,
    resamples: int = 2_000,
    seed: int = 20240601,
) -> Interval:
    """Return the mean of `values` − `against` (n each.

    By question) and its 95 % percentile interval.

    Questions are resampled with both their values (Efron and Tibshirani 1993, chapter 13); the same
    input and seed give the same interval.

    Raises:
        ValueError: there is nothing to compare, or not one value for each question in both.
    """
    differences = np.asarray(values, dtype=np.float64) - np.asarray(against, dtype=np.float64)
    if not differences.size or len(values) != len(against):
        raise ValueError(f"{len(values)} and {len(against)} values cannot be compared")
    random = np.random.default_rng(seed)
    chosen = random.integers(0, differences.size, (resamples, differences.size))
    low, high = np.percentile(differences[chosen].mean(axis=1), [2.5, 97.5])
    return Interval(mean=float(differences.mean()), low=float(low), high=float(high))


LISTS = ("keyword", "dense")
ON_TOP = ("walk", "second_look")


def ablations(settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Yield labels and settings of a retrieval ablation in a fixed order."""
    retrieve = settings.retrieve
    lists = [name for name in LISTS if getattr(retrieve, name)]
    for name in lists if len(lists) > 1 else ():
        yield f"without {name}", _with(settings, {name: False})
    for name in ON_TOP:
        if retrieve.walk and getattr(retrieve, name):
            yield f"without {name.replace('_', ' ')}", _with(settings, {name: False})
    for fusion in get_args(RetrieveSettings.model_fields["fusion"].annotation):
        if fusion != retrieve.fusion:
            yield f"fusion {fusion}", _with(settings, {"fusion": fusion})


def _with(settings: Settings, changes: dict[str, object]) -> Settings:
    return settings.model_copy(update={"retrieve": settings.retrieve.model_copy(update=changes)})
