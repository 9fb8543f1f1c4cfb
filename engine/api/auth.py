"""Authentication of requests: tokens, principals with their namespaces, host, origin and rate.

A token is 256 random bits, shown once and stored as its SHA-256: a slow hash is for passwords,
which can be guessed. The host is checked because a foreign name may point to loopback (DNS
rebinding); the origin because a page of another site must not send forms. Without a token nothing
that reads or costs runs for another origin, whatever the method. Forwarded headers are not
believed. The rate limiter is a token bucket for each caller.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import logging
import math
import os
import re
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config import ServeSettings, Settings
from ..errors import SettingsError
from ..ingest.document import sanitise_text
from ..memory.records import check_memory_name
from ..types import check_namespace
from .errors import SECURITY_HEADERS, Problem, response_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Identity behind a token.

    `reads` and `writes` are namespaces (the empty text is the one without a name), None is all.
    Who may write may read. An admin sees all of the library, its figures and settings. `user` is
    whose memory is read and written; empty is nobody's.
    """

    id: str
    name: str
    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()
    is_admin: bool = False
    user: str = ""

    @property
    def readable(self) -> frozenset[str] | None:
        """Namespaces that may be looked at; None is all."""
        if self.is_admin or self.reads is None or self.writes is None:
            return None
        return self.reads | self.writes

    def may_read(self, namespace: str) -> bool:
        """Check whether documents of a namespace are readable."""
        readable = self.readable
        return readable is None or namespace in readable

    def may_write(self, namespace: str) -> bool:
        """Check whether documents of a namespace are writable."""
        return self.is_admin or self.writes is None or namespace in self.writes

    def within(self, namespace: str | None) -> str | frozenset[str] | None:
        """Return the visible namespaces of a request for this one (None: all).

        Raises:
            Problem: 403, the namespace is not for this one.
        """
        if namespace is None:
            return self.readable
        if not self.may_read(namespace):
            raise Problem(
                403,
                "forbidden",
                f"no read access to namespace: {namespace!r}; use a token with `--read` for it",
            )
        return namespace

    def check_write(self, namespace: str) -> None:
        """Raise `Problem` 403 unless the principal may write to the namespace."""
        if not self.may_write(namespace):
            raise Problem(
                403,
                "forbidden",
                f"no write access to namespace: {namespace!r}; use a token with `--write` for it",
            )

    def check_admin(self) -> None:
        """Raise `Problem` 403 unless the principal is an admin."""
        if not self.is_admin:
            raise Problem(
                403,
                "forbidden",
                "admin token required; make one with `loregraph token create --admin`",
            )


def memory_user(caller: Principal, wanted: str | None) -> str:
    """Return the user whose memory a caller reads: the token's, or where there are none any.

    Raises:
        Problem: 403, the token has no user, or another.
        QuestionError: a name that no user can have.
    """
    if caller is LOCAL:
        user = wanted or ""
        if not user:
            raise Problem(422, "no-user", "user missing; say whose memory is meant")
    else:
        user = caller.user
        if not user or wanted not in (None, user):
            raise Problem(
                403,
                "no-memory",
                "no memory for this token and user; make one with `loregraph token create --user`",
            )
    check_memory_name("user", user)
    return user


LOCAL = Principal(id="local", name="this machine", is_admin=True)
"""Everybody on this machine, where no token is asked for."""


FILE_NAME = "tokens.json"
PREFIX = "lore_"
ALL = "*"
_SECRET_BYTES = 32
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """Stored token; `id` is the start of its hash. Namespaces are sorted, `*` is all.

    From `expires` (UTC) on it is refused; None is never.
    """

    id: str
    name: str
    sha256: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    is_admin: bool = False
    expires: datetime | None = None
    user: str = ""

    def is_over(self, now: datetime) -> bool:
        """Check whether the token has expired."""
        return self.expires is not None and now >= self.expires

    def shown(self) -> dict[str, Any]:
        """Return what may be shown of it, as JSON values."""
        return {
            "id": self.id,
            "name": self.name,
            "read": list(self.reads),
            "write": list(self.writes),
            "admin": self.is_admin,
            "expires": self.expires.isoformat() if self.expires else None,
            **({"user": self.user} if self.user else {}),
        }

    @property
    def principal(self) -> Principal:
        """Return the principal of the token."""
        return Principal(
            id=self.id,
            name=self.name,
            reads=_namespaces(self.reads),
            writes=_namespaces(self.writes),
            is_admin=self.is_admin,
            user=self.user,
        )


