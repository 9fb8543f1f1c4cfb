"""Documents that are stored only in part: which stage could not take them, and why.

They are found by their words, and are not tried again until their text, the settings or the
product's version change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from sqlalchemy import Connection, func, select

from ..types import PartialDocument
from .door import DERIVE, EXTRACT, LINK, batches, chunk_table, faults, product_version
from .library import Library
from .preparing import CHUNK, EMBED, KEYWORDS

_LACKS = {
    CHUNK: "is cut in a plainer way than settings say",
    EMBED: "has no vectors for {count}",
    EXTRACT: "has no names for {count}",
    KEYWORDS: "is indexed by plain words in {count}",
    LINK: "is not linked to names in {count}",
    DERIVE: "is left out of the graph",
}
"""By stage, what a document lacks."""

MAX_REASONS = 3
"""Maximum number of different reasons that are given for one document."""


def partial_documents(
    library: Library, only: Collection[str] | None = None
) -> list[PartialDocument]:
    """The partial documents of a library, or those among `only`, sorted by id."""
    with library.read() as connection:
        found = why_partial(connection, only)
    return [PartialDocument(source=name, reason=found[name]) for name in sorted(found)]


def partial_count(library: Library) -> int:
    """How many documents are partial."""
    query = select(func.count(chunk_table.c.document_id.distinct()))
    with library.read() as connection:
        joined = query.select_from(faults).join(chunk_table, chunk_table.c.id == faults.c.chunk_id)
        return int(connection.execute(joined).scalar_one())


def partial_by_other_version(library: Library) -> frozenset[str]:
    """The documents that another version of the product could not take: this one tries again."""
    query = select(chunk_table.c.document_id).join(faults, faults.c.chunk_id == chunk_table.c.id)
    query = query.where(faults.c.version != product_version()).distinct()
    with library.read() as connection:
        return frozenset(connection.execute(query).scalars())


def why_partial(connection: Connection, only: Collection[str] | None) -> dict[str, str]:
    """What all documents or those among `only` lack and why, by id; whole ones are left out."""
    columns = (chunk_table.c.document_id, faults.c.stage, faults.c.reason)
    query = select(*columns, func.count().label("count"))
    query = query.join(chunk_table, chunk_table.c.id == faults.c.chunk_id).group_by(*columns)
    queries = [query]
    if only is not None:
        queries = [query.where(chunk_table.c.document_id.in_(batch)) for batch in batches(only)]
    found: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for one in queries:
        for document_id, stage, reason, count in connection.execute(one):
            found[document_id][stage][reason] = count
    return {name: _told(by_stage) for name, by_stage in found.items()}


def _told(by_stage: Mapping[str, Mapping[str, int]]) -> str:
    """One line: what is lacking by stage, in their order, and the different reasons."""
    parts = []
    for stage in (*_LACKS, *sorted(by_stage.keys() - _LACKS.keys())):
        counts = by_stage.get(stage)
        if not counts:
            continue
        count = sum(counts.values())
        chunks = "1 chunk" if count == 1 else f"{count} chunks"
        lacks = _LACKS.get(stage, f"is without {stage}").format(count=chunks)
        reasons = sorted(counts, key=lambda reason: (-counts[reason], reason))
        more = ["…"] if len(reasons) > MAX_REASONS else []
        parts.append(f"{lacks}: {', '.join([*reasons[:MAX_REASONS], *more])}")
    return "; ".join(parts)
