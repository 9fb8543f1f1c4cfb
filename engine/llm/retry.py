"""Errors of model clients: translation, retries, rate limit, circuit breaker, aborted calls.

There is this one retry loop; clients' own are switched off. Waits grow from half a second, doubled
and jittered ("equal jitter": Brooker, AWS Architecture Blog 2015), unless the server says how long.
A server's messages are quoted except where they may echo the key. A stream that is left ends its
connection, because a thread that waits for the next piece cannot be interrupted.
"""

from __future__ import annotations

import email.utils
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from ..concurrency import raise_if_cancelled, wait_cancellable
from ..errors import (
    BudgetExceeded,
    ModelError,
    ModelInputTooLong,
    ModelOutputError,
    ModelUnavailable,
)

if TYPE_CHECKING:
    import httpx
    import openai
    from tenacity import RetryCallState, Retrying

_QUOTED_CHARACTERS = 200
_ADVICE = {
    400: "check the model's name and its context window",
    401: "check the key in the environment variable that the settings name",
    402: "the account has no balance left",
    403: "check that the key may use this model",
    404: "check the model's name and that the base URL ends as the server expects, often in /v1",
    413: "the request is too long for this server",
    429: "too many requests: wait, or raise the quota",
}
_SECRETIVE = (401, 403)
_VENDOR_ERRORS = (
    ("ollama", "ResponseError"),
    ("ollama", "RequestError"),
    ("anthropic", "APIError"),
    ("httpx2", "HTTPError"),
    ("groq", "APIError"),
    ("google.genai.errors", "APIError"),
    ("cohere.core.api_error", "ApiError"),
    ("mistralai.models", "SDKError"),
)
_TOO_LONG_WORDS = (
    "context_length_exceeded",  # OpenAI and those who copy it
    "maximum context length",  # OpenAI, vLLM
    "exceeds the available context size",  # llama.cpp's server
    "exceed_context_size",
    "exceed context window",  # llama.cpp in this process
    "exceeds the context window",  # Ollama, OpenAI's newer text
    "exceeds context length",
    "input length exceeds",
    "prompt is too long",  # Anthropic
    "longer than the maximum model length",  # vLLM
    "decoder prompt",
    "too many tokens",
    "reduce the length of the messages",
    "n_ctx",
)
_TOO_LONG_STATUSES = (400, 413, 422, 500)


@contextmanager
def translate_errors(model: str) -> Iterator[None]:
    """Turn errors of model calls inside into `ModelUnavailable` or another `ModelError`.

    Args:
        model: how the message names what was called.
    """
    import httpx
    import openai

    try:
        yield
    except openai.APIStatusError as error:
        raise _from_status(model, error, status=error.status_code) from error
    except (openai.APITimeoutError, httpx.TimeoutException, TimeoutError) as error:
        raise _too_slow(model) from error
    except openai.APIResponseValidationError as error:
        raise _malformed(model, error) from error
    except (openai.APIConnectionError, httpx.HTTPError, ConnectionError) as error:
        raise _from_connection(model, error) from error
    except openai.APIError as error:  # an error event inside a stream
        raise _broken_off(model, error) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise _malformed(model, error) from error
    except vendor_errors() as error:
        raise _from_vendor(model, error) from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # Clients build their reply from whatever JSON came, and trip over missing parts.
        if _says_too_long(str(error)):
            raise _too_long(model, error) from error
        raise _malformed(model, error) from error


