"""Questions that are being answered now, so that the same one is not answered twice at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from ..given_up import pause


class Flights:
    """Of one process. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[str, Future[None]] = {}

    @contextmanager
    def first(self, key: str) -> Iterator[bool]:
        """Whether nobody else is at work on this; where somebody is, that work is waited for.

        However that work ends: who waited must see for himself whether there is an answer now.

        Raises:
            WorkGivenUp: nobody waits for this question any more.
        """
        with self._lock:
            other = self._flying.get(key)
            mine = self._flying.setdefault(key, Future())
        if other is not None:
            pause(None, until=other)
            yield False
            return
        try:
            yield True
        finally:
            with self._lock:
                del self._flying[key]
            mine.set_result(None)
