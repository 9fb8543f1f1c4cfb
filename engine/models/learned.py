"""Capabilities learned from a model server: refused options and token counts.

Safe to share by threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from .structured import NEXT_LEVEL, Level, refuses_format

_HIGHEST_RATIO = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDialect:
    """Request dialect that a server accepts.

    `level`: how answers are held to a schema. `uses_max_completion_tokens`: the longest answer is called
    `max_completion_tokens`. `rejects_temperature`: the model takes no temperature but its own.
    `uses_cache_control`: where a vendor keeps what is marked for that, instructions are.
    """

    level: Level
    uses_max_completion_tokens: bool = False
    rejects_temperature: bool = False
    uses_cache_control: bool = True


class ServerCapabilities:
    """Of one model's server.

    Args:
        level: how answers are held to a schema at first.
        goes_down: whether another level is tried where the server refuses.
    """

    def __init__(self, level: Level, *, goes_down: bool) -> None:
        self._manner = RequestDialect(level=level)
        self._goes_down = goes_down
        self._ratio = 1.0
        self._lock = threading.Lock()

    @property
    def manner(self) -> RequestDialect:
        """Return the present request dialect."""
        return self._manner

    def refused(self, manner: RequestDialect, message: str, *, with_schema: bool) -> bool:
        """Record a refusal; return whether another dialect is left to try."""
        other = self._other(manner, message.lower(), with_schema=with_schema)
        with self._lock:
            if self._manner == manner and other is not None:
                self._manner = other
        return other is not None

    def _other(
        self, manner: RequestDialect, said: str, *, with_schema: bool
    ) -> RequestDialect | None:
        if "max_completion_tokens" in said and not manner.uses_max_completion_tokens:
            return replace(manner, uses_max_completion_tokens=True)
        if "temperature" in said and not manner.rejects_temperature:
            return replace(manner, rejects_temperature=True)
        if "cache_control" in said and manner.uses_cache_control:
            return replace(manner, uses_cache_control=False)
        below = NEXT_LEVEL.get(manner.level)
        if with_schema and self._goes_down and below is not None and refuses_format(said):
            return replace(manner, level=below)
        return None

    def tokens(self, counted: int) -> int:
        """Return an upper bound of the model's tokens from our own count.

        Every model has a tokeniser of its own; the highest ratio that was reported so far counts,
        and before the first answer our own count does.
        """
        return -int(-counted * self._ratio // 1)

    def reported(self, tokens: int, *, counted: int) -> None:
        """Record the server's token count where we counted `counted`."""
        if counted > 0:
            with self._lock:
                self._ratio = max(self._ratio, min(tokens / counted, _HIGHEST_RATIO))
