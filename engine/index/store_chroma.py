"""Chroma: a server, or a folder (one process)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import chromadb
import httpx
from chromadb.api.collection_configuration import CreateHNSWConfiguration
from chromadb.config import Settings
from chromadb.errors import ChromaError
from llama_index.vector_stores.chroma import ChromaVectorStore

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

_NEAR: CreateHNSWConfiguration = {
    "space": "cosine",
    "ef_search": 1_000,
    "ef_construction": 200,
    "max_neighbors": 32,
}
"""A search hears of as many as are asked for only where `ef_search` is not below that."""


class ChromaStore:
    """See `ExternalStore`."""

    errors: tuple[type[Exception], ...] = (ChromaError, httpx.HTTPError, ValueError, OSError)
    opening_errors: tuple[type[Exception], ...] = errors
    most = 10_000

    def __init__(self, name: str, *, dimension: int, url: str, path: str, api_key: str) -> None:
        quiet = Settings(anonymized_telemetry=False)
        if path:
            client = chromadb.PersistentClient(path=path, settings=quiet)
        else:
            parts = urlsplit(url)
            client = chromadb.HttpClient(
                host=parts.hostname or "localhost",
                port=parts.port or (443 if parts.scheme == "https" else 8000),
                ssl=parts.scheme == "https",
                headers={"x-chroma-token": api_key} if api_key else {},
                settings=quiet,
            )
        self._client = client
        self._collection = client.get_or_create_collection(
            name,
            configuration={"hnsw": _NEAR},
            embedding_function=None,  # its own one would be downloaded
        )
        self.vectors = ChromaVectorStore(chroma_collection=self._collection)

    def count(self) -> int:
        """See `ExternalStore`."""
        return int(self._collection.count())

    def ids(self) -> list[str]:
        """See `ExternalStore`."""
        return list(self._collection.get(include=[])["ids"])

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self.vectors.add(list(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self.vectors.delete_nodes(list(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        self._client.close()  # type: ignore[attr-defined]  # both clients have it, their interface not
