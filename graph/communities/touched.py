"""Communities that a change touches, without the members of those told from their parts.

A frequent entity of which only the counts changed is *steady*: it has other relations only with
entities that changed, too, and it tells no community that has rarer members. So what it belongs to
stays as it is, unless one of these changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select, update

from ..model import Community
from ..storage.database import Difference, Values
from ..storage.facts import in_batches, rows_in
from ..storage.schema import communities, entities, members, names, reports
from .incremental import communities_of_rows
from .reports import FREQUENT, LARGE

_COUNTS = ("mention_count", "document_count", "description", "dirty")
"""Columns of entities that no report of a steady one rests on; a description changes otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Communities that are reported again, and the parts of the large ones among them."""

    communities: Sequence[Community]
    parts: Mapping[str, tuple[str, ...]]


def steady_entities(entity_rows: Difference, name_rows: Difference) -> set[str]:
    """Return the frequent entities that kept all their names, and all but their counts."""
    columns = list(entities.columns.keys())
    count = columns.index("mention_count")
    kept = [place for place, name in enumerate(columns) if name not in _COUNTS]
    meant = list(names.columns.keys()).index("entity_id")
    renamed = {
        row[meant]
        for key in name_rows.before.keys() | name_rows.after.keys()
        for old, new in [(name_rows.before.get(key), name_rows.after.get(key))]
        if old is None or new is None or old[meant] != new[meant]
        for row in (old, new)
        if row is not None
    }

    def is_steady(old: Values, new: Values) -> bool:
        is_frequent = min(old[count], new[count]) > FREQUENT
        return is_frequent and all(old[place] == new[place] for place in kept)

    return {
        key[0]
        for key, old in entity_rows.before.items()
        if key in entity_rows.after and is_steady(old, entity_rows.after[key])
    } - renamed


def touched_communities(
    connection: Connection,
    touched: Collection[str] | None,
    *,
    fresh: Collection[str],
    steady: Collection[str] = (),
) -> Again:
    """Return the communities that are new or have a touched member; None: all.

    Those told from parts come without members; small ones of which nothing but steady entities was
    touched are left out, and their reports are clean again.
    """
    if touched is None:
        ids = {*connection.execute(select(communities.c.id)).scalars()}
        small = set[str]()
    else:
        query = select(members.c.community_id, members.c.entity_id)
        touching = defaultdict[str, bool](lambda: True)
        for community_id, entity_id in rows_in(connection, query, members.c.entity_id, touched):
            touching[community_id] &= entity_id in steady
        ids = touching.keys() | {*fresh}
        small = {one for one, only_steady in touching.items() if only_steady}.difference(fresh)
    large = _large(connection, ids)
    ids = ids - _take_for_clean(connection, small - large)
    parts = _parts(connection, large & ids)
    columns = select(communities.c.id, communities.c.level, communities.c.parent_id)
    rows = list(rows_in(connection, columns, communities.c.id, ids))
    whole = communities_of_rows(connection, (row for row in rows if row.id not in parts))
    told = (
        Community(id=row.id, level=row.level, parent_id=row.parent_id, entity_ids=())
        for row in rows
        if row.id in parts
    )
    return Again(communities=[*whole, *told], parts=parts)


def _large(connection: Connection, ids: Iterable[str]) -> set[str]:
    home = members.c.community_id
    query = select(home).group_by(home).having(func.count() > LARGE)
    return {row[0] for row in rows_in(connection, query, home, ids)}


def _parts(connection: Connection, large: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the parts of those that have any, as `parts_of` does."""
    found: dict[str, list[str]] = defaultdict(list)
    query = select(communities.c.parent_id, communities.c.id)
    for above, below in rows_in(connection, query, communities.c.parent_id, large):
        found[above].append(below)
    return {key: tuple(sorted(some)) for key, some in found.items()}


def _take_for_clean(connection: Connection, ids: Collection[str]) -> set[str]:
    """Take the reports of those with a rarer member for clean again; return these."""
    home = members.c.community_id
    query = select(home).join(entities, entities.c.id == members.c.entity_id).group_by(home)
    rarer = query.having(func.min(entities.c.mention_count) <= FREQUENT)
    found = {row[0] for row in rows_in(connection, rarer, home, ids)}
    for batch in in_batches(found):
        rows = update(reports).where(reports.c.community_id.in_(batch))
        connection.execute(rows.values(dirty=False))
    return found
