"""A text that a stage cannot take costs itself alone: it is stored in part, and that is said."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pty
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import command_line
import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from sqlalchemy import text

from engine import KnowledgeEngine, Settings
from engine.errors import ModelUnavailable
from engine.storage.bm25_index import _plain_words
from engine.storage.graph_api import metadata
from engine.storage.library import Library
from engine.types import IngestReport

REPOSITORY = Path(__file__).parents[2]
MARK = "Zanzibar"
MARK_ZH = "桑给巴尔"
GOOD = {
    "harbour": "# Harbour log\n\nCaptain Ada Brine moored the Petrel at Gull Quay.",
    "society": "# Gull Quay Society\n\nTomas Reed chairs the Gull Quay Society in Port Merrow.",
}
BAD = (
    f"# Ferry log\n\nOrrin Vale sailed to {MARK} in March. The crossing took nine quarrelsome days."
)
BAD_ZH = f"# 渡轮日志\n\n林若溪三月乘船前往{MARK_ZH}，途中争吵了九天。"


@dataclass
class Fails:
    """Stands in for a function: raises where one of its arguments holds the mark."""

    inner: Callable[..., Any]
    mark: str = MARK
    error: type[Exception] = ValueError
    calls: list[bool] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        marked = any(self.mark in shown(each) for each in args)
        self.calls.append(marked)
        if marked:
            raise self.error("no way through")
        return self.inner(*args, **kwargs)

    def __get__(self, one: object, _kind: type) -> Callable[..., Any]:
        return lambda *args, **kwargs: self(one, *args, **kwargs)

    @property
    def marked(self) -> int:
        return sum(self.calls)


def shown(value: object) -> str:
    """Whatever a stage takes, as text that holds its own."""
    if hasattr(value, "chunks"):  # what reports are written from
        return " ".join(chunk.text for chunk in value.chunks.values())
    return str(getattr(value, "text", value))


STAGES = {
    "chunk": ("engine.chunking.recursive.RecursiveNodeParser.spans", "is cut in a plainer way"),
    "extract": ("graph.extraction.rule_based.LanguageExtractor._read", "has no names for 1 chunk"),
    "keywords": ("engine.storage.bm25_index.KeywordIndex._entry", "is indexed by plain words"),
    "link": ("graph.linking.introduced_names", "is not linked to names in 1 chunk"),
    "derive": ("graph.pipeline.write_reports", "is left out of the graph"),
}


def broken(monkeypatch: pytest.MonkeyPatch, stage: str, mark: str = MARK) -> Fails:
    place = STAGES[stage][0]
    owner, _, name = place.rpartition(".")
    fails = Fails(_resolved(place), mark=mark)
    monkeypatch.setattr(_resolved(owner), name, fails)
    return fails


def _resolved(place: str) -> Any:
    import importlib

    parts = place.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found
    raise LookupError(place)


class PickyEmbedding(BaseEmbedding):
    """Cannot embed a text with the mark, nor anything once it is down."""

    model_name: str = "picky"
    down: bool = False
    refused: int = 0

    def _vector(self, text: str) -> list[float]:
        words = [1.0 + sum(map(ord, word)) % 7 for word in text.split()]
        return [float(len(words)), *(words + [0.0] * 7)[:7]]

    def _get_text_embedding(self, text: str) -> list[float]:
        if self.down or MARK in text:
            self.refused += 1
            raise RuntimeError("CUDA error")
        return self._vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._vector(query)


def opened_with(path: Path, model: BaseEmbedding, **sections: object) -> KnowledgeEngine:
    light = {"graph": {"spacy_model": "none"}, "cache": {"answers": "none"}}
    return KnowledgeEngine.open(
        path, settings=Settings.model_validate(light | sections), embed_model=model
    )


def folder_of(tmp_path: Path, **texts: str) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir(exist_ok=True)
    for name, words in texts.items():
        (folder / f"{name}.md").write_text(words, encoding="utf8")
    return folder


def rows(engine: KnowledgeEngine) -> dict[str, list[tuple[object, ...]]]:
    with engine._library.read() as connection:
        return {
            table.name: sorted(
                tuple(row)
                for row in connection.execute(text(f"SELECT * FROM {table.name}"))  # noqa: S608
            )
            for table in metadata.sorted_tables
            if table.name != "state"
        }


def only_partial(report: IngestReport) -> str:
    assert not report.failed
    (one,) = report.partial
    assert one.source.endswith("ferry.md")
    return one.reason


# --- each stage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_a_text_that_a_stage_cannot_take_is_partial_and_the_others_are_whole(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog, stage: str
) -> None:
    folder = folder_of(tmp_path, **GOOD, ferry=BAD)
    fails = broken(monkeypatch, stage)
    with open_engine(tmp_path / "library") as engine:
        report = engine.add(folder)
        assert len(report.added) == 3
        reason = only_partial(report)
        assert STAGES[stage][1] in reason
        assert re.search(r"ValueError: no way through \((engine|graph)[.\w]+:\d+\)", reason)
        assert [r.exc_info[0] for r in caplog.records if r.exc_info] == [ValueError]
        assert engine.stats()["partial"] == 1
        assert engine.stats()["up_to_date"]
        (found, *_) = engine.retrieve("nine quarrelsome days")
        assert found.document_id.endswith("ferry.md")
        assert "Ada Brine" in engine.ask("Who moored the Petrel?").text
        names = {name for entity in engine.graph_index.entities() for name in entity.keys}
        assert {"captain ada brine", "tomas reed"} <= names
        assert ("orrin vale" in names) == (stage not in ("extract", "derive"))
        tried = fails.marked
        again = engine.add(folder)
        assert (len(again.unchanged), fails.marked) == (3, tried)
        assert only_partial(again) == reason


def test_a_text_that_cannot_be_embedded_has_no_vectors_and_the_others_keep_theirs(
    tmp_path: Path,
) -> None:
    folder = folder_of(tmp_path, **GOOD, ferry=BAD)
    model = PickyEmbedding()
    with opened_with(tmp_path / "library", model) as engine:
        report = engine.add(folder)
        assert "has no vectors for 1 chunk: RuntimeError: CUDA error" in only_partial(report)
        assert engine.stats()["vectors"] == 2
        assert engine.retrieve("nine quarrelsome days")[0].text.startswith("# Ferry")
        names = {name for entity in engine.graph_index.entities() for name in entity.keys}
        assert {"captain ada brine", "orrin vale"} <= names
        refused = model.refused
        assert only_partial(engine.add(folder))
        assert model.refused == refused


def test_of_a_long_text_only_the_chunk_that_cannot_be_embedded_has_no_vectors(
    tmp_path: Path,
) -> None:
    parts = [f"## Day {n}\n\n" + f"On day {n} the ferry lay still. " * 20 for n in range(6)]
    parts[3] += f"It had come from {MARK}."
    model = PickyEmbedding()
    sizes = {"size_tokens": 128, "overlap_tokens": 0}
    with opened_with(tmp_path / "library", model, chunk=sizes) as engine:
        report = engine.add_text("# Log\n\n" + "\n\n".join(parts), document_id="log")
        counts = engine.stats()
    assert "has no vectors for 1 chunk" in report.partial[0].reason
    assert counts["vectors"] >= counts["chunks"] - 1 > 4


def test_an_embedding_that_fails_altogether_ends_the_run_and_makes_nothing_partial(
    tmp_path: Path,
) -> None:
    model = PickyEmbedding(down=True)
    with opened_with(tmp_path / "library", model) as engine:
        with pytest.raises(RuntimeError, match="CUDA error"):
            engine.add_text(GOOD["harbour"], document_id="harbour")
        assert (engine.stats()["documents"], engine.stats()["partial"]) == (0, 0)


def test_a_chinese_text_that_a_rule_cannot_read_is_partial_and_the_others_are_whole(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import graph.extraction.rule_based as language

    fails = Fails(language.short_name_aliases, mark=MARK_ZH, error=IndexError)
    monkeypatch.setattr(language, "short_name_aliases", fails)
    folder = folder_of(tmp_path, 好="# 港务记录\n\n林若溪在海鸥码头工作。", ferry=BAD_ZH)
    with open_engine(tmp_path / "library") as engine:
        report = engine.add(folder)
        assert "IndexError: no way through (graph.extraction.rule_based:" in only_partial(report)
        assert engine.retrieve("途中争吵了九天")[0].document_id.endswith("ferry.md")
        assert any("林若溪" in entity.keys for entity in engine.graph_index.entities())


def test_an_english_text_that_a_rule_cannot_read_is_partial_with_the_parser_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import graph.extraction.rule_based as language

    monkeypatch.setattr(language, "dependency_triples", Fails(language.dependency_triples))
    folder = folder_of(tmp_path, **GOOD, ferry=BAD)
    model = PickyEmbedding()
    with opened_with(tmp_path / "library", model, graph={}) as engine:
        assert "(graph.extraction.rule_based:" in only_partial(engine.add(folder))
        predicates = {relation.predicate for relation in engine.graph_index.relations()}
    assert "chairs" in predicates  # of the text that is read after it


def test_a_text_that_cannot_be_stored_at_all_has_failed_and_the_others_are_kept(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Library, "put_documents", Fails(Library.put_documents))
    folder = folder_of(tmp_path, **GOOD, ferry=BAD)
    with open_engine(tmp_path / "library") as engine:
        report = engine.add(folder)
        assert (len(report.added), report.partial) == (2, ())
        (one,) = report.failed
        assert one.source.endswith("ferry.md")
        assert "cannot be stored: ValueError: no way through" in one.reason
        assert engine.stats()["documents"] == 2


def test_rows_that_the_database_refuses_cost_their_document_alone(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extractor that says one thing twice breaks a key of the tables."""
    from graph.extraction.rule_based import LanguageExtractor
    from graph.model import Extraction, Statement

    plain = LanguageExtractor._read

    def twice(self: LanguageExtractor, layout: Any, *rest: Any) -> Extraction:
        if MARK not in layout.text:
            return plain(self, layout, *rest)
        one = Statement(start=0, end=5, subject="a", predicate="b", object="c")
        other = Statement(start=0, end=5, subject="a", predicate="b", object="c", strength=2.0)
        return Extraction(statements=(one, other))

    monkeypatch.setattr(LanguageExtractor, "_read", twice)
    monkeypatch.setattr("graph.llamaindex.index.extraction_of", lambda node: node.metadata["raw"])
    monkeypatch.setattr(
        "graph.extraction.llamaindex.attach_extraction",
        lambda node, found: node.metadata.update(raw=found, nodes=[]),
    )
    folder = folder_of(tmp_path, **GOOD, ferry=BAD)
    with open_engine(tmp_path / "library") as engine:
        assert "has no names for 1 chunk" in only_partial(engine.add(folder))
        assert engine.stats()["documents"] == 3


