"""Cancellation scope for work in several threads.

A thread cannot be interrupted, but its waiting can: whoever waits here, for a server, for its turn
or to try again, stops when the work that it waits for is given up. What that work is belongs to
others. Other work that goes on at the same time is left in peace.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class WorkCancelled(Exception):
    """Raised in worker threads of a cancelled scope."""


_signal: ContextVar[Future[None] | None] = ContextVar("loregraph_given_up", default=None)
"""Future of the current context, done once the work is cancelled."""


class CancelScope:
    """Cancellation scope shared by threads through `contextvars`.

    What is part of other work ends with that, and can be given up alone.
    """

    def __init__(self) -> None:
        self._context = contextvars.copy_context()
        self._given_up: Future[None] = Future()
        on_cancel(self.give_up)
        self._context.run(_signal.set, self._given_up)

    def bound(self, part: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """Bind a callable to this scope, to be called once in any thread."""
        context = self._context.copy()

        def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return context.run(part, *args, **kwargs)

        return run

    def give_up(self) -> None:
        """Let everything that waits for this work raise `WorkCancelled`; not only now."""
        with suppress(InvalidStateError):  # it was before
            self._given_up.set_result(None)


def raise_if_cancelled() -> None:
    """Nothing, while the work in whose context this is called goes on.

    Raises:
        WorkGivenUp: it does not.
    """
    signal = _signal.get()
    if signal is not None and signal.done():
        raise WorkCancelled


def on_cancel(call: Callable[[], object]) -> None:
    """Call this once when the current scope is cancelled, now or later."""
    signal = _signal.get()
    if signal is not None:
        signal.add_done_callback(lambda _: call())


def wait_cancellable(seconds: float | None, *, until: Future[Result] | None = None) -> None:
    """Wait so many seconds, or until something is done; None waits for that alone.

    Raises:
        WorkGivenUp: the work in whose context this is called is given up before.
    """
    signal = _signal.get()
    awaited: list[Future[Any]] = [future for future in (signal, until) if future is not None]
    if awaited:
        wait(awaited, timeout=seconds, return_when=FIRST_COMPLETED)
    elif seconds is not None:
        time.sleep(seconds)
    if until is None or not until.done():
        raise_if_cancelled()
