"""What local and global answers are made with: one value, handed to both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray

from ..models.stages import Models
from ..models.tokeniser import Tokeniser
from ..retrieve.local import LocalRetriever
from ..settings import AnswerSettings
from ..types import Citation
from .draft import on_pages

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParts:
    """Models come by argument; `None` means to do without.

    Attributes:
        retriever: finds passages, and knows how near chunks are to a question.
        idf: gives the weights of tokens in the library as it is now.
        settings: budgets and thresholds.
        models: who writes answers, and maps reports; where there is none they are extracted.
        embed: texts to unit vectors, one row each; None compares words alone.
        tokeniser: counts what fits.
        page_starts: document ids to where the pages of each begin, of those that have pages.
    """

    retriever: LocalRetriever
    idf: Callable[[], Callable[[str], float]]
    settings: AnswerSettings
    models: Models
    embed: Embed | None
    tokeniser: Tokeniser
    page_starts: Callable[[Iterable[str]], Mapping[str, tuple[int, ...]]]

    def cited(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """The citations, each with the page of its quote."""
        return on_pages(citations, self.page_starts({each.document_id for each in citations}))


def embedder(embed_model: BaseEmbedding | None) -> Embed | None:
    """An embedding model as a function from texts to unit vectors, one row a text."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed
