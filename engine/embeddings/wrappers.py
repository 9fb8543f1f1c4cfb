"""Wrappers around an embedding model: an endpoint, prefixes, truncation, failure.

Wrappers keep what the inner model says of itself (window, dimension). Prefixes for queries and
passages are those of the models' own cards. Truncation follows Kusupati et al., "Matryoshka
Representation Learning" (NeurIPS 2022), for models trained for it.
"""

from __future__ import annotations

import math
import re
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelOutputError, ModelUnavailable, SettingsError
from ..llm.response import identity_of
from ..llm.retry import translate_errors
from .embedding_model import BatchedEmbedding, EmbeddingModel

if TYPE_CHECKING:
    from openai import OpenAI

_STAND_IN = "."
"""Sent for a text of nothing but white space: most servers refuse an empty string."""


class LocalEmbedding(BatchedEmbedding):
    """A model in this process that embeds questions and passages alike; subclasses give `embed`."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), dimension), in input order."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.embed(texts).tolist()
        return vectors


class RemoteEmbedding(BatchedEmbedding):
    """Vectors as the server gives them: their length and norm are the model's affair.

    Raises `ModelUnavailable` or `ModelOutputError` from every call that embeds.
    """

    def __init__(self, client: OpenAI, *, base_url: str, model_name: str, batch_size: int) -> None:
        super().__init__(model_name=model_name, embed_batch_size=batch_size)
        self._client = client
        self._where = f"embedding model {model_name!r} at {base_url}"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if not texts:
            return []
        inputs = [text if text.strip() else _STAND_IN for text in texts]
        with translate_errors(self._where):
            reply = self._client.embeddings.create(
                input=inputs, model=self.model_name, encoding_format="float"
            )
            vectors = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
            finite = all(math.isfinite(value) for vector in vectors for value in vector)
        lengths = sorted({len(vector) for vector in vectors})
        if len(vectors) != len(texts) or len(lengths) != 1 or not lengths[0] or not finite:
            raise ModelOutputError(
                f"unusable reply of {self._where}: {len(vectors)} vectors of lengths {lengths} for"
                f" {len(texts)} texts{'' if finite else ', not all of finite numbers'}; "
                "check embedding.model"
            )
        return vectors


class WrappedEmbedding(BatchedEmbedding):
    """Embeds with `inner`; a subclass says what it does to texts before and to vectors after.

    Errors are the inner model's.
    """

    def __init__(self, inner: EmbeddingModel) -> None:
        super().__init__(model_name=inner.model_name, embed_batch_size=inner.embed_batch_size)
        self._inner = inner

    @property
    def inner(self) -> EmbeddingModel:
        """The model that does the work."""
        return self._inner

    @property
    def identity(self) -> str:
        """Identity of the stored vectors; subclasses add their changes."""
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
        """Return the text sent for a question."""
        return text

    def _passage(self, text: str) -> str:
        """Return the text sent for a passage."""
        return text

    def _vector(self, vector: list[float]) -> list[float]:
        """Return the vector given out for an inner vector."""
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(self._inner.get_query_embedding(self._question(query)))

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        made = self._inner.get_text_embedding_batch([self._passage(text) for text in texts])
        return [self._vector(list(vector)) for vector in made]


def unwrap_embedding(model: EmbeddingModel) -> EmbeddingModel:
    """Return the innermost embedding model."""
    while isinstance(model, WrappedEmbedding):
        model = model.inner
    return model


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """Prefixes of queries and passages; empty for none."""

    question: str = ""
    passage: str = ""


NO_PREFIXES = Prefixes()
_ENGLISH_TASK = "Represent this sentence for searching relevant passages: "
_CHINESE_TASK = "为这个句子生成表示以用于检索相关文章："
_WEB_TASK = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
_KNOWN: tuple[tuple[str, Prefixes], ...] = (
    (r"multilingual-e5.*-instruct", Prefixes(question=f"{_WEB_TASK} ")),
    (r"e5-mistral", Prefixes(question=f"{_WEB_TASK} ")),
    (r"(multilingual-)?e5-(small|base|large)", Prefixes(question="query: ", passage="passage: ")),
    (r"bge-(small|base|large)-zh", Prefixes(question=_CHINESE_TASK)),
    (r"bge-(small|base|large)(-en)?", Prefixes(question=_ENGLISH_TASK)),
    (r"(mxbai-embed|uae)-large", Prefixes(question=_ENGLISH_TASK)),
    (r"snowflake-arctic-embed2|(snowflake-)?arctic-embed-[lm]-v2", Prefixes(question="query: ")),
    (r"(snowflake-)?arctic-embed", Prefixes(question=_ENGLISH_TASK)),
    (
        r"nomic-embed-text|modernbert-embed",
        Prefixes(question="search_query: ", passage="search_document: "),
    ),
    (
        r"embedding-?gemma",
        Prefixes(question="task: search result | query: ", passage="title: none | text: "),
    ),
    (r"qwen3-embedding", Prefixes(question=_WEB_TASK)),
)
"""Model name patterns with their prefixes; the first match decides."""
_NAME_BEGINS = r"(?:^|[/_:\s-])"


def prefixes_for(model_name: str) -> Prefixes:
    """Return the prefixes of a model by its name, without folder or owner.

    `bge-m3`, `gte-…`, MiniLM, OpenAI's and Cohere's want none, nor does a name that is not known.
    """
    name = model_name.strip().casefold()
    for pattern, prefixes in _KNOWN:
        if re.search(f"{_NAME_BEGINS}(?:{pattern})", name):
            return prefixes
    return NO_PREFIXES


class PrefixedEmbedding(WrappedEmbedding):
    """A model that is given its prefixes.

    Its identity holds the passage's prefix alone: stored vectors are of passages, and a changed
    prefix of questions leaves every one of them as it was.
    """

    def __init__(self, inner: EmbeddingModel, *, prefixes: Prefixes) -> None:
        super().__init__(inner)
        self._prefixes = prefixes

    @property
    def identity(self) -> str:
        """The inner model's, and what stands before every passage."""
        passage = self._prefixes.passage
        return f"{super().identity}+{passage!r}" if passage else super().identity

    def _question(self, text: str) -> str:
        return f"{self._prefixes.question}{text}"

    def _passage(self, text: str) -> str:
        return f"{self._prefixes.passage}{text}"


