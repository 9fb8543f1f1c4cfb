"""Changes of vectors: their number, and which chunks the last ones were about.

Vectors of chunks that went go with them: these the graph notes.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from sqlalchemy import Connection

from ..graph_api import chunks_gone_since, facts_generation, read_state, write_state

COUNT = "vectors"
"""Key of the state table: how often vectors changed."""
LOG = "vector changes"
"""Key of the state table: the chunks of each of the last changes."""
MOST_NOTED = 1_000
"""Maximum number of changes and chunks in the log."""


def vector_stamp(connection: Connection) -> str:
    """Return a stamp that changes with vectors and their chunks."""
    return f"{facts_generation(connection)}.{read_state(connection, COUNT) or 0}"


def note_vector_change(connection: Connection, chunk_ids: Collection[str] | None) -> None:
    """Count a change of vectors, and note the chunks that have them; None: of any."""
    changes = int(read_state(connection, COUNT) or 0) + 1
    log = [] if chunk_ids is None else [*_vector_log(connection), (changes, sorted(chunk_ids))]
    while sum(1 + len(some) for _, some in log) > MOST_NOTED:
        log.pop(0)
    write_state(connection, COUNT, str(changes))
    write_state(connection, LOG, json.dumps(log))


def _vector_log(connection: Connection) -> list[tuple[int, list[str]]]:
    held = json.loads(read_state(connection, LOG) or "[]")
    return [(number, some) for number, some in held]


def vectors_changed_since(connection: Connection, stamp: str) -> set[str] | None:
    """Return the chunks whose vectors changed or went since a `vector_stamp`.

    None where not all of them are noted.
    """
    generation, seen = map(int, stamp.split("."))
    gone = chunks_gone_since(connection, generation)
    since = [some for number, some in _vector_log(connection) if number > seen]
    now = int(read_state(connection, COUNT) or 0)
    return gone.union(*since) if gone is not None and len(since) == now - seen else None
