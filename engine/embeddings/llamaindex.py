"""Embedding models of the engine as LlamaIndex models."""

from __future__ import annotations

import asyncio

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from .embedding_model import EmbeddingModel


class EngineEmbedding(BaseEmbedding):
    """One of the engine's embedding models, for LlamaIndex's parts."""

    _inner: EmbeddingModel = PrivateAttr()

    def __init__(self, inner: EmbeddingModel) -> None:
        super().__init__(model_name=inner.model_name, embed_batch_size=inner.embed_batch_size)
        self._inner = inner

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "EngineEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._inner.get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._inner.get_text_embedding(text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._inner.get_text_embedding_batch(texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)


def as_llamaindex(model: EmbeddingModel) -> BaseEmbedding:
    """Return the model itself where it is LlamaIndex's, else the same as one."""
    return model if isinstance(model, BaseEmbedding) else EngineEmbedding(model)
