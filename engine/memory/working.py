"""Working memory: the last messages of each session, in this process or in a Redis.

A window for prompts, never the only copy: `store.SessionStore` holds every message until its
session is closed.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from ..errors import MissingExtra, SettingsError
from .records import Message

if TYPE_CHECKING:
    from redis import Redis

_PREFIX = "loregraph:memory"
_REWRITE_SECONDS = 30.0


class WorkingMemory(Protocol):
    """Safe to share by threads. `errors` are exceptions of an absent server."""

    errors: tuple[type[Exception], ...]

    def append(self, user: str, session: str, messages: Sequence[Message]) -> None:
        """Append messages; what exceeds the window goes, oldest first."""

    def read(self, user: str, session: str) -> list[Message]:
        """Return the messages of the window, oldest first."""

    def redact(self, user: str, cut: Callable[[Message], Message]) -> None:
        """Replace every message of a user by what `cut` leaves of it."""

    def clear(self, user: str, session: str | None = None) -> None:
        """Forget a session, or all sessions of a user."""

    def erase(self) -> None:
        """Remove what was cleared from files, too."""

    def close(self) -> None:
        """Release connections."""


class ProcessMemory:
    """Working memory in this process.

    Args:
        messages: size of the window.
        ttl_seconds: lifetime of a session without a new message.
        now: seconds on a clock that never goes back.
    """

    def __init__(
        self, *, messages: int, ttl_seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.errors: tuple[type[Exception], ...] = ()
        self._most = messages
        self._ttl = ttl_seconds
        self._now = now
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str], tuple[float, deque[Message]]] = {}

    def append(self, user: str, session: str, messages: Sequence[Message]) -> None:
        """See `WorkingMemory`."""
        with self._lock:
            self._expire()
            window: deque[Message] = deque(maxlen=self._most)
            window = self._held.get((user, session), (0.0, window))[1]
            window.extend(messages)
            self._held[user, session] = (self._now() + self._ttl, window)

    def read(self, user: str, session: str) -> list[Message]:
        """See `WorkingMemory`."""
        with self._lock:
            self._expire()
            return list(self._held.get((user, session), (0.0, ()))[1])

    def redact(self, user: str, cut: Callable[[Message], Message]) -> None:
        """See `WorkingMemory`."""
        with self._lock:
            for (owner, _), (_, window) in self._held.items():
                if owner == user:
                    left = [each for each in map(cut, window) if each.text]
                    window.clear()
                    window.extend(left)

    def clear(self, user: str, session: str | None = None) -> None:
        """See `WorkingMemory`."""
        with self._lock:
            for key in [k for k in self._held if k[0] == user and session in (None, k[1])]:
                del self._held[key]

    def erase(self) -> None:
        """See `WorkingMemory`."""

    def close(self) -> None:
        """See `WorkingMemory`."""
        with self._lock:
            self._held.clear()

    def _expire(self) -> None:
        now = self._now()
        for key in [key for key, (until, _) in self._held.items() if until <= now]:
            del self._held[key]


class RedisMemory:
    """Working memory in a Redis: a list a session, changed in one transaction.

    Args:
        url: `redis://host:port/database`, `rediss://…` or `unix://…`, without a password.
        password: the server's; empty for none.
        place: what tells this library from others.
        messages: size of the window.
        ttl_seconds: lifetime of a session without a new message.
        timeout_seconds: of one answer of the server.

    Raises:
        SettingsError: the URL holds a password, or cannot be used.
        MissingExtra: the extra `redis` is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        password: str,
        place: str,
        messages: int,
        ttl_seconds: float,
        timeout_seconds: float,
    ) -> None:
        self._client = _client(url, password, timeout_seconds)
        from redis.exceptions import RedisError

        self.errors: tuple[type[Exception], ...] = (RedisError,)
        self._place = _digest(place)
        self._most = messages
        self._ttl = max(1, round(ttl_seconds))

    def append(self, user: str, session: str, messages: Sequence[Message]) -> None:
        """See `WorkingMemory`; RPUSH, LTRIM and EXPIRE in one MULTI."""
        if not messages:
            return
        key = self._key(user, session)
        with self._client.pipeline(transaction=True) as steps:
            steps.rpush(key, *(json.dumps(asdict(each)) for each in messages))
            steps.ltrim(key, -self._most, -1)
            steps.expire(key, self._ttl)
            steps.execute()

    def read(self, user: str, session: str) -> list[Message]:
        """See `WorkingMemory`; what is no message is passed over."""
        rows: Any = self._client.lrange(self._key(user, session), 0, -1)
        return [message for row in rows if (message := _message(row)) is not None]

    def redact(self, user: str, cut: Callable[[Message], Message]) -> None:
        """See `WorkingMemory`; a message that comes meanwhile starts a session over."""
        for key in self._keys(user):
            rows: Any = self._client.lrange(key, 0, -1)
            held = [message for row in rows if (message := _message(row)) is not None]
            left = [each for each in map(cut, held) if each.text]
            with self._client.pipeline(transaction=True) as steps:
                steps.unlink(key)
                if left:
                    steps.rpush(key, *(json.dumps(asdict(each)) for each in left))
                    steps.expire(key, self._ttl)
                steps.execute()

    def clear(self, user: str, session: str | None = None) -> None:
        """See `WorkingMemory`."""
        keys = self._keys(user) if session is None else [self._key(user, session)]
        for key in keys:
            self._client.unlink(key)

    def erase(self) -> None:
        """Rewrite the append-only file and the snapshot, where the server has them.

        Raises:
            redis.exceptions.RedisError: the server refuses, or does not finish in 30 seconds.
        """
        persistence: Any = self._client.info("persistence")
        if persistence.get("aof_enabled"):
            self._client.bgrewriteaof()
            self._await("aof_rewrite_in_progress", "aof_rewrite_scheduled")
        saves: Any = self._client.config_get("save")
        if saves.get("save") or persistence.get("rdb_saves"):
            self._client.bgsave(schedule=True)
            self._await("rdb_bgsave_in_progress")

    def close(self) -> None:
        """See `WorkingMemory`."""
        self._client.close()

    def _await(self, *flags: str) -> None:
        from redis.exceptions import TimeoutError as RedisTimeout

        end = time.monotonic() + _REWRITE_SECONDS
        while time.monotonic() < end:
            found: Any = self._client.info("persistence")
            if not any(found.get(flag) for flag in flags):
                return
            time.sleep(0.02)
        raise RedisTimeout("Redis did not finish rewriting its files")

    def _key(self, user: str, session: str) -> str:
        return f"{_PREFIX}:{self._place}:{_digest(user)}:{_digest(session)}"

    def _keys(self, user: str) -> list[Any]:
        return sorted(self._client.scan_iter(f"{_PREFIX}:{self._place}:{_digest(user)}:*"))


