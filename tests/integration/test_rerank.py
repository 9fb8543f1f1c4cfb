"""Rerankers over real connections: a `/rerank` server, and a language model behind its endpoint."""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from openai_server import OpenAIServer, Reply

from engine.config import LlmSettings, RerankSettings
from engine.errors import ModelError, ModelOutputError, ModelUnavailable
from engine.llm.budget import Budget
from engine.llm.client import LLMClient
from engine.llm_components import text_completion
from engine.providers.llm_clients import build_gateways
from engine.retrieval.rerank import Reranker, rerank_passages
from engine.retrieval.rerank_models import build_reranker
from engine.types import Passage

STALL_SECONDS = 10.0


def passage(number: int, text: str) -> Passage:
    return Passage(
        text=text,
        score=1.0 / (1 + number),
        relevance=0.5,
        document_id=f"d{number}",
        chunk_id=f"c{number}",
        title=f"Title {number}",
        start=0,
        end=len(text),
    )


PASSAGES = [
    passage(0, "The harbour is old."),
    passage(1, "The dam was built in 1931 on the Oder."),
    passage(2, "A dam holds water."),
    passage(3, "水坝建于1931年。"),
]
QUESTION = "When was the dam on the Oder built?"


class RerankServer:
    """Scores documents by the words they share with the question, or does what was scripted."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.script: deque[tuple[int, dict[str, str], bytes] | str] = deque()
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> RerankServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler_of(server: RerankServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
            """Nothing on stderr."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = {"path": self.path, "key": self.headers.get("Authorization"), "body": body}
            server.requests.append(request)
            step = server.script.popleft() if server.script else (200, {}, scored(body))
            if step == "stall":
                server.closing.wait(STALL_SECONDS)
            elif step == "cut":
                self._send(200, {"Content-Length": "500"}, b'{"results": [')
            elif not isinstance(step, str):
                self._send(*step)

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return Handler


def scored(body: dict[str, Any]) -> bytes:
    asked = set(re.findall(r"\w+", body["query"].casefold()))
    shares = [
        len(asked & set(re.findall(r"\w+", text.casefold()))) / len(asked)
        for text in body["documents"]
    ]
    order = sorted(range(len(shares)), key=lambda index: -shares[index])
    results = [{"index": index, "relevance_score": shares[index]} for index in order]
    return json.dumps({"model": body["model"], "results": results}).encode()


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with RerankServer() as running:
        yield running


def opened(server: RerankServer, *, retries: int = 1, timeout_seconds: float = 5.0) -> Reranker:
    reranker = build_reranker(
        RerankSettings(
            kind="endpoint",
            model="judge",
            base_url=server.base_url,
            retries=retries,
            timeout_seconds=timeout_seconds,
        ),
        environment={"RERANK_API_KEY": "secret"},
    )
    assert reranker is not None
    return reranker


def ids(found: list[Passage]) -> list[str]:
    return [each.chunk_id for each in found]


def test_passages_are_put_in_the_order_of_a_servers_scores(server: RerankServer) -> None:
    told: list[str] = []
    found = rerank_passages(
        PASSAGES, QUESTION, reranker=opened(server), candidates=3, top_k=4, on_event=told.append
    )
    assert ids(found) == ["c1", "c0", "c2", "c3"]
    assert found[0].scores["rerank"] == pytest.approx(6 / 7)
    assert told == ["3 of 4 passages judged, 2 moved"]
    (request,) = server.requests
    assert request["path"] == "/v1/rerank"
    assert request["key"] == "Bearer secret"
    assert request["body"] == {
        "model": "judge",
        "query": QUESTION,
        "documents": [f"Title {n}\n{each.text}" for n, each in enumerate(PASSAGES[:3])],
    }


def test_an_address_may_end_in_the_path_itself(server: RerankServer) -> None:
    reranker = build_reranker(
        RerankSettings(kind="endpoint", model="judge", base_url=f"{server.base_url}/rerank/"),
        environment={},
    )
    assert reranker is not None
    assert ids(reranker.rerank(QUESTION, PASSAGES))[0] == "c1"
    assert server.requests[0]["path"] == "/v1/rerank"


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(server: RerankServer) -> None:
    server.script.append((429, {"Retry-After": "0.05"}, b'{"error": {"message": "slow down"}}'))
    assert ids(opened(server).rerank(QUESTION, PASSAGES))[0] == "c1"
    assert len(server.requests) == 2