class TokenStore:
    """Token store in one file; other processes' writes take effect at once; thread-safe."""

    def __init__(self, file: str | Path) -> None:
        self.file = Path(file)
        self._guard = threading.Lock()
        self._look: tuple[int, int, int] | None = None
        self._rows: tuple[TokenRow, ...] = ()

    def rows(self) -> tuple[TokenRow, ...]:
        """All tokens, in the order in which they were made.

        Raises:
            SettingsError: the file cannot be read, or is no list of tokens.
        """
        with self._guard:
            look = _look_at(self.file)
            if look != self._look:
                self._rows = _read(self.file) if look is not None else ()
                self._look = look
            return self._rows

    def row_of(self, token: str) -> TokenRow | None:
        """Return the row of a token, expired or not; None if unknown.

        Looks at every hash, always.
        """
        digest = _sha256(token)
        found = None
        for row in self.rows():
            if hmac.compare_digest(row.sha256, digest):
                found = row
        return found

    def create(
        self,
        name: str,
        *,
        reads: Collection[str] = (),
        writes: Collection[str] = (),
        is_admin: bool = False,
        expires: datetime | None = None,
        user: str = "",
    ) -> tuple[TokenRow, str]:
        """Create a token; the secret is not stored; `*` means all namespaces.

        From `expires` on (with its zone) it is refused. `user` is whose memory it reads and writes;
        a token without one has no memory.

        Raises:
            SettingsError: it may do nothing, the name is taken, or the file cannot be written.
            SourceError: a namespace that cannot be.
            QuestionError: a user that cannot be.
        """
        if user:
            check_memory_name("user", user)
        if not (reads or writes or is_admin):
            raise SettingsError(
                "token without rights: give --read, --write (a namespace, '' for the one "
                "without a name, or '*' for all) or --admin"
            )
        if sanitise_text(name) != name or not name.strip():
            raise SettingsError(f"token name not usable: {name!r}; use at least one letter")
        for namespace in {*reads, *writes} - {ALL}:
            check_namespace(namespace)
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        digest = _sha256(secret)
        row = TokenRow(
            id=digest[:8],
            name=name,
            sha256=digest,
            reads=tuple(sorted(set(reads))),
            writes=tuple(sorted(set(writes))),
            is_admin=is_admin,
            expires=expires,
            user=user,
        )
        with self._changing():
            rows = self.rows()
            if any(name == each.name for each in rows):
                raise SettingsError(
                    f"token name already used: {name!r}; revoke that token, or choose another name"
                )
            self._write([*rows, row])
        return row, secret

    def revoke(self, wanted: str) -> TokenRow:
        """Forget a token by its id or its name; it is refused from the next request on.

        Raises:
            SettingsError: there is none, or the file cannot be written.
        """
        with self._changing():
            rows = self.rows()
            found = next((each for each in rows if wanted in (each.id, each.name)), None)
            if found is None:
                raise SettingsError(
                    f"unknown token: {wanted!r}; `loregraph token list` shows the known ones"
                )
            self._write([each for each in rows if each != found])
        return found

    def _changing(self) -> FileLock:
        if not self.file.parent.is_dir():
            raise SettingsError(
                f"no folder for tokens: {str(self.file.parent)!r}; create a library with "
                "`loregraph add`"
            )
        return FileLock(self.file.with_name(f"{self.file.name}.lock"))

    def _write(self, rows: Sequence[TokenRow]) -> None:
        values = [{**row.shown(), "sha256": row.sha256} for row in rows]
        text = json.dumps({"tokens": values}, ensure_ascii=False, indent=1)
        try:
            handle, temporary = tempfile.mkstemp(dir=self.file.parent, prefix=".tokens-")
            with os.fdopen(handle, "w", encoding="utf8") as file:  # made for its owner alone
                file.write(text + "\n")
            Path(temporary).replace(self.file)
        except OSError as error:
            raise SettingsError(
                f"cannot write token file: {str(self.file)!r} ({error.strerror}); check permissions"
            ) from error


