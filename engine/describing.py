"""What its owner says of a document that the library holds: tags, a date, anything to filter by.

The document's text, and all that was read of it, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select, update

from .index.door import raise_generation
from .index.library import Library
from .index.tables import documents, metadata_text
from .ingest.content import storable
from .types import MetaValue


def put_given(library: Library, document_id: str, given: Mapping[str, MetaValue]) -> bool | None:
    """Replace what the owner gave; whether that changed anything, None without such a document.

    Whatever was kept of answers and views counts as older afterwards, since filters go by it.
    """
    wanted, own = metadata_text(given), documents.c.id == storable(document_id)
    with library.write() as connection:
        held = connection.execute(select(documents.c.given).where(own)).scalar()
        if held is None or held == wanted:
            return None if held is None else False
        connection.execute(update(documents).where(own).values(given=wanted))
        raise_generation(connection)
    return True
