"""Single-flight execution: identical concurrent questions are answered once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from ..given_up import wait_cancellable


class SingleFlight:
    """Of one process. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[str, Future[None]] = {}

    @contextmanager
    def first(self, key: str) -> Iterator[bool]:
        """Check whether this caller leads; otherwise wait for the leading one.

        However that work ends: who waited must see for himself whether there is an answer now.

        Raises:
            WorkGivenUp: nobody waits for this question any more.
        """
        with self._lock:
            other = self._flying.get(key)
            mine = self._flying.setdefault(key, Future())
        if other is not None:
            wait_cancellable(None, until=other)
            yield False
            return
        try:
            yield True
        finally:
            with self._lock:
                del self._flying[key]
            mine.set_result(None)
