"""Asks an open library every question and judges what it finds. Writes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SourceError
from .metrics import Judged, figures
from .queries import EvaluationQuery

if TYPE_CHECKING:
    from ..facade import KnowledgeEngine
    from ..retrieve.local import LocalRetriever, Search
    from ..types import Passage

CUTOFFS = (2, 5, 10)
COVERED = 0.5
"""The share of a gold span that a passage must hold to count as having found it."""
MOST_PASSAGES = 1_000
WHOLE = "in all"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTime:
    """How long one stage of a search took over all questions."""

    stage: str
    median_seconds: float
    p95_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalReport:
    """What retrieval found of the gold.

    `means` holds each figure's mean over the questions, `by_query` its values in the order of
    `query_ids`. Figures with a cutoff count documents where gold is documents (each where its best
    passage stands), passages where gold is spans. `unknown` are gold documents that the library
    does not hold, sorted: they count as not found.
    """

    label: str
    query_ids: tuple[str, ...]
    chunks: int
    top: int
    means: Mapping[str, float]
    by_query: Mapping[str, tuple[float, ...]]
    stages: tuple[StageTime, ...]
    unknown: tuple[str, ...] = field(default=())


def evaluate_retrieval(
    engine: KnowledgeEngine,
    queries: Sequence[EvaluationQuery],
    *,
    top: int = 10,
    label: str = "as set",
    progress: Callable[[str, int, int], None] | None = None,
) -> RetrievalReport:
    """Ask every question once, after one that is not counted, and judge the first `top`.

    Raises:
        SourceError: no question, or no gold document of any question is in the library.
    """
    if not queries:
        raise SourceError("there is no question to evaluate")
    held = {document.id for document in engine.documents()}
    gold = {name for query in queries for name in query.documents}
    if not gold & held:
        raise SourceError(
            f"none of the {len(gold)} gold documents, such as {min(gold)!r}, is in the library: "
            "gold ids must be its document ids (see `loregraph stats --documents`)"
        )
    retriever = engine.as_retriever()
    retriever.search(queries[0].text, top_k=top)  # what is loaded once is not a question's time
    cutoffs = sorted({*(at for at in CUTOFFS if at < top), top})
    values: dict[str, list[float]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for number, query in enumerate(queries):
        search, judged = _judged(retriever, query, top)
        _add_times(times, search)
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
        unknown=tuple(sorted(gold - held)),
    )


def _judged(retriever: LocalRetriever, query: EvaluationQuery, top: int) -> tuple[Search, Judged]:
    """The first search, whose time counts, and what was found at each position.

    Several passages of one document are one position: more are asked for until there are enough.
    """
    wanted = top if query.gold_spans else 3 * top
    first = search = retriever.search(query.text, top_k=wanted)
    if query.gold_spans:
        return first, [_spans_in(passage, query) for passage in search.passages[:top]]
    while True:
        ranked = list(dict.fromkeys(passage.document_id for passage in search.passages))
        if len(ranked) >= top or len(search.passages) < wanted or wanted >= MOST_PASSAGES:
            break
        wanted = min(4 * wanted, MOST_PASSAGES)
        search = retriever.search(query.text, top_k=wanted)
    number = {name: place for place, name in enumerate(query.gold_ids)}
    return first, [frozenset({number[d]} if d in number else ()) for d in ranked[:top]]


def _spans_in(passage: Passage, query: EvaluationQuery) -> frozenset[int]:
    """The numbers of the gold spans of which the passage holds enough."""
    return frozenset(
        number
        for number, span in enumerate(query.gold_spans)
        if span.document_id == passage.document_id
        and min(span.end, passage.end) - max(span.start, passage.start)
        >= COVERED * (span.end - span.start)
    )


def _gold_count(query: EvaluationQuery) -> int:
    return len(query.gold_spans or query.gold_ids)


def _add_times(times: dict[str, list[float]], search: Search) -> None:
    spent: dict[str, float] = defaultdict(float)
    for step in search.trace:
        spent[step.stage] += step.seconds
    for stage, seconds in {**spent, WHOLE: sum(spent.values())}.items():
        times[stage].append(seconds)


def _stage_time(stage: str, seconds: Iterable[float]) -> StageTime:
    middle, late = np.percentile(list(seconds), [50, 95])
    return StageTime(stage=stage, median_seconds=float(middle), p95_seconds=float(late))
