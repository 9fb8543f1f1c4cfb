"""Extractor protocol, for users' own extractors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..model import Extraction


@runtime_checkable
class Extractor(Protocol):
    """Reads chunks and says which names and facts stand in them."""

    @property
    def identity(self) -> str:
        """Digest of models, versions and rules; changes when results may change."""
        ...

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """One extraction a text, in the texts' order; each depends on its own text alone."""
        ...
