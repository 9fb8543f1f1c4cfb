"""Agentic search through a real server whose model is hostile: limits hold, an answer comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hostile_agent import DOCUMENTS, MAX_ROUNDS, QUESTION, runs, settings
from openai_server import OpenAIServer, Reply

from engine import KnowledgeEngine

SCRIPTS = 60
"""Part of the thousand of `tests/benchmarks/hostile_agents.py`."""


def test_hostile_scripts_exceed_no_limit_and_every_run_ends_with_an_answer(
    open_engine: Callable[..., KnowledgeEngine], tmp_path: Path, openai_server: OpenAIServer
) -> None:
    with open_engine(tmp_path / "library", **settings(openai_server, tmp_path)) as engine:
        for name, text in DOCUMENTS.items():
            engine.add_text(text, document_id=name)
        made = list(runs(engine, openai_server, count=SCRIPTS))
    assert len(made) == SCRIPTS
    assert [run.overruns for run in made if run.overruns] == []
    assert max(run.searches for run in made) > 1


def test_a_deciding_model_that_never_answers_leaves_the_decision_to_rules(
    open_engine: Callable[..., KnowledgeEngine], tmp_path: Path, openai_server: OpenAIServer
) -> None:
    asked = iter(range(1_000))
    openai_server.answer_with(
        lambda _: Reply(stall=True) if next(asked) == 0 else Reply("Eve Marsh [1].")
    )
    sections = settings(openai_server, tmp_path)
    sections["llm"]["timeout_seconds"] = 60.0  # the run's own seconds are fewer
    with open_engine(tmp_path / "library", **sections) as engine:
        for name, text in DOCUMENTS.items():
            engine.add_text(text, document_id=name)
        answer = engine.ask(QUESTION, mode="agent")
    assert "Eve Marsh" in answer.text
    assert len(openai_server.requests) <= MAX_ROUNDS


def test_a_model_that_fails_at_the_answer_gives_an_abstention_that_says_so(
    open_engine: Callable[..., KnowledgeEngine], tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.answer_with(lambda _: Reply("down", status=500))
    with open_engine(tmp_path / "library", **settings(openai_server, tmp_path)) as engine:
        for name, text in DOCUMENTS.items():
            engine.add_text(text, document_id=name)
        answer = engine.ask(QUESTION, mode="agent")
    assert answer.abstained
    assert answer.warnings
    assert answer.trace[-1].figures["failed"] == 1.0
