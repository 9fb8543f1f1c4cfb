"""Retry policy: which failures are transient, how long to wait, what they cost.

There is this one loop: clients' own are switched off. Waits grow from half a second, doubled and
jittered ("equal jitter": Brooker, AWS Architecture Blog 2015), unless the server says how long.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..errors import ModelError, ModelInputTooLong, ModelUnavailable
from .failures import status_of

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

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
    """Classify a failure by the client's exception."""
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
    """Build the retry loop of a call.

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
