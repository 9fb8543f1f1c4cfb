"""kill −9 while a language model reads: nothing is broken, and little is paid for twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from llama_index.core.schema import Document
from openai_server import OpenAIServer, Request
from reading_model import read_like_a_model, texts_in

from engine import KnowledgeEngine
from graph.export.subgraph import to_json

PEOPLE = ("Ada Brine", "Orrin Vale", "Mara Quill", "Tobias Rook", "Ines Falk", "Leda Marsh")
TEXTS = [
    f"{PEOPLE[number % 6]} met {PEOPLE[(number + 1) % 6]} at Gull Quay on day {number}, and"
    f" {PEOPLE[(number + 2) % 6]} wrote it down for {PEOPLE[(number + 4) % 6]}."
    for number in range(24)
]
AT_ONCE = 2
KILLS = int(os.environ.get("LOREGRAPH_KILLS", "3"))
"""More of them, such as 20, are a benchmark of their own."""


def opened(open_engine, path: Path, base_url: str) -> KnowledgeEngine:
    llm = {
        "kind": "openai_like",
        "base_url": base_url,
        "model": "m",
        "retries": 0,
        "concurrency": AT_ONCE,
    }
    graph = {
        "spacy_model": "none",
        "extractor": "llm",
        "pack_tokens": 100,
        "reports": "eager",
        "report_min_entities": 2,
    }
    engine: KnowledgeEngine = open_engine(path, llm=llm, graph=graph)
    return engine


def add_all(engine: KnowledgeEngine) -> None:
    report = engine.add([Document(id_=f"d{n:02}", text=text) for n, text in enumerate(TEXTS)])
    assert report.pending == ()


def killed_at(call: int, server: OpenAIServer, work) -> None:
    """Do `work` in a process of its own that dies while the server answers its nth call."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    lock = threading.Lock()
    calls = 0

    def answer(request: Request) -> str:
        nonlocal calls
        with lock:
            calls += 1
            if calls == call:
                os.kill(child, signal.SIGKILL)
        return read_like_a_model(request)

    server.answer_with(answer)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)


@pytest.fixture(scope="module")
def whole(open_engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, int]:
    """The graph that a run gives that nobody kills, and how many calls it takes."""
    with OpenAIServer() as server:
        server.answer_with(read_like_a_model)
        path = tmp_path_factory.mktemp("whole") / "library"
        with opened(open_engine, path, server.base_url) as engine:
            add_all(engine)
            return to_json(engine.graph_index.export()), len(server.requests)


@pytest.mark.parametrize("seed", range(KILLS))
def test_what_is_killed_goes_on_and_pays_twice_for_no_more_than_was_in_flight(
    open_engine, openai_server: OpenAIServer, whole: tuple[str, int], tmp_path: Path, seed: int
) -> None:
    graph, calls = whole
    point = random.Random(seed).randint(1, calls)  # noqa: S311  # keeps no secret

    def work() -> None:
        with opened(open_engine, tmp_path / "library", openai_server.base_url) as engine:
            add_all(engine)

    openai_server.answer_with(read_like_a_model)
    killed_at(point, openai_server, work)
    openai_server.answer_with(read_like_a_model)
    with opened(open_engine, tmp_path / "library", openai_server.base_url) as engine:
        assert engine.problems() == []
        add_all(engine)
        assert engine.problems() == []
        assert to_json(engine.graph_index.export()) == graph
    calls_made = [said_in(one) for one in openai_server.requests]
    paid = Counter(text for one in calls_made for text in one)
    twice = sum(count - 1 for count in paid.values())
    assert len(calls_made) <= calls + AT_ONCE
    assert twice <= AT_ONCE * max(map(len, calls_made))


def said_in(request: Request) -> list[str]:
    """The texts that a call pays to have read; of other calls the whole question."""
    return list(texts_in(request.question).values()) or [request.question]
