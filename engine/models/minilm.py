"""The bundled embedding as LlamaIndex sees it. The work is done in `encoder`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from numpy.typing import NDArray

from .encoder import MODEL_DIMENSION, MODEL_WINDOW_TOKENS, MiniLmEncoder
from .weights import MODEL_NAME


class BundledEmbedding(BaseEmbedding):
    """all-MiniLM-L6-v2 without torch, key or network; unit vectors of 384.

    Cheap to construct; the model loads at the first text. A vector depends on its text alone.
    Only the first 254 tokens of a text are read: longer ones are embedded in windows
    (`tokeniser.windows`).
    """

    quantise: bool = False
    _encoder: MiniLmEncoder = PrivateAttr()

    def __init__(
        self,
        *,
        quantise: bool = False,
        embed_batch_size: int = 32,
        threads: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(model_name=MODEL_NAME, embed_batch_size=embed_batch_size)
        self.quantise = quantise
        self._encoder = MiniLmEncoder(quantise=quantise, threads=threads, environment=environment)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "BundledEmbedding"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return MODEL_DIMENSION

    @property
    def window_tokens(self) -> int:
        """Tokens of a text that the model reads."""
        return MODEL_WINDOW_TOKENS

    @property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared."""
        return self._encoder.identity

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 384), in input order.

        Raises:
            ModelUnavailable: the model is not installed or its files are damaged.
        """
        return self._encoder.embed(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.embed(texts).tolist()
        return vectors

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
