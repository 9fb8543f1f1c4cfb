"""Asks an open library every question and judges what it finds. Writes nothing."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import SourceError
from .gold import located
from .metrics import Judged, figures
from .queries import EvaluationQuery

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine
    from ..retrieve.local import SearchResult
    from ..types import Passage

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
        raise SourceError("there is no question to evaluate")
    held = {document.id for document in engine.documents()}
    queries = located(queries, held, length_of=lambda name: len(engine.document_text(name)))
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
        for name, value in figures(judged, _gold_count(query), cutoffs=cutoffs).items():
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
