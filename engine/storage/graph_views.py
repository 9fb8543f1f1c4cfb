"""Views of the graph under document filters, cached for the last few."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sqlalchemy import Connection

from .graph_api import (
    SeenCommunities,
    VisibleGraph,
    derived_stamp,
    gc_paused,
    read_seen,
    read_seen_communities,
    reports_stamp,
)
from .library import Library
from .schema import DocumentFilter

KEPT_PICTURES = 32
KEPT_THINGS = 2_000_000
"""Maximum cached views, and entities and relations in all of them together."""


@dataclass
class _Picture:
    """Cached graph view under one document filter; communities are loaded on first use."""

    stamp: str
    seen: VisibleGraph
    communities: SeenCommunities | None = None


class GraphViewCache:
    """Cache of graph views under document filters; thread-safe."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._guard = threading.Lock()
        self._kept: dict[str, _Picture] = {}

    def current(self, connection: Connection, within: DocumentFilter | None) -> VisibleGraph:
        """Return the graph as seen through the documents that `within` admits."""
        with self._guard:
            return self._picture(connection, within).seen

    def communities(self, connection: Connection, within: DocumentFilter | None) -> SeenCommunities:
        """Its communities."""
        with self._guard:
            picture = self._picture(connection, within)
            if picture.communities is None:
                with gc_paused():
                    picture.communities = read_seen_communities(connection, picture.seen)
            return picture.communities

    def _picture(self, connection: Connection, within: DocumentFilter | None) -> _Picture:
        stamp = f"{derived_stamp(connection)} {reports_stamp(connection)}"
        key = "" if within is None else within.key
        kept = self._kept.pop(key, None)
        if kept is None or kept.stamp != stamp:
            with gc_paused():
                seen = read_seen(connection, self._admitted(connection, within))
            kept = _Picture(stamp, seen)
        self._kept[key] = kept  # at the end: the one used last
        while len(self._kept) > 1 and self._is_too_much():
            del self._kept[next(iter(self._kept))]
        return kept

    def _is_too_much(self) -> bool:
        things = sum(each.seen.size for each in self._kept.values())
        return len(self._kept) > KEPT_PICTURES or things > KEPT_THINGS

    def _admitted(
        self, connection: Connection, within: DocumentFilter | None
    ) -> frozenset[str] | None:
        if within is None:
            return None
        known = self._library.document_metadata(connection)
        return frozenset(name for name, metadata in known.items() if within.admits(metadata))
