"""What stands around a search: several searches of one question, and a judge of what they find."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine import KnowledgeEngine

OpenEngine = Callable[..., KnowledgeEngine]
NOTES = {
    "gauge": "The Port Ansgar tide gauge was built by Edda Vik in 1921.",
    "barn": "The Skellhaven barn was painted by Bjorn Aske in 1934.",
    "lamp": "The lamp of Gull Quay was lit by Ada Brine in 1901.",
    "oil": "Oil for the lamp came with the cutter Petrel every spring.",
}


class _Judge(BaseHTTPRequestHandler):
    """Likes what speaks of oil; refuses when it is told to."""

    refuses = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = [
            {"index": place, "relevance_score": 1.0 if "Oil" in text else 0.0}
            for place, text in enumerate(body["documents"])
        ]
        data = json.dumps({"results": results}).encode()
        self.send_response(500 if self.refuses else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def judge() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Judge)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    _Judge.refuses = False
    server.shutdown()
    server.server_close()
    thread.join()


def fill(engine: KnowledgeEngine) -> None:
    for name, text in NOTES.items():
        engine.add_text(text, document_id=name, title=name.capitalize())


def found(engine: KnowledgeEngine, question: str, top_k: int = 4) -> list[str]:
    return [passage.document_id for passage in engine.retrieve(question, top_k=top_k)]


def test_a_judge_puts_what_it_likes_first(
    tmp_path: Path, open_engine: OpenEngine, judge: str
) -> None:
    question = "Who lit the lamp of Gull Quay?"
    with open_engine(tmp_path / "plain") as engine:
        fill(engine)
        assert found(engine, question)[0] == "lamp"
    rerank = {"kind": "endpoint", "base_url": judge, "model": "judge", "weight": 1.0, "retries": 0}
    with open_engine(tmp_path / "judged", rerank=rerank) as engine:
        fill(engine)
        assert found(engine, question)[0] == "oil"
        answer = engine.ask(question, mode="local")
        assert "rerank" in [step.stage for step in answer.trace]
        _Judge.refuses = True
        assert found(engine, question)[0] == "lamp"
        failed = engine.ask(question, mode="local")
        (step,) = [step for step in failed.trace if step.stage == "rerank"]
        assert "500" in step.detail


def test_several_searches_find_both_sides_of_a_question(
    tmp_path: Path, open_engine: OpenEngine
) -> None:
    question = "Which is older, the Port Ansgar tide gauge or the Skellhaven barn?"
    retrieve = {"expand": ["decompose", "feedback"]}
    with open_engine(tmp_path / "library", retrieve=retrieve) as engine:
        fill(engine)
        assert set(found(engine, question, top_k=2)) == {"gauge", "barn"}
        answer = engine.ask(question, mode="local")
        (step,) = [step for step in answer.trace if step.stage == "expand"]
        assert int(step.detail.split()[0]) > 1
        assert {citation.document_id for citation in answer.citations} <= NOTES.keys()
