"""How long the first word of an answer takes beyond the model's own time, and what streaming costs.

    python tests/benchmarks/first_token.py [--library FOLDER] [--questions N]

A real server in a process of its own waits before its first word and then speaks at a steady pace;
its own time is taken off. Without `--library` the sample corpus is indexed first. For each way: the
median and the 95th percentile, in milliseconds, of

    passages     until the passages are there
    first word   until the first piece of text, less the server's wait
    whole        until the answer is there, less all of the server's time
    processor    this process's own time until the first piece: also true on a busy machine

`bare call` is the same for a call of the model's own client, without this engine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from openai_server import OpenAIServer, Reply  # noqa: E402

from engine import KnowledgeEngine, Settings  # noqa: E402
from engine.events import AnswerEvent, PassagesEvent, TokensEvent  # noqa: E402

WAIT_SECONDS = 0.2
WORD_SECONDS = 0.005
WORDS = 40
COLUMNS = ("passages", "first word", "whole", "processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    asked = parser.parse_args()
    questions = [
        json.loads(line)["text"]
        for line in (ROOT / "data" / "questions.jsonl").read_text("utf8").splitlines()
    ][: asked.questions]
    with tempfile.TemporaryDirectory() as folder, _served() as url:
        library = asked.library or Path(folder) / "library"
        if asked.library is None:
            with KnowledgeEngine.open(library) as engine:
                engine.add(ROOT / "data" / "corpus")
        settings = Settings.model_validate({"llm": _llm(url), "cache": {"answers": "none"}})
        with KnowledgeEngine.open(library, settings=settings) as engine:
            for mode in ("local", "auto"):
                list(engine.stream(f"What is warm? {mode}", mode=mode))  # models are loaded
                _show(
                    f"stream, {mode}", [_streamed(engine, f"{q} ({mode})", mode) for q in questions]
                )
            _show("ask, local", [_whole(engine, f"{q} (whole)") for q in questions])
            _show("kept, local", [_kept(engine, f"{q} (local)") for q in questions])
        _show("bare call", [_bare(url, question) for question in questions])


@contextmanager
def _served() -> Iterator[str]:
    """The address of a server that runs until the block ends."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        process.join()


def _serve(told: Any) -> None:
    with OpenAIServer() as server:
        server.answer_with(_reply)
        told.send(server.base_url)
        told.recv()


def _reply(request: Any) -> Reply:
    words = " ".join(f"word{n}" for n in range(WORDS - 1))
    pace = WORD_SECONDS if request.body.get("stream") else 0.0
    # Without a stream the same time passes before the whole answer is sent.
    wait = WAIT_SECONDS if pace else WAIT_SECONDS + _speaking()
    return Reply(f"{words} [1]", wait_seconds=wait, drip_seconds=pace)


def _speaking() -> float:
    return WORD_SECONDS * (WORDS + 4)  # the role, the words, the end, the usage, [DONE]


def _llm(url: str) -> dict[str, object]:
    return {"kind": "openai_like", "base_url": url, "model": "m", "retries": 0}


def _streamed(engine: KnowledgeEngine, question: str, mode: str) -> dict[str, float]:
    """Milliseconds beyond the server's own."""
    began, worked = time.perf_counter(), time.process_time()
    found: dict[str, float] = {}
    for event in engine.stream(question, mode=mode):
        passed = 1000 * (time.perf_counter() - began)
        match event:
            case PassagesEvent():
                found.setdefault("passages", passed)
            case TokensEvent():
                found.setdefault("first word", passed - 1000 * (WAIT_SECONDS + WORD_SECONDS))
                found.setdefault("processor", 1000 * (time.process_time() - worked))
            case AnswerEvent():
                found["whole"] = passed - 1000 * (WAIT_SECONDS + _speaking())
            case _:
                pass
    return found


def _whole(engine: KnowledgeEngine, question: str) -> dict[str, float]:
    began = time.perf_counter()
    engine.ask(question, mode="local")
    return {"whole": 1000 * (time.perf_counter() - began - WAIT_SECONDS - _speaking())}


def _kept(engine: KnowledgeEngine, question: str) -> dict[str, float]:
    """The model's reply is kept: nothing of the server's time is in it."""
    began, worked = time.perf_counter(), time.process_time()
    found: dict[str, float] = {}
    for event in engine.stream(question, mode="local"):
        if isinstance(event, TokensEvent):
            found.setdefault("first word", 1000 * (time.perf_counter() - began))
            found.setdefault("processor", 1000 * (time.process_time() - worked))
    return found | {"whole": 1000 * (time.perf_counter() - began)}


def _bare(url: str, question: str) -> dict[str, float]:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none", max_retries=0)
    began, worked = time.perf_counter(), time.process_time()
    found: dict[str, float] = {}
    for piece in _said(client, question):
        if piece:
            passed = 1000 * (time.perf_counter() - began)
            found.setdefault("first word", passed - 1000 * (WAIT_SECONDS + WORD_SECONDS))
            found.setdefault("processor", 1000 * (time.process_time() - worked))
    whole = 1000 * (time.perf_counter() - began - WAIT_SECONDS - _speaking())
    return found | {"whole": whole}


def _said(client: Any, question: str) -> Iterator[str]:
    messages = [{"role": "user", "content": question}]
    usage = {"include_usage": True}
    for event in client.chat.completions.create(
        model="m", messages=messages, stream=True, stream_options=usage
    ):
        yield from (choice.delta.content or "" for choice in event.choices)


def _show(name: str, rows: list[dict[str, float]]) -> None:
    cells = []
    for column in COLUMNS:
        values = sorted(row[column] for row in rows if column in row)
        if values:
            p95 = values[min(len(values) - 1, round(0.95 * len(values)))]
            cells.append(f"{column} {statistics.median(values):.0f} ({p95:.0f})")
    print(f"{name:<14} {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
