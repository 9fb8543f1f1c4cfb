"""Interface of an embedding model, and the base class of the engine's own.

It is the part of LlamaIndex's `BaseEmbedding` that the engine uses, so any LlamaIndex model fits.
The engine's own models do without that class: importing LlamaIndex takes longer than a question.
`llamaindex.as_llamaindex` makes one of them a LlamaIndex model.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Protocol


class EmbeddingModel(Protocol):
    """Embedding model as the engine uses it."""

    model_name: str
    embed_batch_size: int

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        ...

    def get_query_embedding(self, query: str) -> list[float]:
        """Embed a question."""
        ...

    def get_text_embedding(self, text: str) -> list[float]:
        """Embed a passage."""
        ...

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed passages, in order."""
        ...


class BatchedEmbedding(ABC):
    """Embedding model of the engine: a subclass embeds a batch of passages.

    Args:
        model_name: part of its identity.
        embed_batch_size: maximum number of texts a batch.
    """

    def __init__(self, *, model_name: str, embed_batch_size: int) -> None:
        self.model_name = model_name
        self.embed_batch_size = embed_batch_size

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return cls.__name__

    def get_query_embedding(self, query: str) -> list[float]:
        """Embed a question."""
        return self._get_query_embedding(query)

    def get_text_embedding(self, text: str) -> list[float]:
        """Embed a passage."""
        return self._get_text_embeddings([text])[0]

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed passages, in order."""
        size = self.embed_batch_size
        batches = (texts[start : start + size] for start in range(0, len(texts), size))
        return [vector for batch in batches for vector in self._get_text_embeddings(batch)]

    async def aget_query_embedding(self, query: str) -> list[float]:
        """Embed a question in a thread."""
        return await asyncio.to_thread(self.get_query_embedding, query)

    async def aget_text_embedding(self, text: str) -> list[float]:
        """Embed a passage in a thread."""
        return await asyncio.to_thread(self.get_text_embedding, text)

    async def aget_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Embed passages in a thread, in order."""
        return await asyncio.to_thread(self.get_text_embedding_batch, texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    @abstractmethod
    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        """Embed a batch of passages, in order."""
