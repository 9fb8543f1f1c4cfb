"""OpenTelemetry traces: a span for each question and one for each trace step.

OpenTelemetry (extra `otel`) is imported where the settings or `OTEL_…` variables ask for it, never
otherwise. An application's own tracer provider is used where it has set one. What documents and
questions say is left out unless the settings let it in.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra, SettingsError
from ..events import AnswerEvent, Event, Listener, RouteEvent, StepEvent, compose_listeners
from ..settings import TelemetrySettings
from ..types import Answer, TraceStep

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

_LOGGER = logging.getLogger("loregraph")
_ASKING = (
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)
_CLOSING_MILLISECONDS = 3_000
_NANOSECONDS = 1_000_000_000


class Telemetry:
    """OpenTelemetry exporter of questions.

    Args:
        tracer: makes spans.
        content: whether texts of questions, passages and answers go out too.
        provider: to be closed with this; None where it is the application's.
    """

    def __init__(
        self, tracer: Tracer, *, content: bool, provider: TracerProvider | None = None
    ) -> None:
        self._tracer = tracer
        self._content = content
        self._provider = provider

    @contextmanager
    def watched(self, name: str, question: str, on_event: Listener) -> Iterator[Listener]:
        """Open a span around a question.

        The yielded listener records events and forwards them.
        """
        attributes: dict[str, Any] = {"loregraph.question.characters": len(question)}
        if self._content:
            attributes["loregraph.question"] = question
        with self._tracer.start_as_current_span(f"loregraph.{name}", attributes=attributes) as span:

            def heard(event: Event) -> None:
                match event:
                    case StepEvent(step=step):
                        self._step(step)
                    case RouteEvent(route=route):
                        span.set_attribute("loregraph.route.confidence", route.confidence)
                    case AnswerEvent(answer=answer):
                        self._end(span, answer)
                    case _:
                        pass
                on_event(event)

            yield compose_listeners(on_event, heard, always=True)

    def close(self) -> None:
        """Send what waits, within reason."""
        if self._provider is not None:
            self._provider.force_flush(_CLOSING_MILLISECONDS)
            self._provider.shutdown()

    def _step(self, step: TraceStep) -> None:
        end = time.time_ns()
        attributes: dict[str, Any] = {
            f"loregraph.{name}": value for name, value in step.figures.items()
        }
        if step.usage.calls:
            attributes["gen_ai.usage.input_tokens"] = step.usage.prompt_tokens
            attributes["gen_ai.usage.output_tokens"] = step.usage.completion_tokens
        if self._content:
            attributes |= {
                "loregraph.detail": step.detail,
                "loregraph.input": step.input,
                "loregraph.output": step.output,
            }
        span = self._tracer.start_span(
            f"loregraph.{step.stage}",
            start_time=end - round(step.seconds * _NANOSECONDS),
            attributes=attributes,
        )
        span.end(end)

    def _end(self, span: Span, answer: Answer) -> None:
        span.set_attributes(
            {
                "loregraph.mode": answer.mode,
                "loregraph.abstained": answer.abstained,
                "loregraph.citations": len(answer.citations),
                "loregraph.passages": len(answer.passages),
                "loregraph.kept": any(step.stage == "cache" for step in answer.trace),
                "loregraph.calls": answer.usage.calls,
                "loregraph.cost": answer.usage.cost,
                "gen_ai.usage.input_tokens": answer.usage.prompt_tokens,
                "gen_ai.usage.output_tokens": answer.usage.completion_tokens,
            }
        )
        if self._content:
            span.set_attribute("loregraph.answer", answer.text)


def watched(
    telemetry: Telemetry | None, name: str, question: str, on_event: Listener
) -> AbstractContextManager[Listener]:
    """See `Telemetry.watched`; without one nothing but `on_event` hears."""
    return (
        nullcontext(on_event) if telemetry is None else telemetry.watched(name, question, on_event)
    )


def build_telemetry(
    settings: TelemetrySettings, environment: Mapping[str, str] | None = None
) -> Telemetry | None:
    """Build telemetry from settings and `OTEL_…` variables; None if disabled.

    Raises:
        MissingExtra: traces are `on` and the extra `otel` is not installed.
        SettingsError: an exporter that is not offered.
    """
    environment = os.environ if environment is None else environment
    if not _is_asked_for(settings, environment):
        return None
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError as error:
        missing = "telemetry needs the extra `otel`: pip install 'loregraph[otel]'"
        if settings.traces == "on":
            raise MissingExtra(missing) from error
        _LOGGER.warning("no traces are sent: %s", missing)
        return None
    given = trace.get_tracer_provider()
    if isinstance(given, TracerProvider):
        return Telemetry(given.get_tracer("loregraph"), content=settings.content)
    own = _provider(environment)
    return Telemetry(own.get_tracer("loregraph"), content=settings.content, provider=own)


def _is_asked_for(settings: TelemetrySettings, environment: Mapping[str, str]) -> bool:
    off = environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if settings.traces == "off" or off or _exporter(environment) == "none":
        return False
    return settings.traces == "on" or any(environment.get(name, "").strip() for name in _ASKING)


def _exporter(environment: Mapping[str, str]) -> str:
    return environment.get("OTEL_TRACES_EXPORTER", "").strip().lower() or "otlp"


def _provider(environment: Mapping[str, str]) -> TracerProvider:
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    makers: dict[str, Callable[[], SpanExporter]] = {"otlp": _otlp, "console": _console}
    name = _exporter(environment)
    if name not in makers:
        raise SettingsError(f"OTEL_TRACES_EXPORTER: {name!r} is not offered: otlp, console or none")
    named = environment.get("OTEL_SERVICE_NAME", "").strip() or "loregraph"
    resource = Resource.create({SERVICE_NAME: named})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(makers[name]()))
    return provider


def _otlp() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _console() -> SpanExporter:
    import sys

    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter(out=sys.stderr)
