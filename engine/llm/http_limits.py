"""Time and size limits for response bodies, enforced before decoding.

HTTP clients bound the wait for each piece, and nothing bounds how many pieces there are. Knows
nothing of models.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from .retry import note_connection

_MAX_BYTES = 32_000_000
_MAX_PACKED_BYTES = 256_000
"""Maximum compressed bytes; unpacked bytes are limited to ten answers' length."""

_STREAM_TIMES = 10
_STREAM_TYPES = ("text/event-stream", "application/x-ndjson")


def sync_hooks(timeout_seconds: float) -> dict[str, list[Any]]:
    """Return `event_hooks` for an `httpx.Client` that limit body time and size.

    Streams may take ten times as long. Whoever reads on gets an `httpx.ReadTimeout` or an
    `httpx.DecodingError`. The connection is noted (see `connections`).
    """

    def limit(response: httpx.Response) -> None:
        note_connection(response)
        if isinstance(response.stream, httpx.SyncByteStream):
            allowance = _Allowance(response, timeout_seconds)
            response.stream = _LimitedStream(response.stream, allowance)

    return {"response": [limit]}


def async_hooks(timeout_seconds: float) -> dict[str, list[Any]]:
    """Return the hooks of `sync_hooks` for an `httpx.AsyncClient`."""

    async def limit(response: httpx.Response) -> None:
        if isinstance(response.stream, httpx.AsyncByteStream):
            allowance = _Allowance(response, timeout_seconds)
            response.stream = _LimitedAsyncStream(response.stream, allowance)

    return {"response": [limit]}


class _Allowance:
    """Remaining time and size of one response."""

    def __init__(self, response: httpx.Response, timeout_seconds: float) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._seconds = timeout_seconds * (_STREAM_TIMES if kind in _STREAM_TYPES else 1)
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        self._max_bytes = self._bytes = _MAX_PACKED_BYTES if packed else _MAX_BYTES
        self._request = response.request
        self._deadline = time.monotonic() + self._seconds

    def spend(self, size: int) -> None:
        self._bytes -= size
        if self._bytes < 0:
            raise httpx.DecodingError(
                f"the answer is longer than {self._max_bytes:,} bytes", request=self._request
            )
        if time.monotonic() > self._deadline:
            raise httpx.ReadTimeout(
                f"the answer took longer than {self._seconds:g} seconds", request=self._request
            )


class _LimitedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, allowance: _Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._allowance.spend(len(piece))
            yield piece

    def close(self) -> None:
        self._stream.close()


class _LimitedAsyncStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, allowance: _Allowance) -> None:
        self._stream = stream
        self._allowance = allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._allowance.spend(len(piece))
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
