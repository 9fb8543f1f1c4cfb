"""How much of a text an embedding model can make sense of: what its scores are worth, 0–1.

Where a model reads nothing its cosines are noise, and words and links must carry the search. Known
by the model's kind and name. Knows nothing of settings or of fusion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from llama_index.core.base.embeddings.base import BaseEmbedding

from .minilm import BundledEmbedding
from .tfidf import TfidfEmbedding
from .wrapped_embedding import innermost

TFIDF_WORTH = 0.5
"""Measured: with this weight beside BM25 hashed words find more, with 1 less, than BM25 alone."""
_ENGLISH_ONLY = re.compile(
    r"minilm|mpnet|(?:^|[/_:-])(?:e5-(?:small|base|large)|gte-(?:small|base|large))(?!.*-zh)"
    r"|bge-(?:small|base|large)(?!-zh)|nomic-embed-text(?!-v2)|mxbai-embed|uae-large"
    r"|arctic-embed(?!2|.*v2)|modernbert|-en(?:-|$)"
)


class _Reads(Protocol):
    def readable(self, text: str) -> float: ...


def readability(model: BaseEmbedding | None, *, tokeniser: _Reads) -> Callable[[str], float]:
    """A function from text to how much of it the model reads.

    Without a model nothing; hashed words half of everything (see `TFIDF_WORTH`); the bundled model
    and others that learned English alone what is Latin in it (`tokeniser.readable`); any other
    model everything.
    """
    if model is None:
        return lambda _text: 0.0
    inner = innermost(model)
    if isinstance(inner, TfidfEmbedding):
        return lambda _text: TFIDF_WORTH
    if isinstance(inner, BundledEmbedding) or is_english_only(inner.model_name):
        return tokeniser.readable
    return lambda _text: 1.0


def is_english_only(model_name: str) -> bool:
    """Whether a model of this name is known to read English alone; an unknown one is not."""
    name = model_name.strip().casefold()
    return "multilingual" not in name and _ENGLISH_ONLY.search(name) is not None
