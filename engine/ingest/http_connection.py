"""Connections to permitted addresses only, with one deadline.

A name is resolved once, its addresses are checked, and one of those very addresses is connected to,
so a name server that answers differently the next time changes nothing. TLS still verifies the
name. Every wait is cut to what is left until the deadline. A `SourceError` raised here gives its
reason alone.
"""

from __future__ import annotations

import ipaddress
import os
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable

import certifi
import httpcore

from ..errors import SourceError

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_ADDRESSES_TRIED = 4

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Clock:
    """Counts down to one deadline."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining seconds, above zero.

        Raises:
            SourceError: none are.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> SourceError:
        """Return the timeout error."""
        return SourceError(
            f"timed out after {self._seconds:g} s: try again later, "
            "or raise ingest.fetch_timeout_seconds"
        )


def guarded_connections(clock: Clock, *, allow_private: bool) -> httpcore.ConnectionPool:
    """Return connections for one fetch that go to permitted addresses only.

    Environment proxies are ignored, as they resolve names themselves.
    """
    return httpcore.ConnectionPool(
        ssl_context=_tls(), network_backend=_GuardedBackend(clock, allow_private=allow_private)
    )


def _tls() -> ssl.SSLContext:
    """Return trust roots: the system's (or `SSL_CERT_FILE`) and Mozilla's."""
    context = ssl.create_default_context()
    if "SSL_CERT_FILE" not in os.environ:
        context.load_verify_locations(certifi.where())
    return context


def is_public(text: str) -> bool:
    """Check whether an IP address, and any it embeds, is public.

    Not: private, loopback, link-local, shared (CGNAT), multicast, reserved, unspecified ranges,
    and IPv6 forms (mapped, 6to4, NAT64) of IPv4 addresses in them; Teredo never.
    """
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.teredo is not None or address.is_site_local or address in _LOCAL_NAT64:
            return False
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _is_public(inner)
    return _is_public(address)


def _is_public(address: Address) -> bool:
    return address.is_global and not (
        address.is_private
        or address.is_multicast
        or address.is_reserved
        or address.is_link_local
        or address.is_loopback
        or address.is_unspecified
    )


def resolve_host(host: str, port: int, *, clock: Clock) -> list[str]:
    """Resolve a host name to IP addresses, in system order.

    The system's resolver knows no time limit, so it is waited for from outside.

    Raises:
        SourceError: there are none, or not in time.
    """
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=clock.left())
    except queue.Empty:
        raise clock.error() from None
    if isinstance(answer, (OSError, UnicodeError)):
        raise SourceError(
            f"cannot be resolved: check {host!r}, and the connection ({answer})"
        ) from answer
    return answer


class _GuardedBackend(httpcore.NetworkBackend):
    """Network backend that connects to validated addresses only, under one deadline."""

    def __init__(self, clock: Clock, *, allow_private: bool) -> None:
        self._clock = clock
        self._allow_private = allow_private
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """To the first of the name's addresses that answers.

        Raises:
            SourceError: none of them is allowed, or the time is up.
            httpcore.ConnectError: none of them answers.
        """
        addresses = self._allowed(host, port)
        for number, address in enumerate(addresses, start=1):
            try:
                stream = self._plain.connect_tcp(
                    address,
                    port,
                    timeout=self._clock.left() / (len(addresses) - number + 1),
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
            else:
                return _TimedStream(stream, self._clock)
        raise httpcore.ConnectError("no address")

    def _allowed(self, host: str, port: int) -> list[str]:
        found = resolve_host(host, port, clock=self._clock)
        allowed = [address for address in found if self._allow_private or is_public(address)]
        if not allowed:
            raise SourceError(
                f"is in a private network ({host!r} is {', '.join(found)}): to read it, "
                "set ingest.allow_private_addresses"
            )
        return allowed[:_ADDRESSES_TRIED]


class _TimedStream(httpcore.NetworkStream):
    """A connection of which every wait ends at the clock's deadline."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout=self._clock.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(
            ssl_context, server_hostname=server_hostname, timeout=self._clock.left()
        )
        return _TimedStream(stream, self._clock)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
