"""Classification of named sources: paths, web addresses, databases, documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llama_index.core.schema import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifiedSources:
    """Sources by kind, each in the order given."""

    paths: list[str | Path]
    addresses: list[str]
    databases: list[str]
    documents: list[Document]

    @classmethod
    def of(cls, sources: Sequence[str | Path | Document]) -> ClassifiedSources:
        """Classify sources by form; anything else is a path."""
        from .database.reader import is_database_url

        named = cls(paths=[], addresses=[], databases=[], documents=[])
        for source in sources:
            if not isinstance(source, (str, Path)):
                named.documents.append(source)
            elif isinstance(source, str) and source.lower().startswith(("http://", "https://")):
                named.addresses.append(source)
            elif isinstance(source, str) and is_database_url(source):
                named.databases.append(source)
            else:
                named.paths.append(source)
        return named
