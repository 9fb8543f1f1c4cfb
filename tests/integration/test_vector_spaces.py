"""A library with two vector spaces: what each reads, missing and broken models, changing models."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from typer.testing import CliRunner

from engine import KnowledgeEngine, Settings
from engine.cli.main import app
from engine.embeddings.model_files import EMBEDDING, models_folder
from engine.embeddings.model_files import MULTILINGUAL as SECOND
from engine.embeddings.wrappers import EmbeddingUnavailable
from engine.retrieval import retriever
from engine.retrieval.fusion import Ranking, rank_passages

ENGLISH = "bge-small-en-v1.5/int8"
MULTILINGUAL = "multilingual-e5-small/int8"
INSTALLED = models_folder()
TEXTS = {
    "station": "The marine station measures tides and salt in the harbour of Skerry.",
    "bread": "Oran Tal baked bread in the town for forty years and sold it on Mondays.",
    "packages": "如何安装软件包：使用包管理器下载并安装程序，然后重新启动计算机。",
    "election": "市长在选举中获胜，得到了百分之六十的选票，反对派接受了结果。",
}


def _filled(path: Path, settings: Settings | None = None) -> KnowledgeEngine:
    engine = KnowledgeEngine.open(path, settings=settings)
    for name, text in TEXTS.items():
        engine.add_text(text, document_id=name, title="")
    return engine


def _vectors(path: Path) -> dict[tuple[str, str], int]:
    """How many vectors each document has of each model."""
    with sqlite3.connect(path / "library.db") as connection:
        rows = connection.execute(
            "SELECT document_id, model, count(*) FROM vectors JOIN chunks ON id = chunk_id"
            " GROUP BY document_id, model"
        ).fetchall()
    return {(document, model): count for document, model, count in rows}


def _contents(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path / "library.db") as connection:
        query = "SELECT chunk_id, model, window, input_sha, vector FROM vectors ORDER BY 1, 2, 3"
        return connection.execute(query).fetchall()


def _as_of_another_model(path: Path) -> None:
    with sqlite3.connect(path / "library.db") as connection:
        connection.execute("DELETE FROM vectors WHERE model = ?", (MULTILINGUAL,))
        connection.execute("UPDATE vectors SET model = 'all-MiniLM-L6-v2/fp32'")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spaces") / "library"
    _filled(path).close()
    return path


@pytest.fixture
def copy(library: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(library, tmp_path / "library"))


@pytest.fixture
def no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("LOREGRAPH_MODELS", str(folder))
    return folder


def test_a_text_is_embedded_by_every_model_that_reads_it_and_no_other(library: Path) -> None:
    assert _vectors(library) == {
        ("station", ENGLISH): 1,
        ("bread", ENGLISH): 1,
        ("station", MULTILINGUAL): 1,
        ("bread", MULTILINGUAL): 1,
        ("packages", MULTILINGUAL): 1,
        ("election", MULTILINGUAL): 1,
    }


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("海洋站测量什么？", "station"),
        ("谁在镇上烤面包？", "bread"),
        ("How do I install software?", "packages"),
        ("Who won the vote for mayor?", "election"),
    ],
)
def test_a_question_in_one_language_finds_a_document_in_the_other(
    library: Path, question: str, document: str
) -> None:
    with KnowledgeEngine.open(library) as engine:
        assert engine.retrieve(question)[0].document_id == document


def test_a_library_without_english_text_misses_no_english_vectors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "library"
    with KnowledgeEngine.open(path) as engine:
        engine.add_text(TEXTS["packages"], document_id="packages", title="")
    with caplog.at_level(logging.WARNING, "loregraph"):
        with KnowledgeEngine.open(path) as engine:
            engine.add_text(TEXTS["bread"], document_id="bread", title="")
        assert not caplog.messages
        with sqlite3.connect(path / "library.db") as connection:
            connection.execute("DELETE FROM vectors WHERE model = ?", (ENGLISH,))
        KnowledgeEngine.open(path).close()
    assert "run `loregraph reembed`" in caplog.messages[0]


def test_two_english_texts_are_compared_by_both_models(tmp_path: Path) -> None:
    with KnowledgeEngine.open(tmp_path / "library") as engine:
        for name in ("station", "bread"):
            engine.add_text(TEXTS[name], document_id=name, title="")
        passage = engine.retrieve("What does the station measure?")[0]
    assert {"dense", "beside"} <= passage.scores.keys()


def test_a_weight_of_nil_for_vectors_is_that_of_both_models(tmp_path: Path) -> None:
    weights = {"fusion": "weighted_score", "dense_weight": 0.0, "walk": False}
    settings = Settings.model_validate({"retrieve": weights})
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        gauge = "A gauge at the quay records how high seawater stands."
        for name, text in {**TEXTS, "gauge": gauge}.items():
            engine.add_text(text, document_id=name, title="")
        found = engine.retrieve("What does the station measure?")
    assert [passage.document_id for passage in found] == ["station"]  # no other has its words


@pytest.mark.parametrize(("kind", "is_weighed"), [("bundled", True), ("tfidf", False)])
def test_bm25_is_weighed_by_what_it_says_beside_models_that_read_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_weighed: bool
) -> None:
    told: list[float] = []

    def ranked(*given: Any, reachable: float, **named: Any) -> Ranking:
        told.append(reachable)
        return rank_passages(*given, reachable=reachable, **named)

    monkeypatch.setattr(retriever, "rank_passages", ranked)
    settings = Settings.model_validate({"embedding": {"kind": kind}})
    with KnowledgeEngine.open(tmp_path / "library", settings=settings) as engine:
        for name in ("station", "bread"):
            engine.add_text(TEXTS[name], document_id=name, title="")
        engine.retrieve("What does the station measure?")
        engine.retrieve("测量什么？")
    english, chinese = told
    assert (english > 0.0) == is_weighed
    assert chinese == 0.0


def test_the_second_model_can_be_switched_off_and_a_multilingual_one_turns_it_off(
    tmp_path: Path,
) -> None:
    settings = Settings.model_validate({"embedding": {"multilingual": False}})
    _filled(tmp_path / "one", settings).close()
    assert {model for _, model in _vectors(tmp_path / "one")} == {ENGLISH}
    own = MockEmbedding(embed_dim=8, model_name="somebody/multilingual")
    with KnowledgeEngine.open(tmp_path / "own", embed_model=own) as engine:
        engine.add_text(TEXTS["packages"], document_id="packages", title="")
        assert len(engine._library.vector_models()) == 1


def test_a_missing_model_leaves_words_and_the_walk_and_one_line(
    tmp_path: Path, no_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings.model_validate({"embedding": {"multilingual": False}})
    with caplog.at_level(logging.WARNING, "loregraph"):
        engine = KnowledgeEngine.open(tmp_path / "library", settings=settings)
        report = engine.add_text(TEXTS["station"], document_id="station", title="")
        assert engine.retrieve("harbour tides")[0].document_id == "station"
        assert "station" in engine.ask("What measures tides?").text
        engine.close()
    lines = [line for line in caplog.messages if "bge-small-en-v1.5" in line]
    assert len(lines) == 1
    assert "is not installed" in lines[0]
    assert "run `loregraph models fetch`, then `loregraph reembed`" in lines[0]
    assert report.embedded == 0
    assert lines[0] in report.notes


def test_what_was_added_without_a_model_is_embedded_when_it_is_there(
    library: Path, tmp_path: Path, no_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "library"
    target = no_model / EMBEDDING.name / "tokenizer.json"  # sizes are counted alike
    target.parent.mkdir()
    target.symlink_to(INSTALLED / EMBEDDING.name / "tokenizer.json")
    (no_model / SECOND.name).symlink_to(INSTALLED / SECOND.name)
    _filled(path).close()
    assert {model for _, model in _vectors(path)} == {MULTILINGUAL}
    monkeypatch.delenv("LOREGRAPH_MODELS")
    with KnowledgeEngine.open(path) as engine:
        report = engine.reembed()
        assert report.embedded == 2
        assert engine.reembed().embedded == 0
    assert _contents(path) == _contents(library)


def test_a_truncated_model_file_is_refused_and_said(
    copy: Path, no_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(INSTALLED / EMBEDDING.name, no_model / EMBEDDING.name)
    cut = no_model / EMBEDDING.name / "model.onnx"
    cut.write_bytes(cut.read_bytes()[:1000])
    with KnowledgeEngine.open(copy) as engine:
        assert engine.retrieve("harbour tides")[0].document_id == "station"
        report = engine.add_text("Another harbour.", document_id="harbour", title="")
    assert any("has 1000 bytes, expected 34015106" in note for note in report.notes)
    result = CliRunner().invoke(app, ["doctor", "-l", str(copy)])
    assert "has 1000 bytes, expected 34015106; run `loregraph models fetch`" in " ".join(
        result.output.split()
    )


def test_other_weights_of_the_same_size_are_never_used(
    tmp_path: Path, no_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(INSTALLED / EMBEDDING.name, no_model / EMBEDDING.name)
    file = no_model / EMBEDDING.name / "model.onnx"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    with (
        KnowledgeEngine.open(tmp_path / "library") as engine,
        pytest.raises(EmbeddingUnavailable, match=r"is another file.*SHA-256"),
    ):
        engine.add_text(TEXTS["station"], document_id="station", title="")


def test_a_library_of_another_model_opens_by_words_and_is_embedded_anew(
    copy: Path, library: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _as_of_another_model(copy)
    with KnowledgeEngine.open(copy) as engine:
        assert "vectors are of all-MiniLM-L6-v2/fp32" in caplog.text
        assert "run `loregraph reembed`" in caplog.text
        found = engine.retrieve("harbour tides")[0]
        assert (found.document_id, "dense" in found.scores) == ("station", False)
    result = CliRunner().invoke(app, ["reembed", "-l", str(copy)])
    assert "6 texts embedded" in result.output
    assert _contents(copy) == _contents(library)
    result = CliRunner().invoke(app, ["reembed", "-l", str(copy)])
    assert "0 texts embedded" in result.output


def test_embedding_anew_that_is_stopped_is_carried_on(
    copy: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _as_of_another_model(copy)
    monkeypatch.setattr("engine.storage.preparation.BATCH_CHUNKS", 1)
    calls = 0
    with KnowledgeEngine.open(copy) as engine:
        whole = engine._whole.parts.indexer._spaces[0].index.embed

        def stops(windows: object) -> int:
            nonlocal calls
            calls += 1
            if calls == 3:  # a batch is embedded once and looked at again when it is stored
                raise KeyboardInterrupt
            return whole(windows)  # type: ignore[arg-type]

        monkeypatch.setattr(engine._whole.parts.indexer._spaces[0].index, "embed", stops)
        with pytest.raises(KeyboardInterrupt):
            engine.reembed()
    with KnowledgeEngine.open(copy) as engine:
        assert engine.reembed().embedded == 5
    assert _contents(copy) == _contents(library)


def test_adding_unchanged_documents_embeds_what_is_missing_of_them(
    copy: Path, library: Path
) -> None:
    _as_of_another_model(copy)
    with KnowledgeEngine.open(copy) as engine:
        report = engine.add_text(TEXTS["packages"], document_id="packages", title="")
        assert (report.unchanged, report.embedded) == (("packages",), 1)
        report = engine.add_text(TEXTS["packages"], document_id="packages", title="")
        assert (report.unchanged, report.embedded) == (("packages",), 0)


def test_a_read_only_library_of_another_model_answers(copy: Path) -> None:
    _as_of_another_model(copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with KnowledgeEngine.open(copy, create=False) as engine:
            assert engine.retrieve("harbour tides")[0].document_id == "station"
    finally:
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_library_of_an_earlier_schema_is_brought_up(copy: Path, library: Path) -> None:
    with sqlite3.connect(copy / "library.db") as connection:
        connection.executescript(
            "DELETE FROM vectors WHERE model = 'multilingual-e5-small/int8';"
            "ALTER TABLE vectors RENAME TO newer; DROP INDEX vectors_by_input;"
            "CREATE TABLE vectors (chunk_id VARCHAR NOT NULL, window INTEGER NOT NULL,"
            " model VARCHAR NOT NULL, input_sha VARCHAR NOT NULL, vector BLOB NOT NULL,"
            " PRIMARY KEY (chunk_id, window),"
            " FOREIGN KEY(chunk_id) REFERENCES chunks (id) ON DELETE CASCADE);"
            "INSERT INTO vectors SELECT chunk_id, window, model, input_sha, vector FROM newer;"
            "DROP TABLE newer; CREATE INDEX vectors_by_input ON vectors (input_sha, model);"
            "ALTER TABLE keywords DROP COLUMN heading;"
            "ALTER TABLE keywords DROP COLUMN stamp;"
            "PRAGMA user_version = 6;"
        )
    with KnowledgeEngine.open(copy) as engine:
        assert engine.retrieve("What does the station measure?")[0].document_id == "station"
        engine.reembed()
    assert _contents(copy) == _contents(library)
