"""An answer's trace says what each stage took and gave, how long it took and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Reply

from engine import KnowledgeEngine
from engine.cli.rendering import trace_lines
from engine.events import AnswerEvent, StepEvent
from engine.retrieval.passages import LONGEST_TEXT
from engine.types import Answer, TraceStep, Usage

NOTES = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp. "
    "Orrin Vale repaired it with Ada Brine.",
}
EVERYTHING = {"self_rag": True, "corrective": True}
QUESTION = "Who lit the lamp at Gull Quay?"


@pytest.fixture(scope="module")
def library(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "library"
    with open_engine(path) as engine:
        for name, text in NOTES.items():
            engine.add_text(text, document_id=name)
    return path


@pytest.fixture
def written(open_engine, library: Path, openai_server: OpenAIServer) -> Iterator[KnowledgeEngine]:
    llm = openai_server.settings(retries=0)
    with open_engine(library, llm=llm) as engine:
        yield engine


def by_stage(answer: Answer) -> dict[str, TraceStep]:
    return {step.stage: step for step in answer.trace}


def test_every_stage_of_a_local_answer_says_what_it_took_and_gave(open_engine, library) -> None:
    with open_engine(library) as engine:
        answer = engine.ask(QUESTION)
    steps = by_stage(answer)
    assert list(steps) == [
        "route", "embed", "view", "keyword", "dense", "fuse", "walk", "second look",
        "read", "pack", "extract",
    ]  # fmt: skip
    for asked in ("route", "keyword", "extract"):
        assert steps[asked].input == QUESTION
    for found in ("keyword", "fuse", "walk", "second look", "read", "pack"):
        assert "The lamp" in steps[found].output, found
    assert "local" in steps["route"].output
    seeds = steps["walk"].input.split("; ")
    assert len(seeds) == len(set(seeds))
    assert steps["pack"].figures["tokens"] > 0
    assert "lit the lamp" in steps["extract"].output
    assert all(step.seconds >= 0 and step.usage == Usage() for step in answer.trace)


def test_what_a_model_said_and_cost_stands_in_its_step(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply("Ada Brine lit it. [1]", tokens=(321, 7)))
    answer = written.ask(QUESTION, mode="local")
    steps = by_stage(answer)
    assert steps["write"].output == "Ada Brine lit it. [1]"
    assert steps["write"].usage.prompt_tokens == 321
    assert "lit the lamp" in steps["cite"].output
    assert sum((step.usage for step in answer.trace), Usage()) == answer.usage
    again = by_stage(written.ask(QUESTION, mode="local"))
    assert again["write"].usage == Usage(cached_calls=1)


def test_the_costs_of_a_global_answers_stages_are_the_answers(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    def reply(request) -> Reply:
        return Reply("The lamp runs through the notes. [1]", tokens=(100, 10))

    openai_server.answer_with(reply)
    answer = written.ask("What are the main themes?", mode="global")
    steps = by_stage(answer)
    assert steps["reduce"].usage.prompt_tokens == 100
    assert steps["reduce"].output == answer.text
    assert sum((step.usage for step in answer.trace), Usage()) == answer.usage


def test_no_step_holds_more_than_the_beginning_of_a_text(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply("Ada \n " * 900 + "lit it. [1]"))
    answer = written.ask(f"{QUESTION} {'And why? ' * 300}", mode="local")
    texts = [text for step in answer.trace for text in (step.input, step.output)]
    assert max(map(len, texts)) == LONGEST_TEXT
    assert not any("\n" in text for text in texts)


def test_a_trace_is_shown_in_lines_that_fit() -> None:
    trace = [
        TraceStep(stage="keyword", detail="BM25", seconds=0.012, input="Who?", output="word " * 50),
        TraceStep(stage="dense", detail="cosine", seconds=0.001, input="Who?"),
        TraceStep(
            stage="write",
            detail="by m",
            seconds=1.5,
            figures={"marks": 2.0},
            usage=Usage(
                calls=1, prompt_tokens=1200, completion_tokens=30, cost=0.01, currency="USD"
            ),
        ),
        TraceStep(stage="write", detail="kept", seconds=0.0, usage=Usage(cached_calls=1)),
    ]
    lines = list(trace_lines(trace, width=80))
    assert lines[0].text == "  keyword            12 ms  BM25"
    assert lines[1].text.split() == ["in:", "Who?"]
    assert all(len(line.text) <= 80 for line in lines if line.quiet)
    assert sum("in:" in line.text for line in lines) == 1  # not said again
    assert lines[-2].text.endswith("by m (marks 2, 1,200 tokens in, 30 out, cost 0.0100 USD)")
    assert lines[-1].text.endswith("kept (cache hit, no tokens)")


@pytest.mark.parametrize("mode", ["auto", "local", "global", "both"])
@pytest.mark.parametrize(
    "check", [{}, {"self_rag": True, "corrective": True}], ids=["plain", "all"]
)
@pytest.mark.parametrize("modelled", [False, True], ids=["extracted", "written"])
def test_the_trace_is_what_was_told_in_its_order_and_its_costs_are_the_answers(
    open_engine,
    library: Path,
    openai_server: OpenAIServer,
    mode: str,
    check: dict[str, bool],
    modelled: bool,
) -> None:
    openai_server.answer_with(lambda request: Reply("Ada Brine lit it. [1]", tokens=(50, 5)))
    llm = openai_server.settings(retries=0)
    with open_engine(library, check=check, llm=llm if modelled else {}) as engine:
        question = f"Who lit the lamp in {mode} {sorted(check)}?"
        *_, last = events = list(engine.stream(question, mode=mode))
    assert isinstance(last, AnswerEvent)
    told = tuple(event.step for event in events if isinstance(event, StepEvent))
    assert told == last.answer.trace
    assert sum((step.usage for step in told), Usage()) == last.answer.usage
    assert [e.name for e in events if not isinstance(e, StepEvent)][-3:] == [
        "citations", "usage", "answer",
    ]  # fmt: skip
