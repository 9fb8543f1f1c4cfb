"""A call that is over after so many seconds, whatever the other side does.

Clients bound the wait for each piece of a reply: a server that drips a byte at a time holds them
for ever.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from .given_up import wait_cancellable

Result = TypeVar("Result")


def run_with_timeout(seconds: float | None, call: Callable[[], Result]) -> Result:
    """Return the result of `call`, or raise its error.

    It runs on a thread of its own, which is left behind when the time is over and keeps no process
    from ending. None sets no limit and needs no thread: what is computed in this process ends when
    it is done.

    Raises:
        TimeoutError: it took longer.
        WorkGivenUp: nobody waits for it any more.
    """
    if seconds is None:
        return call()
    future: Future[Result] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001  # raised again by whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="call-with-deadline", daemon=True).start()
    wait_cancellable(seconds, until=future)
    if not future.done():
        raise TimeoutError
    return future.result()
