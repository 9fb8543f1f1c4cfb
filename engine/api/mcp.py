"""MCP server mounted in an ASGI application behind the gate.

What a caller may see and change, its token says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from ..mcp_server import ServerOptions, mcp_server
from ..tools.schemas import Access
from .auth import Principal

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LONGEST_BODY_BYTES = 8_000_000
_IDLE_SECONDS = 1_800.0
_MOST_SESSIONS = 1_000


class McpPart:
    """MCP server at `PATH`: `route` leads to it; works while `running()` is entered.

    Args:
        offer: what is offered; whose rights count is said by each request's principal.
    """

    def __init__(self, offer: ServerOptions) -> None:
        server = mcp_server(replace(offer, rights_of=_rights_of))
        self.app = server.streamable_http_app(
            streamable_http_path=PATH,
            max_request_body_size=LONGEST_BODY_BYTES,
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MOST_SESSIONS,
            # The gate has looked at host and origin, by the settings that say which are ours.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self.route = Route(PATH, endpoint=Owned(self.app))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions can be begun; at the end all are ended."""
        async with self.app.router.lifespan_context(self.app):
            yield


class Owned:
    """Middleware that binds MCP sessions to the caller who opened them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on the request of a principal."""
        principal = scope.get("state", {}).get("principal")
        if isinstance(principal, Principal):
            token = AccessToken(token=principal.id, client_id=principal.id, scopes=[])
            scope["user"] = AuthenticatedUser(token)
        await self._app(scope, receive, send)


def _rights_of(request: Any) -> Access:
    """Return the access of a request's token; none without a principal."""
    principal = getattr(getattr(request, "state", None), "principal", None)
    if not isinstance(principal, Principal):
        return Access(reads=frozenset(), writes=frozenset())
    writes = None if principal.is_admin else principal.writes
    return Access(reads=principal.readable, writes=writes, user=principal.user)
