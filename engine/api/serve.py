"""Servers: `loregraph serve` (page and REST), `loregraph mcp` over HTTP or standard input.

Over HTTP the MCP server passes the same checks of host, origin, token and rate as REST.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..cli.session import INTERRUPTED
from ..config import ServeSettings, Settings
from ..errors import SettingsError
from ..mcp_server import ServerOptions, mcp_server
from ..tools.schemas import ALL_RIGHTS
from .app import create_app
from .auth import AuthMiddleware, RateLimit, TokenStore, is_loopback, tokens_file
from .limits import RequestLimits
from .mcp import LONGEST_BODY_BYTES, PATH, McpPart, Owned

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ..engine import KnowledgeEngine

_MOST_CONNECTIONS = 1_000
_LONGEST_HEADERS_BYTES = 32_768
_GRACE_SECONDS = 3


def serve(
    library: Path,
    settings: Settings,
    *,
    started: Callable[[str], None],
    beside: Callable[[KnowledgeEngine], AbstractContextManager[None]] | None = None,
) -> None:
    """Serve a library until interrupted; `started` is told the address.

    `beside` is entered with the open engine for as long.

    Raises:
        SettingsError: no token where one is needed, or an address that cannot be had.
        LibraryError: the library cannot be opened.
    """
    check_tokens(library, settings)
    listener = bind_socket(settings.serve)
    where = page_address(listener, settings.serve)
    try:
        app = create_app(library, settings)
        with ExitStack() as stack:
            if beside is not None:
                stack.enter_context(beside(app.state.service.engine))
            run_server(
                app,
                settings.serve,
                listener,
                started=lambda: started(where),
                ended=stack.close,  # a signal that ends the process leaves no time for it
            )
    finally:
        listener.close()
    if app.state.service.is_busy:
        # A thread cannot be stopped, and what it writes is committed whole or not at all.
        logging.shutdown()
        os._exit(0)


def run_server(
    app: object,
    settings: ServeSettings,
    listener: socket.socket,
    *,
    started: Callable[[], None],
    ended: Callable[[], None] | None = None,
) -> None:
    """Run an ASGI application on a socket until interrupted.

    `started` is called once it answers, `ended` once it does no more.
    """
    server = _Server(_config(app, settings), started=started, ended=ended)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def check_tokens(library: Path, settings: Settings) -> None:
    """Refuse to serve other machines without tokens.

    Raises:
        SettingsError: it would listen beyond loopback, and there is no token.
    """
    host = settings.serve.host
    if not is_loopback(host) and not TokenStore(tokens_file(settings, library)).rows():
        raise SettingsError(
            f"listening on {host!r} without a token gives everyone access: make one "
            f"with `loregraph token create NAME --read '*' --library {library}`, or "
            "listen on 127.0.0.1"
        )


def bind_socket(settings: ServeSettings) -> socket.socket:
    """Bind the server's listening socket.

    Raises:
        SettingsError: the port is taken, or the address is none of this machine's.
    """
    host, port = settings.host.strip("[]"), settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)  # so that nobody is told the address before somebody answers there
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            what = f"port already used: {port} on {host}; stop the other server, or choose --port"
        else:
            what = (
                f"cannot listen on {host}:{port}: {error.strerror or error}; choose "
                "another --host or --port"
            )
        raise SettingsError(what) from error
    return listener


def page_address(listener: socket.socket, settings: ServeSettings) -> str:
    """Return the web page's address for a browser on this machine."""
    scheme = "https" if settings.tls_certificate else "http"
    host = settings.host.strip("[]")
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{listener.getsockname()[1]}"


class _Server(uvicorn.Server):
    """Says when it is ready and when it has ended; an interrupt ends it without a traceback."""

    def __init__(
        self,
        config: uvicorn.Config,
        *,
        started: Callable[[], None],
        ended: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._tell = started
        self._ended = ended

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self._ended is not None:
            self._ended()


class PatientProtocol(H11Protocol):
    """HTTP/1.1 where a connection that sends no whole request for so long is closed."""

    headers_timeout_seconds = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, up to the timeout."""
        super().connection_made(transport)
        self._first = self.loop.call_later(self.headers_timeout_seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._first.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def _config(app: object, settings: ServeSettings) -> uvicorn.Config:
    protocol = type(
        "Protocol", (PatientProtocol,), {"headers_timeout_seconds": settings.stall_timeout_seconds}
    )
    return uvicorn.Config(
        app,  # type: ignore[arg-type]  # FastAPI's application is one
        http=protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        proxy_headers=False,  # forwarded headers are whatever a client says
        server_header=False,
        access_log=False,
        log_level="warning",
        limit_concurrency=_MOST_CONNECTIONS,
        backlog=1024,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=_LONGEST_HEADERS_BYTES,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )


_LONGEST_WORK_SECONDS = 3_600.0
"""Maximum seconds of ingestion tools; read-only tools have their own limit."""


def serve_stdio(offer: ServerOptions, *, user: str = "") -> None:
    """Serve one client over stdio until it closes its input; `user` is whose memory it has."""
    rights = replace(ALL_RIGHTS, user=user)
    server = mcp_server(replace(offer, rights_of=lambda _request: rights))

    async def session() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    # A thread that waits for input cannot be woken, so Ctrl-C would wait for the next line. What is
    # being written is committed whole or not at all.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    try:
        anyio.run(session)
    finally:
        signal.signal(signal.SIGINT, before)


def serve_http(
    offer: ServerOptions, settings: Settings, library: Path, *, started: Callable[[str], None]
) -> None:
    """Serve over HTTP until interrupted; `started` is told the address.

    Raises:
        SettingsError: no token where one is needed, or an address that cannot be had.
    """
    check_tokens(library, settings)
    listener = bind_socket(settings.serve)
    where = page_address(listener, settings.serve) + PATH
    try:
        app = http_app(offer, settings, library)
        run_server(app, settings.serve, listener, started=lambda: started(where))
    finally:
        listener.close()


def http_app(offer: ServerOptions, settings: Settings, library: Path) -> ASGIApp:
    """Build the MCP server as an ASGI application behind the gate."""
    serve = settings.serve
    flow = RequestLimits(
        Owned(McpPart(offer).app),
        max_body_bytes=LONGEST_BODY_BYTES,
        max_upload_bytes=LONGEST_BODY_BYTES,
        stall_timeout_seconds=serve.stall_timeout_seconds,
        answer_timeout_seconds=_LONGEST_WORK_SECONDS,
    )
    return AuthMiddleware(
        flow,
        settings=serve,
        tokens=TokenStore(tokens_file(settings, library)),
        rate=RateLimit(serve.requests_per_minute, clock=time.monotonic),
    )
