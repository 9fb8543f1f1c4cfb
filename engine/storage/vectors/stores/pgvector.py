"""PostgreSQL with pgvector: one table with exact search (sequential scan, no HNSW)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import MetaData, Table, create_engine, func, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class PgvectorStore:
    """pgvector store; see `ExternalStore`. The secret is the password of the address."""

    errors: tuple[type[Exception], ...] = (SQLAlchemyError,)
    opening_errors: tuple[type[Exception], ...] = errors
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
        address = make_url(url).set(drivername="postgresql+psycopg")
        if api_key:
            address = address.set(password=api_key)
        self._table = f"data_{name}"
        waits = {"connect_timeout": math.ceil(timeout_seconds)}
        self._engine = create_engine(address, pool_pre_ping=True, connect_args=waits)
        with self._engine.connect():
            pass  # a server that is away is an error once, here, and not also in a log
        self.vectors = PGVectorStore(
            table_name=name,
            embed_dim=dimension,
            use_jsonb=True,
            engine=self._engine,
            async_engine=create_async_engine(address),  # connects to nothing before it is used
            indexed_metadata_keys={("document_key", "text"), ("namespace_key", "text")},
            initialization_fail_on_error=True,
        )
        self.vectors.get_nodes(node_ids=["none"])  # makes the table where there is none

    def count(self) -> int:
        """See `ExternalStore`."""
        table = self._held()
        if table is None:
            return 0
        with self._engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(table)).scalar_one()

    def pages(self) -> Iterator[list[str]]:
        """See `ExternalStore`."""
        table = self._held()
        if table is None:
            return
        with self._engine.connect() as connection:
            yield list(connection.execute(select(table.c.node_id)).scalars())

    def put(self, nodes: Sequence[TextNode]) -> None:
        """See `ExternalStore`."""
        self.vectors.add(list(nodes))

    def remove(self, ids: Sequence[str]) -> None:
        """See `ExternalStore`."""
        self.vectors.delete_nodes(list(ids))

    def close(self) -> None:
        """See `ExternalStore`."""
        self._engine.dispose()

    def _held(self) -> Table | None:
        if not inspect(self._engine).has_table(self._table, schema="public"):
            return None
        from sqlalchemy import Column, String

        return Table(self._table, MetaData(), Column("node_id", String), schema="public")
