"""A model that is asked once more when all is read: about names in doubt, and for summaries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer, Reply, Request
from reading_model import read_like_a_model

import graph.resolution.llm_judge
from engine import KnowledgeEngine
from engine.enrichment import entities as engine_look
from engine.llm.retry import FAILURE_THRESHOLD

TEXTS = {
    "a": "Leo Tolstoi wrote at night with Anna Vale.",
    "b": "Leo Tolstoy was born near Tula Manor.",
}
ABOUT = (
    "Ada Brine repaired seventeen weathered fishing boats beside Northern harbours.",
    "Ada Brine collected botanical drawings describing poisonous alpine mushrooms.",
    "Ada Brine translated forgotten Icelandic ballads concerning drowned shepherds.",
    "Ada Brine inherited mechanical clocks manufactured throughout central Bohemia.",
    "Ada Brine photographed migrating butterflies crossing desolate volcanic islands.",
    "Ada Brine organised charitable concerts supporting orphaned railway children.",
    "Ada Brine criticised municipal councillors regarding polluted drinking fountains.",
    "Ada Brine discovered ancient manuscripts underneath ruined monastery staircases.",
    "Ada Brine cultivated extraordinary tulips alongside abandoned canal towpaths.",
    "Ada Brine memorised astronomical tables predicting unusual planetary alignments.",
)
NEXT_RUN, NEVER = "the next run asks again: ", "this model is not asked again"
SUMMARY = "Ada Brine did a great many curious things."


class Judge:
    """Reads like the stand-in, and says of names and of descriptions what it is told to."""

    def __init__(self, verdict: str = "same", summary: str = SUMMARY) -> None:
        self.verdict: Callable[[], Reply | str] | str = verdict
        self.summary: Callable[[], Reply | str] | str = summary
        self.pairs: list[str] = []
        self.described: list[str] = []

    def __call__(self, request: Request) -> Reply | str:
        system = str(request.body["messages"][0]["content"])
        if '"verdict"' in system:
            self.pairs.append(request.question)
            count = len(re.findall(r"^\d+\.$", request.question, re.MULTILINE))
            rows = [{"n": n + 1, "verdict": self.verdict, "why": "spelling"} for n in range(count)]
            return self.verdict() if callable(self.verdict) else json.dumps({"pairs": rows})
        if '"descriptions":[{"n"' in system:
            self.described.append(request.question)
            count = len(re.findall(r"^# \d+ ", request.question, re.MULTILINE))
            texts = [{"n": n + 1, "text": self.summary} for n in range(count)]
            return self.summary() if callable(self.summary) else json.dumps({"descriptions": texts})
        return read_like_a_model(request)


@pytest.fixture
def judge(openai_server: OpenAIServer) -> Judge:
    answering = Judge()
    openai_server.answer_with(answering)
    return answering


@pytest.fixture
def opened(open_engine, openai_server: OpenAIServer, tmp_path: Path) -> Any:
    """`opened(name, graph={…}, budget={…})`: an engine that asks the judge."""
    engines: list[KnowledgeEngine] = []

    def open_(name: str = "library", **sections: Any) -> KnowledgeEngine:
        llm = openai_server.settings(retries=0, concurrency=1)
        graph = {"spacy_model": "none", "extractor": "llm", "reports": "extractive"}
        graph |= {"judged_pairs": 200}
        graph |= sections.pop("graph", {})
        engine = open_engine(tmp_path / name, llm=llm, graph=graph, **sections)
        engines.append(engine)
        return engine

    yield open_
    for engine in engines:
        engine.close()


def _folder(path: Path, texts: dict[str, str]) -> Path:
    path.mkdir(exist_ok=True)
    for name, text in texts.items():
        (path / f"{name}.txt").write_text(text, encoding="utf8")
    return path


def _entity(engine: KnowledgeEngine, key: str) -> Any:
    return next(entity for entity in engine.graph_index.entities() if key in entity.keys)


def _bytes(engine: KnowledgeEngine) -> bytes:
    files = sorted(engine._library.path.rglob("*"))
    return b"".join(file.read_bytes() for file in files if file.is_file())


# --- names in doubt -----------------------------------------------------------------------------


def test_a_pair_that_is_judged_the_same_is_one_thing_and_is_asked_about_once(
    opened, judge: Judge, tmp_path: Path
) -> None:
    engine, folder = opened(), _folder(tmp_path / "notes", TEXTS)
    report = engine.add(folder)
    assert "1 pair of names was judged to be one thing" in report.notes
    assert _entity(engine, "leo tolstoi") == _entity(engine, "leo tolstoy")
    reasons = {merge.reason for merge in engine.graph_index.merges()}
    assert "m judged that both names mean one thing (spelling)" in reasons
    (row,) = [row for row in engine.usage() if row.stage == "names"]
    assert row.calls == len(judge.pairs) == 1
    again = engine.add(folder)
    assert again.usage.calls == 0
    assert again.notes == ()
    engine.add_text("Ines Falk sang.", document_id="c", title="")
    assert len(judge.pairs) == 1


def test_several_pairs_share_a_call_and_chinese_names_are_pairs_too(
    opened, judge: Judge, tmp_path: Path
) -> None:
    more = {"c": "「长江电力」在湖北发电。「长江电力公司」很大。"}
    engine = opened()
    report = engine.add(_folder(tmp_path / "notes", TEXTS | more))
    (asked,) = judge.pairs
    assert "Leo Tolstoi" in asked
    assert "长江电力公司" in asked
    assert "2 pairs of names were judged to be one thing" in report.notes
    assert _entity(engine, "长江电力") == _entity(engine, "长江电力公司")


def test_no_pair_is_looked_for_where_no_document_has_changed(
    opened, judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, folder = opened(), _folder(tmp_path / "notes", TEXTS)
    looked = []
    found = engine_look.uncertain_pairs
    monkeypatch.setattr(
        engine_look,
        "uncertain_pairs",
        lambda connection, *, limit: looked.append(limit) or found(connection, limit=limit),
    )
    for _ in range(3):
        engine.add(folder)
    assert looked == [200]
    engine.add_text("Ines Falk sang.", document_id="c", title="")
    assert looked == [200, 200]


@pytest.mark.parametrize("verdict", ["different", "unknown"])
def test_what_is_not_judged_the_same_stays_apart_and_is_not_asked_about_again(
    opened, judge: Judge, tmp_path: Path, verdict: str
) -> None:
    judge.verdict = verdict
    engine, folder = opened(), _folder(tmp_path / "notes", TEXTS)
    assert engine.add(folder).notes == ()
    assert _entity(engine, "leo tolstoi") != _entity(engine, "leo tolstoy")
    engine.add(folder)
    engine.add_text("Ines Falk sang.", document_id="c", title="")
    assert len(judge.pairs) == 1


def test_a_judgement_goes_with_a_document_that_held_one_of_its_names(
    opened, judge: Judge, tmp_path: Path
) -> None:
    engine, alone = opened(), opened("alone")
    engine.add(_folder(tmp_path / "notes", TEXTS), namespace="n")
    removed = [document.id for document in engine.documents() if document.id.endswith("b.txt")]
    engine.remove(removed)
    alone.add(_folder(tmp_path / "one", {"a": TEXTS["a"]}), namespace="n")
    assert _entity(engine, "leo tolstoi") == _entity(alone, "leo tolstoi")
    assert engine.graph_index.merges() == alone.graph_index.merges()
    engine.close()
    assert b"leo tolstoy" not in _bytes(engine)


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param({"judged_pairs": 0}, id="no pair may be judged"),
        pytest.param({"extractor": "language"}, id="no model reads"),
    ],
)
def test_no_pair_is_judged_where_none_is_to_be(
    opened, judge: Judge, tmp_path: Path, graph: dict[str, object]
) -> None:
    opened(graph=graph).add(_folder(tmp_path / "notes", TEXTS))
    assert judge.pairs == []


def test_no_more_pairs_are_judged_than_a_run_may_and_the_next_goes_on(
    opened, judge: Judge, tmp_path: Path
) -> None:
    texts = TEXTS | {"c": "Ines Falk sang for Tobias Rook.", "d": "Ines Falck danced at Gull Quay."}
    engine, folder = opened(graph={"judged_pairs": 1}), _folder(tmp_path / "notes", texts)
    counts = []
    for _ in range(3):
        engine.add(folder)
        counts.append(len(judge.pairs))
    assert counts == [1, 2, 2]
    assert _entity(engine, "ines falk") == _entity(engine, "ines falck")


@pytest.mark.parametrize(
    ("bad", "reason", "booked", "what_next"),
    [
        pytest.param(Reply("I would rather not."), "no JSON", 2, NEVER, id="refusal"),
        pytest.param(Reply('{"pairs": []}'), "missing in the reply", 2, NEVER, id="left out"),
        pytest.param(Reply(""), "empty", 2, NEVER, id="nothing"),
        pytest.param(Reply(status=500), "500", 0, NEXT_RUN, id="server error"),
        pytest.param(Reply(status=401), "401", 0, NEXT_RUN, id="key refused"),
    ],
)
def test_a_pair_that_is_not_judged_is_a_note_and_asked_again_where_that_may_help(
    opened, judge: Judge, tmp_path: Path, bad: Reply, reason: str, booked: int, what_next: str
) -> None:
    judge.verdict = lambda: bad
    engine, folder = opened(), _folder(tmp_path / "notes", TEXTS)
    (note,) = engine.add(folder).notes
    assert note.startswith(f"1 pair of names was not judged, and {what_next}")
    assert reason in note
    assert sum(row.failed for row in engine.usage() if row.stage == "names") == booked
    assert _entity(engine, "leo tolstoi") != _entity(engine, "leo tolstoy")
    judge.verdict = "same"
    if what_next == NEVER:
        assert engine.add(folder).usage.calls == 0
        engine.retry_unanswered()
    engine.add(folder)
    assert _entity(engine, "leo tolstoi") == _entity(engine, "leo tolstoy")


def test_a_budget_that_does_not_suffice_is_a_note_and_no_call(
    opened, judge: Judge, tmp_path: Path
) -> None:
    folder = _folder(tmp_path / "notes", TEXTS)
    with opened(graph={"judged_pairs": 0}) as free:
        free.add(folder)
    with opened(budget={"max_tokens": 10}) as poor:
        report = poor.add(folder)
    assert judge.pairs == []
    (note,) = report.notes
    assert "budget.max_tokens" in note
    rich = opened()
    assert rich.add(folder).usage.calls == 1
    assert _entity(rich, "leo tolstoi") == _entity(rich, "leo tolstoy")


def test_a_server_that_went_away_is_not_asked_for_ever(
    opened, judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph.resolution.llm_judge, "PAIRS_A_CALL", 1)
    names = ("Ines Falk", "Mara Quill", "Orrin Vale", "Tobias Rook", "Leo Tolstoi")
    others = ("Ines Falck", "Mara Quyll", "Orrin Vail", "Tobias Rock", "Leo Tolstoy")
    texts = {f"{n}": f"{name} was here." for n, name in enumerate((*names, *others))}
    good: list[Reply | str] = [json.dumps({"pairs": [{"n": 1, "verdict": "same"}]})]
    judge.verdict = lambda: good.pop() if good else Reply(status=503)
    report = opened().add(_folder(tmp_path / "notes", texts))
    assert len(judge.pairs) == 1 + FAILURE_THRESHOLD
    assert report.notes[0] == "1 pair of names was judged to be one thing"
    (note,) = report.notes[1:]
    assert note.startswith("4 pairs of names were not judged")


def test_what_was_judged_before_an_interruption_is_not_paid_for_again(
    opened, judge: Judge, tmp_path: Path
) -> None:
    def interrupt(stage: str, _done: int, _total: int) -> None:
        if stage == "judge names":
            raise KeyboardInterrupt

    engine, folder = opened(), _folder(tmp_path / "notes", TEXTS)
    with pytest.raises(KeyboardInterrupt):
        engine.add(folder, progress=interrupt)
    engine.close()
    again = opened()
    assert again.add(folder).usage.calls == 0
    assert _entity(again, "leo tolstoi") == _entity(again, "leo tolstoy")
    assert len(judge.pairs) == 1


def test_an_estimate_tells_what_names_and_descriptions_will_cost(
    opened, judge: Judge, tmp_path: Path
) -> None:
    texts = {**TEXTS, **{f"about {n}": text for n, text in enumerate(ABOUT)}}
    folder = _folder(tmp_path / "notes", texts)
    engine = opened(graph={"judged_pairs": 7, "summarise": True})
    forecast = {stage.stage: stage for stage in engine.estimate(folder).stages}
    engine.add(folder)
    spent = {row.stage: row for row in engine.usage()}
    for stage in ("names", "summaries"):
        assert forecast[stage].calls == spent[stage].calls == 1
        assert forecast[stage].prompt_tokens > 0 < forecast[stage].completion_tokens
    without = opened("other", graph={"judged_pairs": 0}).estimate(folder)
    assert "names" not in {stage.stage for stage in without.stages}


# --- long descriptions --------------------------------------------------------------------------


def _life(count: int = len(ABOUT)) -> dict[str, str]:
    return {f"{number}": text for number, text in enumerate(ABOUT[:count])}


def test_a_long_description_is_summarised_once(opened, judge: Judge, tmp_path: Path) -> None:
    engine = opened(graph={"summarise": True})
    folder = _folder(tmp_path / "notes", _life())
    engine.add(folder)
    assert _entity(engine, "ada brine").description == SUMMARY
    (asked,) = judge.described
    assert "Ada Brine memorised" in asked
    (row,) = [row for row in engine.usage() if row.stage == "summaries"]
    assert row.calls == 1
    assert engine.add(folder).usage.calls == 0
    engine.add_text("Ines Falk sang.", document_id="x", title="")
    assert len(judge.described) == 1
    assert _entity(engine, "ada brine").description == SUMMARY


def test_it_is_summarised_again_when_something_else_is_said(
    opened, judge: Judge, tmp_path: Path
) -> None:
    engine = opened(graph={"summarise": True})
    engine.add(_folder(tmp_path / "notes", _life()))
    judge.summary = "Ada Brine slept at last."
    engine.add_text("Ada Brine slept for a week.", document_id="x", title="")
    assert len(judge.described) == 2
    assert _entity(engine, "ada brine").description == "Ada Brine slept at last."
    engine.close()
    assert SUMMARY.encode() not in _bytes(engine)


def test_a_summary_goes_when_one_of_its_documents_does(
    opened, judge: Judge, tmp_path: Path
) -> None:
    engine, never = opened(graph={"summarise": True}), opened("never")
    engine.add(_folder(tmp_path / "notes", _life()))
    engine.remove([engine.documents()[-1].id])
    never.add(_folder(tmp_path / "part", _life(len(ABOUT) - 1)))
    assert (
        _entity(engine, "ada brine").description
        == _entity(never, "ada brine").description
        != SUMMARY
    )
    engine.close()
    assert SUMMARY.encode() not in _bytes(engine)


def test_what_fits_is_not_summarised_nor_anything_where_that_is_not_wanted(
    opened, judge: Judge, tmp_path: Path
) -> None:
    opened(graph={"summarise": True}).add(_folder(tmp_path / "short", _life(3)))
    opened("other").add(_folder(tmp_path / "long", _life()))
    assert judge.described == []


def test_what_is_said_of_a_relation_is_summarised_too(opened, judge: Judge, tmp_path: Path) -> None:
    texts = {
        name: text.replace("Ada Brine", "Ada Brine and Orrin Vale")
        for name, text in _life().items()
    }
    engine = opened(graph={"summarise": True})
    engine.add(_folder(tmp_path / "notes", texts))
    (relation,) = engine.graph_index.relations()
    assert relation.description == SUMMARY
    assert "Ada Brine – appears with – Orrin Vale" in "".join(judge.described)


def test_a_summary_that_fails_is_a_note_and_tried_again_when_that_is_wanted(
    opened, judge: Judge, tmp_path: Path
) -> None:
    judge.summary = lambda: Reply("no")
    engine, folder = opened(graph={"summarise": True}), _folder(tmp_path / "notes", _life())
    (note,) = engine.add(folder).notes
    assert note.startswith("1 long description(s) stay as they are")
    before = _entity(engine, "ada brine").description
    assert before.startswith("Ada Brine")
    judge.summary = SUMMARY
    assert engine.add(folder).usage.calls == 0
    engine.retry_unanswered()
    engine.add(folder)
    assert _entity(engine, "ada brine").description == SUMMARY


def test_a_summary_rests_on_all_names_that_were_judged_to_be_one(
    opened, judge: Judge, tmp_path: Path
) -> None:
    texts = {
        name: text if int(name) % 2 else text.replace("Brine", "Bryne")
        for name, text in _life().items()
    }
    engine = opened(graph={"summarise": True})
    report = engine.add(_folder(tmp_path / "notes", texts))
    assert "1 pair of names was judged to be one thing" in report.notes
    assert _entity(engine, "ada bryne").description == SUMMARY
    assert len(judge.described) == 1


def test_the_order_of_arrival_changes_no_description(opened, judge: Judge, tmp_path: Path) -> None:
    there, back = (
        opened("there", graph={"summarise": True}),
        opened("back", graph={"summarise": True}),
    )
    for engine, order in ((there, 1), (back, -1)):
        for name, text in list((_life() | {"t": TEXTS["a"], "u": TEXTS["b"]}).items())[::order]:
            engine.add_text(text, document_id=name, title="")
    assert there.graph_index.entities() == back.graph_index.entities()
    assert there.graph_index.merges() == back.graph_index.merges()
