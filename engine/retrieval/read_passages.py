"""Passages of what was read: their scores, and the path of the walk that led to one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..storage.graph_api import WalkSnapshot
from ..types import Passage
from .fusion import Ranking
from .parents import ReadSpan

Explain = Callable[[Passage], Passage]
"""A passage that was found to the same with the path of the walk that led to it."""


def passages_read(
    ranking: Ranking, found: Sequence[ReadSpan], relevances: Sequence[float]
) -> list[Passage]:
    """Return the read spans as passages with their relevances, without paths."""
    return [
        Passage(
            text=reading.text,
            score=float(ranking.scores[reading.row]),
            relevance=relevance,
            document_id=reading.chunk.document_id,
            chunk_id=reading.chunk.id,
            title=reading.chunk.title,
            start=reading.start,
            end=reading.end,
            page=reading.chunk.page,
            headings=reading.chunk.headings,
            scores={name: float(values[reading.row]) for name, values in ranking.lists.items()},
        )
        for reading, relevance in zip(found, relevances, strict=True)
    ]


def explain_by_paths(view: WalkSnapshot, ranking: Ranking, found: Sequence[ReadSpan]) -> Explain:
    """Return what explains a passage of those found by the walk's path to it."""
    seeds = ranking.seeds.tolist()
    titles = {each.row: each.chunk.title for each in found}
    rows = {each.chunk.id: each.row for each in found}

    def explain(passage: Passage) -> Passage:
        if not seeds:
            return passage
        return replace(passage, path=view.path(rows[passage.chunk_id], seeds, titles))

    return explain