def vendor_errors() -> tuple[type[Exception], ...]:
    """Exceptions of the other vendors' clients that are loaded."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in _VENDOR_ERRORS)
    return tuple(kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception))


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that an exception carries, or None."""
    for name in ("status_code", "code"):
        status = getattr(error, name, None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None


def _from_vendor(model: str, error: Exception) -> ModelError:
    """Translate vendor errors by status code or by a name that means timeout or connection."""
    status = status_of(error)
    if status is not None:
        return _from_status(model, error, status=status)
    kinds = {base.__name__ for base in type(error).__mro__}
    if kinds & {"APITimeoutError", "TimeoutException"}:
        return _too_slow(model)
    if kinds & {"APIConnectionError", "HTTPError"}:
        return _from_connection(model, error)
    return _broken_off(model, error)


def _from_status(model: str, error: Exception, *, status: int) -> ModelError:
    if status in _TOO_LONG_STATUSES and _says_too_long(str(error)):
        return _too_long(model, error)
    said = "" if status in _SECRETIVE else f" ({_one_line(error)})"
    advice = _ADVICE.get(status, "the server failed: try again later" if status >= 500 else "")
    kind = ModelInputTooLong if status == 413 else ModelUnavailable
    return kind(f"{model} answered {status}{said}{': ' if advice else ''}{advice}")


def _says_too_long(message: str) -> bool:
    said = message.lower()
    return any(words in said for words in _TOO_LONG_WORDS)


def _too_long(model: str, error: Exception) -> ModelError:
    return ModelInputTooLong(
        f"{model} rejected the request as too long ({_one_line(error)}): send less at a"
        " time, or give it a larger context window"
    )


def _too_slow(model: str) -> ModelError:
    return ModelUnavailable(
        f"{model} did not answer in time: raise timeout_seconds or try a smaller request"
    )


def _broken_off(model: str, error: Exception) -> ModelError:
    if _says_too_long(str(error)):
        return _too_long(model, error)
    return ModelUnavailable(f"{model} ended its reply early: {_one_line(error)}")


def _from_connection(
    model: str, error: openai.APIConnectionError | httpx.HTTPError | Exception
) -> ModelError:
    cause = error.__cause__ or error
    if type(cause).__name__ == "DecodingError":
        return _malformed(model, cause)
    reason = _one_line(cause) or type(cause).__name__
    return ModelUnavailable(
        f"connection to {model} failed or was cut: {reason}; check that the server runs"
        " and that base_url is right"
    )


def _malformed(model: str, error: BaseException) -> ModelError:
    return ModelOutputError(
        f"{model} returned an invalid reply: {type(error).__name__}: {_one_line(error)}"
    )


def _one_line(error: BaseException) -> str:
    line = " ".join((_message_of(error) or str(error)).split())
    return line if len(line) <= _QUOTED_CHARACTERS else f"{line[:_QUOTED_CHARACTERS]}…"


def _message_of(error: BaseException) -> str:
    """Extract a server's error message from JSON; empty for another format.

    Both `{"error": {"message": …}}` and its inside are met.
    """
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else inner
    return message if isinstance(message, str) else ""


_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 30.0
_PASSING_STATUSES = frozenset({408, 409, 425, 429})
_NEVER_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ConnectionRefusedError"})
_BROKEN = frozenset({"APIConnectionError", "HTTPError", "TimeoutError", "ConnectionError"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDecision:
    """Kind of a failure: transient, possibly billed, and the requested wait in seconds."""

    passes: bool
    may_cost: bool
    retry_after_seconds: float | None = None


def classify_failure(error: ModelError) -> RetryDecision:
    """Classify a model call's failure as final or transient by the client's exception."""
    cause = error.__cause__
    if cause is None:
        return RetryDecision(passes=False, may_cost=False)
    if isinstance(error, ModelInputTooLong):
        return RetryDecision(passes=False, may_cost=False)
    status = status_of(cause)
    if status is not None:
        passes = (status in _PASSING_STATUSES or status >= 500) and not _is_final(cause)
        after = _retry_after(_headers(cause))
        return RetryDecision(passes=passes, may_cost=False, retry_after_seconds=after)
    kinds = _kinds(cause) | (_kinds(cause.__cause__) if cause.__cause__ is not None else set())
    if kinds & _NEVER_SENT or type(cause) is ConnectionError:  # the latter is Ollama's
        return RetryDecision(passes=True, may_cost=False)
    passes = isinstance(error, ModelUnavailable) and bool(kinds & _BROKEN)
    return RetryDecision(passes=passes, may_cost=True)


def _kinds(error: BaseException) -> set[str]:
    return {base.__name__ for base in type(error).__mro__}


def _is_final(cause: BaseException) -> bool:
    """Check whether a 429 means an exhausted quota."""
    return "insufficient_quota" in str(cause)


def _headers(cause: BaseException) -> Mapping[str, str]:
    headers = getattr(getattr(cause, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Parse a Retry-After in milliseconds, seconds or as a date; None if invalid."""
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds)


def backoff_seconds(
    *,
    retries: int,
    longest_wait_seconds: float | None,
    hold: Callable[[float], None],
    seed: int = 0,
    sleep: Callable[[float], None] = time.sleep,
) -> Retrying:
    """Build the retry loop of a model call.

    Args:
        retries: how often a call is tried again.
        longest_wait_seconds: bounds one wait, also the one that a server asks for.
        hold: is told how long the server asks to be left alone by everybody.
        seed: of the jitter.
        sleep: waits so many seconds.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt

    jitter = random.Random(seed)  # noqa: S311  # spreads calls, keeps no secret
    longest = longest_wait_seconds if longest_wait_seconds is not None else _LONGEST_WAIT_SECONDS

    def pause(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = (
            classify_failure(error).retry_after_seconds if isinstance(error, ModelError) else None
        )
        if asked is not None:
            seconds = min(asked, longest)
            hold(seconds)
            return seconds
        grown = min(_FIRST_WAIT_SECONDS * 2 ** (state.attempt_number - 1), _LONGEST_WAIT_SECONDS)
        jittered: float = grown * jitter.uniform(0.5, 1.0)
        return min(jittered, longest)

    return Retrying(
        stop=stop_after_attempt(retries + 1),
        wait=pause,
        retry=retry_if_exception(
            lambda e: isinstance(e, ModelError) and classify_failure(e).passes
        ),
        sleep=sleep,
        reraise=True,
    )


_LOOK_UP_SECONDS = 0.2
"""Seconds between cancellation checks while waiting for a slot."""


class RateLimiter:
    """Safe to share by threads.

    Args:
        concurrency: calls at a time.
        requests_per_minute: calls begin evenly spaced, so many a minute; None is no limit.
        now: seconds on a clock that never goes back.
        pause: waits so many seconds.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = wait_cancellable,
    ) -> None:
        self._slots = threading.BoundedSemaphore(concurrency)
        self._spacing = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._now = now
        self._pause = pause
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._held_until = float("-inf")

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        self._pause(seconds)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """One of the places for calls, as soon as there is one.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        raise_if_cancelled()
        while not self._slots.acquire(timeout=_LOOK_UP_SECONDS):
            raise_if_cancelled()
        try:
            yield
        finally:
            self._slots.release()

    def wait(self) -> None:
        """Wait until it is this call's turn to begin.

        Raises:
            WorkGivenUp: nobody waits for the call any more.
        """
        raise_if_cancelled()
        with self._lock:
            begin = max(self._now(), self._next)
            self._next = begin + self._spacing
        while (seconds := max(begin, self._held_until) - self._now()) > 0:
            self.sleep(seconds)

    def hold(self, seconds: float) -> None:
        """Let no call begin for so many seconds from now."""
        with self._lock:
            self._held_until = max(self._held_until, self._now() + seconds)


Item = TypeVar("Item")

FAILURE_THRESHOLD = 3
"""Consecutive unanswered calls that open the circuit."""


class CircuitBreaker:
    """Of one run, shared by its threads: over with the budget, or in an outage.

    `over` says why no further call is made, once that is so; `heard` that the model has answered.
    """

    def __init__(self) -> None:
        self.over = ""
        self.heard = False
        self._unanswered = 0

    def guard(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items while the circuit is closed."""
        for item in items:
            if self.over:
                return
            yield item

    def answered(self) -> None:
        """Record an answered call."""
        self.heard = True
        self._unanswered = 0

    def failed(self, error: ModelError) -> None:
        """Record a failed call."""
        if isinstance(error, ModelUnavailable):
            self._unanswered += 1
        elif not isinstance(error, BudgetExceeded):
            self._unanswered = 0
        if isinstance(error, BudgetExceeded) or self._unanswered >= FAILURE_THRESHOLD:
            self.over = str(error)


class Connections:
    """Those that a call opened; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._ended = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Attribute connections opened inside the block, or in its context, to this call."""
        token = _call.set(self)
        try:
            yield
        finally:
            _call.reset(token)

    def add(self, connection: socket.socket) -> None:
        """One more; ended at once where the others were."""
        with self._lock:
            self._sockets.append(connection)
            ended = self._ended
        if ended:
            self.end()

    def forget(self) -> None:
        """Release the connections of a finished call."""
        with self._lock:
            self._sockets.clear()

    def end(self) -> None:
        """Hang up: whoever reads gets an error, and the other side notices."""
        with self._lock:
            self._ended = True
            sockets, self._sockets = self._sockets, []
        for connection in sockets:
            with suppress(OSError):  # it was closed before
                connection.shutdown(socket.SHUT_RDWR)


_call: ContextVar[Connections | None] = ContextVar("loregraph_connections", default=None)


def note_connection(response: httpx.Response) -> None:
    """Attribute the connection of a response to the call of this context."""
    call = _call.get()
    stream = response.extensions.get("network_stream")
    if call is None or stream is None:
        return
    connection = stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        call.add(connection)
