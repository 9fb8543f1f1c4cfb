"""What every request passes before a route sees it: host, origin, token, rate.

A page of another site that a browser has open must not reach a server on loopback: neither under a
name that was made to point here (the host is checked) nor by a form, a script or a picture (the
origin is checked, and bodies are JSON). Without a token nothing that reads or costs runs for
another origin, whatever the method. Forwarded headers are not believed.
"""

from __future__ import annotations

import ipaddress
import logging
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...errors import SettingsError
from ...settings import ServeSettings
from .principal import LOCAL, Principal
from .problems import SECURITY_HEADERS, Problem, response_of
from .rate import RateLimit
from .tokens import TokenStore

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/", "/v1/health", "/v1/openapi.json", "/favicon.ico"})
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
            detail = f"this server does not go by {name[:100]!r}: serve.allowed_hosts names more"
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
            raise Problem(403, "origin", "a page of another origin may not do this here")

    def _is_own(self, url: str, headers: Headers) -> bool:
        return _netloc(url) == headers.get("host", "").lower() != ""

    def _known(self, headers: Headers, *, address: str) -> Principal:
        try:
            return self._principal(headers, address=address)
        except SettingsError as error:
            _log.error("nobody is let in: %s", error)
            raise Problem(503, "tokens", "the list of tokens cannot be read") from error

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
            detail = f"{given}: send `Authorization: Bearer …` (`loregraph token create` makes one)"
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
            detail = f"too many requests: the next may come in {seconds} s"
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