BROKEN: list[Any] = [
    pytest.param((500, {}, b"oh"), ModelUnavailable, "answered 500", id="fails"),
    pytest.param((401, {}, b"secret is wrong"), ModelUnavailable, "check the key", id="refuses"),
    pytest.param((404, {}, b"{}"), ModelUnavailable, "answered 404", id="has no such path"),
    pytest.param((200, {}, b"{not json"), ModelOutputError, "invalid reply", id="sends no JSON"),
    pytest.param((200, {}, b"\xff\xfe\xff"), ModelOutputError, "invalid reply", id="sends bytes"),
    pytest.param((200, {}, b'{"results": 7}'), ModelOutputError, "no list", id="sends no list"),
    pytest.param(
        (200, {}, b'{"results": [{"index": 9, "relevance_score": 1}]}'),
        ModelOutputError,
        "index out of range: 9",
        id="names a stranger",
    ),
    pytest.param("cut", ModelUnavailable, "closed connection", id="hangs up"),
    pytest.param("stall", ModelUnavailable, "in time", id="says nothing"),
]


@pytest.mark.parametrize(("step", "error", "says"), BROKEN)
def test_a_server_that_misbehaves_leaves_the_order_and_the_trace_says_why(
    server: RerankServer, step: Any, error: type[ModelError], says: str
) -> None:
    server.script.extend([step, step])
    reranker = opened(server, retries=0, timeout_seconds=0.5)
    with pytest.raises(error, match=says) as caught:
        reranker.rerank(QUESTION, PASSAGES)
    assert "secret" not in str(caught.value)
    told: list[str] = []
    found = rerank_passages(
        PASSAGES, QUESTION, reranker=reranker, candidates=4, top_k=4, on_event=told.append
    )
    assert found == PASSAGES
    assert told[0].startswith("order kept: ")
    assert "reranker 'judge' at http://127.0.0.1:" in told[0]


def test_no_server_at_all_leaves_the_order() -> None:
    with RerankServer() as gone:
        reranker = opened(gone, retries=0)
    told: list[str] = []
    found = rerank_passages(
        PASSAGES, QUESTION, reranker=reranker, candidates=4, top_k=4, on_event=told.append
    )
    assert found == PASSAGES
    assert "connection to" in told[0]


def gateway_to(openai_server: OpenAIServer) -> LLMClient:
    settings = LlmSettings(
        kind="openai_like", model="m", base_url=openai_server.base_url, retries=0
    )
    return build_gateways(settings, budget=Budget(), environment={})["answers"]


def language_reranker(gateway: LLMClient) -> Reranker:
    reranker = build_reranker(
        RerankSettings(kind="llm"), complete=text_completion(gateway, stage="rerank")
    )
    assert reranker is not None
    return reranker


def test_a_language_model_behind_its_endpoint_puts_passages_in_order(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script('Sure! {"order": [9]}', '```json\n{"order": [2, 4]}\n```')
    gateway = gateway_to(openai_server)
    found = rerank_passages(
        PASSAGES,
        QUESTION,
        reranker=language_reranker(gateway),
        candidates=4,
        top_k=4,
    )
    assert ids(found) == ["c1", "c3", "c0", "c2"]
    first, second = (request.question for request in openai_server.requests)
    assert "[2] Title 1 The dam was built in 1931 on the Oder." in first
    assert "there is no passage 9" in second
    assert gateway.total.calls == 2


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(status=500), id="fails"),
        pytest.param(Reply(raw=b"{"), id="sends no JSON"),
        pytest.param(Reply(cut=True), id="hangs up"),
        pytest.param(Reply(""), id="says nothing"),
    ],
)
def test_a_language_model_that_fails_leaves_the_order(
    openai_server: OpenAIServer, reply: Reply
) -> None:
    openai_server.answer_with(lambda request: reply)
    told: list[str] = []
    found = rerank_passages(
        PASSAGES,
        QUESTION,
        reranker=language_reranker(gateway_to(openai_server)),
        candidates=4,
        top_k=4,
        on_event=told.append,
    )
    assert found == PASSAGES
    assert told[0].startswith("order kept: ")
    assert "language model 'm'" in told[0]
