"""Prometheus metrics: requests by route, work in progress, library counts and cost.

Routes are named by their template (`/v1/documents/{id}`), so that there are only so many series
whatever is asked for. Each application has a registry of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..types import StageUsage

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"})
_NOT_COUNTED = frozenset({"size_bytes", "up_to_date"})


class Metrics:
    """The figures of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "loregraph_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "loregraph_request_seconds",
            "Time from a request's first byte to its answer's last.",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "loregraph_requests_in_flight", "Requests being answered.", registry=self.registry
        )

    def answered(self, method: str, route: str, status: int, *, seconds: float) -> None:
        """Record a finished request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        return generate_latest(self.registry)


class Measured:
    """ASGI middleware that times requests."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and note how long that took."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.in_flight.inc()
        try:
            await self._app(scope, receive, noted)
        finally:
            self._metrics.in_flight.dec()
            seconds = time.perf_counter() - began
            self._metrics.answered(scope["method"], _template(scope), status, seconds=seconds)


class LibraryFigures(Collector):
    """Library counts and cost, read at each scrape.

    Args:
        stats: counts by name.
        usage: what models cost.
        jobs: how many jobs there are in each state.
    """

    def __init__(
        self,
        *,
        stats: Callable[[], Mapping[str, object]],
        usage: Callable[[], Sequence[StageUsage]],
        jobs: Callable[[], Mapping[str, int]],
    ) -> None:
        self._stats = stats
        self._usage = usage
        self._jobs = jobs

    def collect(self) -> Iterable[Metric]:
        """Collect the present figures."""
        stats = self._stats()
        held = GaugeMetricFamily("loregraph_library_rows", "Rows held.", labels=["what"])
        for name, value in stats.items():
            if name not in _NOT_COUNTED and isinstance(value, int):
                held.add_metric([name], value)
        yield held
        size = stats.get("size_bytes", 0)
        yield GaugeMetricFamily(
            "loregraph_library_bytes", "On disk.", value=size if isinstance(size, int) else 0
        )
        jobs = GaugeMetricFamily("loregraph_jobs", "Jobs by state.", labels=["state"])
        for state, count in self._jobs().items():
            jobs.add_metric([state], count)
        yield jobs
        yield from self._of_models()

    def _of_models(self) -> Iterable[Metric]:
        sums: dict[tuple[str, str, str], list[float]] = {}
        for row in self._usage():
            one = sums.setdefault((row.stage, row.model, row.currency), [0.0, 0.0, 0.0, 0.0])
            counted = (row.calls, row.prompt_tokens, row.completion_tokens, row.cost or 0.0)
            for place, value in enumerate(counted):
                one[place] += value
        tokens = GaugeMetricFamily(
            "loregraph_model_tokens", "Tokens booked.", labels=["stage", "model", "kind"]
        )
        calls = GaugeMetricFamily("loregraph_model_calls", "Calls.", labels=["stage", "model"])
        cost = GaugeMetricFamily(
            "loregraph_model_cost", "Cost.", labels=["stage", "model", "currency"]
        )
        for (stage, model, currency), (count, prompt, completion, money) in sorted(sums.items()):
            tokens.add_metric([stage, model, "prompt"], prompt)
            tokens.add_metric([stage, model, "completion"], completion)
            calls.add_metric([stage, model], count)
            cost.add_metric([stage, model, currency], money)
        yield from (tokens, calls, cost)


def _template(scope: Scope) -> str:
    route = scope.get("route")
    path = getattr(route, "path", None)
    if isinstance(path, str) and path:
        return path
    return "/static" if scope["path"].startswith("/static/") else "none"
