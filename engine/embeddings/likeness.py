"""A reader for what the English cross-encoder does not read: likeness of question and text.

The multilingual encoder was trained to lay a question beside the text that answers it. Their cosine
stands in the place of a cross-encoder's logit, on about the same scale. A heading is often the
question itself: a text's first line is read alone, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llama_index.core.embeddings import BaseEmbedding
from numpy.typing import NDArray

from .multilingual import MultilingualEmbedding
from .wrappers import unwrap_embedding

LOGITS = 16.0
"""Logits of a cosine of 1."""
HEADING = 0.4
"""Share of the first line in what a text weighs."""
READ_CHARACTERS = 400
"""Characters read of a text: the time grows with them."""


class LikenessReader:
    """Reader that weighs texts by the cosine of their vectors and the question's."""

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model

    def __call__(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return a logit for each text, in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        asked = np.asarray(self._model.get_query_embedding(question), dtype=np.float64)
        heads = [text.partition("\n")[0].rpartition(": ")[2] for text in texts]
        read = list(dict.fromkeys((*heads, *(text[:READ_CHARACTERS] for text in texts))))
        vectors = self._model.get_text_embedding_batch(read)
        near = dict(zip(read, np.asarray(vectors, dtype=np.float64) @ asked, strict=True))
        return np.array(
            [
                LOGITS * (HEADING * near[head] + (1 - HEADING) * near[text[:READ_CHARACTERS]])
                for head, text in zip(heads, texts, strict=True)
            ]
        )


def likeness_reader(kind: str, models: Sequence[BaseEmbedding]) -> LikenessReader | None:
    """Return a reader by the multilingual model among `models`; None for `none`, or without it."""
    found = (m for m in models if isinstance(unwrap_embedding(m), MultilingualEmbedding))
    model = None if kind == "none" else next(found, None)
    return LikenessReader(model) if model else None
