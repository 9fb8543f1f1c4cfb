"""`loregraph mcp`: the MCP server on standard input and output, or on a port.

Over HTTP everything passes what the REST server's requests do: host, origin, token and rate, limits
on how much comes and how slowly.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from ..settings import Settings
from ..tools.rights import ALL_RIGHTS
from .api.flow import RequestLimits
from .api.gate import AuthMiddleware
from .api.rate import RateLimit
from .api.tokens import TokenStore, tokens_file
from .listening import address, check_tokens, listen, run
from .mcp_http import LONGEST_BODY_BYTES, PATH, McpPart, Owned
from .mcp_server import ServerOptions, mcp_server
from .session import INTERRUPTED

if TYPE_CHECKING:
    from starlette.types import ASGIApp


_LONGEST_WORK_SECONDS = 3_600.0
"""Maximum seconds of ingestion tools; read-only tools have their own limit."""


def serve_stdio(offer: ServerOptions) -> None:
    """Serve one client over stdio until it closes its input."""
    server = mcp_server(replace(offer, rights_of=lambda _request: ALL_RIGHTS))

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
    listener = listen(settings.serve)
    where = address(listener, settings.serve) + PATH
    try:
        app = http_app(offer, settings, library)
        run(app, settings.serve, listener, started=lambda: started(where))
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
