"""What is wrong with a library, if anything."""

from __future__ import annotations

from sqlalchemy import select

from .door import chunk_table
from .library import Library
from .tables import documents


def problems(library: Library) -> list[str]:
    """What a damaged library would show, one line each; empty when it is sound."""
    found: list[str] = []
    with library.read() as connection:
        check = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        found += [f"database: {line}" for line in check if line != "ok"]
        orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        found += [f"table {row[0]}: row {row[1]} has lost what it belongs to" for row in orphans]
        query = select(
            chunk_table.c.id,
            chunk_table.c.text,
            documents.c.text,
            chunk_table.c.start,
            chunk_table.c.end,
        ).outerjoin(documents, documents.c.id == chunk_table.c.document_id)
        for chunk_id, text, whole, start, end in connection.execute(
            query.order_by(chunk_table.c.id)
        ):
            if whole is None or whole[start:end] != text:
                found.append(f"chunk {chunk_id} does not stand in its document")
    return found
