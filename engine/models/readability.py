"""Weight of dense retrieval for a text: the share an embedding model can read, 0–1.

Where a model reads nothing its cosines are noise, and words and links must carry the search. Known
by the model's kind and name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from llama_index.core.base.embeddings.base import BaseEmbedding

from .minilm import BundledEmbedding
from .tfidf import TfidfEmbedding
from .wrapped_embedding import unwrap_embedding

TFIDF_WORTH = 0.5
"""Weight of hashed words beside BM25; measured: more helps, 1 hurts."""
_ENGLISH_ONLY = re.compile(
    r"minilm|mpnet|(?:^|[/_:-])(?:e5-(?:small|base|large)|gte-(?:small|base|large))(?!.*-zh)"
    r"|bge-(?:small|base|large)(?!-zh)|nomic-embed-text(?!-v2)|mxbai-embed|uae-large"
    r"|arctic-embed(?!2|.*v2)|modernbert|-en(?:-|$)"
)


class _Reads(Protocol):
    def readable(self, text: str) -> float: ...


def tokeniser_coverage(model: BaseEmbedding | None, *, tokeniser: _Reads) -> Callable[[str], float]:
    """Return a function from text to the share that the model reads.

    Without a model nothing; hashed words half of everything (see `TFIDF_WORTH`); the bundled model
    and others that learned English alone what is Latin in it (`tokeniser.readable`); any other
    model everything.
    """
    if model is None:
        return lambda _text: 0.0
    inner = unwrap_embedding(model)
    if isinstance(inner, TfidfEmbedding):
        return lambda _text: TFIDF_WORTH
    if isinstance(inner, BundledEmbedding) or is_english_only(inner.model_name):
        return tokeniser.readable
    return lambda _text: 1.0


def is_english_only(model_name: str) -> bool:
    """Check whether a model is known to read English only; False if unknown."""
    name = model_name.strip().casefold()
    return "multilingual" not in name and _ENGLISH_ONLY.search(name) is not None
