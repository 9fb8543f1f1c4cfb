"""Questions confined to namespaces: each set of them is answered from a library of its own.

`Reading` is what one library is read through. `NamespaceReadings` gives that of a call's
namespaces: the whole library's where it holds nothing else, otherwise that of a copy with these
namespaces alone (`storage.namespace_library`), made when first asked for and again when its content
has changed. So whatever other namespaces hold changes no score, name, community or count.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from .cache import AnswerCache
from .components import Components
from .errors import LibraryBusy
from .query import QueryPipeline
from .storage.library import Library
from .storage.namespace_library import (
    NamespaceCopy,
    content_fingerprint,
    delete_copy,
    holds_only,
    open_copy,
)
from .storage.schema import Namespaces, document_filter
from .storage.vectors.log import vector_stamp

OPEN_COPIES = 16
"""Maximum copies held open; one in use is never closed."""
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Components, questions and cached answers of one library."""

    library: Library
    parts: Components
    queries: QueryPipeline
    cache: AnswerCache | None

    def close(self) -> None:
        """Close the cache of answers, the vectors and the library."""
        for space in self.parts.spaces:
            space.dense.close()
        self.queries.close()
        self.library.close()


@dataclass(slots=True, kw_only=True)
class _Open:
    """An open copy, the content it was made of, and the state in which the library was compared."""

    reading: Reading
    copy: NamespaceCopy
    fingerprint: str
    stamp: str
    users: int = 0
    is_current: bool = True


class NamespaceReadings:
    """Readings by namespaces; thread-safe.

    Args:
        whole: the reading of everything.
        make: builds the reading of a copy.
        derive: brings a new copy's derived rows up to its facts.
    """

    def __init__(
        self,
        whole: Reading,
        *,
        make: Callable[[Library], Reading],
        derive: Callable[[Library], object],
    ) -> None:
        self._whole = whole
        self._make = make
        self._derive = derive
        self._guard = threading.Lock()
        self._turns = [threading.Lock() for _ in range(OPEN_COPIES)]
        self._open: OrderedDict[frozenset[str], _Open] = OrderedDict()
        self._alone: tuple[str, set[frozenset[str]]] = ("", set())
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @contextmanager
    def of(self, namespaces: Namespaces) -> Iterator[Reading]:
        """Yield the reading of these namespaces, brought up to the library; None means all.

        Questions are confined to the namespaces all the same: while one is answered from the whole
        library, documents of others may come.

        Raises:
            QuestionError: namespaces that are no texts.
            LibraryBusy: their documents change faster than they can be read.
            LibraryUnusable: the disk refuses the copy.
        """
        within = document_filter(None, namespace=namespaces)
        self.refresh()
        opened = None
        if within is not None and within.namespaces is not None:
            opened = self._enter(within.namespaces)
        if opened is None:
            self._whole.parts.ensure_current()
            yield self._whole
            return
        try:
            yield opened.reading
        finally:
            with self._guard:
                opened.users -= 1
            self._close_unused(opened)
            self._close_surplus()

    def refresh(self) -> None:
        """Close the copies that a change of their documents made stale, and clear their answers."""
        with self._guard:
            known = [*self._open.items()]
        for namespaces, opened in known:
            if not opened.copy.is_listed:
                self._drop(namespaces, opened)

    def close(self) -> None:
        """Close all copies."""
        for namespaces, opened in [*self._open.items()]:
            self._drop(namespaces, opened)
        if self._temporary is not None:
            self._temporary.cleanup()

    def _enter(self, namespaces: frozenset[str]) -> _Open | None:
        """Return the copy of the present content, in use; None where the whole library is that."""
        with self._turns[hash(namespaces) % len(self._turns)]:
            for _ in range(_ATTEMPTS):
                with self._whole.library.read() as connection:
                    stamp = vector_stamp(connection)
                    if self._is_whole(connection, namespaces, stamp):
                        return None
                    opened = self._used(namespaces, stamp)
                    if opened is not None:
                        return opened
                    fingerprint = content_fingerprint(connection, namespaces)
                opened = self._used(namespaces, stamp, fingerprint=fingerprint)
                if opened is None:
                    opened = self._opened(namespaces, fingerprint, stamp)
                if opened is not None:
                    return opened
        raise LibraryBusy("documents of the namespace keep changing; try again when that is done")

    def _is_whole(self, connection: Connection, namespaces: frozenset[str], stamp: str) -> bool:
        """Check whether the library holds nothing else; once in each state of it."""
        alone = self._alone if self._alone[0] == stamp else (stamp, set())
        if namespaces not in alone[1] and holds_only(connection, namespaces):
            alone[1].add(namespaces)
        self._alone = alone
        return namespaces in alone[1]

    def _used(
        self, namespaces: frozenset[str], stamp: str, *, fingerprint: str = ""
    ) -> _Open | None:
        """Return the open copy as one more user, where it is of this state or content."""
        with self._guard:
            opened = self._open.get(namespaces)
            if opened is None or (stamp != opened.stamp and fingerprint != opened.fingerprint):
                return None
            opened.stamp = stamp
            opened.users += 1
            self._open.move_to_end(namespaces)
            return opened

    def _opened(self, namespaces: frozenset[str], fingerprint: str, stamp: str) -> _Open | None:
        """Return the copy of this content as its first user; None where that changed meanwhile."""
        copy = open_copy(
            self._whole.library,
            namespaces,
            fingerprint=fingerprint,
            folder=self._folder(),
            derive=self._derive,
        )
        if copy is None:
            return None
        reading = self._make(copy.library)
        opened = _Open(reading=reading, copy=copy, fingerprint=fingerprint, stamp=stamp, users=1)
        with self._guard:
            former = self._open.pop(namespaces, None)
            self._open[namespaces] = opened
        if former is not None:
            delete_copy(former.reading.library.path)
            former.is_current = False
            self._close_unused(former)
        with self._whole.library.read() as connection:
            if content_fingerprint(connection, namespaces) != fingerprint:  # while it was copied
                delete_copy(copy.library.path)
        return opened

    def _close_surplus(self) -> None:
        """Close the copies that were used longest ago."""
        with self._guard:
            unused = [item for item in self._open.items() if not item[1].users]
            surplus = unused[: max(0, len(self._open) - OPEN_COPIES)]
        for namespaces, opened in surplus:
            self._drop(namespaces, opened)

    def _drop(self, namespaces: frozenset[str], opened: _Open) -> None:
        with self._guard:
            if self._open.get(namespaces) is opened:
                del self._open[namespaces]
            opened.is_current = False
        self._close_unused(opened)

    def _close_unused(self, opened: _Open) -> None:
        """Close a copy that is neither current nor in use, once."""
        with self._guard:
            if opened.is_current or opened.users:
                return
            opened.users = -1
        opened.reading.close()
        opened.copy.close()

    def _folder(self) -> Path:
        """Return where copies lie: in the library, or beside it where that is read-only."""
        if not self._whole.library.is_read_only:
            return self._whole.library.path / "derived"
        with self._guard:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="loregraph-")
            return Path(self._temporary.name)
