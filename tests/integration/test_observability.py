"""What watches LlamaIndex or takes OpenTelemetry's traces sees this engine."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index_instrumentation import root_dispatcher
from openai_server import OpenAIServer, Reply
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from engine import KnowledgeEngine
from engine.config import TelemetrySettings
from engine.errors import ModelError, SettingsError
from engine.events import TokensEvent
from engine.observability import Telemetry, build_telemetry

NOTES = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp. "
    "Orrin Vale repaired it with Ada Brine.",
}
QUESTION = "Who lit the lamp at Gull Quay?"


@pytest.fixture(scope="module")
def library(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("observers") / "library"
    with open_engine(path) as engine:
        for name, text in NOTES.items():
            engine.add_text(text, document_id=name)
    return path


@pytest.fixture
def plain(open_engine, library: Path) -> Iterator[KnowledgeEngine]:
    with open_engine(library, cache={"answers": "memory"}) as engine:
        yield engine


@pytest.fixture
def written(open_engine, library: Path, openai_server: OpenAIServer) -> Iterator[KnowledgeEngine]:
    llm = openai_server.settings(retries=0)
    with open_engine(library, llm=llm) as engine:
        yield engine


# --- LlamaIndex ---------------------------------------------------------------------------------


class Heard(BaseEventHandler):
    """Keeps every event."""

    events: list[Any]

    def handle(self, event: Any, **_: Any) -> None:
        self.events.append(event)

    def names(self) -> list[str]:
        return [event.class_name() for event in self.events]


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler = Heard(events=[])
    root_dispatcher.add_event_handler(handler)
    yield handler
    root_dispatcher.event_handlers.remove(handler)


@pytest.fixture
def spans() -> Iterator[SimpleSpanHandler]:
    handler = SimpleSpanHandler()
    root_dispatcher.add_span_handler(handler)
    yield handler
    root_dispatcher.span_handlers.remove(handler)


def paths(handler: SimpleSpanHandler) -> set[str]:
    """Each finished span with those around it, their ids without the random part."""
    known = {span.id_: span for span in (*handler.completed_spans, *handler.dropped_spans)}

    def path(name: str | None) -> list[str]:
        if name not in known:
            return []
        return [*path(known[name].parent_id), name[:-37]]

    return {" / ".join(path(name)) for name in known}


def test_a_watcher_of_llama_index_sees_query_retrieval_and_synthesis(
    plain: KnowledgeEngine, heard: Heard
) -> None:
    answer = plain.ask(QUESTION, mode="local")
    names = [name for name in heard.names() if name.startswith(("Query", "Retr", "Synth"))]
    assert names == [
        "QueryStartEvent", "RetrievalStartEvent", "RetrievalEndEvent",
        "SynthesizeStartEvent", "SynthesizeEndEvent", "QueryEndEvent",
    ]  # fmt: skip
    found = next(e for e in heard.events if e.class_name() == "RetrievalEndEvent")
    assert [node.node.node_id for node in found.nodes] == [p.chunk_id for p in answer.passages]
    end = heard.events[-1]
    assert end.query == QUESTION
    assert str(end.response) == answer.text


def test_a_kept_answer_is_a_query_without_retrieval(plain: KnowledgeEngine, heard: Heard) -> None:
    plain.ask(QUESTION, mode="local")
    heard.events.clear()
    plain.ask(QUESTION, mode="local")
    assert heard.names() == ["QueryStartEvent", "QueryEndEvent"]


def test_a_models_call_is_seen_inside_the_synthesis_of_its_question(
    written: KnowledgeEngine, openai_server: OpenAIServer, spans: SimpleSpanHandler
) -> None:
    openai_server.script(Reply("Ada Brine lit it. [1]"))
    written.ask(QUESTION, mode="local")
    assert "KnowledgeEngine.ask" in paths(spans)
    assert "KnowledgeEngine.ask / LocalRetriever.search" in paths(spans)
    assert "KnowledgeEngine.ask / KnowledgeEngine.synthesise / OpenAILike.chat" in paths(spans)


def test_a_streamed_question_is_seen_like_any_other(
    written: KnowledgeEngine, openai_server: OpenAIServer, heard: Heard, spans: SimpleSpanHandler
) -> None:
    openai_server.script(Reply("Ada Brine lit it, streamed. [1]"))
    events = list(written.stream(f"{QUESTION} Streamed?", mode="local"))
    assert sum(isinstance(event, TokensEvent) for event in events) > 1
    assert "LLMChatInProgressEvent" in heard.names()
    assert heard.names()[-1] == "QueryEndEvent"
    assert "KnowledgeEngine.ask / KnowledgeEngine.synthesise" in paths(spans)


def test_a_question_that_fails_is_a_dropped_span(
    written: KnowledgeEngine, openai_server: OpenAIServer, spans: SimpleSpanHandler
) -> None:
    openai_server.script(Reply(status=401))
    with pytest.raises(ModelError):
        written.ask(f"{QUESTION} Refused?", mode="local")
    dropped = {span.id_[:-37] for span in spans.dropped_spans}
    assert {"KnowledgeEngine.ask", "KnowledgeEngine.synthesise"} <= dropped


def test_llama_indexs_own_retriever_is_told_once(plain: KnowledgeEngine, heard: Heard) -> None:
    plain.as_retriever().retrieve(QUESTION)
    assert heard.names().count("RetrievalEndEvent") == 1


# --- OpenTelemetry ------------------------------------------------------------------------------


class Recorder:
    """An engine's telemetry, recorded in memory."""

    def __init__(self, *, content: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        tracer = self.provider.get_tracer("tests")
        self.telemetry = Telemetry(tracer, content=content, provider=self.provider)

    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.exporter.get_finished_spans()}


