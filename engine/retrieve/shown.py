"""Filtered view of the library shared by lists and walk."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from ..index.door import WalkSnapshot, derived_stamp
from ..index.filters import DocumentFilter
from ..index.held_view import load_snapshot
from ..index.library import Library
from .fuse import Scores
from .leading import preview_top_rows
from .time import time_decay

KEPT_VIEWS = 8
"""Maximum cached filtered views."""


@dataclass(frozen=True)
class FilteredView:
    """A view, and which rows of the whole library its rows are.

    `decay` is what age leaves of each row's score; None where age does not count.
    """

    view: WalkSnapshot
    rows: NDArray[np.int64]
    is_all: bool
    decay: Scores | None = None
    counted: NDArray[np.int64] | None = None
    """Rows that word statistics cover.

    Those of the namespaces, so scores leak nothing of others; None means all.
    """

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk, by id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.view.chunk_ids)}

    def name(self, row: int) -> str:
        """Return a row's display name: its title, or its document id."""
        title = self.view.titles[row]
        return self.view.display.get(title, title) or self.view.documents[row]

    def leading(self, scores: Scores | NDArray[np.float32]) -> str:
        """Preview the best rows by these scores."""
        return preview_top_rows(scores, self.name)

    def of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Restrict an array over the library to visible rows."""
        return values if self.is_all else values[self.rows]


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

    def current(self, connection: Connection, within: DocumentFilter | None) -> FilteredView:
        """Return the view for a filter, within a connection's snapshot."""
        stamp = derived_stamp(connection)
        with self._guard:
            if self._stamp != stamp:
                view = load_snapshot(connection, self._library.path / "derived")
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
