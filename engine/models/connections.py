"""HTTP connections of an LLM call, so that it can be aborted from another thread.

A client that is left in the middle of a stream lets its connection go when its objects are
collected, and a thread that waits for the next piece cannot be interrupted. Ending the connection
does both at once. Knows HTTP, nothing of models.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx


class Connections:
    """Those that a call opened; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._ended = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Attribute connections opened inside the block, or in its context, to this call."""
        token = _call.set(self)
        try:
            yield
        finally:
            _call.reset(token)

    def add(self, connection: socket.socket) -> None:
        """One more; ended at once where the others were."""
        with self._lock:
            self._sockets.append(connection)
            ended = self._ended
        if ended:
            self.end()

    def forget(self) -> None:
        """Release the connections of a finished call."""
        with self._lock:
            self._sockets.clear()

    def end(self) -> None:
        """Hang up: whoever reads gets an error, and the other side notices."""
        with self._lock:
            self._ended = True
            sockets, self._sockets = self._sockets, []
        for connection in sockets:
            with suppress(OSError):  # it was closed before
                connection.shutdown(socket.SHUT_RDWR)


_call: ContextVar[Connections | None] = ContextVar("loregraph_connections", default=None)


def note_connection(response: httpx.Response) -> None:
    """Attribute the connection of a response to the call of this context."""
    call = _call.get()
    stream = response.extensions.get("network_stream")
    if call is None or stream is None:
        return
    connection = stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        call.add(connection)
