"""Query and passage prefixes of embedding models, by model name.

Models trained on pairs tell questions from passages by a few words in front; without them their
vectors are worse by several points. The texts are those of the models' own cards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from .wrapped_embedding import WrappedEmbedding


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

    _prefixes: Prefixes = PrivateAttr()

    def __init__(self, inner: BaseEmbedding, *, prefixes: Prefixes) -> None:
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
    model: BaseEmbedding, *, question: str | None = None, passage: str | None = None
) -> BaseEmbedding:
    """Wrap the model with these prefixes; None means those of its name.

    The model itself where there is nothing to put before.
    """
    known = prefixes_for(model.model_name)
    prefixes = Prefixes(
        question=known.question if question is None else question,
        passage=known.passage if passage is None else passage,
    )
    return model if prefixes == NO_PREFIXES else PrefixedEmbedding(model, prefixes=prefixes)
