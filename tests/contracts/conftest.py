"""What the suites of several implementations share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import PostgresServer, programs_with_vectors


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL that has pgvector."""
    folder = programs_with_vectors()
    if folder is None:
        pytest.skip("no pgvector: apt-get install postgresql-15-pgvector")
    with PostgresServer(folder) as server:
        yield server.url()