def tokens_file(settings: Settings, library: Path) -> Path:
    """Return the token file of a library."""
    named = settings.serve.tokens_file
    return Path(named) if named else library / FILE_NAME


def time_after(duration: str, now: datetime) -> datetime:
    """When a duration such as `90d`, `12h` or `2w` is over, to the second.

    Raises:
        SettingsError: it cannot be read, is nil, or ends beyond the calendar.
    """
    read = re.fullmatch(r"(\d{1,7})([hdw])", duration.strip().lower(), re.ASCII)
    if read is None or not int(read[1]):
        raise SettingsError(f"token lifetime not usable: {duration!r}; write 90d, 12h or 2w")
    try:
        over = now + timedelta(hours=int(read[1]) * _HOURS[read[2]])
    except OverflowError as error:
        raise SettingsError(
            f"token lifetime too long: {duration!r}; give a shorter one, or none"
        ) from error
    return over.astimezone(UTC).replace(microsecond=0)


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _namespaces(names: Sequence[str]) -> frozenset[str] | None:
    return None if ALL in names else frozenset(names)


def _look_at(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(
            f"cannot read token file: {str(file)!r} ({error.strerror}); check its permissions"
        ) from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(file: Path) -> tuple[TokenRow, ...]:
    try:
        values = json.loads(file.read_text(encoding="utf8"))["tokens"]
        return tuple(_row(value) for value in values)
    except OSError as error:
        raise SettingsError(
            f"cannot read token file: {str(file)!r} ({error.strerror}); check its permissions"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"not a token file: {str(file)!r}; repair or remove it") from error


def _row(value: dict[str, Any]) -> TokenRow:
    reads, writes = value["read"], value["write"]
    if not all(isinstance(each, str) for each in (*reads, *writes, value["sha256"])):
        raise TypeError("namespaces and hashes must be strings")
    over = datetime.fromisoformat(value["expires"]) if value.get("expires") else None
    if over is not None and over.tzinfo is None:
        raise ValueError("time without a time zone")
    return TokenRow(
        id=str(value["id"]),
        name=str(value["name"]),
        sha256=value["sha256"],
        reads=tuple(reads),
        writes=tuple(writes),
        is_admin=value["admin"] is True,
        expires=over,
        user=str(value.get("user", "")),
    )


_REMEMBERED = 10_000


class RateLimit:
    """Token bucket per caller: a minute's requests at once, then at the refill rate.

    Args:
        per_minute: how many requests; None is no limit.
        clock: seconds that only grow.
    """

    def __init__(self, per_minute: float | None, *, clock: Callable[[], float]) -> None:
        self._size = max(per_minute or 0.0, 1.0)
        self._is_limited = per_minute is not None
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, caller: str) -> float:
        """Take one request; return 0 if allowed, else the seconds to wait."""
        if not self._is_limited:
            return 0.0
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._size, now))
        left = min(self._size, left + (now - then) * self._size / 60)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._size


_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/", "/docs", "/v1/health", "/v1/openapi.json", "/favicon.ico"})
_OPEN_BELOW = "/static/"
_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="loregraph"'}
_log = logging.getLogger("loregraph.serve")