def trim(
    messages: Sequence[Message], *, most: int, tokens: int, count: Callable[[str], int]
) -> list[Message]:
    """Return the last messages that fit a window, beginning with a user's."""
    kept: list[Message] = []
    for message in reversed(messages[-most:]):
        tokens -= count(message.text)
        if tokens < 0:
            break
        kept.insert(0, message)
    while kept and kept[0].role != "user":
        kept.pop(0)
    return kept


def _message(row: bytes) -> Message | None:
    try:
        found = json.loads(row)
        message = replace(Message(role="user", text="", at=""), **found)
    except (ValueError, TypeError):
        return None
    texts = (message.text, message.at, message.cited)
    known = message.role in ("user", "assistant") and all(isinstance(t, str) for t in texts)
    return message if known else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _client(url: str, password: str, timeout_seconds: float) -> Redis:
    parts = urlsplit(url.strip())
    if parts.password:
        raise SettingsError(
            "memory.working: holds a password; put it into a variable and name that in"
            " memory.working_password_variable"
        )
    try:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise MissingExtra(
            "memory.working: redis needs the extra `redis`: pip install 'loregraph[redis]'"
        ) from error
    try:
        return Redis.from_url(
            url.strip(),
            password=password or None,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise SettingsError(f"memory.working: {url!r} cannot be used: {error}") from error
