"""Chroma: a server, or a folder (one process)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import chromadb
import httpx
from chromadb.api import ClientAPI
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
"""Minimum `ef_search` for a search to return as many as requested."""


class ChromaStore:
    """See `ExternalStore`."""

    errors: tuple[type[Exception], ...] = (ChromaError, httpx.HTTPError, ValueError, OSError)
    opening_errors: tuple[type[Exception], ...] = errors
    most = 10_000

    def __init__(
        self,
        name: str,
        *,
        dimension: int,
        url: str,
        path: str,
        api_key: str,
        timeout_seconds: float,
    ) -> None:
        if path:
            client = chromadb.PersistentClient(path=path, settings=_quiet())
        else:
            client = _connected(url, api_key=api_key, timeout_seconds=timeout_seconds)
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

    def pages(self) -> Iterator[list[str]]:
        """See `ExternalStore`."""
        yield list(self._collection.get(include=[])["ids"])

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self.vectors.add(list(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self.vectors.delete_nodes(list(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        self._client.close()  # type: ignore[attr-defined]  # both clients have it, their interface not


def _quiet() -> Settings:
    return Settings(anonymized_telemetry=False)


def _connected(url: str, *, api_key: str, timeout_seconds: float) -> ClientAPI:
    """Return a client with a timeout; the default waits forever.

    Of a server's failure it would make an error of no kind of its own.
    """
    parts = urlsplit(url)
    is_safe = parts.scheme == "https"
    host, port = parts.hostname or "localhost", parts.port or (443 if is_safe else 8000)
    address = f"http{'s' if is_safe else ''}://{host}:{port}/api/v2/heartbeat"
    _refuse_failure(httpx.get(address, timeout=timeout_seconds))
    client = chromadb.HttpClient(
        host=host,
        port=port,
        ssl=is_safe,
        headers={"x-chroma-token": api_key} if api_key else {},
        settings=_quiet(),
    )
    session: httpx.Client = client._server._session  # type: ignore[attr-defined]
    session.timeout = httpx.Timeout(timeout_seconds)
    session.event_hooks = {"response": [_refuse_failure]}
    return client


def _refuse_failure(response: httpx.Response) -> None:
    if response.is_server_error:
        response.raise_for_status()
