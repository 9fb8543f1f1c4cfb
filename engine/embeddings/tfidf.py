"""Hashed words as an embedding, where no model is installed or wanted.

Hashed vectors of words and character n-grams depend on their text alone; how rare a word is weighs
on the question's side (`lnc.ltc` of Salton and Buckley, 1988). Hashing is that of Weinberger et
al., "Feature Hashing for Large Scale Multitask Learning" (ICML 2009), with a sign, so that words
which fall together cancel on average.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .embedding_model import BatchedEmbedding

VERSION = 1
"""Part of the identity: raise it whenever the same text would give another vector."""
DIMENSION = 1024
PIECE_SIZES = (3, 4)
"""Lengths of character n-grams; they match misspelt and inflected words."""
PIECE_WEIGHT = 1.0
"""Of one word's pieces together, beside the word itself."""

Tokens = Callable[[str], list[str]]
Idf = Callable[[], Callable[[str], float]]


class TfidfEmbedding(BatchedEmbedding):
    """Unit vectors of `dimension` (zero for a text without tokens).

    Args:
        tokens: text to tokens, the same for questions and passages.
        tokens_version: names that rule; part of the identity.
        idf: gives the rarity of tokens as it is now, asked for once a question; None weighs all
            tokens of a question alike.
        dimension: how many places there are.
    """

    def __init__(
        self,
        *,
        tokens: Tokens,
        tokens_version: str = "",
        idf: Idf | None = None,
        dimension: int = DIMENSION,
    ) -> None:
        rule = f"-{tokens_version}" if tokens_version else ""
        super().__init__(model_name=f"tfidf-hashing-{VERSION}{rule}", embed_batch_size=256)
        self._tokens = tokens
        self._idf = idf
        self._dimension = dimension

    @property
    def identity(self) -> str:
        """The scheme, its version, that of the tokens, and the size."""
        return f"{self.model_name}/{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._dimension

    def weigh_by(self, idf: Idf | None) -> None:
        """Weigh the tokens of questions by their rarity from now on."""
        self._idf = idf

    def _get_query_embedding(self, query: str) -> list[float]:
        weight = self._idf() if self._idf is not None else None
        vector: list[float] = hashed_vector(
            self._tokens(query), size=self._dimension, idf=weight
        ).tolist()
        return vector

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [hashed_vector(self._tokens(text), size=self._dimension).tolist() for text in texts]


def hashed_vector(
    words: Sequence[str], *, size: int, idf: Callable[[str], float] | None = None
) -> NDArray[np.float32]:
    """Return the hashed unit vector (size) of tokens: 1 + ln(count), times `idf` of each.

    The same on every machine and in every process; the order of the tokens means nothing.
    """
    vector = np.zeros(size, dtype=np.float64)
    for word, count in sorted(Counter(words).items()):
        weight = (1.0 + np.log(count)) * (1.0 if idf is None else idf(word))
        for place, share in _places(word, size):
            vector[place] += weight * share
    length = float(np.linalg.norm(vector))
    return (vector / length if length else vector).astype(np.float32)


@lru_cache(maxsize=65_536)
def _places(word: str, size: int) -> tuple[tuple[int, float], ...]:
    """Return hash positions and weights of a word and its n-grams."""
    pieces = sorted(set(_pieces(word)))
    share = PIECE_WEIGHT / np.sqrt(len(pieces)) if pieces else 0.0
    return (_place(f"w{word}", size, 1.0), *(_place(f"p{p}", size, float(share)) for p in pieces))


def _pieces(word: str) -> Iterator[str]:
    """Return a word's character n-grams with end marks; empty for short words."""
    marked = f"<{word}>"
    if len(word) <= min(PIECE_SIZES):
        return
    for length in PIECE_SIZES:
        for start in range(len(marked) - length + 1):
            yield marked[start : start + length]


def _place(feature: str, size: int, share: float) -> tuple[int, float]:
    digest = hashlib.blake2b(feature.encode("utf8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest)
    return (number >> 1) % size, share if number & 1 else -share