def with_prefixes(
    model: EmbeddingModel, *, question: str | None = None, passage: str | None = None
) -> EmbeddingModel:
    """Wrap the model with these prefixes; None means those of its name.

    The model itself where there is nothing to put before.
    """
    known = prefixes_for(model.model_name)
    prefixes = Prefixes(
        question=known.question if question is None else question,
        passage=known.passage if passage is None else passage,
    )
    return model if prefixes == NO_PREFIXES else PrefixedEmbedding(model, prefixes=prefixes)


_SMALLEST: tuple[tuple[str, int], ...] = (
    (r"text-embedding-3-(small|large)", 256),
    (r"nomic-embed-text-(v1\.5|v2)", 64),
    (r"modernbert-embed", 256),
    (r"mxbai-embed-large", 64),
    (r"snowflake-arctic-embed2|arctic-embed-(m-v1\.5|m-v2|l-v2)", 256),
    (r"embedding-?gemma", 128),
    (r"gemini-embedding", 128),
    (r"qwen3-embedding", 32),
    (r"jina-embeddings-v[34]", 32),
    (r"voyage-(3-large|3\.5|code-3)", 256),
)
"""By name, the smallest size that the model's card speaks of."""
_CENTRED = re.compile(r"nomic-embed-text-v1\.5")
"""Models whose card applies a layer norm before truncation."""


