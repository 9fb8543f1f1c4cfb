"""Cache of answers, keyed by all that they depend on; in memory, or in Redis for many processes.

An answer depends on the question and what was said before it, on what may be seen, on the library
as it is, on the settings and on the models. The library's state is part of the key, so a change by
any process leaves older answers unfound, and they are removed: what was removed from a library must
not live on here. An answer in which a stage failed, or that rests on anything outside, is not
stored. Entries are JSON, never pickle, and what is read is hostile until types, sizes and quotes
are checked. A Redis that is away costs one line in the log and is tried again half a minute later.
`SingleFlight` answers identical concurrent questions once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, select

from .answering.global_search.context import Effort
from .concurrency import wait_cancellable
from .config import CacheSettings, Settings
from .errors import MissingExtra, SettingsError
from .providers.llm_clients import Models
from .storage.graph_api import derived_stamp, reports_stamp
from .storage.library import Library
from .storage.schema import DocumentFilter, documents
from .storage.vectors.log import vector_stamp
from .types import Answer, TraceStep, Turn, Usage

if TYPE_CHECKING:
    from redis import Redis

    from .embeddings.choice import EmbeddingChoice

MAX_BYTES = 4_000_000
"""Of one answer; what is longer is neither cached nor read."""


class CacheBackend(Protocol):
    """Safe to share by threads. What it cannot do now it does without."""

    @property
    def is_shared(self) -> bool:
        """Check whether other processes and libraries share this backend."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the value of a key; None if absent or unreachable."""
        ...

    def put(self, key: str, value: bytes) -> None:
        """Keep this; what is least of use goes where there are too many."""
        ...

    def clear(self) -> None:
        """Let go of all that this library put there."""
        ...

    def close(self) -> None:
        """Nothing is asked of it any more."""
        ...


