"""A library whose chunks a language model reads, and whose reports it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from openai_server import TOO_LONG, OpenAIServer, Reply
from reading_model import read_like_a_model, texts_in

from engine import KnowledgeEngine
from engine.enrichment import reports as report_writer
from engine.errors import SettingsError
from engine.llm.retry import FAILURE_THRESHOLD

LINES = (
    "Ada Brine lit the lamp with Orrin Vale in 1901.",
    "Orrin Vale repaired the lamp that Mara Quill had sold to Ada Brine.",
    "Mara Quill sailed with Tobias Rook to Gull Quay.",
    "Tobias Rook and Ada Brine kept the log of Gull Quay.",
    "Ines Falk wrote to Mara Quill about the storm.",
)


@pytest.fixture
def opened(open_engine, openai_server: OpenAIServer, tmp_path: Path) -> Any:
    """`opened(name, graph={…}, budget={…})`: an engine whose model reads like the stand-in."""
    openai_server.answer_with(read_like_a_model)
    engines: list[KnowledgeEngine] = []

    def open_(name: str = "library", **sections: Any) -> KnowledgeEngine:
        llm = openai_server.settings(retries=0, concurrency=2) | sections.pop("llm", {})
        graph = {"spacy_model": "none", "extractor": "llm", "pack_tokens": 100}
        graph |= sections.pop("graph", {})
        engine = open_engine(tmp_path / name, llm=llm, graph=graph, **sections)
        engines.append(engine)
        return engine

    yield open_
    for engine in engines:
        engine.close()


def _fill(engine: KnowledgeEngine) -> list[Any]:
    return [
        engine.add_text(text, document_id=f"d{number}", title=f"Note {number}")
        for number, text in enumerate(LINES)
    ]


def _graph(engine: KnowledgeEngine) -> Any:
    export = engine.graph_index.export()
    return export.entities, export.relations, export.communities, export.reports, export.claims


def test_what_the_model_reads_is_the_graph_and_is_anchored(opened) -> None:
    engine = opened()
    reports = _fill(engine)
    assert sum(report.usage.calls for report in reports) == len(LINES)
    entities = {entity.name: entity for entity in engine.graph_index.entities()}
    assert "lit the lamp" in entities["Ada Brine"].description
    relation = next(r for r in engine.graph_index.relations() if r.predicate == "appears with")
    assert relation.description
    (place,) = relation.evidences[:1]
    export = engine.graph_index.export()
    assert "lamp" in export.chunks[place.chunk_id].text[place.start : place.end]
    assert engine.problems() == []
    (row,) = [row for row in engine.usage() if row.stage == "extraction"]
    assert row.calls == len(LINES)


TALES = {
    "carol": "Scrooge's nephew, called Fred, asked Scrooge home. Marley's Ghost warned Scrooge.",
    "popes": "Marozia's husband fled. Marozia was imprisoned in 932.",
    "station": "林若溪（Lin Ruoxi）任站长。林若溪写信给Maeve Tolland。",
    "letters": "Lin Ruoxi wrote to Maeve Tolland.",
}
NAMED: dict[str, list[list[str]]] = {
    "Scrooge's nephew": [["Scrooge"], ["Scrooge's nephew", "Fred"], ["Marley's Ghost", "Marley"]],
    "Marozia": [["Marozia", "Marozia's husband"], ["Marozia's husband"]],
    "林若溪": [["林若溪", "Lin Ruoxi"], ["Maeve Tolland"]],
    "Lin Ruoxi": [["Lin Ruoxi"], ["Maeve Tolland"]],
}
"""First words of a text → its persons, each with further names as a model gives them."""


def _with_other_names(request: Any) -> str:
    if "<<<texts " not in request.question:
        return read_like_a_model(request)
    chunks = [
        {
            "n": number,
            "entities": [[name, "PERSON", f"{name}.", *others] for name, *others in found],
            "relations": [],
            "claims": [],
        }
        for number, text in texts_in(request.question).items()
        for found in [next(some for begin, some in NAMED.items() if text.startswith(begin))]
    ]
    return json.dumps({"chunks": chunks})


def test_other_names_join_in_both_scripts_and_owners_stay_apart(
    opened, openai_server: OpenAIServer
) -> None:
    engine = opened()
    openai_server.answer_with(_with_other_names)
    for name, text in TALES.items():
        engine.add_text(text, document_id=name)
    found = {frozenset(entity.keys) for entity in engine.graph_index.entities()}
    assert {
        frozenset({"scrooge nephew", "fred"}),
        frozenset({"scrooge"}),
        frozenset({"marley ghost"}),
        frozenset({"marozia"}),
        frozenset({"marozia husband"}),
        frozenset({"林若溪", "lin ruoxi"}),
    } <= found
    station = engine.graph.entity("Lin Ruoxi")
    assert {station.name, *station.aliases} == {"林若溪", "Lin Ruoxi"}


def test_a_chunk_is_sent_with_its_document_and_section(opened, openai_server: OpenAIServer) -> None:
    engine = opened()
    text = f"# The quay\n\n## Keepers\n\n{LINES[0]}"
    engine.add_text(text, document_id="quay.md", title="Harbour book")
    (asked,) = [one.question for one in openai_server.requests if "<<<texts " in one.question]
    assert " | Harbour book" in asked


def test_unchanged_documents_cost_nothing_and_a_changed_one_its_own_chunk(opened) -> None:
    engine = opened()
    _fill(engine)
    again = _fill(engine)
    assert sum(report.usage.calls for report in again) == 0
    changed = engine.add_text(LINES[0] + " Ada Brine slept.", document_id="d0", title="Note 0")
    assert changed.usage.calls == 1


def test_short_chunks_of_several_documents_share_a_call(
    opened, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, text in enumerate(LINES):
        (folder / f"{number}.txt").write_text(text)
    engine = opened(graph={"pack_tokens": 1000})
    report = engine.add(folder)
    assert report.usage.calls == 1
    assert len(texts_in(openai_server.requests[-1].question)) == len(LINES)


def test_no_call_shows_texts_of_two_namespaces(opened, openai_server: OpenAIServer) -> None:
    engine = opened(graph={"pack_tokens": 1000})
    openai_server.answer_with(lambda _: Reply("away", status=500))
    for number, space in enumerate(["north", "south", ""]):  # all wait for the model
        engine.add_text(LINES[number], document_id=f"d{number}", namespace=space)
    openai_server.answer_with(read_like_a_model)
    before = len(openai_server.requests)
    engine.add_text(LINES[3], document_id="d3", namespace="south")
    shown = [texts_in(request.question) for request in openai_server.requests[before:]]
    held = [frozenset(texts.values()) for texts in shown if texts]
    assert frozenset([LINES[1], LINES[3]]) in held
    assert sorted(map(len, held)) == [1, 1, 2]


def test_a_text_that_two_documents_hold_is_paid_for_once(opened) -> None:
    engine = opened()
    engine.add_text(LINES[0], document_id="a", title="Note")
    second = engine.add_text(LINES[0], document_id="b", title="Note")
    assert second.usage.calls == 0
    assert all(
        entity.document_count == 2
        for entity in engine.graph_index.entities()
        if entity.name == "Ada Brine"
    )


def test_what_is_removed_leaves_nothing_and_equals_never_added(opened) -> None:
    whole, part = opened("whole"), opened("part")
    _fill(whole)
    whole.remove(["d4"])
    for number, text in enumerate(LINES[:4]):
        part.add_text(text, document_id=f"d{number}", title=f"Note {number}")
    assert _graph(whole) == _graph(part)
    whole.close()
    data = b"".join(file.read_bytes() for file in whole._library.path.rglob("*") if file.is_file())
    assert b"Ines Falk" not in data


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(Reply("I would rather not."), "no JSON", id="refusal"),
        pytest.param(Reply(json.dumps({"chunks": []})), "missing in the reply", id="left out"),
        pytest.param(Reply(status=500), "500", id="server error"),
        pytest.param(Reply(status=401), "401", id="key refused"),
        pytest.param(Reply(""), "empty", id="nothing"),
        pytest.param(Reply('{"n": 1, "entities": []}'), "has no entities", id="empty lists"),
    ],
)
def test_a_chunk_that_cannot_be_read_is_named_and_read_when_the_model_is_asked_again(
    opened, openai_server: OpenAIServer, bad: Reply, reason: str
) -> None:
    healthy = opened("healthy")
    healthy.add_text(LINES[0], document_id="d", title="Note")
    engine = opened()
    openai_server.answer_with(lambda request: bad)
    report = engine.add_text(LINES[0], document_id="d", title="Note")
    (pending,) = report.pending
    assert pending.document_id == "d"
    assert reason in pending.reason
    assert engine.stats()["pending"] == 1
    assert engine.retrieve("Who lit the lamp?")
    assert "Ada Brine" in {entity.name for entity in engine.graph_index.entities()}  # stood in for
    openai_server.answer_with(read_like_a_model)
    engine.retry_unanswered()
    later = engine.add_text(LINES[0], document_id="d", title="Note")
    assert later.pending == ()
    assert later.unchanged == ("d",)
    assert engine.stats()["pending"] == 0
    assert _graph(engine) == _graph(healthy)


def test_without_a_stand_in_an_unread_chunk_has_no_graph(
    opened, openai_server: OpenAIServer
) -> None:
    engine = opened(graph={"fill": "none"})
    openai_server.script(Reply("no"), Reply("no"))
    assert engine.add_text(LINES[0], document_id="d", title="Note").pending
    assert engine.stats()["mentions"] == 0
    assert engine.retrieve("Who lit the lamp?")


def test_a_correction_quotes_the_error_and_is_one_further_call(
    opened, openai_server: OpenAIServer
) -> None:
    engine = opened()
    openai_server.script(Reply("Certainly! Here are the entities you asked for."))
    report = engine.add_text(LINES[0], document_id="d", title="Note")
    assert report.pending == ()
    assert report.usage.calls == 2
    assert "no JSON" in openai_server.requests[-1].question


def test_claims_are_asked_for_only_where_they_are_wanted(
    opened, openai_server: OpenAIServer
) -> None:
    for name, graph, asked in (("without", {}, False), ("with", {"claims": True}, True)):
        openai_server.requests.clear()
        opened(name, graph=graph).add_text(LINES[0], document_id="d", title="Note")
        said = [json.dumps(request.body) for request in openai_server.requests]
        assert said
        assert all(("claims" in text) == asked for text in said)


def test_a_text_too_long_for_the_model_is_read_in_pieces(
    opened, openai_server: OpenAIServer
) -> None:
    sentence = "Ada Brine met Orrin Vale at Gull Quay on day {}."
    text = " ".join(sentence.format(day) for day in range(30))

    def answer(request: Any) -> Reply | str:
        if len(request.question) > 1200:
            return TOO_LONG
        return read_like_a_model(request)

    openai_server.answer_with(answer)
    engine = opened()
    report = engine.add_text(text, document_id="d", title="Note")
    assert report.pending == ()
    assert {"Ada Brine", "Orrin Vale", "Gull Quay"} <= {
        entity.name for entity in engine.graph_index.entities()
    }
    assert engine.problems() == []


def test_a_budget_ends_the_reading_before_it_is_exceeded_and_the_next_run_goes_on(opened) -> None:
    engine = opened(budget={"max_tokens": 3_000}, llm={"concurrency": 1})
    seen = []
    for report in _fill(engine):
        usage = report.usage
        assert usage.prompt_tokens + usage.completion_tokens <= 3_000
        seen.append(report)
    tiny = opened("tiny", budget={"max_tokens": 10})
    report = tiny.add_text(LINES[0], document_id="d", title="Note")
    assert report.usage.calls == 0
    assert "budget.max_tokens" in report.pending[0].reason
    tiny.close()
    rich = opened("tiny")
    assert rich.add_text(LINES[1], document_id="e", title="Note").usage.calls == 1  # for both
    assert rich.stats()["pending"] == 0


def test_both_extractors_are_heard(opened) -> None:
    engine = opened(graph={"extractor": "both"})
    _fill(engine)
    predicates = {relation.predicate for relation in engine.graph_index.relations()}
    assert {"appears with", "occurs with"} <= predicates


def test_reports_are_written_as_documents_come_and_only_where_something_changed(
    opened, openai_server: OpenAIServer
) -> None:
    engine = opened(graph={"reports": "eager", "report_min_entities": 2})
    _fill(engine)
    written = [report for report in engine.graph_index.reports() if report.written_by]
    assert written
    assert all(finding.evidences for report in written for finding in report.findings)
    assert written[0].rating_reason == "So many lines speak of it."
    before = len(openai_server.requests)
    engine.add_text("Nothing that anybody would name.", document_id="x", title="")
    asked = openai_server.requests[before:]
    assert not any("<quoted " in request.question for request in asked)


def test_a_text_that_neither_the_model_nor_its_stand_in_can_read_is_partial_until_one_can(
    opened, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph.extraction.rule_based import LanguageExtractor

    def fails(_self: object, texts: list[str]) -> Any:
        if not texts:
            return []
        tried.append(len(texts))
        raise IndexError("no way through")

    tried: list[int] = []
    monkeypatch.setattr(LanguageExtractor, "extract", fails)
    openai_server.answer_with(lambda _request: "no")
    engine = opened()
    for again in (False, True):
        report = engine.add_text(LINES[0], document_id="d0", title="Note 0")
        assert [one.document_id for one in report.pending] == ["d0"]
        assert "has no names for 1 chunk: IndexError: no way through" in report.partial[0].reason
        assert (engine.stats()["partial"], tried) == (1, [1]), again
    openai_server.answer_with(read_like_a_model)
    engine.retry_unanswered()
    report = engine.add_text(LINES[0], document_id="d0", title="Note 0")
    assert (report.pending, report.partial, engine.stats()["partial"]) == ((), (), 0)


def test_an_unexpected_error_about_a_reply_leaves_its_text_pending_with_the_place(
    opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.enrichment import extraction as enrichment

    def fails(pack: Any, *rest: Any, **more: Any) -> Any:
        if any("Orrin" in text for text in pack.texts):
            raise KeyError("relations")
        return whole(pack, *rest, **more)

    whole = enrichment.extract_pack
    monkeypatch.setattr(enrichment, "extract_pack", fails)
    engine = opened()
    reports = _fill(engine)
    assert [one.document_id for one in reports[-1].pending] == ["d0", "d1"]
    assert "KeyError: 'relations' (engine.enrichment.extraction:" in reports[-1].pending[0].reason
    assert engine.graph_index.reports()


def test_a_report_goes_with_what_it_rests_on(opened) -> None:
    engine = opened(graph={"reports": "eager", "report_min_entities": 2})
    _fill(engine)
    engine.remove([f"d{number}" for number in range(len(LINES))])
    assert engine.stats()["written_reports"] == 0


def test_a_report_that_fails_stays_extractive_and_is_written_when_the_model_is_asked_again(
    opened, openai_server: OpenAIServer
) -> None:
    def answer(request: Any) -> str:
        return "no" if "<quoted " in request.question else read_like_a_model(request)

    openai_server.answer_with(answer)
    engine = opened(graph={"reports": "eager", "report_min_entities": 2})
    report = _fill(engine)[-1]
    assert any("report" in note for note in report.notes)
    assert engine.stats()["written_reports"] == 0
    openai_server.answer_with(read_like_a_model)
    engine.retry_unanswered()
    engine.add_text(LINES[0], document_id="d0", title="Note 0")
    assert engine.stats()["written_reports"] > 0


def test_a_server_that_went_away_is_not_asked_for_every_report(
    opened, openai_server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(request: Any) -> Reply | str:
        if "<quoted " not in request.question:
            return read_like_a_model(request)
        asked.append(request.question)
        return Reply(status=503)

    openai_server.answer_with(answer)
    monkeypatch.setattr(report_writer, "CALL_REPORTS", 1)
    graph = {"reports": "eager", "report_min_entities": 2}
    engine = opened(graph=graph, llm={"concurrency": 1})
    people = ("Ada Brine", "Orrin Vale", "Mara Quill", "Tobias Rook", "Ines Falk", "Leo Tolstoi")
    places = ("Gull Quay", "Port Merrow", "Tula Manor", "Odra Mill", "Kestrel Rock", "Vale Line")
    for name, place in zip(people, places, strict=True):
        (tmp_path / f"{place}.txt").write_text(f"{name} lived at {place}.", encoding="utf8")
    report = engine.add(sorted(tmp_path.glob("*.txt")))
    assert len(asked) == FAILURE_THRESHOLD
    (note,) = (note for note in report.notes if "report(s)" in note)
    assert note.startswith(f"{len(people)} report(s) stay as they are")


def test_an_extractor_without_a_model_is_refused(open_engine, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"graph\.extractor.*llm\.kind"):
        open_engine(tmp_path / "library", graph={"extractor": "llm", "spacy_model": "none"})


def test_a_library_that_a_model_read_stays_so_when_it_is_opened_without_one(
    opened, open_engine, tmp_path: Path
) -> None:
    engine = opened()
    _fill(engine)
    before = _graph(engine)
    engine.close()
    with open_engine(tmp_path / "library") as plain:
        reports = _fill(plain)
        assert all(report.unchanged for report in reports)
        assert _graph(plain) == before


def test_an_estimate_counts_calls_and_tokens_and_asks_nothing(
    opened, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number, text in enumerate(LINES):
        (folder / f"{number}.txt").write_text(text)
    engine = opened()
    estimate = engine.estimate(folder)
    assert openai_server.requests == []
    assert engine.documents() == []
    (stage,) = estimate.stages
    report = engine.add(folder)
    assert (stage.stage, stage.calls) == ("extraction", report.usage.calls)
    assert estimate.documents == len(LINES)
    assert stage.prompt_tokens > 0
    assert stage.completion_tokens > 0
    assert engine.estimate(folder).stages[0].calls == 0


@pytest.mark.parametrize(
    ("reports", "told"), [("lazy", ["24,000"]), ("eager", []), ("extractive", [])]
)
def test_an_estimate_tells_of_reports_that_a_question_will_have_written(
    opened, reports: str, told: list[str]
) -> None:
    estimate = opened(graph={"reports": reports}).estimate(["note.txt"])
    notes = [note for note in estimate.notes if "a question about the whole" in note]
    assert [re.findall(r"[\d,]{3,}", note) for note in notes] == [told] * len(told)


def test_a_report_is_written_when_a_question_first_needs_it(
    opened, openai_server: OpenAIServer
) -> None:
    engine = opened(
        graph={"reports": "lazy", "report_min_entities": 2}, overview={"selection": "fixed"}
    )
    _fill(engine)
    assert engine.stats()["written_reports"] == 0
    first = engine.ask("What are the main themes?", mode="global")
    written = engine.stats()["written_reports"]
    assert written > 0
    assert first.usage.calls >= 2
    engine.ask("What do all the notes have in common?", mode="global")
    assert engine.stats()["written_reports"] == written
    asked = [request for request in openai_server.requests if "<quoted " in request.question]
    assert len(asked) == 1


def test_the_same_question_of_an_unchanged_library_costs_nothing(opened) -> None:
    engine = opened()
    _fill(engine)
    first = engine.ask("Who lit the lamp?", mode="local")
    again = engine.ask("Who lit the lamp?", mode="local")
    assert (first.usage.calls, again.usage.calls, again.usage.cached_calls) == (1, 0, 1)
    assert again.text == first.text
    engine.add_text("Another note by Ines Falk.", document_id="new", title="")
    assert engine.ask("Who lit the lamp?", mode="local").usage.calls == 1
