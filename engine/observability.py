"""Tracing of questions and steps: OpenTelemetry spans and LlamaIndex instrumentation events.

OpenTelemetry (extra `otel`) is imported only where the settings or `OTEL_…` variables ask for it;
an application's own tracer provider is used where it has set one. Texts of documents and questions
are left out unless the settings let them in. Handlers at LlamaIndex's root dispatcher see this
engine too.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Token
from functools import cache
from typing import TYPE_CHECKING, Any

from .config import TelemetrySettings
from .errors import MissingExtra, SettingsError
from .events import AnswerEvent, Event, Listener, RouteEvent, StepEvent, compose_listeners
from .types import Answer, Passage, TraceStep

if TYPE_CHECKING:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore
    from llama_index_instrumentation.dispatcher import Dispatcher
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer


@cache
def _dispatcher() -> Dispatcher:
    from llama_index_instrumentation import get_dispatcher

    return get_dispatcher("loregraph")


@contextmanager
def query_span(question: str) -> Iterator[Callable[[Answer], None]]:
    """Open a LlamaIndex query span; pass the answer to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent

    with _span("KnowledgeEngine.ask", question) as results:
        _dispatcher().event(QueryStartEvent(query=question))

        def answered(answer: Answer) -> None:
            response = response_of(answer)
            _dispatcher().event(QueryEndEvent(query=question, response=response))
            results.append(response)

        yield answered


@contextmanager
def retrieval_span(question: str) -> Iterator[Callable[[Sequence[Passage]], None]]:
    """Open a LlamaIndex retrieval span; pass the passages to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    from llama_index.core.instrumentation.events.retrieval import (
        RetrievalEndEvent,
        RetrievalStartEvent,
    )

    with _span("LocalRetriever.search", question) as results:
        _dispatcher().event(RetrievalStartEvent(str_or_query_bundle=question))

        def found(passages: Sequence[Passage]) -> None:
            nodes = [node_of(passage) for passage in passages]
            _dispatcher().event(RetrievalEndEvent(str_or_query_bundle=question, nodes=nodes))
            results.append(nodes)

        yield found


@contextmanager
def synthesis_span(question: str) -> Iterator[Callable[[str], None]]:
    """Open a LlamaIndex synthesis span; pass the text to the yielded callable."""
    if not _is_watched():
        yield _nothing
        return
    from llama_index.core.base.response.schema import Response
    from llama_index.core.instrumentation.events.synthesis import (
        SynthesizeEndEvent,
        SynthesizeStartEvent,
    )

    with _span("KnowledgeEngine.synthesise", question) as results:
        _dispatcher().event(SynthesizeStartEvent(query=question))

        def said(text: str) -> None:
            response = Response(text)
            _dispatcher().event(SynthesizeEndEvent(query=question, response=response))
            results.append(response)

        yield said


def response_of(answer: Answer, metadata: dict[str, object] | None = None) -> Response:
    """Convert an answer to a LlamaIndex response with its passages as source nodes."""
    from llama_index.core.base.response.schema import Response

    return Response(
        response=answer.text,
        source_nodes=[node_of(passage) for passage in answer.passages],
        metadata=metadata,
    )


def node_of(passage: Passage) -> NodeWithScore:
    """Convert a passage to a LlamaIndex node."""
    from llama_index.core.schema import NodeWithScore, TextNode

    node = TextNode(
        id_=passage.chunk_id,
        text=passage.text,
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        metadata={"title": passage.title, "document_id": passage.document_id},
    )
    return NodeWithScore(node=node, score=passage.score)


def _nothing(result: object) -> None:
    """Nobody watches."""


def _is_watched() -> bool:
    """Check whether anything handles LlamaIndex's events; without LlamaIndex nothing can."""
    if "llama_index_instrumentation" not in sys.modules:
        return False
    from llama_index_instrumentation.event_handlers import NullEventHandler
    from llama_index_instrumentation.span_handlers import NullSpanHandler

    own = _dispatcher()
    events = (*own.event_handlers, *own.root.event_handlers)
    spans = (*own.span_handlers, *own.root.span_handlers)
    return not all(isinstance(each, NullEventHandler) for each in events) or not all(
        isinstance(each, NullSpanHandler) for each in spans
    )


@contextmanager
def _span(name: str, question: str) -> Iterator[list[object]]:
    """Open a dispatcher span as LlamaIndex's decorator does.

    Appended values are its result.
    """
    from llama_index_instrumentation.dispatcher import active_instrument_tags
    from llama_index_instrumentation.events.span import SpanDropEvent
    from llama_index_instrumentation.span import active_span_id

    own = _dispatcher()
    bound = inspect.signature(lambda question: question).bind(question=question)
    id_ = f"{name}-{uuid.uuid4()}"
    token = active_span_id.set(id_)
    parent = None if token.old_value is Token.MISSING else token.old_value
    tags = active_instrument_tags.get()
    own.span_enter(id_=id_, bound_args=bound, parent_id=parent, tags=tags)
    results: list[object] = []
    try:
        yield results
    except BaseException as error:
        own.event(SpanDropEvent(span_id=id_, err_str=str(error)))
        own.span_drop(id_=id_, bound_args=bound, err=error)
        raise
    else:
        own.span_exit(id_=id_, bound_args=bound, result=next(iter(results), None))
    finally:
        active_span_id.reset(token)


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


def with_telemetry(
    telemetry: Telemetry | None, name: str, question: str, on_event: Listener
) -> AbstractContextManager[Listener]:
    """Return a listener that also records a question with `Telemetry`, if there is one."""
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
        raise SettingsError(
            f"OTEL_TRACES_EXPORTER: {name!r} is not supported; use otlp, console or none"
        )
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