class MemoryBackend:
    """In this process; what was used longest ago goes first.

    Args:
        max_entries: how many are held at most.
        ttl_seconds: how long each is.
        now: seconds on a clock that never goes back.
    """

    is_shared = False

    def __init__(
        self, *, max_entries: int, ttl_seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_entries = max_entries
        self._ttl = ttl_seconds
        self._now = now
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        """See `Shelf`."""
        with self._lock:
            until, value = self._held.get(key, (float("-inf"), b""))
            if until <= self._now():
                self._held.pop(key, None)
                return None
            self._held.move_to_end(key)
            return value

    def put(self, key: str, value: bytes) -> None:
        """See `Shelf`."""
        with self._lock:
            self._held[key] = (self._now() + self._ttl, value)
            self._held.move_to_end(key)
            while len(self._held) > self._max_entries:
                self._held.popitem(last=False)

    def clear(self) -> None:
        """See `Shelf`."""
        with self._lock:
            self._held.clear()

    def close(self) -> None:
        """See `Shelf`."""
        self.clear()


if TYPE_CHECKING:
    TextAt = Callable[[str, int, int], str]
    """A document's id, a start and an end to its characters there."""


def serialise_answer(answer: Answer) -> bytes | None:
    """Serialise an answer for the cache to JSON bytes; None if too large or not serialisable."""
    try:
        data = _adapter().dump_json(answer, warnings=False)
    except (PydanticSerializationError, ValueError):
        return None
    return data if len(data) <= MAX_BYTES else None


def deserialise_answer(data: bytes, *, question: str, text_at: TextAt) -> Answer | None:
    """Deserialise the cached answer to this question; None for anything else."""
    if len(data) > MAX_BYTES:
        return None
    try:
        answer = _adapter().validate_json(data, strict=True)
    except ValidationError:
        return None
    if answer.question != question or (answer.abstained and answer.citations):
        return None
    quoted = [(c.document_id, c.start, c.end, c.quote) for c in answer.citations]
    shown = [(p.document_id, p.start, p.end, p.text) for p in answer.passages]
    shown += [(p.document_id, p.start, p.end, p.text) for p in answer.nearest]
    short = answer.short
    if short is not None and short.document_id is not None:
        quoted.append((short.document_id, short.start or 0, short.end or 0, short.text))
    if any(answer.text[c.start : c.end] != c.text for c in answer.claims):
        return None
    stands = all(
        0 <= start <= end and text_at(document_id, start, end) == text
        for document_id, start, end, text in [*quoted, *shown]
    )
    return answer if stands else None


@cache
def _adapter() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


_LOGGER = logging.getLogger("loregraph")
VERSION = "5"
UNCACHEABLE = ("failed", "unusable", "outside")
"""Figures of a step, above nil, of an answer that is not to be given again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRequest:
    """Cache request: the question, its history, mode, effort and document filter.

    `effort` is that of an overview; None leaves it to the settings.
    """

    question: str
    mode: str
    within: DocumentFilter | None
    turns: tuple[Turn, ...] = ()
    effort: Effort | None = None


def _library_stamp(connection: Connection) -> str:
    """Return a stamp that changes with anything an answer may rest on."""
    parts = (derived_stamp(connection), vector_stamp(connection), reports_stamp(connection))
    return "/".join(parts)


def _contents_fingerprint(connection: Connection) -> str:
    """Return a fingerprint of the set of documents; separates libraries with equal counts."""
    columns = [documents.c[name] for name in ("id", "sha256", "recipe", "metadata", "given")]
    digest = hashlib.sha256()
    for row in connection.execute(select(*columns).order_by(documents.c.id)):
        digest.update(repr(tuple(row)).encode("utf8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Cache key of a question in one state of the library."""

    question: str
    key: str
    stamp: str


class AnswerCache:
    """Of one library. Safe to share by threads.

    Args:
        library: whose answers these are.
        shelf: where they lie.
        made_by: the settings and models that made them, as one text.
    """

    def __init__(self, library: Library, shelf: CacheBackend, *, made_by: str) -> None:
        self._library = library
        self._shelf = shelf
        self._made_by = made_by
        self._lock = threading.Lock()
        self._stamp = ""
        self._contents = ""

    def key_of(self, asked: CacheRequest) -> CacheKey:
        """Return the cache key of a question for the library's present state."""
        stamp = self._current()
        parts = [
            VERSION,
            self._contents if self._shelf.is_shared else "",
            stamp,
            self._made_by,
            asked.question,
            asked.mode,
            asked.effort,
            asked.within.key if asked.within is not None else None,
            [[turn.question, turn.answer] for turn in asked.turns],
        ]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        return CacheKey(asked.question, key, stamp)

    def find(self, place: CacheKey) -> Answer | None:
        """Return the cached answer, at no cost; its trace says so."""
        data = self._shelf.get(place.key)
        if data is None:
            return None
        with self._library.read():
            answer = deserialise_answer(
                data, question=place.question, text_at=self._library.text_at
            )
        if answer is None:
            _LOGGER.warning("cache miss: a cached answer does not fit the library")
            return None
        return _for_nothing(answer)

    def keep(self, place: CacheKey, answer: Answer) -> None:
        """Keep an answer, unless the library changed while it was given or a stage failed."""
        failed = any(step.figures.get(name) for step in answer.trace for name in UNCACHEABLE)
        if failed or self._current() != place.stamp:
            return
        data = serialise_answer(answer)
        if data is not None:
            self._shelf.put(place.key, data)

    def clear(self) -> None:
        """Clear the cache after the library changed."""
        self._shelf.clear()

    def close(self) -> None:
        """Close the cache; no answer is cached afterwards."""
        self._shelf.close()

    def _current(self) -> str:
        """Return the library's state; a new state evicts the answers of the previous one."""
        with self._library.read() as connection:
            stamp = _library_stamp(connection)
            with self._lock:
                if stamp == self._stamp:
                    return stamp
                known = bool(self._stamp)
                if self._shelf.is_shared:
                    self._contents = _contents_fingerprint(connection)
                self._stamp = stamp
        if known:
            self._shelf.clear()
        return stamp


def _for_nothing(answer: Answer) -> Answer:
    """Return the answer with its usage counted as cached and without times."""
    said = "cache hit; the steps below are those of the first answer"
    step = TraceStep(stage="cache", detail=said, seconds=0.0)
    then = (replace(each, seconds=0.0, usage=_cached_usage(each.usage)) for each in answer.trace)
    return replace(answer, trace=(step, *then), usage=_cached_usage(answer.usage))


def _cached_usage(usage: Usage) -> Usage:
    return Usage(cached_calls=usage.calls + usage.cached_calls)


class SingleFlight:
    """Of one process. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flying: dict[str, Future[None]] = {}

    @contextmanager
    def first(self, key: str) -> Iterator[bool]:
        """Check whether this caller leads; otherwise wait for the leading one.

        However that work ends: who waited must see for himself whether there is an answer now.

        Raises:
            WorkGivenUp: nobody waits for this question any more.
        """
        with self._lock:
            other = self._flying.get(key)
            mine = self._flying.setdefault(key, Future())
        if other is not None:
            wait_cancellable(None, until=other)
            yield False
            return
        try:
            yield True
        finally:
            with self._lock:
                del self._flying[key]
            mine.set_result(None)


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
                _LOGGER.warning("answers are not cached: Redis at %s: %s", self._name, reason)
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


_OF_NO_ACCOUNT = {"library", "ingest", "budget", "cache", "telemetry", "serve"}
"""Sections that say nothing of what an answer is."""


def build_answer_cache(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    embedding: EmbeddingChoice,
    searches_web: bool = False,
) -> AnswerCache | None:
    """Build the answer cache; None where it is disabled.

    `searches_web`: whether there is a tool that looks beyond the library, which others may lack.

    Raises:
        SettingsError: no usable URL of a Redis.
        MissingExtra: the extra `redis` is not installed.
    """
    shelf = _shelf(settings.cache, place=str(library.path.resolve()))
    if shelf is None:
        return None
    made_by = _makers(settings, models, embedding, searches_web=searches_web)
    return AnswerCache(library, shelf, made_by=made_by)


def _shelf(settings: CacheSettings, *, place: str) -> CacheBackend | None:
    match settings.answers:
        case "none":
            return None
        case "memory":
            return MemoryBackend(max_entries=settings.max_entries, ttl_seconds=settings.ttl_seconds)
        case "redis":
            variable = settings.password_variable
            return RedisBackend(
                settings.url,
                password=os.environ.get(variable, "") if variable else "",
                place=place,
                max_entries=settings.max_entries,
                ttl_seconds=settings.ttl_seconds,
            )


def _makers(
    settings: Settings,
    models: Models,
    embedding: EmbeddingChoice,
    *,
    searches_web: bool,
) -> str:
    try:
        own = version("loregraph")
    except PackageNotFoundError:
        own = ""
    parts = [
        own,
        settings.model_dump(mode="json", exclude=_OF_NO_ACCOUNT),
        sorted((stage, gateway.identity) for stage, gateway in models.gateways.items()),
        sorted(embedding.identities),
        searches_web,
    ]
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
