"""Milvus: a server, or a file of Milvus Lite (one process)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llama_index.vector_stores.milvus import MilvusVectorStore
from pymilvus.exceptions import MilvusException

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class MilvusStore:
    """See `ExternalStore`."""

    errors: tuple[type[Exception], ...] = (MilvusException, OSError)
    opening_errors: tuple[type[Exception], ...] = (*errors, RuntimeError)
    most = 16_384  # the server refuses more

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
        self.vectors = MilvusVectorStore(
            uri=url or path,
            token=api_key,
            collection_name=name,
            dim=dimension,
            upsert_mode=True,
            similarity_metric="COSINE",
            consistency_level="Strong",  # what was written is counted and found at once
            use_async_client=False,  # it would need an event loop already running
            dedicated=True,  # a shared connection that fell silent would be given to us again
            timeout=timeout_seconds,
        )
        self.vectors.client.load_collection(name)

    def count(self) -> int:
        """See `ExternalStore`."""
        rows = self.vectors.client.query(self._name, filter="", output_fields=["count(*)"])
        return int(rows[0]["count(*)"])

    def pages(self) -> Iterator[list[str]]:
        """See `ExternalStore`."""
        batches = self.vectors.client.query_iterator(
            self._name, batch_size=1_000, filter="", output_fields=["id"]
        )
        while batch := batches.next():
            yield [str(row["id"]) for row in batch]
        batches.close()

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self.vectors.add(list(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self.vectors.delete_nodes(list(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        self.vectors.client.close()
