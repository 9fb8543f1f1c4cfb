"""How whoever works says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, steps done and steps in all."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """The progress of what nobody watches."""
