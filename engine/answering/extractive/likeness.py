"""A reader for what the English cross-encoder does not read: likeness of question and text.

The multilingual encoder was trained to lay a question beside the text that answers it. Their cosine
stands in the place of a cross-encoder's logit, on about the same scale. The nearest sentence says
more than a whole text, and a heading is often the question itself: the first line is read, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...embeddings.multilingual import MultilingualEmbedding
from ...embeddings.wrappers import unwrap_embedding
from ...storage.graph_api import sentence_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...embeddings.embedding_model import EmbeddingModel

LOGITS = 22.0
"""Logits of a cosine of 1."""
HEADING = 0.43
"""Share of the first line in what a text weighs; the rest is that of its nearest sentence."""
READ_SENTENCES = 4
"""Sentences of a text that are read, those with the most of the question's characters in pairs."""
READ_CHARACTERS = 120
"""Characters read of a sentence: the time grows with them."""


class LikenessReader:
    """Reader that weighs texts by the cosines of their sentences' vectors and the question's."""

    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        asked = np.asarray(self._model.get_query_embedding(question), dtype=np.float64)
        parts = [text.partition("\n") for text in texts]
        heads = [head.rpartition(": ")[2] for head, _, _ in parts]
        said = [_nearest_sentences(question, body or head) for head, _, body in parts]
        read = list(dict.fromkeys((*heads, *(each for some in said for each in some))))
        vectors = self._model.get_text_embedding_batch(read)
        near = dict(zip(read, np.asarray(vectors, dtype=np.float64) @ asked, strict=True))
        return np.array(
            [
                LOGITS * (HEADING * near[head] + (1 - HEADING) * max(near[one] for one in some))
                for head, some in zip(heads, said, strict=True)
            ]
        )


def _nearest_sentences(question: str, text: str) -> list[str]:
    """Return the sentences that share most pairs of characters with a question."""
    asked = _pairs(question)
    found = [text[start:stop].strip()[:READ_CHARACTERS] for start, stop in sentence_spans(text)]
    found = [each for each in dict.fromkeys(found) if each] or [text[:READ_CHARACTERS]]
    return sorted(found, key=lambda each: -len(asked & _pairs(each)))[:READ_SENTENCES]


def _pairs(text: str) -> set[str]:
    plain = text.casefold()
    return {plain[place : place + 2] for place in range(len(plain) - 1)}


def likeness_reader(kind: str, models: Sequence[EmbeddingModel]) -> LikenessReader | None:
    """Return a reader by the multilingual model among `models`; None for `none`, or without it."""
    found = (m for m in models if isinstance(unwrap_embedding(m), MultilingualEmbedding))
    model = None if kind == "none" else next(found, None)
    return LikenessReader(model) if model else None
