"""Rate limiter: concurrent calls and minimum interval.

A server that asks to be left alone for a while is left alone by everybody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..given_up import raise_if_cancelled, wait_cancellable

_LOOK_UP_SECONDS = 0.2
"""Seconds between cancellation checks while waiting for a slot."""


class RateLimiter:
    """Safe to share by threads.

    Args:
        concurrency: calls at a time.
        requests_per_minute: calls begin evenly spaced, so many a minute; None is no limit.
        now: seconds on a clock that never goes back.
        pause: waits so many seconds.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = wait_cancellable,
    ) -> None:
        self._slots = threading.BoundedSemaphore(concurrency)
        self._spacing = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._now = now
        self._pause = pause
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._held_until = float("-inf")

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        self._pause(seconds)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """One of the places for calls, as soon as there is one.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        raise_if_cancelled()
        while not self._slots.acquire(timeout=_LOOK_UP_SECONDS):
            raise_if_cancelled()
        try:
            yield
        finally:
            self._slots.release()

    def wait(self) -> None:
        """Wait until it is this call's turn to begin.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        raise_if_cancelled()
        with self._lock:
            begin = max(self._now(), self._next)
            self._next = begin + self._spacing
        while (seconds := max(begin, self._held_until) - self._now()) > 0:
            self.sleep(seconds)

    def hold(self, seconds: float) -> None:
        """Let no call begin for so many seconds from now."""
        with self._lock:
            self._held_until = max(self._held_until, self._now() + seconds)
