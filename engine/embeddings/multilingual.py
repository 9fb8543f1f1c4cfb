"""The multilingual encoder as an embedding of passages and questions.

It reads what the English model cannot, and finds documents in another language than the question's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .bundled import REMEMBERED_QUESTIONS
from .model_files import MULTILINGUAL
from .question_encoder import QUESTION_DIMENSION, QuestionEncoder
from .wrappers import LocalEmbedding

MULTILINGUAL_WINDOW_TOKENS = 128
"""Tokens of a window, counted by the English model, which takes each Chinese character for one."""


class MultilingualEmbedding(LocalEmbedding):
    """Unit vectors of 384 for text in any of 100 languages; loaded at the first text, thread-safe.

    A vector depends on its text alone: each text is run by itself, on one thread.
    """

    def __init__(
        self, *, embed_batch_size: int = 32, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(model_name=MULTILINGUAL.name, embed_batch_size=embed_batch_size)
        self._encoder = QuestionEncoder(environment=environment)
        self._question = lru_cache(maxsize=REMEMBERED_QUESTIONS)(self._embed_question)

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return QUESTION_DIMENSION

    @property
    def window_tokens(self) -> int:
        """Tokens of a text that make one vector."""
        return MULTILINGUAL_WINDOW_TOKENS

    @property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared."""
        return f"{self.model_name}/int8"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors of passages, float32, (len(texts), 384), in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._encoder.texts(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return list(self._question(query))

    def _embed_question(self, query: str) -> tuple[float, ...]:
        return tuple(self._encoder.questions([query])[0].tolist())
