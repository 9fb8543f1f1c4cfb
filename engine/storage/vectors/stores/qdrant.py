"""Qdrant: a server, or its local mode (one process, up to about 20,000 points)."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.http import models
from qdrant_client.http.exceptions import ApiException

from . import FILTER_KEYS

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


_guard = threading.Lock()
_local: dict[str, tuple[QdrantClient, int]] = {}
"""Open local folders with how many stores use each: a folder takes one client only."""


def _open_local(path: str) -> QdrantClient:
    """Return the client of a folder, shared by the collections of several models."""
    with _guard:
        client, users = _local.get(path, (None, 0))
        if client is None:
            client = QdrantClient(path=path, force_disable_check_same_thread=True)
        _local[path] = client, users + 1
        return client


def _close_local(path: str) -> None:
    """Close the client of a folder with its last user."""
    with _guard:
        client, users = _local.pop(path)
        if users > 1:
            _local[path] = client, users - 1
        else:
            client.close()


class QdrantStore:
    """See `ExternalStore`."""

    errors: tuple[type[Exception], ...] = (ApiException, ValueError, OSError)
    # RuntimeError: another process has the folder open.
    opening_errors: tuple[type[Exception], ...] = (*errors, RuntimeError)
    most = 100_000

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
        self._name = name
        self._path = str(Path(path).resolve()) if path else ""
        if path:
            self._client = _open_local(self._path)
        else:
            self._client = QdrantClient(
                url=url,
                api_key=api_key or None,
                timeout=math.ceil(timeout_seconds),
                check_compatibility=False,
            )
        self.vectors = QdrantVectorStore(
            collection_name=name,
            client=self._client,
            batch_size=500,
            dense_config=models.VectorParams(size=dimension, distance=models.Distance.COSINE),
            payload_indexes=[
                {"field_name": key, "field_schema": models.PayloadSchemaType.KEYWORD}  # type: ignore[dict-item]
                for key in (FILTER_KEYS if url else ())  # the local mode has none and warns
            ],
            index_doc_id=False,
        )

    def count(self) -> int:
        """See `ExternalStore`."""
        if not self._client.collection_exists(self._name):
            return 0
        return int(self._client.count(self._name, exact=True).count)

    def pages(self) -> Iterator[list[str]]:
        """See `ExternalStore`."""
        if not self._client.collection_exists(self._name):
            return
        after: models.ExtendedPointId | None = None
        while True:
            records, after = self._client.scroll(
                self._name, limit=10_000, offset=after, with_payload=False, with_vectors=False
            )
            yield [str(record.id) for record in records]
            if after is None:
                return

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self.vectors.add(list(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self.vectors.delete_nodes(list(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        if self._path:
            _close_local(self._path)
        else:
            self._client.close()
