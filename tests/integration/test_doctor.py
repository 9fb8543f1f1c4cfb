"""What `loregraph doctor` says of language models, and of what they have not read yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer, Reply
from reading_model import read_like_a_model

from engine import KnowledgeEngine, Settings
from engine.cli.doctor import examine
from engine.cli.rendering import Finding, by_reason
from engine.types import PendingChunk


def _settings(server: OpenAIServer, **sections: Any) -> Settings:
    llm = server.settings(retries=0)
    light = {"embedding": {"kind": "tfidf"}, "graph": {"spacy_model": "none", "extractor": "llm"}}
    return Settings.model_validate({"llm": llm} | light | sections)


def _about(findings: list[Finding], words: str) -> Finding:
    (found,) = [finding for finding in findings if words in finding.text]
    return found


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(Reply(status=401), "check the key", id="wrong key"),
        pytest.param(Reply("no model", status=404), "check the model's name", id="wrong name"),
        pytest.param(Reply(status=500), "the server failed", id="server error"),
    ],
)
def test_a_model_that_does_not_answer_is_a_problem(
    openai_server: OpenAIServer, tmp_path: Path, reply: Reply, words: str
) -> None:
    openai_server.answer_with(lambda request: reply)
    assert _about(examine(tmp_path, _settings(openai_server)), words).is_problem


def test_each_model_is_asked_once_and_named_with_its_stages(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    llm = openai_server.settings(model="small")
    stages = {"answers": {"model": "large"}}
    settings = _settings(openai_server, llm=llm | {"stages": stages})
    findings = examine(tmp_path, settings)
    assert [request.body["model"] for request in openai_server.requests] == ["small", "large"]
    assert _about(findings, "small answers").text == (
        "language model for extraction, reports, map: small answers"
    )
    assert not _about(findings, "answers: large answers").is_problem


def test_a_model_that_is_to_read_and_is_not_set_is_a_problem(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {"graph": {"extractor": "llm"}, "embedding": {"kind": "none"}}
    )
    assert _about(examine(tmp_path, settings), "set llm.kind").is_problem


def test_what_waits_for_the_model_is_named_with_its_reason(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    settings = _settings(openai_server)
    openai_server.answer_with(lambda request: Reply(status=401))
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        report = engine.add_text("Ada Brine met Orrin Vale.", document_id="d")
        assert engine.pending() == list(report.pending)
        waiting = _about(examine(tmp_path / "library", settings), "1 chunk waits")
        assert "answered 401" in waiting.text
        assert not waiting.is_problem
        openai_server.answer_with(read_like_a_model)
        engine.add_text("Ada Brine met Orrin Vale.", document_id="d")
        assert engine.pending() == []


def test_reasons_that_differ_in_the_figures_of_one_call_are_one() -> None:
    used_up = "the budget is used up: 0 of 8,000 tokens are spent in this run and the next call"
    reasons = [
        f"{used_up} could take 8,662; raise budget.max_tokens",
        f"{used_up} could take 9,074; raise budget.max_tokens",
        "m answered 401",
        "m answered 500",
        "m answered 500",
        "m answered 500",
    ]
    pending = [
        PendingChunk(document_id="d", chunk_id=str(number), reason=reason)
        for number, reason in enumerate(reasons)
    ]
    assert by_reason(pending) == [(reasons[3], 3), (reasons[0], 2), (reasons[2], 1)]
