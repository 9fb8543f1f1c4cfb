"""Work on many things, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from ..given_up import CancelScope

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(
    items: Iterable[Item], work: Callable[[Item], Result], *, workers: int
) -> Iterator[Result]:
    """Yield results in order of arrival; items are taken as workers become free.

    So whoever stops taking results stops the taking of items. What `work` raises comes out here;
    then, and where the caller goes away or is interrupted, what is in flight is given up: it is
    waited for, but nothing in it waits any more. The work is done in the caller's context
    (`contextvars`).
    """
    shared = CancelScope()
    waiting = iter(items)
    running: set[Future[Result]] = set()
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            while True:
                for item in waiting:
                    running.add(pool.submit(shared.bound(work), item))
                    if len(running) >= workers:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BaseException:
            shared.give_up()
            raise
