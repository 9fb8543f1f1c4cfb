"""Vector spaces: a library's embedding models in order, each for what those before cannot read.

A space weighs what its model reads of question and passage; the next one gets what is left. In a
search it stands beside an English one, too: two models find more than one. So two English texts are
compared by both, and every other pair by the multilingual one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .external import Dense

if TYPE_CHECKING:
    from ...embeddings.embedding_model import EmbeddingModel
    from ..llamaindex import WindowedVectorIndex

TFIDF_WORTH = 0.5
"""Weight of hashed words beside BM25; measured: more helps, 1 hurts."""
LEAST_WEIGHT = 0.5
"""A space that weighs less for a question and every passage is not searched."""
BESIDE = 0.7
"""Weight of a space beside an English one for what that reads. Of 650 questions on five invented
collections the passage that answers is among the first five in .73 with .7 (.66 without, .71 with
.5, .74 with 1), of 120 on three of Debian's guides in .94 to .96 with each."""

Shares = NDArray[np.floating]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSpace:
    """The vectors of one embedding model.

    `open_index` gives its index, `dense` searches it; `identity` is the model's; `english_only`: it
    reads the English share of a text, else everything; `worth`: weight of its list beside BM25,
    0–1; `floor`: the cosine of texts that have nothing to do with each other.
    """

    open_index: Callable[[], WindowedVectorIndex]
    dense: Dense
    embed_model: EmbeddingModel
    identity: str
    english_only: bool = False
    worth: float = 1.0
    floor: float = 0.0

    @property
    def index(self) -> WindowedVectorIndex:
        """The LlamaIndex index that writes the vectors; opened when a document first comes."""
        return self.open_index()

    def reads(self, english_share: float) -> bool:
        """Check whether a text is embedded at all, by its English share, 0–1."""
        return not self.english_only or english_share > 0

    def weight(self, english_share: Shares | float) -> Shares | float:
        """Return the weight of texts, 0–1, by their English shares."""
        if self.english_only:
            return np.asarray(english_share, dtype=np.float64) * self.worth
        return np.full(np.shape(english_share), self.worth)


def space_weights(
    spaces: Sequence[VectorSpace], question_share: float, passage_shares: Shares
) -> list[NDArray[np.float64]]:
    """Return for each space the weight of each passage, 0–1, `(n,)`, for one question.

    Args:
        spaces: in order.
        question_share: English share of the question, 0–1.
        passage_shares: English share of each passage, 0–1, `(n,)`.
    """
    found, reads = list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for space in spaces:
        both = np.asarray(space.weight(question_share) * space.weight(passage_shares))
        reads.append(both)
        for before in reads[:-1]:
            both = both * (1.0 - before)
        found.append(both)
    return found


def beside_weight(spaces: Sequence[VectorSpace], first: NDArray[np.float64]) -> Shares | float:
    """Return the weight of the second space for what the first, an English one, reads.

    `first` are the weights of that, `(n,)`; nothing without two such spaces.
    """
    return BESIDE * first if len(spaces) > 1 and spaces[0].english_only else 0.0
