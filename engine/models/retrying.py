"""Which failures of a call pass by themselves, how long to wait for that, and what they cost.

There is this one loop: clients' own are switched off. Waits grow from half a second, doubled and
jittered ("equal jitter": Brooker, AWS Architecture Blog 2015), unless the server says how long.
Knows nothing of models, budgets or prompts.
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
class Nature:
    """Of a failure: whether it may pass, whether the call may be on the bill all the same, and how
    long the server asks to be left alone (None: it does not say)."""

    passes: bool
    may_cost: bool
    retry_after_seconds: float | None = None


def nature_of(error: ModelError) -> Nature:
    """What kind of failure this is, by what the client raised."""
    cause = error.__cause__
    if cause is None:
        return Nature(passes=False, may_cost=False)
    if isinstance(error, ModelInputTooLong):
        return Nature(passes=False, may_cost=False)
    status = status_of(cause)
    if status is not None:
        passes = (status in _PASSING_STATUSES or status >= 500) and not _is_final(cause)
        after = _retry_after(_headers(cause))
        return Nature(passes=passes, may_cost=False, retry_after_seconds=after)
    kinds = _kinds(cause) | (_kinds(cause.__cause__) if cause.__cause__ is not None else set())
    if kinds & _NEVER_SENT or type(cause) is ConnectionError:  # the latter is Ollama's
        return Nature(passes=True, may_cost=False)
    passes = isinstance(error, ModelUnavailable) and bool(kinds & _BROKEN)
    return Nature(passes=passes, may_cost=True)


def _kinds(error: BaseException) -> set[str]:
    return {base.__name__ for base in type(error).__mro__}


def _is_final(cause: BaseException) -> bool:
    """A 429 for a quota that is used up does not pass."""
    return "insufficient_quota" in str(cause)


def _headers(cause: BaseException) -> Mapping[str, str]:
    headers = getattr(getattr(cause, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from milliseconds, seconds or a date; None where there is no sense in it."""
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


def patience(
    *,
    retries: int,
    longest_wait_seconds: float | None,
    hold: Callable[[float], None],
    seed: int = 0,
    sleep: Callable[[float], None] = time.sleep,
) -> Retrying:
    """The loop that runs a call until it succeeds, fails for good, or has failed too often.

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
        asked = nature_of(error).retry_after_seconds if isinstance(error, ModelError) else None
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
        retry=retry_if_exception(lambda e: isinstance(e, ModelError) and nature_of(e).passes),
        sleep=sleep,
        reraise=True,
    )