class TruncatedEmbedding(WrappedEmbedding):
    """Embedding truncated to `dimensions` at unit length.

    The number is part of the identity.

    Raises `ModelOutputError` where the model's own vectors are shorter than that.
    """

    def __init__(self, inner: EmbeddingModel, *, dimensions: int, centred: bool = False) -> None:
        super().__init__(inner)
        self._dimensions = dimensions
        self._centred = centred

    @property
    def identity(self) -> str:
        """The inner model's, and how many dimensions are kept."""
        return f"{super().identity}@{self._dimensions}"

    @property
    def dimension(self) -> int:
        """Number of dimensions."""
        return self._dimensions

    def _vector(self, vector: list[float]) -> list[float]:
        if len(vector) < self._dimensions:
            raise ModelOutputError(
                f"embedding model {self.model_name!r} gives {len(vector)} dimensions, not the"
                f" {self._dimensions} that embedding.dimensions asks for: lower it, or leave it out"
            )
        mean = math.fsum(vector) / len(vector) if self._centred else 0.0
        kept = [value - mean for value in vector[: self._dimensions]]
        length = math.sqrt(math.fsum(value * value for value in kept))
        return [value / length for value in kept] if length else kept


def smallest_size(model_name: str) -> int | None:
    """Return the smallest supported size of a model by name.

    None if truncation is unsupported.
    """
    name = model_name.strip().casefold()
    return next((size for pattern, size in _SMALLEST if re.search(pattern, name)), None)


def truncate_embedding(
    model: EmbeddingModel, *, dimensions: int, force: bool = False
) -> EmbeddingModel:
    """Wrap an embedding model so that its vectors have `dimensions` (Matryoshka).

    Args:
        model: gives longer ones.
        dimensions: how many to keep, 1 or more.
        force: cut even where the model is not known to be made for it, or not so short.

    Raises:
        SettingsError: below 1, or refused and not forced.
    """
    if dimensions < 1:
        raise SettingsError(f"embedding.dimensions: {dimensions} is too small; give 1 or more")
    smallest = smallest_size(model.model_name)
    if not force and (smallest is None or dimensions < smallest):
        may = f"not below {smallest}" if smallest else "not known to be trained for it"
        raise SettingsError(
            f"embedding.dimensions: {model.model_name!r} cannot be cut to {dimensions} dimensions"
            f" ({may}); leave it out, or set embedding.force_dimensions if you have measured it"
        )
    centred = _CENTRED.search(model.model_name.casefold()) is not None
    return TruncatedEmbedding(model, dimensions=dimensions, centred=centred)


REST_SECONDS = 30.0
"""Seconds without embedding attempts after a failed one."""

Clock = Callable[[], float]


class EmbeddingUnavailable(ModelUnavailable):
    """The model of this library's vectors cannot embed now; no other one may."""


class GuardedEmbedding(WrappedEmbedding):
    """A library's model, whose failure is told from that of any other model.

    Every `ModelUnavailable` becomes an `EmbeddingUnavailable` that says what to do. After one, the
    embedding of questions fails at once for `rest_seconds`, so that a server which hangs costs one
    question its timeout and not each. `holds_vectors` is false of a library's only model until it
    has embedded: then another one can still be chosen, which the error says.
    """

    def __init__(
        self,
        inner: EmbeddingModel,
        *,
        holds_vectors: bool = True,
        rest_seconds: float = REST_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(inner)
        self._holds_vectors = holds_vectors
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._rests_until = float("-inf")
        self._reason = ""

    def _get_query_embedding(self, query: str) -> list[float]:
        with self._lock:
            if self._clock() < self._rests_until:
                raise EmbeddingUnavailable(self._reason)
        try:
            vector = super()._get_query_embedding(query)
        except ModelUnavailable as error:
            raise self._note(error) from error
        return vector

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        try:
            vectors = super()._get_text_embeddings(texts)
        except ModelUnavailable as error:
            raise self._note(error) from error
        self._holds_vectors = True
        return vectors

    def _note(self, error: ModelUnavailable) -> EmbeddingUnavailable:
        reason = (
            f"{error}; this library's vectors are of {self.identity}, and no other model can embed"
            " for it: questions are answered by words and links alone meanwhile, and what was"
            " stored before is kept"
            if self._holds_vectors
            else f"{error}; this library has no vectors yet: add again when it answers, choose"
            " another model (embedding.kind), or one that stands in (embedding.fallback)"
        )
        with self._lock:
            self._reason = reason
            self._rests_until = self._clock() + self._rest_seconds
        return EmbeddingUnavailable(reason)
