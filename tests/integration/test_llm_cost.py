"""What a library that a model reads costs, counted at the server: no call that is not needed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command_line
import pytest
from llama_index.core.schema import Document
from llama_index.core.utils import get_tokenizer
from openai_server import OpenAIServer, Reply, Request
from reading_model import read_like_a_model, texts_in

from engine import KnowledgeEngine

FAMILIES = ("Brine", "Vale", "Quill", "Rook", "Falk", "Marsh", "Stone", "Reed", "Lamb", "Crane")
GIVEN = ("Ada", "Orrin", "Mara", "Tobias", "Ines", "Leda")


def family(number: int) -> str:
    """A text about one family: a community of its own in the graph."""
    names = [f"{given} {FAMILIES[number]}" for given in GIVEN]
    return " ".join(
        f"{one} wrote to {other} and to {third} about the boat of {fourth}."
        for one, other, third, fourth in zip(
            names, names[1:] + names[:1], names[2:] + names[:2], names[3:] + names[:3], strict=True
        )
    )


DOCUMENTS = [Document(id_=f"d{n}", text=family(n)) for n in range(len(FAMILIES))]


@pytest.fixture
def engine(open_engine, openai_server: OpenAIServer, tmp_path: Path) -> Iterator[KnowledgeEngine]:
    """A library that holds all documents, whose chunks and reports a model reads and writes."""
    openai_server.answer_with(read_like_a_model)
    llm = openai_server.settings()
    graph = {"spacy_model": "none", "extractor": "llm", "pack_tokens": 400, "reports": "eager"}
    with open_engine(tmp_path / "library", llm=llm, graph=graph) as opened:
        assert opened.add(DOCUMENTS).pending == ()
        yield opened


def texts_read(requests: list[Request]) -> list[str]:
    """The texts that a model was asked to read."""
    return [text for one in requests for text in texts_in(one.question).values()]


def groups_written(requests: list[Request]) -> list[str]:
    """The groups that a model was asked to write reports of, as they were shown."""
    shown = [one.question for one in requests if '"reports"' in str(one.body["messages"][0])]
    return [
        re.sub(r"^\[\d+\] ", "", group, flags=re.MULTILINE).strip().removesuffix(">")
        for text in shown
        for group in re.split(r"^# \d+$", text.partition("\n")[2].rpartition("\n")[0], flags=re.M)
        if group.strip()
    ]


def test_the_same_again_asks_nothing(engine: KnowledgeEngine, openai_server: OpenAIServer) -> None:
    before = len(openai_server.requests)
    report = engine.add(DOCUMENTS)
    assert (report.usage.calls, len(openai_server.requests)) == (0, before)


def test_a_changed_document_costs_its_chunk_and_the_reports_that_it_touched(
    engine: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    before = len(openai_server.requests)
    text = family(3) + " Ada Rook sold it to Leda Rook."
    engine.add([*DOCUMENTS[:3], Document(id_="d3", text=text), *DOCUMENTS[4:]])
    asked = openai_server.requests[before:]
    assert texts_read(asked) == [text]
    groups = groups_written(asked)
    assert groups
    assert all("Rook" in group for group in groups)
    assert len(set(groups)) == len(groups)


def test_a_batch_of_deletions_rewrites_each_touched_report_at_most_once(
    engine: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    shared = " Ada Brine, said Ada Vale, was the cousin of Ada Quill."
    engine.add([Document(id_=f"s{n}", text=family(n) + shared) for n in range(6)])
    before = len(openai_server.requests)
    engine.remove([f"s{n}" for n in range(3)])
    engine.add(DOCUMENTS)  # what a removal leaves to be written is written by the next run
    asked = openai_server.requests[before:]
    assert texts_read(asked) == []
    groups = groups_written(asked)
    assert len(set(groups)) == len(groups)
    large = [one for one in engine.graph_index.reports() if one.written_by]
    assert len(groups) <= len(large)
    again = len(openai_server.requests)
    engine.add(DOCUMENTS)
    assert len(openai_server.requests) == again


def test_a_forecast_from_experience_is_within_a_fifth_of_the_bill(
    open_engine, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    def count(text: str) -> int:
        return len(get_tokenizer()(text))

    def answer(request: Request) -> Reply:
        text = read_like_a_model(request)
        prompt = sum(count(message["content"]) + 4 for message in request.body["messages"])
        prompt += count(json.dumps(request.body["response_format"]["json_schema"]["schema"]))
        return Reply(text, tokens=(prompt, count(text)))

    openai_server.answer_with(answer)
    llm = openai_server.settings()
    graph = {"spacy_model": "none", "extractor": "llm", "pack_tokens": 100, "judged_pairs": 0}
    with open_engine(tmp_path / "library", llm=llm, graph=graph) as engine:
        engine.add(DOCUMENTS[:6])
        (told,) = engine.estimate(DOCUMENTS[6:]).stages
        paid = engine.add(DOCUMENTS[6:]).usage
    assert told.calls == paid.calls
    assert told.prompt_tokens == pytest.approx(paid.prompt_tokens, rel=0.2)
    assert told.completion_tokens == pytest.approx(paid.completion_tokens, rel=0.2)


def test_a_run_that_left_something_pending_says_so_and_ends_with_three(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(family(number), encoding="utf8")

    def answer(request: Request) -> Reply | str:
        bad = "Vale" in request.question
        return Reply("filtered", status=400) if bad else read_like_a_model(request)

    def add(*options: str) -> Any:
        settings = {
            "GRAPH__EXTRACTOR": "llm",
            "LLM__KIND": "openai_like",
            "LLM__BASE_URL": openai_server.base_url,
            "LLM__MODEL": "m",
        }
        env = {f"LOREGRAPH_{name}": value for name, value in settings.items()}
        return command_line.run(tmp_path, "add", ".", *options, env=env | {"COLUMNS": "200"})

    openai_server.answer_with(answer)
    first = add()
    assert first.returncode == 3, first.stderr
    assert "1 chunk" in first.stderr, first.stderr
    assert "400" in first.stderr
    openai_server.answer_with(read_like_a_model)
    assert add("--retry").returncode == 0
