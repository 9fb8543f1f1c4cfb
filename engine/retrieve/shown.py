"""What a search may see: the picture of the library that lists and walk share, cut to a filter.

Knows nothing of questions.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from ..index.door import GraphView, derived_stamp
from ..index.filters import DocumentFilter
from ..index.held_view import opened_view
from ..index.library import Library
from .fuse import Scores
from .leading import leading_rows
from .time import time_decay

KEPT_VIEWS = 8
"""How many filters' views are kept ready."""


@dataclass(frozen=True)
class Shown:
    """A view, and which rows of the whole library its rows are.

    `decay` is what age leaves of each row's score; None where age does not count.
    """

    view: GraphView
    rows: NDArray[np.int64]
    is_all: bool
    decay: Scores | None = None
    counted: NDArray[np.int64] | None = None
    """The rows over which words are counted: those of the namespaces, so that no score tells what
    other namespaces hold; None counts over all."""

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk, by id."""
        return {chunk_id: row for row, chunk_id in enumerate(self.view.chunk_ids)}

    def name(self, row: int) -> str:
        """What a row is called, for people: its title, or its document's id."""
        title = self.view.titles[row]
        return self.view.display.get(title, title) or self.view.documents[row]

    def leading(self, scores: Scores | NDArray[np.float32]) -> str:
        """The best rows by these scores, for people."""
        return leading_rows(scores, self.name)

    def of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values of the rows that are seen, of an array over the whole library."""
        return values if self.is_all else values[self.rows]


class Views:
    """The library as it is now, whole and by filter; those of the last few filters are kept.

    Args:
        library: what is seen.
        half_life_days: after so many days a document counts half; None: age does not count.
    """

    def __init__(self, library: Library, *, half_life_days: float | None = None) -> None:
        self._library = library
        self._half_life_days = half_life_days
        self._guard = threading.Lock()
        self._stamp = ""
        self._shown: dict[str, Shown] = {}

    def current(self, connection: Connection, within: DocumentFilter | None) -> Shown:
        """What may be seen as it is now, within a connection's picture of the library."""
        stamp = derived_stamp(connection)
        with self._guard:
            if self._stamp != stamp:
                view = opened_view(connection, self._library.path / "derived")
                rows = np.arange(len(view.chunk_ids))
                whole = Shown(view, rows, is_all=True, decay=self._decay(connection, view))
                self._stamp, self._shown = stamp, {"": whole}
            if within is None:
                return self._shown[""]
            if within.key not in self._shown:
                shown = self._narrowed(connection, self._shown[""], within)
                while len(self._shown) > KEPT_VIEWS:
                    del self._shown[next(key for key in self._shown if key)]
                self._shown[within.key] = shown
            return self._shown[within.key]

    def _narrowed(self, connection: Connection, whole: Shown, within: DocumentFilter) -> Shown:
        known = self._library.document_metadata(connection)
        rows = _rows(whole.view, known, within)
        view = whole.view.only(rows.tolist())
        home = within.home
        if home is not None:  # a name may come from another namespace
            view = view.called_as_here(connection)
        return Shown(
            view,
            rows,
            is_all=False,
            decay=self._decay(connection, view),
            counted=_rows(whole.view, known, home) if home is not None else None,
        )

    def _decay(self, connection: Connection, view: GraphView) -> Scores | None:
        if self._half_life_days is None:
            return None
        known = self._library.document_metadata(connection)
        dates = [known.get(name, {}).get("date") for name in view.documents]
        return time_decay(dates, half_life_days=self._half_life_days)


def _rows(
    view: GraphView, known: Mapping[str, Mapping[str, object]], within: DocumentFilter
) -> NDArray[np.int64]:
    """The rows of the documents that a filter admits."""
    admitted = {name for name, metadata in known.items() if within.admits(metadata)}
    found = [row for row, name in enumerate(view.documents) if name in admitted]
    return np.array(found, dtype=np.int64)
