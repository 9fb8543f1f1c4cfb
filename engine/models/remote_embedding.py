"""Embeddings from an OpenAI-compatible endpoint, held to their contract.

One layer of retries (the client's), errors of our tree, and a check that every text got a vector,
in order and all of one length.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ..errors import ModelOutputError
from .failures import translated

if TYPE_CHECKING:
    from openai import OpenAI

_STAND_IN = "."
"""Sent for a text of nothing but white space: most servers refuse an empty string."""


class RemoteEmbedding(BaseEmbedding):
    """Vectors as the server gives them: their length and norm are the model's affair.

    Raises `ModelUnavailable` or `ModelOutputError` from every call that embeds.
    """

    _client: OpenAI = PrivateAttr()
    _where: str = PrivateAttr()

    def __init__(self, client: OpenAI, *, base_url: str, model_name: str, batch_size: int) -> None:
        super().__init__(model_name=model_name, embed_batch_size=batch_size)
        self._client = client
        self._where = f"embedding model {model_name!r} at {base_url}"

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return "RemoteEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if not texts:
            return []
        inputs = [text if text.strip() else _STAND_IN for text in texts]
        with translated(self._where):
            reply = self._client.embeddings.create(
                input=inputs, model=self.model_name, encoding_format="float"
            )
            vectors = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
            finite = all(math.isfinite(value) for vector in vectors for value in vector)
        lengths = sorted({len(vector) for vector in vectors})
        if len(vectors) != len(texts) or len(lengths) != 1 or not lengths[0] or not finite:
            raise ModelOutputError(
                f"{self._where} sent {len(vectors)} vectors of lengths {lengths} for"
                f" {len(texts)} texts{'' if finite else ', not all of finite numbers'}"
            )
        return vectors

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
