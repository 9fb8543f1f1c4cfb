"""Truncated embeddings (Matryoshka): the first dimensions, normalised again.

After Kusupati et al., "Matryoshka Representation Learning" (NeurIPS 2022): such a model puts what
matters most first, so that 256 of 1,024 dimensions keep most of the quality for a quarter of the
memory. Of any other model the first dimensions are a random part, and cutting is refused.
"""

from __future__ import annotations

import math
import re

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

from ..errors import ModelOutputError, SettingsError
from .wrapped_embedding import WrappedEmbedding

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

    _dimensions: int = PrivateAttr()
    _centred: bool = PrivateAttr()

    def __init__(self, inner: BaseEmbedding, *, dimensions: int, centred: bool = False) -> None:
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


def shortened(model: BaseEmbedding, *, dimensions: int, force: bool = False) -> BaseEmbedding:
    """Wrap the model with vectors of `dimensions`.

    Args:
        model: gives longer ones.
        dimensions: how many to keep, 1 or more.
        force: cut even where the model is not known to be made for it, or not so short.

    Raises:
        SettingsError: below 1, or refused and not forced.
    """
    if dimensions < 1:
        raise SettingsError(f"embedding.dimensions: {dimensions} is not 1 or more")
    smallest = smallest_size(model.model_name)
    if not force and (smallest is None or dimensions < smallest):
        may = f"not below {smallest}" if smallest else "not known to be trained for it"
        raise SettingsError(
            f"embedding.dimensions: {model.model_name!r} cannot be cut to {dimensions} dimensions"
            f" ({may}); leave it out, or set embedding.force_dimensions if you have measured it"
        )
    centred = _CENTRED.search(model.model_name.casefold()) is not None
    return TruncatedEmbedding(model, dimensions=dimensions, centred=centred)
