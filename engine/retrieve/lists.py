"""One search's lists of scores, and the ranking that they make together.

Knows the indexes that give scores; what a row is, and which may be seen, is told by `Shown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from numpy.typing import NDArray

from ..index.door import QuestionNames
from ..index.keyword import KeywordRetriever
from ..index.store_dense import Dense
from ..settings import RetrieveSettings
from .further import ExtraRetriever, further_scores
from .ranking import Ranking, Walk, rank_passages
from .shown import FilteredView
from .stopwatch import Tracer

DENSE_DEPTH = 400
"""Number of nearest chunks with a dense score; rescaling uses the first hundred."""


class ScoreLists:
    """Keyword, vectors, and further ones.

    Args:
        keyword: the BM25 side.
        dense: the vector side, or None.
        readable: how much of a text the embedding model can read, 0–1.
        settings: which lists take part, and how they are fused.
        extra: further lists as `(name, retriever, weight)`.
    """

    def __init__(
        self,
        *,
        keyword: KeywordRetriever,
        dense: Dense | None,
        readable: Callable[[str], float],
        settings: RetrieveSettings,
        extra: Sequence[tuple[str, BaseRetriever, float]],
    ) -> None:
        self._keyword = keyword
        self._dense = dense
        self._readable = readable
        self._settings = settings
        self._further = [ExtraRetriever(*each) for each in extra]
        self._weights = {
            "keyword": settings.keyword_weight,
            "dense": settings.dense_weight,
            **{name: weight for name, _, weight in extra},
        }

    def ranked(
        self,
        text: str,
        vector: NDArray[np.float32] | None,
        *,
        shown: FilteredView,
        steps: Tracer,
        walk: Walk | None,
        names: QuestionNames | None,
    ) -> Ranking:
        """Rank one search: by `text` unless empty, and by `vector` if given.

        `names` are those of `text`, where things shall be searched by all their names. Where there
        is no walk the step `fuse` is told here; else the walk ends it.
        """
        keyword = self._by_words(text, names, shown, steps)
        dense = self._by_vector(vector, shown, steps)
        further = self._by_others(text, shown, steps)
        nothing = None if dense is not None or further else np.zeros(len(shown.view.chunk_ids))
        ranking = rank_passages(
            keyword[0] if keyword else nothing,
            keyword[1] if keyword else None,
            dense=dense,
            dense_weight=(self._readable(text) if text else 1.0) * shown.of(self._keyword.readable),
            further=further,
            walk=walk,
            fusion=self._settings.fusion,
            weights=self._weights,
            decay=shown.decay,
        )
        if walk is None:
            gave = shown.leading(ranking.scores)
            steps.record("fuse", f"{self._settings.fusion} fusion", gave, text)
        return ranking

    def _by_words(
        self, text: str, names: QuestionNames | None, shown: FilteredView, steps: Tracer
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Score text and title of each row by BM25; None without a text query."""
        if not self._settings.keyword or not text:
            steps.record("keyword", "off")
            return None
        fields = self._keyword.field_scores(text, names, counted=shown.counted)
        body, title = shown.of(fields["body"]), shown.of(fields["title"])
        steps.record("keyword", "BM25 of title and text", shown.leading(body), text)
        return body, title

    def _by_vector(
        self, vector: NDArray[np.float32] | None, shown: FilteredView, steps: Tracer
    ) -> NDArray[np.float64] | None:
        if self._dense is None or vector is None:
            steps.record("dense", "off")
            return None
        cosines = self._dense.array(vector, shown.view.chunk_ids, depth=DENSE_DEPTH)
        if cosines is None:
            steps.record("dense", "no vectors")
        else:
            steps.record("dense", "cosine", shown.leading(cosines))
        return cosines

    def _by_others(
        self, text: str, shown: FilteredView, steps: Tracer
    ) -> Mapping[str, NDArray[np.float64]]:
        if not self._further or not text:
            return {}
        found = further_scores(self._further, text, row_of=shown.row_of)
        leaders = (f"{name}: {shown.leading(scores)}" for name, scores in found.items())
        steps.record("further lists", ", ".join(found), " | ".join(leaders))
        return found
