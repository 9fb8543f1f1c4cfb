"""What the calls of one piece of work cost, whoever makes them and in however many threads.

with spending() as spent:
    …
spent.total
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..types import Usage


class Spending:
    """Adds up; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """What was spent so far."""
        return self._total

    def add(self, usage: Usage) -> None:
        """Something more was spent."""
        with self._lock:
            self._total = self._total + usage


_open: ContextVar[tuple[Spending, ...]] = ContextVar("loregraph_spending", default=())


@contextmanager
def spending() -> Iterator[Spending]:
    """Counts what is noted inside the block, in this thread and in those that take its context."""
    mine = Spending()
    token = _open.set((*_open.get(), mine))
    try:
        yield mine
    finally:
        _open.reset(token)


def spent_so_far() -> Usage:
    """What the innermost piece of work has spent; nothing where nobody counts."""
    counting = _open.get()
    return counting[-1].total if counting else Usage()


def note(usage: Usage) -> None:
    """A call cost this: whoever counts in this context hears of it."""
    for one in _open.get():
        one.add(usage)
