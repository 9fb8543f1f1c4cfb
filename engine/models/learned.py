"""What a gateway learns of its model's server while it asks: what is refused, how it counts.

Safe to share by threads. Knows nothing of calls.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from .structured import NEXT_LEVEL, Level, refuses_format

_HIGHEST_RATIO = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a server wants to be asked.

    `level`: how answers are held to a schema. `newer_limit`: the longest answer is called
    `max_completion_tokens`. `own_temperature`: the model takes no temperature but its own.
    `marks_instructions`: where a vendor keeps what is marked for that, instructions are.
    """

    level: Level
    newer_limit: bool = False
    own_temperature: bool = False
    marks_instructions: bool = True


class Learned:
    """Of one model's server.

    Args:
        level: how answers are held to a schema at first.
        goes_down: whether another level is tried where the server refuses.
    """

    def __init__(self, level: Level, *, goes_down: bool) -> None:
        self._manner = Manner(level=level)
        self._goes_down = goes_down
        self._ratio = 1.0
        self._lock = threading.Lock()

    @property
    def manner(self) -> Manner:
        """How the server is asked now."""
        return self._manner

    def refused(self, manner: Manner, message: str, *, with_schema: bool) -> bool:
        """The server refused to be asked so; whether there is another manner to try."""
        other = self._other(manner, message.lower(), with_schema=with_schema)
        with self._lock:
            if self._manner == manner and other is not None:
                self._manner = other
        return other is not None

    def _other(self, manner: Manner, said: str, *, with_schema: bool) -> Manner | None:
        if "max_completion_tokens" in said and not manner.newer_limit:
            return replace(manner, newer_limit=True)
        if "temperature" in said and not manner.own_temperature:
            return replace(manner, own_temperature=True)
        if "cache_control" in said and manner.marks_instructions:
            return replace(manner, marks_instructions=False)
        below = NEXT_LEVEL.get(manner.level)
        if with_schema and self._goes_down and below is not None and refuses_format(said):
            return replace(manner, level=below)
        return None

    def tokens(self, counted: int) -> int:
        """How many of the model's tokens a text has at most, by our own count of it.

        Every model has a tokeniser of its own; the highest ratio that was reported so far counts,
        and before the first answer our own count does.
        """
        return -int(-counted * self._ratio // 1)

    def reported(self, tokens: int, *, counted: int) -> None:
        """The server counted so many tokens where we counted `counted`."""
        if counted > 0:
            with self._lock:
                self._ratio = max(self._ratio, min(tokens / counted, _HIGHEST_RATIO))
