"""Cache backends: bytes by key with a lifetime and a maximum count. Here: in memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

MAX_BYTES = 4_000_000
"""Of one answer; what is longer is neither kept nor read."""


class CacheBackend(Protocol):
    """Safe to share by threads. What it cannot do now it does without."""

    @property
    def is_shared(self) -> bool:
        """Check whether other processes and libraries share this backend."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if absent or unreachable."""
        ...

    def put(self, key: str, value: bytes) -> None:
        """Keep this; what is least of use goes where there are too many."""
        ...

    def clear(self) -> None:
        """Let go of all that this library put there."""
        ...

    def close(self) -> None:
        """Nothing is asked of it any more."""
        ...


class MemoryBackend:
    """In this process; what was used longest ago goes first.

    Args:
        max_entries: how many are held at most.
        ttl_seconds: how long each is.
        now: seconds on a clock that never goes back.
    """

    is_shared = False

    def __init__(
        self, *, max_entries: int, ttl_seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_entries = max_entries
        self._ttl = ttl_seconds
        self._now = now
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        """See `Shelf`."""
        with self._lock:
            until, value = self._held.get(key, (float("-inf"), b""))
            if until <= self._now():
                self._held.pop(key, None)
                return None
            self._held.move_to_end(key)
            return value

    def put(self, key: str, value: bytes) -> None:
        """See `Shelf`."""
        with self._lock:
            self._held[key] = (self._now() + self._ttl, value)
            self._held.move_to_end(key)
            while len(self._held) > self._max_entries:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """See `Shelf`."""
        with self._lock:
            self._held.clear()

    def close(self) -> None:
        """See `Shelf`."""
        self.clear()
