"""Usage tracking of one piece of work across threads.

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


class UsageScope:
    """Adds up; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """Usage so far."""
        return self._total

    def add(self, usage: Usage) -> None:
        """Something more was spent."""
        with self._lock:
            self._total = self._total + usage


_open: ContextVar[tuple[UsageScope, ...]] = ContextVar("loregraph_spending", default=())


@contextmanager
def track_usage() -> Iterator[UsageScope]:
    """Track usage recorded inside the block, in this thread and in those with its context."""
    mine = UsageScope()
    token = _open.set((*_open.get(), mine))
    try:
        yield mine
    finally:
        _open.reset(token)


def current_usage() -> Usage:
    """Return the usage of the innermost scope; zero without one."""
    counting = _open.get()
    return counting[-1].total if counting else Usage()


def record_usage(usage: Usage) -> None:
    """Record the usage of a call in the current scopes."""
    for one in _open.get():
        one.add(usage)
