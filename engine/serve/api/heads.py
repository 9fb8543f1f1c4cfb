"""`HEAD` for every `GET`: the same response without a body (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadMiddleware:
    """ASGI middleware: behind it a `HEAD` is a `GET` whose body nobody gets.

    What lies below `apart` answers for itself: it holds on to its answers.
    """

    def __init__(self, app: ASGIApp, *, apart: str) -> None:
        self._app = app
        self._apart = apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; of a `HEAD`'s answer only what stands before the body."""
        asked = scope["type"] == "http" and scope["method"] == "HEAD"
        if not asked or scope["path"].startswith(self._apart):
            await self._app(scope, receive, send)
            return

        async def bare(message: Message) -> None:
            is_body = message["type"] == "http.response.body"
            await send({**message, "body": b""} if is_body else message)

        await self._app({**scope, "method": "GET"}, receive, bare)
