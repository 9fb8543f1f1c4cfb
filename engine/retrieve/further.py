"""Lists that others bring: any LlamaIndex retriever as one more list of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llama_index.core.base.base_retriever import BaseRetriever

from .fuse import Scores, found_scores

OWN_NAMES = frozenset({"keyword", "dense", "fused", "walk", "expanded", "rerank"})


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
