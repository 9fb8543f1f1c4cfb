"""User metadata of stored documents: tags, a date, any field to filter by.

The document's text, and all that was read of it, stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select, update

from .index.door import raise_generation
from .index.library import Library
from .index.tables import documents, metadata_text
from .ingest.content import sanitise_text
from .types import MetaValue


def set_user_metadata(
    library: Library, document_id: str, given: Mapping[str, MetaValue]
) -> bool | None:
    """Replace a document's user metadata; return whether it changed, None if absent.

    Whatever was kept of answers and views counts as older afterwards, since filters go by it.
    """
    wanted, own = metadata_text(given), documents.c.id == sanitise_text(document_id)
    with library.write() as connection:
        held = connection.execute(select(documents.c.given).where(own)).scalar()
        if held is None or held == wanted:
            return None if held is None else False
        connection.execute(update(documents).where(own).values(given=wanted))
        raise_generation(connection)
    return True
