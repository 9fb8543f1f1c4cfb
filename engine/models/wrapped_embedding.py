"""An embedding around another one.

What is the same for all that change its texts or its vectors. Everything that the inner model
says of itself (its window, its
dimension) stays what it says, so that a wrapped model is cut and stored like a bare one.
"""

from __future__ import annotations

import asyncio

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from .naming import identity_of


class WrappedEmbedding(BaseEmbedding):
    """Embeds with `inner`; a subclass says what it does to texts before and to vectors after.

    Errors are the inner model's.
    """

    _inner: BaseEmbedding = PrivateAttr()

    def __init__(self, inner: BaseEmbedding) -> None:
        super().__init__(model_name=inner.model_name, embed_batch_size=inner.embed_batch_size)
        self._inner = inner

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises it."""
        return cls.__name__

    @property
    def inner(self) -> BaseEmbedding:
        """The model that does the work."""
        return self._inner

    @property
    def identity(self) -> str:
        """What the stored vectors are of; a subclass adds what it changes of them."""
        return identity_of(self._inner)

    @property
    def window_tokens(self) -> int:
        """Tokens of a text that the inner model reads.

        No such attribute where it does not say.
        """
        window: int = self._inner.window_tokens  # type: ignore[attr-defined]
        return window

    @property
    def dimension(self) -> int:
        """Length of a vector; no such attribute where the inner model does not say."""
        length: int = self._inner.dimension  # type: ignore[attr-defined]
        return length

    def _question(self, text: str) -> str:
        """What is sent for a question."""
        return text

    def _passage(self, text: str) -> str:
        """What is sent for a passage."""
        return text

    def _vector(self, vector: list[float]) -> list[float]:
        """What is given out for a vector of the inner model."""
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(self._inner.get_query_embedding(self._question(query)))

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        made = self._inner.get_text_embedding_batch([self._passage(text) for text in texts])
        return [self._vector(list(vector)) for vector in made]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)


def unwrap_embedding(model: BaseEmbedding) -> BaseEmbedding:
    """The model that does the work, under whatever is wrapped around it."""
    while isinstance(model, WrappedEmbedding):
        model = model.inner
    return model
