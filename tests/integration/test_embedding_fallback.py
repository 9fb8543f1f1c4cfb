"""A library and the model of its vectors, when that model is there, away, and back again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Reply

from engine import KnowledgeEngine, Settings
from engine.embeddings.wrappers import EmbeddingUnavailable

_STATION = "Maeve Brandt founded the lighthouse station on Skerry Island in 1901."
_BREAD = "Oran Tal baked bread in the harbour town for forty years."
_AWAY = Reply("gone", status=503)


@pytest.fixture
def settings(openai_server: OpenAIServer) -> Iterator[Settings]:
    yield Settings.model_validate(
        {"embedding": openai_server.settings(model="test-embedding", fallback=["tfidf"])}
    )


def _go_away(server: OpenAIServer) -> None:
    server.answer_with(lambda request: _AWAY)


def _come_back(server: OpenAIServer) -> None:
    server.answer_with(lambda request: Reply())


def _models(engine: KnowledgeEngine) -> list[str]:
    return sorted(engine._library.vector_models())


def test_a_library_of_the_endpoint_never_takes_another_model(
    tmp_path: Path, settings: Settings, openai_server: OpenAIServer
) -> None:
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        report = engine.add_text(_STATION, document_id="station", title="Skerry")
        assert report.notes == ()
        assert _models(engine) == ["RemoteEmbedding/test-embedding"]
    _go_away(openai_server)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        with pytest.raises(EmbeddingUnavailable, match="no other model can embed"):
            engine.add_text(_BREAD, document_id="bread", title="Bread")
        assert [row.id for row in engine.documents()] == ["station"]
        _come_back(openai_server)
        engine.add_text(_BREAD, document_id="bread", title="Bread")
        assert _models(engine) == ["RemoteEmbedding/test-embedding"]


@pytest.mark.parametrize("mode", ["auto", "local", "global"])
def test_a_question_while_the_endpoint_is_away_is_answered_and_says_so(
    tmp_path: Path, settings: Settings, openai_server: OpenAIServer, mode: str
) -> None:
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        engine.add_text(_STATION, document_id="station", title="Skerry")
        _go_away(openai_server)
        answer = engine.ask("Who founded the lighthouse station?", mode=mode)
        if mode != "global":
            assert "Maeve Brandt" in answer.text
            assert any("without vectors" in step.detail for step in answer.trace)
        found = engine.retrieve("Who founded the lighthouse station?")
        assert found[0].document_id == "station"
        assert "dense" not in found[0].scores


def test_a_new_library_takes_the_next_and_stays_with_it(
    tmp_path: Path, settings: Settings, openai_server: OpenAIServer
) -> None:
    _go_away(openai_server)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        report = engine.add_text(_STATION, document_id="station", title="Skerry")
        assert len(report.notes) == 1
        assert "stands in because" in report.notes[0]
        held = _models(engine)
        assert len(held) == 1
        assert held[0].startswith("tfidf")
        found = engine.retrieve("Who founded the lighthouse station?")
        assert found[0].scores["dense"] > 0
    _come_back(openai_server)
    asked = len(openai_server.requests)
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        report = engine.add_text(_BREAD, document_id="bread", title="Bread")
        assert "stays with them" in report.notes[0]
        assert _models(engine) == held
        assert engine.retrieve("Who baked bread?")[0].document_id == "bread"
    assert len(openai_server.requests) == asked


def test_two_that_begin_one_library_with_two_models_do_not_mix(
    tmp_path: Path, settings: Settings, openai_server: OpenAIServer
) -> None:
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as first:
        _go_away(openai_server)
        with KnowledgeEngine.open(tmp_path / "library", settings=settings) as second:
            second.add_text(_STATION, document_id="station", title="Skerry")
        _come_back(openai_server)
        with pytest.raises(EmbeddingUnavailable, match="since it was opened"):
            first.add_text(_BREAD, document_id="bread", title="Bread")


def test_a_library_of_another_model_is_embedded_anew_when_settings_change(
    tmp_path: Path, settings: Settings
) -> None:
    plain = Settings.model_validate({"embedding": {"kind": "tfidf"}})
    with KnowledgeEngine.open(tmp_path / "library", settings=plain) as engine:
        engine.add_text(_STATION, document_id="station", title="Skerry")
        held = _models(engine)
    changed = settings.model_copy(
        update={"embedding": settings.embedding.model_copy(update={"fallback": ()})}
    )
    with KnowledgeEngine.open(tmp_path / "library", settings=changed) as engine:
        report = engine.add_text(_STATION, document_id="station", title="Skerry")
        assert (report.unchanged, report.embedded) == (("station",), 1)
        assert _models(engine) == ["RemoteEmbedding/test-embedding"] != held