def recorded(
    engine: KnowledgeEngine, monkeypatch: pytest.MonkeyPatch, *, content: bool = False
) -> Recorder:
    recorder = Recorder(content=content)
    monkeypatch.setattr(engine._whole.queries, "_telemetry", recorder.telemetry)
    return recorder


def test_a_question_is_a_trace_with_a_span_for_each_step(
    written: KnowledgeEngine, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = recorded(written, monkeypatch)
    openai_server.script(Reply("Ada Brine lit it. [1]", tokens=(321, 7)))
    answer = written.ask(f"{QUESTION} Traced?", mode="local")
    assert not openai_server.requests[0].body["stream"]  # a watcher alone wants no pieces
    spans = recorder.spans()
    root = spans.pop("loregraph.ask")
    assert list(spans) == [f"loregraph.{step.stage}" for step in answer.trace]
    for span in spans.values():
        assert span.parent.span_id == root.context.span_id
        assert root.start_time <= span.end_time <= root.end_time
    assert root.attributes["loregraph.citations"] == 1
    assert root.attributes["gen_ai.usage.input_tokens"] == 321
    assert spans["loregraph.write"].attributes["gen_ai.usage.output_tokens"] == 7
    said = str([dict(span.attributes) for span in (root, *spans.values())])
    assert "Ada" not in said
    assert "lamp" not in said


def test_what_is_said_goes_out_only_where_it_is_let(
    plain: KnowledgeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = recorded(plain, monkeypatch, content=True)
    answer = plain.ask(QUESTION)
    spans = recorder.spans()
    assert spans["loregraph.ask"].attributes["loregraph.answer"] == answer.text
    assert spans["loregraph.ask"].attributes["loregraph.question"] == QUESTION
    assert "lit the lamp" in spans["loregraph.extract"].attributes["loregraph.output"]


def test_streams_passages_and_failures_are_traced_too(
    written: KnowledgeEngine, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = recorded(written, monkeypatch)
    openai_server.script(Reply("Ada Brine lit it, and is traced. [1]"))
    events = list(written.stream(f"{QUESTION} Streamed and traced?", mode="local"))
    assert sum(isinstance(event, TokensEvent) for event in events) > 1
    assert "loregraph.write" in recorder.spans()
    recorder.exporter.clear()
    written.retrieve(QUESTION)
    assert "loregraph.walk" in recorder.spans()
    assert "loregraph.retrieve" in recorder.spans()
    recorder.exporter.clear()
    openai_server.script(Reply(status=401))
    with pytest.raises(ModelError):
        written.ask(f"{QUESTION} Refused and traced?", mode="local")
    spans = recorder.spans()
    assert not spans["loregraph.ask"].status.is_ok
    assert "loregraph.pack" in spans  # so one sees how far it came


@pytest.mark.parametrize(
    ("traces", "environment"),
    [
        ("off", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}),
        ("auto", {}),
        ("auto", {"OTEL_TRACES_EXPORTER": "none"}),
        ("on", {"OTEL_SDK_DISABLED": "true"}),
    ],
)
def test_nobody_is_told_who_did_not_ask(traces: Any, environment: dict[str, str]) -> None:
    assert build_telemetry(TelemetrySettings(traces=traces), environment) is None


def test_an_exporter_that_is_not_offered_is_refused_in_a_line() -> None:
    with pytest.raises(SettingsError, match="'zipkin' is not supported"):
        build_telemetry(TelemetrySettings(), {"OTEL_TRACES_EXPORTER": "zipkin"})


def test_a_first_question_loads_no_vocabulary_dictionary_or_telemetry_that_it_does_not_need(
    library: Path, tmp_path: Path
) -> None:
    program = (
        "import sys; from engine import KnowledgeEngine, Settings\n"
        "settings = Settings.model_validate({'embedding': {'kind': 'none'},"
        " 'graph': {'spacy_model': 'none'}})\n"
        f"with KnowledgeEngine.open({str(tmp_path / 'l')!r}, settings=settings) as engine:\n"
        "    engine.add_text('Ada lit the lamp.', document_id='a')\n"
        "    engine.ask('Who lit the lamp?')\n"
        "unneeded = ('opentelemetry.sdk', 'tiktoken', 'rjieba', 'spacy', 'pandas', 'fastapi')\n"
        "print([name for name in sys.modules if name.startswith(unneeded)])"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        env=environment, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "[]", done.stderr


class _Collector(BaseHTTPRequestHandler):
    bodies: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies.append((self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's
        pass


def test_an_endpoint_in_the_environment_gets_the_traces(
    open_engine, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HTTPServer(("127.0.0.1", 0), _Collector) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        with open_engine(library) as engine:
            engine.ask(QUESTION, mode="local")
        server.shutdown()
        thread.join()
    assert [path for path, _ in _Collector.bodies] == ["/v1/traces"]
    body = _Collector.bodies[0][1]
    assert b"loregraph.ask" in body
    assert b"loregraph.walk" in body
    assert b"Gull Quay" not in body
