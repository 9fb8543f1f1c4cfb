"""A way to a real server that can fall silent: connections stay open and nothing passes any more.

    with StallingProxy(port) as proxy:
        connect("127.0.0.1", proxy.port)
        proxy.stall()

Without a server behind it, it takes connections and never answers. What is connected after
`answer()` gets through again.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType


class StallingProxy:
    """Listens on loopback at `port`, and passes on what comes to the port behind it."""

    def __init__(self, behind: int | None = None) -> None:
        self._behind = behind
        self._passes = behind is not None
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def __enter__(self) -> StallingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for each in (self._listening, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def stall(self) -> None:
        """From now on nothing passes, in either direction."""
        self._passes = False

    def answer(self) -> None:
        """Let new connections through; those that fell silent stay so."""
        self._passes = True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._sockets.append(client)
            if self._behind is None or not self._passes:
                continue
            server = socket.create_connection(("127.0.0.1", self._behind))
            self._sockets.append(server)
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if not self._passes:
                    return
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
