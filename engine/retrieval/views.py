"""Views of a library by filter, kept between questions and led on as it changes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ..storage.files import load_snapshot
from ..storage.graph_api import WalkSnapshot, chunk_table, derived_stamp, follow_changes
from ..storage.library import Library
from ..storage.schema import DocumentFilter
from .fusion import Scores, time_decay
from .passages import FilteredView

KEPT_VIEWS = 8
"""Maximum cached filtered views."""


class FilteredViewCache:
    """Views of the library by filter, cached for the last few.

    Args:
        library: what is seen.
        half_life_days: after so many days a document counts half; None: age does not count.
    """

    def __init__(self, library: Library, *, half_life_days: float | None = None) -> None:
        self._library = library
        self._half_life_days = half_life_days
        self._guard = threading.Lock()
        self._stamp = ""
        self._shown: dict[str, FilteredView] = {}
        self._titles: tuple[WalkSnapshot, Mapping[str, int]] | None = None

    def current(self, connection: Connection, within: DocumentFilter | None) -> FilteredView:
        """Return the view for a filter, within a connection's snapshot."""
        stamp = derived_stamp(connection)
        with self._guard:
            if self._stamp != stamp:
                view = self._present(connection)
                rows = np.arange(len(view.chunk_ids))
                whole = FilteredView(view, rows, is_all=True, decay=self._decay(connection, view))
                self._stamp, self._shown = stamp, {"": whole}
            if within is None:
                return self._shown[""]
            if within.key not in self._shown:
                shown = self._narrowed(connection, self._shown[""], within)
                while len(self._shown) > KEPT_VIEWS:
                    del self._shown[next(key for key in self._shown if key)]
                self._shown[within.key] = shown
            return self._shown[within.key]

    def titles(self, connection: Connection, within: DocumentFilter | None) -> Mapping[str, int]:
        """Return how many of the documents that a filter admits have each title.

        Read once for a view.
        """
        view = self.current(connection, within).view
        known = self._titles
        if known is None or known[0] is not view:
            titled = select(chunk_table.c.document_id, chunk_table.c.title).distinct()
            seen, rows = frozenset(view.documents), connection.execute(titled)
            known = view, Counter(row.title for row in rows if row.document_id in seen)
            self._titles = known
        return known[1]

    def _present(self, connection: Connection) -> WalkSnapshot:
        """Return the view of now: the last one where it can follow what changed, else read."""
        view = None
        if self._shown:
            view = follow_changes(connection, self._shown[""].view, since=self._stamp)
        if view is not None:
            return view
        content = self._library.content_stamp(connection)
        return load_snapshot(connection, self._library.path / "derived", content=content)

    def _narrowed(
        self, connection: Connection, whole: FilteredView, within: DocumentFilter
    ) -> FilteredView:
        known = self._library.document_metadata(connection)
        rows = _rows(whole.view, known, within)
        view = whole.view.only(rows.tolist())
        home = within.home
        if home is not None:  # a name may come from another namespace
            view = view.called_as_here(connection)
        return FilteredView(
            view,
            rows,
            is_all=False,
            decay=self._decay(connection, view),
            counted=_rows(whole.view, known, home) if home is not None else None,
        )

    def _decay(self, connection: Connection, view: WalkSnapshot) -> Scores | None:
        if self._half_life_days is None:
            return None
        known = self._library.document_metadata(connection)
        dates = [known.get(name, {}).get("date") for name in view.documents]
        return time_decay(dates, half_life_days=self._half_life_days)


def _rows(
    view: WalkSnapshot, known: Mapping[str, Mapping[str, object]], within: DocumentFilter
) -> NDArray[np.int64]:
    """Return the rows of documents that a filter admits."""
    admitted = {name for name, metadata in known.items() if within.admits(metadata)}
    found = [row for row, name in enumerate(view.documents) if name in admitted]
    return np.array(found, dtype=np.int64)
