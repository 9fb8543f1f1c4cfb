"""Build the retrieval components: vector index, BM25 and the hybrid retriever."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .index.door import sentence_spans
from .index.keyword import KeywordRetriever
from .index.library import Library
from .index.store_dense import ExternalDense
from .index.stores import open_store
from .index.vector import WindowedVectorIndex
from .model_parts import build_expander, build_passage_reranker
from .models.naming import identity_of
from .models.readability import tokeniser_coverage
from .models.stages import Models
from .models.tfidf import TfidfEmbedding
from .models.tokeniser import Tokeniser
from .models.windows import windows, windows_and_sentences
from .models.wrapped_embedding import unwrap_embedding
from .retrieve.local import LocalRetriever
from .retrieve.tokens import dictionary_words, tokens_with
from .settings import RetrieveSettings, Settings, VectorSettings

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalComponents:
    """Retrieval components; `meaning` is the model for sentence similarity, or None.

    `readable` says how much of a text the embedding model reads.
    """

    vectors: WindowedVectorIndex | None
    keyword: KeywordRetriever
    retriever: LocalRetriever
    meaning: BaseEmbedding | None
    readable: Callable[[str], float]


def build_retrieval(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
    tokeniser: Tokeniser,
) -> RetrievalComponents:
    """Build retrieval of a library; without `embed_model` BM25 and the walk alone."""
    vectors = _vectors(library, settings, embed_model=embed_model, tokeniser=tokeniser)
    readable = tokeniser_coverage(embed_model, tokeniser=tokeniser)
    words = tokens_with(dictionary(settings.retrieve))
    keyword = KeywordRetriever(library, tokens=words, readable=readable)
    # What compares sentences and kinds of questions wants meanings; hashed words have none.
    meaning = embed_model
    if embed_model is not None and isinstance(
        inner := unwrap_embedding(embed_model), TfidfEmbedding
    ):
        inner.weigh_by(keyword.idf)
        meaning = None
    retriever = LocalRetriever(
        library,
        keyword=keyword,
        dense=vectors.store.dense if vectors is not None else None,
        embed_model=embed_model,
        readable=readable,
        settings=settings.retrieve,
        expander=build_expander(settings.retrieve, models=models, idf=keyword.idf),
        judge=build_passage_reranker(settings.rerank, models=models),
    )
    return RetrievalComponents(
        vectors=vectors, keyword=keyword, retriever=retriever, meaning=meaning, readable=readable
    )


def dictionary(settings: RetrieveSettings) -> list[str]:
    """Return the user's word list for Chinese segmentation, if one is configured."""
    return dictionary_words(Path(settings.dictionary)) if settings.dictionary else []


def _vectors(
    library: Library,
    settings: Settings,
    *,
    embed_model: BaseEmbedding | None,
    tokeniser: Tokeniser,
) -> WindowedVectorIndex | None:
    if embed_model is None:
        return None
    limit: int = getattr(embed_model, "window_tokens", settings.chunk.size_tokens)
    cut = windows
    if settings.embedding.sentences:
        cut = partial(windows_and_sentences, sentence_spans=sentence_spans)
    return WindowedVectorIndex(
        library,
        embed_model=embed_model,
        model=identity_of(embed_model),
        dense=_external(library, settings.vectors, model=identity_of(embed_model)),
        windows=lambda prefix, text: cut(text, prefix=prefix, limit=limit, tokeniser=tokeniser),
    )


def _external(library: Library, settings: VectorSettings, *, model: str) -> ExternalDense | None:
    """Return the external vector store, opened on first use; None without one."""
    kind = settings.store
    if kind == "library":
        return None
    key = os.environ.get(settings.api_key_variable, "") if settings.api_key_variable else ""
    return ExternalDense(
        library,
        lambda name, dimension: open_store(
            kind,
            name,
            dimension=dimension,
            url=settings.url,
            path=settings.path,
            api_key=key,
            timeout_seconds=settings.timeout_seconds,
        ),
        model=model,
        prefix=settings.collection,
    )
