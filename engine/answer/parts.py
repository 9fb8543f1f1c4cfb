"""Dependencies shared by local and global answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from numpy.typing import NDArray

from ..index.filters import DocumentFilter
from ..models.stages import Models
from ..models.tokeniser import Tokeniser
from ..retrieve.local import LocalRetriever
from ..settings import AnswerSettings, PackSettings
from ..types import Citation
from .checks.stage import CitationVerifier
from .correct import CorrectiveRetriever
from .draft import on_pages
from .packing.merge import TextAt
from .rounds import SelfRag
from .sentences import Embed


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDependencies:
    """Models come by argument; `None` means to do without.

    Attributes:
        retriever: finds passages, and knows how near chunks are to a question.
        idf: gives the weights of tokens among the documents that may be seen, as they are now.
        settings: budgets and thresholds.
        models: who writes answers, and maps reports; where there is none they are extracted.
        checks: checks what a model wrote.
        correction: judges and corrects what was found; None takes it as it is.
        reflection: answers in rounds; None answers once.
        embed: texts to unit vectors, one row each; None compares words alone.
        tokeniser: counts what fits.
        page_starts: document ids to where the pages of each begin, of those that have pages.
        packing: how what is found is made to fit a model's window.
        text_at: a document's id, a start and an end to the characters between.
        dates: document ids to the dates of those that have one.
    """

    retriever: LocalRetriever
    idf: Callable[[DocumentFilter | None], Callable[[str], float]]
    settings: AnswerSettings
    models: Models
    checks: CitationVerifier
    correction: CorrectiveRetriever | None
    reflection: SelfRag | None
    embed: Embed | None
    tokeniser: Tokeniser
    page_starts: Callable[[Iterable[str]], Mapping[str, tuple[int, ...]]]
    packing: PackSettings
    text_at: TextAt
    dates: Callable[[Iterable[str]], Mapping[str, str]]

    def cited(self, citations: Sequence[Citation]) -> tuple[Citation, ...]:
        """Return the citations with page numbers."""
        return on_pages(citations, self.page_starts({each.document_id for each in citations}))


def embedder(embed_model: BaseEmbedding | None) -> Embed | None:
    """Return a function from texts to unit vectors, one row each."""
    if embed_model is None:
        return None

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(embed_model.get_text_embedding_batch(list(texts)), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)

    return embed
