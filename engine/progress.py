"""Progress callback of long-running work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """No-op progress callback."""
