"""Every way of chunking through the whole engine: cut, indexed, found, read, answered and cited."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from llama_index.core.schema import BaseNode
from openai_server import Reply

from engine import KnowledgeEngine
from engine.types import Passage, Strategy

STRATEGIES = [name for name in get_args(Strategy) if name != "auto"]
SMALL = {"size_tokens": 96, "overlap_tokens": 16, "child_tokens": 24}
KEEPERS = ("Ada Brine", "Orrin Vale", "Mara Quill", "Tomas Reed", "Ines Calder", "Piet Holm")
FUELS = ("whale oil", "colza oil", "paraffin", "acetylene", "peat gas", "olive oil")
PLACES = ("Gull Quay", "Thorn Point", "Salt Ness", "Hob Rock", "Wren Isle", "Marl Head")


def almanac() -> str:
    """Markdown with a section for each lighthouse, each longer than one small chunk."""
    sections = ["# Almanac of the lights\n\nSix lights stand on the Cold Coast.\n"]
    for number, (keeper, fuel, place) in enumerate(zip(KEEPERS, FUELS, PLACES, strict=True)):
        daily = " ".join(
            f"On watch {watch} the {place} log notes wind {watch + number} and a calm sea."
            for watch in range(1, 9)
        )
        sections.append(
            f"## {place}\n\n{keeper} lit the lamp at {place} in {1901 + number}. "
            f"The lamp at {place} burned {fuel}. {daily}\n"
        )
    return "\n".join(sections)


CHINESE = (
    "# 灯塔纪事\n\n沈望舒于一九零一年点亮鸥码头的灯。灯里烧的是鲸油。"
    + "每天夜里他都记下风向和潮水。" * 12
    + "\n\n## 风暴\n\n一九零七年的风暴打坏了灯。罗青山用铜片修好了它。"
    + "修灯的人在岸边住了三个月。" * 12
)
QUESTION = "Which oil burned in the lamp at Thorn Point?"
Open = Callable[..., KnowledgeEngine]


def filled(open_engine: Open, path: Path, **chunk: object) -> KnowledgeEngine:
    engine = open_engine(path, chunk=SMALL | chunk)
    engine.add_text(almanac(), document_id="almanac", title="Almanac")
    engine.add_text(CHINESE, document_id="灯塔", title="灯塔纪事")
    return engine


def assert_stands_in_its_document(engine: KnowledgeEngine, passages: list[Passage]) -> None:
    for passage in passages:
        text = engine.document_text(passage.document_id)
        assert passage.text == text[passage.start : passage.end]


def assert_cited(engine: KnowledgeEngine, question: str, expected: str) -> None:
    answer = engine.ask(question, mode="local")
    assert not answer.abstained
    assert expected in answer.text
    assert answer.citations
    for citation in answer.citations:
        text = engine.document_text(citation.document_id)
        assert citation.quote == text[citation.start : citation.end]
    assert any(expected in citation.quote for citation in answer.citations)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_answers_and_cites(
    open_engine: Open, tmp_path: Path, strategy: str
) -> None:
    with filled(open_engine, tmp_path / "library", strategy=strategy) as engine:
        assert engine.stats()["chunks"] > 4
        for question, expected in ((QUESTION, "colza oil"), ("谁修好了灯？", "罗青山")):
            found = engine.retrieve(question, top_k=3)
            assert any(expected in passage.text for passage in found)
            assert_stands_in_its_document(engine, found)
            assert_cited(engine, question, expected)
        assert engine.problems() == []


@pytest.mark.parametrize("strategy", ["parent_child", "sentence_window"])
def test_small_chunks_are_found_and_the_wider_span_is_read_once(
    open_engine: Open, tmp_path: Path, strategy: str
) -> None:
    with filled(open_engine, tmp_path / "library", strategy=strategy) as engine:
        found = engine.retrieve(QUESTION, top_k=5)
        assert_stands_in_its_document(engine, found)
        held = {node.node_id: node.get_content() for node in nodes(engine, QUESTION)}
        assert all(held[passage.chunk_id] in passage.text for passage in found)
        assert any(len(held[passage.chunk_id]) < len(passage.text) for passage in found)
        spans = [(passage.document_id, passage.start, passage.end) for passage in found]
        assert len(set(spans)) == len(spans)
        if strategy == "parent_child":
            for before, after in pairwise(sorted(spans)):
                assert before[0] != after[0] or after[2] > before[2]


def nodes(engine: KnowledgeEngine, question: str) -> list[BaseNode]:
    return [each.node for each in engine.as_retriever().retrieve(question)]


def test_contexts_find_a_chunk_and_are_never_read(open_engine: Open, tmp_path: Path) -> None:
    lead = "Zebulon Marsh compiled this register of harbour dues."
    body = " ".join(f"Berth {n} pays {n + 7} coins each season." for n in range(60))
    text = f"# Register\n\n{lead} {body}"
    found_chunks: dict[bool, int] = {}
    for with_context in (False, True):
        path = tmp_path / f"library {with_context}"
        chunk = SMALL | {"context_tokens": 64 if with_context else 0}
        with open_engine(path, chunk=chunk, retrieve={"dense": False, "walk": False}) as engine:
            engine.add_text(text, document_id="register", title="Register")
            engine.add_text("Gulls nest on Hob Rock.", document_id="gulls", title="Gulls")
            found = engine.retrieve("Zebulon Marsh", top_k=10)
            found_chunks[with_context] = len(found)
            assert_stands_in_its_document(engine, found)
            assert sum(lead in passage.text for passage in found) == 1
            answer = engine.ask("What does berth 40 pay each season?", mode="local")
            assert "47 coins" in answer.text
            assert answer.text.count("Zebulon") <= 1  # a context would repeat it
            document = engine.document_text("register")
            for citation in answer.citations:
                assert citation.quote == document[citation.start : citation.end]
    assert found_chunks[False] == 1
    assert found_chunks[True] > 1


def test_contexts_are_embedded(open_engine: Open, tmp_path: Path) -> None:
    ranks = []
    for context_tokens in (0, 64):
        chunk = SMALL | {"context_tokens": context_tokens}
        retrieve = {"keyword": False, "walk": False}
        path = tmp_path / str(context_tokens)
        with open_engine(path, chunk=chunk, retrieve=retrieve) as engine:
            engine.add_text(almanac(), document_id="almanac", title="Almanac")
            found = engine.retrieve("Six lights stand on the Cold Coast.", top_k=5)
            ranks.append({passage.chunk_id: passage.score for passage in found})
    assert ranks[0] != ranks[1]


def test_another_strategy_cuts_again_at_the_next_add(open_engine: Open, tmp_path: Path) -> None:
    counts = []
    for strategy in ("recursive", "recursive", "sentence_window", "recursive"):
        with open_engine(tmp_path / "library", chunk=SMALL | {"strategy": strategy}) as engine:
            report = engine.add_text(almanac(), document_id="almanac", title="Almanac")
            counts.append((report.added, report.changed, report.unchanged))
            chunks = engine.stats()["chunks"]
            counts[-1] += (chunks,)
    name = ("almanac",)
    first = counts[0][3]
    assert counts[0][:3] == (name, (), ())
    assert counts[1] == ((), (), name, first)
    assert counts[2][:3] == ((), name, ())
    assert counts[2][3] > first
    assert counts[3] == ((), name, (), first)


# With a language model

BAD = [
    pytest.param(Reply(status=429, headers={"Retry-After": "0"}), id="429"),
    pytest.param(Reply(status=500), id="500"),
    pytest.param(Reply(raw=b"{not json"), id="malformed"),
    pytest.param(Reply(""), id="empty"),
    pytest.param(Reply(cut=True), id="cut connection"),
]


def asking(open_engine: Open, server, path: Path, **chunk: object) -> KnowledgeEngine:
    llm = server.settings(retries=0)
    return open_engine(path, llm=llm, chunk=SMALL | chunk)


def plain_spans(open_engine: Open, path: Path, text: str) -> list[tuple[int, int]]:
    with open_engine(path, chunk=SMALL | {"strategy": "recursive"}) as engine:
        engine.add_text(text, document_id="d", title="D")
        return spans_of(engine)


def spans_of(engine: KnowledgeEngine) -> list[tuple[int, int]]:
    found = engine.retrieve(QUESTION, top_k=1_000)
    return sorted((passage.start, passage.end) for passage in found)


def proposal(request) -> str:
    """Every part that is shown begins a passage."""
    numbers = [int(n) for n in re.findall(r"^\[(\d+)", request.question, re.MULTILINE)]
    return json.dumps({"starts": [number for number in numbers if number > 1]})


def test_a_model_proposes_boundaries_and_its_cost_is_reported(
    open_engine: Open, openai_server, tmp_path: Path
) -> None:
    openai_server.answer_with(proposal)
    with asking(open_engine, openai_server, tmp_path / "library", strategy="agentic") as engine:
        report = engine.add_text(almanac(), document_id="almanac", title="Almanac")
        assert report.added == ("almanac",)
        assert report.usage.calls == len(openai_server.requests) > 0
        assert report.usage.prompt_tokens > 0
        assert report.usage.completion_tokens > 0
        again = engine.add_text(almanac(), document_id="almanac", title="Almanac")
        assert again.unchanged == ("almanac",)
        assert again.usage.calls == 0
        assert engine.problems() == []


def test_a_model_writes_contexts_that_find_and_are_never_read(
    open_engine: Open, openai_server, tmp_path: Path
) -> None:
    openai_server.answer_with(lambda request: "The Zebulon register of lights.")
    chunk = {"context_tokens": 64, "context_by_model": True}
    with asking(open_engine, openai_server, tmp_path / "library", **chunk) as engine:
        report = engine.add_text(almanac(), document_id="almanac", title="Almanac")
        assert report.usage.calls == report.chunks == len(openai_server.requests)
        assert report.usage.completion_tokens > 0
        found = engine.retrieve("Zebulon", top_k=50)
        assert len(found) == report.chunks
        assert_stands_in_its_document(engine, found)
        assert not any("Zebulon" in passage.text for passage in found)
        assert any("Zebulon" in node.metadata["context"] for node in nodes(engine, "Zebulon"))


@pytest.mark.parametrize("bad", BAD)
def test_boundaries_that_no_model_gives_are_the_default_ones(
    open_engine: Open, openai_server, tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: Reply
) -> None:
    openai_server.answer_with(lambda request: bad)
    with (
        caplog.at_level(logging.WARNING, "loregraph.chunk"),
        asking(open_engine, openai_server, tmp_path / "library", strategy="agentic") as engine,
    ):
        report = engine.add_text(almanac(), document_id="d", title="D")
        assert report.added == ("d",)
        assert report.failed == ()
        assert openai_server.requests
        assert spans_of(engine) == plain_spans(open_engine, tmp_path / "plain", almanac())
    (warned,) = [each for each in caplog.records if "stretches" in each.getMessage()]
    assert "6 of 6 stretches of 'D' are cut without the model" in warned.getMessage()


@pytest.mark.parametrize("bad", BAD)
def test_contexts_that_no_model_gives_are_made_without(
    open_engine: Open, openai_server, tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: Reply
) -> None:
    openai_server.answer_with(lambda request: bad)
    chunk = {"context_tokens": 64, "context_by_model": True}
    with (
        caplog.at_level(logging.WARNING, "loregraph.chunk"),
        asking(open_engine, openai_server, tmp_path / "library", **chunk) as engine,
    ):
        report = engine.add_text(almanac(), document_id="d", title="D")
        assert report.added == ("d",)
        assert report.failed == ()
        assert 0 < len(openai_server.requests) <= report.chunks
        contexts = [node.metadata["context"] for node in nodes(engine, QUESTION)]
        assert all(context.startswith("D") for context in contexts)
    expected = f"{report.chunks} of {report.chunks} chunks of 'D' have a context without a model"
    assert [each for each in caplog.records if each.getMessage().startswith(expected)]


def test_one_failure_costs_one_context(
    open_engine: Open, openai_server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.script("A line of the model's.", Reply(status=500))
    openai_server.answer_with(lambda request: "A line of the model's.")
    chunk = {"context_tokens": 64, "context_by_model": True}
    with (
        caplog.at_level(logging.WARNING, "loregraph.chunk"),
        asking(open_engine, openai_server, tmp_path / "library", **chunk) as engine,
    ):
        report = engine.add_text(almanac(), document_id="d", title="D")
        assert report.usage.calls == report.chunks - 1
    assert f"1 of {report.chunks} chunks of 'D'" in caplog.text
