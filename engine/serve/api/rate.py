"""Rate limiter: a token bucket for each caller."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

_REMEMBERED = 10_000


class RateLimit:
    """Token bucket per caller: a minute's requests at once, then at the refill rate.

    Args:
        per_minute: how many requests; None is no limit.
        clock: seconds that only grow.
    """

    def __init__(self, per_minute: float | None, *, clock: Callable[[], float]) -> None:
        self._size = max(per_minute or 0.0, 1.0)
        self._is_limited = per_minute is not None
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, caller: str) -> float:
        """Take one request; return 0 if allowed, else the seconds to wait."""
        if not self._is_limited:
            return 0.0
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._size, now))
        left = min(self._size, left + (now - then) * self._size / 60)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._size
