"""Deadline and circuit breaker of one backend: a slow or absent server costs its deadline once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

T = TypeVar("T")
_PAUSE_SECONDS = 10.0
_THREADS = 8


class MemoryUnavailable(Exception):
    """A backend of memory did not answer in time; the message says which and why."""


class Deadline:
    """Runs calls to one backend, each for at most `seconds`.

    After a failure no call is made for ten seconds.

    Args:
        name: of the backend, in warnings.
        seconds: longest wait of a caller; None calls in its own thread, without a limit.
        errors: the client's own exceptions, besides `OSError`.
        now: seconds on a clock that never goes back.
    """

    def __init__(
        self,
        name: str,
        *,
        seconds: float | None,
        errors: tuple[type[Exception], ...] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._errors: tuple[type[Exception], ...] = (OSError, *errors)
        self._seconds = seconds
        self._now = now
        self._lock = threading.Lock()
        self._closed_until = float("-inf")
        self._threads: ThreadPoolExecutor | None = None

    def run(self, call: Callable[[], T]) -> T:
        """Return what `call` returns.

        Raises:
            MemoryUnavailable: it failed, took too long, or was not tried so soon after a failure.
        """
        if self._seconds is None:
            return call()
        with self._lock:
            if self._now() < self._closed_until:
                raise MemoryUnavailable(f"{self._name} is not available")
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="memory")
            future = self._threads.submit(call)
        try:
            return future.result(timeout=self._seconds)
        except FutureTimeout as error:
            raise self._failed(f"no answer within {self._seconds:g} s") from error
        except self._errors as error:
            raise self._failed(_reason(error)) from error

    def close(self) -> None:
        """Wait for nothing that is still under way."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _failed(self, reason: str) -> MemoryUnavailable:
        with self._lock:
            self._closed_until = self._now() + _PAUSE_SECONDS
        return MemoryUnavailable(f"{self._name} is not available: {reason}")


def _reason(error: BaseException) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]