def test_errors_that_are_raised_on_purpose_still_end_the_run(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for error in (ModelUnavailable, MemoryError, OSError, KeyboardInterrupt):
        with monkeypatch.context() as patch, open_engine(tmp_path / error.__name__) as engine:
            fails = broken(patch, "extract")
            fails.error = error  # type: ignore[assignment]
            with pytest.raises(error):
                engine.add_text(BAD, document_id="ferry")
            assert engine.stats()["partial"] == 0


# --- tried again --------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_another_text_makes_a_partial_document_whole(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    broken(monkeypatch, stage)
    with open_engine(tmp_path / "walked") as engine:
        assert engine.add_text(BAD, document_id="ferry.md").partial
        report = engine.add_text(BAD.replace(MARK, "Tunis"), document_id="ferry.md")
        assert (report.changed, report.partial) == (("ferry.md",), ())
        walked = rows(engine)
    with open_engine(tmp_path / "fresh") as engine:
        engine.add_text(BAD.replace(MARK, "Tunis"), document_id="ferry.md")
        assert rows(engine) == walked


@pytest.mark.parametrize("stage", STAGES)
def test_other_settings_or_another_version_try_again(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    with monkeypatch.context() as patch:
        fails = broken(patch, stage)
        with open_engine(tmp_path / "library") as engine:
            engine.add_text(BAD, document_id="ferry.md")
        tried = fails.marked
        with open_engine(tmp_path / "library", chunk={"size_tokens": 256}) as engine:
            assert engine.add_text(BAD, document_id="ferry.md").partial
        assert fails.marked > tried
        tried = fails.marked
        patch.setattr("graph.storage.facts.product_version", lambda: "99")
        patch.setattr("engine.storage.preparation.product_version", lambda: "99")
        with open_engine(tmp_path / "library", chunk={"size_tokens": 256}) as engine:
            assert engine.add_text(BAD, document_id="ferry.md").partial
            assert fails.marked > tried
            tried = fails.marked
            assert engine.add_text(BAD, document_id="ferry.md").unchanged
            assert fails.marked == tried
    with open_engine(tmp_path / "library", chunk={"size_tokens": 256}) as engine:
        report = engine.add_text(BAD, document_id="ferry.md")
        assert (report.changed, report.partial) == (("ferry.md",), ())


# --- the same library ---------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_with_a_partial_document_the_order_of_arrival_does_not_matter_and_removal_leaves_nothing(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    broken(monkeypatch, stage)
    texts = {**GOOD, "ferry": BAD, "zh": "# 港务记录\n\n林若溪在海鸥码头工作。"}
    seen = []
    for number, order in enumerate((sorted(texts), sorted(texts, reverse=True))):
        with open_engine(tmp_path / str(number)) as engine:
            for name in order:
                engine.add_text(texts[name], document_id=name)
            seen.append(rows(engine))
            engine.remove("ferry")
            assert (engine.partial(), engine.stats()["partial"]) == ([], 0)
            seen.append(rows(engine))
    with open_engine(tmp_path / "never") as engine:
        for name in texts.keys() - {"ferry"}:
            engine.add_text(texts[name], document_id=name)
        never = rows(engine)
    assert seen[0] == seen[2]
    assert seen[1] == seen[3] == never


def test_adding_a_partial_document_again_writes_nothing(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "extract")
    path, hashes = tmp_path / "library", []
    for _ in range(2):
        with open_engine(path) as engine:
            engine.add_text(BAD, document_id="ferry")
        hashes.append(hashlib.sha256((path / "library.db").read_bytes()).hexdigest())
    assert hashes[0] == hashes[1]


def test_a_text_with_the_same_words_takes_nothing_from_a_chunk_that_could_not_be_read(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(tmp_path / "library") as engine:
        with monkeypatch.context() as patch:
            broken(patch, "extract")
            engine.add_text(BAD, document_id="first")
        report = engine.add_text(BAD, document_id="second")
        assert report.partial == ()
        assert "orrin vale" in {k for e in engine.graph_index.entities() for k in e.keys}


def test_names_that_come_later_try_to_link_a_chunk_again(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(tmp_path / "library") as engine:
        with monkeypatch.context() as patch:
            broken(patch, "link")
            engine.add_text(BAD, document_id="ferry")
        assert engine.partial()
        engine.add_text(GOOD["harbour"], document_id="harbour")
        assert engine.partial() == []


# --- said ---------------------------------------------------------------------------------------

_BROKEN_CLI = """
import graph.extraction.rule_based as language
read = language.LanguageExtractor._read
def broken(self, layout, *rest):
    if "Zanzibar" in layout.text:
        raise IndexError("string index out of range")
    return read(self, layout, *rest)
language.LanguageExtractor._read = broken
"""
run = partial(command_line.run, prelude=_BROKEN_CLI)


@pytest.fixture(scope="module")
def with_a_bad_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside a library of two good files and one that cannot be read for names."""
    place = tmp_path_factory.mktemp("cli")
    folder_of(place, **GOOD, ferry=BAD)
    return place


def test_the_command_line_keeps_the_good_files_says_the_partial_one_and_ends_with_3(
    with_a_bad_text: Path,
) -> None:
    for done_before in (False, True):
        done = run(with_a_bad_text, "add", "docs")
        assert done.returncode == 3, done.stderr
        assert ("3 unchanged" if done_before else "3 added") in done.stdout
        assert "1 partial" in done.stdout
        (line,) = [one for one in done.stderr.splitlines() if one.startswith("  partial ")]
        assert "docs/ferry.md: has no names for 1 chunk: IndexError: string index" in line
        assert ("Traceback" in done.stderr) == (not done_before)  # the log, of what was tried
    assert run(with_a_bad_text, "sync", "docs").returncode == 3
    answered = run(with_a_bad_text, "ask", "Who moored the Petrel?")
    assert (answered.returncode, "Ada Brine" in answered.stdout) == (0, True)
    found = run(with_a_bad_text, "search", "nine quarrelsome days")
    assert "quarrelsome" in found.stdout
    assert re.search(r"^partial +1$", run(with_a_bad_text, "stats").stdout, re.M)
    assert "partial docs/ferry.md: has no names" in run(with_a_bad_text, "doctor").stdout


def test_a_terminal_shows_the_line_and_no_traceback(tmp_path: Path) -> None:
    folder_of(tmp_path, ferry=BAD)
    main, side = pty.openpty()
    with os.fdopen(side, "wb", buffering=0) as terminal:
        done = run(tmp_path, "add", "docs", stderr=terminal)
    said = b""
    with contextlib.suppress(OSError):  # how a terminal whose other side is closed ends
        while part := os.read(main, 65_536):
            said += part
    os.close(main)
    assert done.returncode == 3
    assert b"docs/ferry.md: has no names for 1 chunk" in b" ".join(said.split())
    assert b"Traceback" not in said


def test_tools_say_which_documents_are_partial(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, "extract")
    with open_engine(tmp_path / "library") as engine:
        add = next(t for t in engine.tools(read_only=False) if t.metadata.name == "add_text")
        said = str(add.call(text=BAD, document_id="ferry"))
    assert "partial: ferry: has no names for 1 chunk: ValueError" in said


def test_an_exception_is_named_without_addresses_and_in_one_short_line() -> None:
    from graph.isolation import Isolation

    with Isolation("extract") as isolated:
        raise ValueError(f"<object at 0x7f12ab>\n{'x' * 500}\ud800")
    fault = isolated.caught
    assert fault.reason.startswith("ValueError: <object at 0x…> xxx")
    assert len(fault.reason) < 260
    fault.reason.encode("utf8")


def test_a_fault_is_logged_by_the_products_logger(
    open_engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    broken(monkeypatch, "extract")
    with caplog.at_level(logging.ERROR, logger="loregraph"), open_engine(tmp_path / "l") as engine:
        engine.add_text(BAD, document_id="ferry")
    (record,) = caplog.records
    assert record.name == "loregraph"
    assert record.getMessage().startswith("extract of 'ferry' failed: ValueError: no way through")


def test_plain_words_stand_in_for_tokens() -> None:
    assert _plain_words("The Ferry_Log, 1931: 海鸥码头") == "the ferry log 1931 海鸥 鸥码 码头"