class AuthMiddleware:
    """ASGI middleware. Puts the `Principal` of a request into its state.

    Args:
        app: what lies behind.
        settings: whom to let in.
        tokens: who is known.
        rate: how often each may call.
        now: what time it is, for tokens that expire; None is the clock's.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: ServeSettings,
        tokens: TokenStore,
        rate: RateLimit,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._app = app
        self._hosts = allowed_hosts(settings)
        self._origins = frozenset(settings.cors_origins)
        self._tokens = tokens
        self._rate = rate
        self._now = now or partial(datetime.now, UTC)
        self._is_loopback = is_loopback(settings.host)
        self._had_tokens = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a problem, or go on behind the gate."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope.setdefault("state", {})["principal"] = self._admitted(scope)
        except Problem as problem:
            await response_of(problem, path=scope["path"])(scope, receive, send)
            return
        await self._app(scope, receive, with_security_headers(send))

    def _admitted(self, scope: Scope) -> Principal:
        headers = Headers(scope=scope)
        self._check_host(headers)
        if scope["method"] not in _SAFE_METHODS:
            self._check_origin(headers)
        path: str = scope["path"]
        if path in _OPEN_PATHS or path.startswith(_OPEN_BELOW) or scope["method"] == "OPTIONS":
            return NOBODY
        principal = self._known(headers, address=_address(scope))
        if principal is LOCAL:
            self._check_origin(headers)
        self._check_rate(principal.id if principal is not LOCAL else _address(scope))
        return principal

    def _check_host(self, headers: Headers) -> None:
        if self._hosts is None:
            return
        name = host_name(headers.get("host", ""))
        if len(headers.getlist("host")) != 1 or name not in self._hosts:
            detail = f"unknown host: {name[:100]!r}; add it to serve.allowed_hosts"
            raise Problem(421, "host", detail)

    def _check_origin(self, headers: Headers) -> None:
        """Refuse another origin, which browsers name.

        Other programs send none of these headers.
        """
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None:
            foreign = not self._is_own(origin, headers) and origin not in self._origins
        elif site is not None:
            foreign = site in ("cross-site", "same-site")
        else:  # an older browser
            referer = headers.get("referer")
            foreign = referer is not None and not self._is_own(referer, headers)
        if foreign:
            raise Problem(
                403,
                "origin",
                "request from a page of another origin refused; open the page from this server",
            )

    def _is_own(self, url: str, headers: Headers) -> bool:
        return _netloc(url) == headers.get("host", "").lower() != ""

    def _known(self, headers: Headers, *, address: str) -> Principal:
        try:
            return self._principal(headers, address=address)
        except SettingsError as error:
            _log.error("all requests are refused: %s", error)
            raise Problem(
                503, "tokens", "cannot read the token file; the log of the server gives the reason"
            ) from error

    def _principal(self, headers: Headers, *, address: str) -> Principal:
        if not self._needs_token():
            return LOCAL
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = None
        if scheme.lower() == "bearer" and token.strip():
            found = self._tokens.row_of(token.strip())
        if found is None or found.is_over(self._now()):
            self._check_rate(f"refused {address}")
            given = "this token is not known" if token else "a token is needed"
            given = "this token has expired" if found is not None else given
            detail = (
                f"{given}; send `Authorization: Bearer …` (`loregraph token create` makes a token)"
            )
            raise Problem(401, "unauthorised", detail, headers=_CHALLENGE)
        return found.principal

    def _needs_token(self) -> bool:
        """Once there were tokens, they stay needed: a lost file must not open the door."""
        self._had_tokens = self._had_tokens or bool(self._tokens.rows())
        return self._had_tokens or not self._is_loopback

    def _check_rate(self, caller: str) -> None:
        wait = self._rate.wait_seconds(caller)
        if wait > 0:
            seconds = str(math.ceil(wait))
            detail = f"too many requests; try again in {seconds} s"
            raise Problem(429, "rate", detail, headers={"Retry-After": seconds})


NOBODY = Principal(id="nobody", name="nobody")
"""Principal of anonymous requests."""


def is_loopback(host: str) -> bool:
    """Check whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(settings: ServeSettings) -> frozenset[str] | None:
    """Return the host names that requests may use; None for any."""
    named = {host.lower() for host in settings.allowed_hosts}
    if is_loopback(settings.host):
        named |= {"localhost", "127.0.0.1", "[::1]", host_name(settings.host)}
    return frozenset(named) or None


def host_name(host: str) -> str:
    """Return a `Host` header without port, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host if host.count(":") > 1 else host.partition(":")[0]


def with_security_headers(send: Send) -> Send:
    """Wrap `send` with security headers."""
    further: Mapping[str, str] = {
        **SECURITY_HEADERS,
        "Content-Security-Policy": _API_POLICY,
        "Cache-Control": "no-store",
    }

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", ())}
            message["headers"] = [
                *message.get("headers", ()),
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in further.items()
                    if name.lower().encode() not in present
                ),
            ]
        await send(message)

    return wrapped


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
