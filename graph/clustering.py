"""Community detection: full, or incremental from the stored hierarchy.

Reads what was held before and remembers how far it has drifted since; `communities` and `anchored`
do the work.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Literal

from sqlalchemy import Connection, select

from .anchored import IncrementalState, astray, strengths, update_communities
from .communities import communities as cluster
from .facts import read_state, write_state
from .model import Community
from .schema import communities, members

ANCHOR = "anchor"
"""Key of the state table: parameters of the last full clustering and the drift since."""

Way = Literal["exact", "anchored"]


def clustered(
    connection: Connection,
    entity_ids: Collection[str],
    edges: Sequence[tuple[str, str, float]],
    *,
    way: Way,
    drift: float,
    max_size: int,
    resolution: float,
    seed: int,
) -> Sequence[Community]:
    """Return the community hierarchy, in the order of `communities`.

    "exact" depends on the graph alone; "anchored" also on what is held from before, and so on the
    order in which documents came.
    """
    ids = sorted(entity_ids)
    parameters = f"{max_size} {resolution!r} {seed}"
    if way == "anchored" and (anchor := _anchor(connection, parameters)) is not None:
        kept = update_communities(
            _held(connection),
            ids,
            edges,
            anchor=anchor,
            max_size=max_size,
            drift=drift,
            resolution=resolution,
            seed=seed,
        )
        if kept is not None:
            _remember(connection, parameters, kept.anchor)
            return kept.communities
    found = cluster(ids, edges, max_size=max_size, resolution=resolution, seed=seed)
    if way == "anchored":
        _remember(connection, parameters, IncrementalState(astray=astray(found, strengths(edges))))
    elif read_state(connection, ANCHOR):
        write_state(connection, ANCHOR, "")
    return found


def _anchor(connection: Connection, parameters: str) -> IncrementalState | None:
    """Return the stored state; None if absent or of other parameters."""
    told = json.loads(read_state(connection, ANCHOR) or "{}")
    if told.get("parameters") != parameters:
        return None
    return IncrementalState(astray=told["astray"], moved=told["moved"])


def _remember(connection: Connection, parameters: str, anchor: IncrementalState) -> None:
    told = {"parameters": parameters, "astray": anchor.astray, "moved": anchor.moved}
    write_state(connection, ANCHOR, json.dumps(told))


def _held(connection: Connection) -> list[Community]:
    """Every community there is, stale ones too."""
    inside: dict[str, list[str]] = defaultdict(list)
    for community_id, entity_id in connection.execute(select(members)).all():
        inside[community_id].append(entity_id)
    query = select(communities.c.id, communities.c.level, communities.c.parent_id)
    return [
        Community(id=key, level=level, parent_id=parent, entity_ids=tuple(sorted(inside[key])))
        for key, level, parent in connection.execute(query).all()
    ]
