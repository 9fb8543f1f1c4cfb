"""Kept answers in Redis, so that several processes share them.

A Redis that is away costs one line in the log; it is asked again half a minute later. Answers of a
library are listed in a set of their own, so that they can be taken away when it changes: what was
removed from a library must not live on here.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ..errors import MissingExtra, SettingsError
from .shelf import MAX_BYTES

if TYPE_CHECKING:
    from redis import Redis

_LOGGER = logging.getLogger("loregraph")
_PREFIX = "loregraph:answer:"
_SECONDS_PER_CALL = 1.0
_SECONDS_LEFT_ALONE = 30.0
_AT_ONCE = 500
Result = TypeVar("Result")


class RedisBackend:
    """One library's answers in a Redis.

    Args:
        url: `redis://host:port/database`, `rediss://…` or `unix://…`, without a password.
        password: the server's; empty for none.
        place: what tells this library from others; its list of keys is named by it.
        max_entries: how many are held at most; beyond that any of them goes.
        ttl_seconds: how long each is.
        now: seconds on a clock that never goes back.

    Raises:
        SettingsError: no URL of a Redis, or one with a password in it.
        MissingExtra: the extra `redis` is not installed.
    """

    is_shared = True

    def __init__(
        self,
        url: str,
        *,
        password: str,
        place: str,
        max_entries: int,
        ttl_seconds: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = _client(url, password)
        self._name = _shown(url)
        self._list = f"{_PREFIX}of:{hashlib.sha256(place.encode()).hexdigest()[:32]}"
        self._max_entries = max_entries
        self._ttl = max(1, round(ttl_seconds))
        self._now = now
        self._lock = threading.Lock()
        self._left_alone_until = float("-inf")

    def get(self, key: str) -> bytes | None:
        """See `Shelf`; of what is too long nothing is read but that it is."""

        def read() -> bytes | None:
            found: Any = self._client.getrange(_PREFIX + key, 0, MAX_BYTES)
            return found if found and len(found) <= MAX_BYTES else None

        return self._asked(read)

    def put(self, key: str, value: bytes) -> None:
        """See `Shelf`."""

        def write() -> None:
            with self._client.pipeline(transaction=True) as steps:
                steps.set(_PREFIX + key, value, ex=self._ttl)
                steps.sadd(self._list, key)
                steps.expire(self._list, self._ttl)
                steps.scard(self._list)
                count = int(steps.execute()[-1])
            if count > self._max_entries:
                self._take_away(count - self._max_entries)

        self._asked(write)

    def clear(self) -> None:
        """See `Shelf`."""

        def empty() -> None:
            while self._take_away(_AT_ONCE):
                pass

        self._asked(empty)

    def close(self) -> None:
        """See `Shelf`."""
        self._client.close()

    def _take_away(self, count: int) -> int:
        """Delete listed keys up to a limit; return how many were deleted."""
        keys: Any = self._client.spop(self._list, count)
        if keys:
            self._client.unlink(*(_PREFIX.encode() + key for key in keys))
        return len(keys)

    def _asked(self, call: Callable[[], Result]) -> Result | None:
        """Call Redis; return None while it is unreachable, logged once."""
        from redis.exceptions import RedisError

        with self._lock:
            if self._now() < self._left_alone_until:
                return None
        try:
            result = call()
        except (RedisError, OSError) as error:
            with self._lock:
                was_there = self._left_alone_until == float("-inf")
                self._left_alone_until = self._now() + _SECONDS_LEFT_ALONE
            if was_there:
                reason = " ".join(str(error).split())
                _LOGGER.warning("answers are not kept: Redis at %s: %s", self._name, reason)
            return None
        with self._lock:
            self._left_alone_until = float("-inf")
        return result


def _client(url: str, password: str) -> Redis:
    try:
        parts = urlsplit(url.strip())
        has_secret, _ = parts.password, parts.port
    except ValueError as error:
        raise SettingsError(f"cache.url: {url!r} is not a URL ({error})") from error
    if has_secret:
        raise SettingsError(
            "cache.url: holds a password; put it into a variable and name that in"
            " cache.password_variable"
        )
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise SettingsError(
            f"cache.url: {url!r} is not the URL of a Redis; expected something like"
            " redis://127.0.0.1:6379/0"
        )
    try:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise MissingExtra(
            "cache.answers: redis needs the extra `redis`: pip install 'loregraph[redis]'"
        ) from error
    try:
        return Redis.from_url(
            url.strip(),
            password=password or None,
            socket_timeout=_SECONDS_PER_CALL,
            socket_connect_timeout=_SECONDS_PER_CALL,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise SettingsError(f"cache.url: {url!r} cannot be used: {error}") from error


def _shown(url: str) -> str:
    """Return the address without user name and options."""
    parts = urlsplit(url.strip())
    return parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}"
