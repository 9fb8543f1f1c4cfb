"""Work on many things, a few at a time. Knows nothing of what the work is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(
    items: Iterable[Item], work: Callable[[Item], Result], *, workers: int
) -> Iterator[Result]:
    """The result of each item, in order of arrival; an item is taken when there is room for it.

    So whoever stops taking results stops the taking of items; what is in flight is waited for. What
    `work` raises comes out here. The work is done in the caller's context (`contextvars`).
    """
    waiting = iter(items)
    running: set[Future[Result]] = set()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        while True:
            for item in waiting:
                running.add(pool.submit(copy_context().run, work, item))
                if len(running) >= workers:
                    break
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
