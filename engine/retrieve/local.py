"""Local retrieval: keyword and vector lists fused, then a walk over titles and names.

The recipe of hybrid retrieval here: lexical and dense scores rescaled and added, the dense ones
weighted by how much of question and passage the encoder can read at all, then a short random walk
from the best over the graph. Knows how to read the indexes, nothing of how answers are written.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from numpy.typing import NDArray
from sqlalchemy import Connection

from ..errors import QuestionError
from ..index.dense import DenseIndex
from ..index.door import (
    Chunk,
    GraphView,
    QuestionNames,
    derived_stamp,
    node_of_chunk,
    read_chunks,
    read_view,
)
from ..index.keyword import KeywordRetriever
from ..index.library import Library
from ..settings import RetrieveSettings
from ..types import Passage, TraceStep
from .ranking import Ranking, Walk, rank_passages
from .relevance import Evidence, coverage, question_tokens, relevance
from .tokens import tokens

DENSE_DEPTH = 400
"""How many nearest chunks get a dense score; the rescaling looks at the first hundred."""


@dataclass(slots=True)
class Search:
    """What one search found and how: passages best first, and a step for each stage."""

    passages: list[Passage]
    trace: list[TraceStep] = field(default_factory=list)


class LocalRetriever(BaseRetriever):
    """LlamaIndex retriever over one library.

    Args:
        library: what is searched.
        keyword: its BM25 side.
        dense: its vector side, or None.
        embed_model: embeds the question; None where there is no vector side.
        readable: how much of a text the embedding model can read, 0–1.
        settings: which lists take part, and how they are fused.
    """

    def __init__(
        self,
        library: Library,
        *,
        keyword: KeywordRetriever,
        dense: DenseIndex | None,
        embed_model: BaseEmbedding | None,
        readable: Callable[[str], float],
        settings: RetrieveSettings,
    ) -> None:
        self._library = library
        self._keyword = keyword
        self._dense = dense if settings.dense else None
        self._embed_model = embed_model
        self._readable = readable
        self._settings = settings
        self._guard = threading.Lock()
        self._view: tuple[str, GraphView] | None = None
        super().__init__(callback_manager=CallbackManager([]))

    def search(
        self, question: str, *, top_k: int | None = None, min_relevance: float = 0.0
    ) -> Search:
        """The passages for a question, best first, each with its lists' scores and its path.

        Raises:
            QuestionError: a `top_k` below 1.
        """
        wanted = self._settings.top_k if top_k is None else top_k
        if wanted < 1:
            raise QuestionError(f"top_k must be 1 or more, not {wanted}")
        steps = _Stopwatch()
        query = self._embed(question)
        steps.lap("embed", "question embedded" if query is not None else "no embedding")
        with self._library.read() as connection:  # one view of the library for all lists
            view = self._current_view(connection)
            asked = view.names_in(connection, question)
            steps.lap("view", f"{len(view.chunk_ids)} chunks", names=len(asked.labels))
            ranking = self._rank(question, query, view, asked.labels, steps)
            rows = [int(row) for row in ranking.order[:wanted] if ranking.scores[row] > 0]
            passages = self._passages(connection, question, query, view, asked, ranking, rows)
        kept = [passage for passage in passages if passage.relevance >= min_relevance]
        steps.lap(
            "read", f"{len(kept)} passages", relevance=max((p.relevance for p in kept), default=0.0)
        )
        return Search(kept, steps.steps)

    def cosines(self, question: str, chunk_ids: Sequence[str]) -> dict[str, float]:
        """How near these chunks are to a question, by id; empty where no encoder can read it."""
        query = self._embed(question)
        if query is None or self._dense is None:
            return {}
        return self._dense.cosines(query, chunk_ids)

    def labels_in(self, question: str) -> frozenset[str]:
        """The entities whose names stand in a question."""
        with self._library.read() as connection:
            return self._current_view(connection).names_in(connection, question).labels

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.search(query_bundle.query_str).passages
        with self._library.read() as connection:
            held = read_chunks(connection, [passage.chunk_id for passage in found])
        return [
            NodeWithScore(node=node_of_chunk(held[p.chunk_id]), score=p.score)
            for p in found
            if p.chunk_id in held
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        # Embedding may wait for a server: the event loop must go on.
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _embed(self, question: str) -> NDArray[np.float32] | None:
        if self._embed_model is None or self._dense is None or not self._readable(question):
            return None
        return np.asarray(self._embed_model.get_query_embedding(question), dtype=np.float32)

    def _current_view(self, connection: Connection) -> GraphView:
        stamp = derived_stamp(connection)
        with self._guard:
            if self._view is None or self._view[0] != stamp:
                self._view = (stamp, read_view(connection))
            return self._view[1]

    def _rank(
        self,
        question: str,
        query: NDArray[np.float32] | None,
        view: GraphView,
        labels: frozenset[str],
        steps: _Stopwatch,
    ) -> Ranking:
        count = len(view.chunk_ids)
        fields = self._keyword.field_scores(question) if self._settings.keyword else None
        steps.lap("keyword", "BM25 of title and text" if fields else "off")
        dense = self._dense_scores(query, view.chunk_ids)
        steps.lap("dense", "cosine" if dense is not None else "off")
        walk: Walk | None = None
        if self._settings.walk:
            walk = lambda scores: view.rank(scores, labels)  # noqa: E731
        ranking = rank_passages(
            fields["body"] if fields else (None if dense is not None else np.zeros(count)),
            fields["title"] if fields else None,
            dense=dense,
            dense_weight=self._readable(question) * self._keyword.readable,
            walk=walk,
            fusion=self._settings.fusion,
        )
        steps.lap(
            "fuse and walk", f"{self._settings.fusion} fusion, walk {'on' if walk else 'off'}"
        )
        return ranking

    def _dense_scores(
        self, query: NDArray[np.float32] | None, chunk_ids: Sequence[str]
    ) -> NDArray[np.float64] | None:
        if self._dense is None or query is None:
            return None
        found = self._dense.scores(query, depth=DENSE_DEPTH)
        if not found:
            return None
        floor = min(found.values())
        return np.array([found.get(chunk_id, floor) for chunk_id in chunk_ids])

    def _passages(
        self,
        connection: Connection,
        question: str,
        query: NDArray[np.float32] | None,
        view: GraphView,
        asked: QuestionNames,
        ranking: Ranking,
        rows: Sequence[int],
    ) -> list[Passage]:
        held = read_chunks(connection, [view.chunk_ids[row] for row in rows])
        judged = self._relevances(question, query, view, asked, ranking, rows, held)
        seeds = ranking.seeds.tolist()
        return [
            Passage(
                text=held[chunk_id].text,
                score=float(ranking.scores[row]),
                relevance=judged[chunk_id],
                document_id=held[chunk_id].document_id,
                chunk_id=chunk_id,
                title=held[chunk_id].title,
                start=held[chunk_id].start,
                end=held[chunk_id].end,
                page=held[chunk_id].page,
                headings=held[chunk_id].headings,
                path=view.path(row, seeds) if seeds else (),
                scores={name: float(values[row]) for name, values in ranking.lists.items()},
            )
            for row in rows
            if (chunk_id := view.chunk_ids[row]) in held
        ]

    def _relevances(
        self,
        question: str,
        query: NDArray[np.float32] | None,
        view: GraphView,
        asked: QuestionNames,
        ranking: Ranking,
        rows: Sequence[int],
        held: Mapping[str, Chunk],
    ) -> dict[str, float]:
        """Calibrated relevance by chunk id, judged over the whole list (see `relevance`)."""
        ids = [view.chunk_ids[row] for row in rows if view.chunk_ids[row] in held]
        if not ids:
            return {}
        places = [row for row in rows if view.chunk_ids[row] in held]
        covered = coverage(
            question_tokens(question),
            [tokens(f"{held[chunk_id].title}\n{held[chunk_id].text}") for chunk_id in ids],
            document_frequency=self._keyword.document_frequency,
            passage_count=len(view.chunk_ids),
        )
        cosines: dict[str, float] = {}
        if self._dense is not None and query is not None:
            cosines = self._dense.cosines(query, ids)
        best = float(ranking.scores.max()) or 1.0
        readable = self._readable(question) * self._keyword.readable
        judged = relevance(
            [
                Evidence(
                    covered=float(covered[place]),
                    share=float(ranking.scores[row]) / best,
                    cosine=cosines.get(chunk_id),
                    readable=float(readable[row]),
                    names=_share(asked, {view.titles[row], *view.labels[row]}),
                )
                for place, (row, chunk_id) in enumerate(zip(places, ids, strict=True))
            ]
        )
        return dict(zip(ids, judged, strict=True))


def _share(asked: QuestionNames, present: set[str]) -> float | None:
    """How many of the question's names a passage has; None where the question has none."""
    count = len(asked.labels) + len(asked.unknown)
    return len(asked.labels & present) / count if count else None


class _Stopwatch:
    """Collects a trace step for each stage, with the time since the one before."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        self._last = time.perf_counter()

    def lap(self, stage: str, detail: str, **figures: float) -> None:
        now = time.perf_counter()
        self.steps.append(
            TraceStep(stage=stage, detail=detail, seconds=now - self._last, figures=figures)
        )
        self._last = now
