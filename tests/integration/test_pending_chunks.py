"""Models that cannot answer: recorded once, never asked again about the same text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import Document
from openai_server import TOO_LONG, OpenAIServer, Reply, Request
from reading_model import read_like_a_model, texts_in
from typer.testing import CliRunner

from engine import IngestReport, KnowledgeEngine
from engine.cli.main import app
from engine.embeddings.tokenizer import SimpleTokeniser

PEOPLE = ("Ada Brine", "Orrin Vale", "Mara Quill", "Tobias Rook", "Ines Falk", "Leda Marsh")
TEXTS = {
    f"d{number}": " ".join(
        f"{PEOPLE[number]} wrote to {PEOPLE[(number + 1) % 6]} on day {number * 20 + line}."
        for line in range(12)
    )
    for number in range(6)
}
LONG = "On day 41 it rained."
"""Stands in the one text about which the models here say too much."""

pytestmark = pytest.mark.usefixtures("short_waits")
Answer = Callable[[Request], Reply | str]
count = SimpleTokeniser().count


@pytest.fixture
def opened(open_engine, openai_server: OpenAIServer, tmp_path: Path) -> Any:
    """To open an engine over the test's library."""

    @contextmanager
    def open_(*, llm: dict[str, Any] | None = None, **graph: Any) -> Iterator[KnowledgeEngine]:
        model = openai_server.settings(retries=0, concurrency=1)
        reading = {"spacy_model": "none", "extractor": "llm", "pack_tokens": 500}
        sections = {"llm": model | (llm or {}), "graph": reading | graph}
        with open_engine(tmp_path / "library", **sections) as engine:
            yield engine

    return open_


def add(engine: KnowledgeEngine, texts: dict[str, str] = TEXTS) -> IngestReport:
    return engine.add([Document(id_=key, text=text) for key, text in texts.items()])


def cut(text: str, request: Request) -> Reply:
    """An answer that ends where the longest one that is allowed does."""
    limit = request.body["max_tokens"]
    if count(text) <= limit:
        return Reply(text)
    return Reply(text[: len(text) * limit // count(text)], finish_reason="length")


def verbose(request: Request, *, words: Callable[[str], int]) -> Reply:
    """Describes each name of a text in so many words, as its text wants it."""
    said: dict[str, Any] = json.loads(read_like_a_model(request))
    texts = texts_in(request.question)
    for chunk in said["chunks"]:
        for entity in chunk["entities"]:
            entity[2] += " indeed" * words(texts[chunk["n"]])
    return cut(json.dumps(said), request)


def reading(bad: Answer) -> Answer:
    """What is asked besides reading chunks is answered well."""

    def answer(request: Request) -> Reply | str:
        asked = "<<<texts " in request.question
        return bad(request) if asked else read_like_a_model(request)

    return answer


def test_a_chunk_with_too_long_an_answer_is_read_in_two_parts_in_their_places(
    opened, openai_server: OpenAIServer
) -> None:
    texts = TEXTS | {"d2": f"{TEXTS['d2']} {LONG} {TEXTS['d3']}"}

    def words(text: str) -> int:
        return 1_500 if LONG in text and len(text) > 1_000 else 0

    openai_server.answer_with(reading(lambda request: verbose(request, words=words)))
    with opened() as engine:
        report = add(engine, texts)
        assert report.pending == ()
        with engine._library.read() as connection:
            placed = connection.exec_driver_sql(
                'SELECT text, mentions.start, mentions."end" FROM mentions'
                " JOIN chunks ON chunks.id = chunk_id WHERE document_id = 'd2'"
            ).all()
        assert engine.problems() == []
        assert add(engine, texts).usage.calls == 0
    assert {text[start:end] for text, start, end in placed} >= set(PEOPLE[2:5])
    assert max(start for _, start, _ in placed) > len(TEXTS["d2"])


def test_a_chunk_that_stays_too_long_is_unreadable_and_asked_about_once(
    opened, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer_with(
        reading(lambda r: verbose(r, words=lambda text: 9_000 if "Mara Quill wrote" in text else 0))
    )
    with opened() as engine:
        report = add(engine)
        assert [(one.document_id, one.unreadable) for one in report.pending] == [("d2", True)]
        assert "cut off" in report.pending[0].reason
        packs = engine.usage()[0].calls
        assert packs <= 10
        again = add(engine)
        assert again.usage.calls == 0
        assert again.pending == report.pending == tuple(engine.pending())
        assert engine.stats()["unreadable"] == 1
        changed = add(engine, {"d2": f"{TEXTS['d2']} Mara Quill wrote once more."})
        assert changed.usage.calls > 0
    environment = {"LOREGRAPH_EMBEDDING__KIND": "none"}
    doctor = CliRunner().invoke(
        app, ["doctor", "--library", str(tmp_path / "library")], env=environment
    )
    assert "1 chunk is unreadable by this model" in doctor.output
    with opened(llm={"model": "another"}) as engine:
        asked = add(engine)
        assert asked.usage.calls > 0
        assert add(engine).usage.calls == 0


def test_what_is_gone_is_not_remembered_as_unreadable(
    opened, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer_with(reading(lambda request: "I would rather not say."))
    with opened() as engine:
        add(engine)
        engine.remove(list(TEXTS))
        add(engine, {"x": "Nothing is named here."})
        with engine._library.read() as connection:
            kept = connection.exec_driver_sql("SELECT count(*) FROM unanswered").scalar_one()
        assert kept <= 1


def none_of_these(request: Request) -> str:
    names = [{"name": name, "type": "PERSON", "description": "x"} for name in ("Zed Q", "Yan P")]
    numbers = texts_in(request.question)
    return json.dumps({"chunks": [{"n": number, "entities": names} for number in numbers]})


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda r: "I would rather not.", id="no JSON"),
        pytest.param(lambda r: '{"chunks": [' * 50, id="broken JSON"),
        pytest.param(lambda r: "", id="nothing"),
        pytest.param(lambda r: json.dumps({"chunks": []}), id="left out"),
        pytest.param(none_of_these, id="invented names"),
        pytest.param(
            lambda r: Reply("stopped by the content filter", status=400), id="refused by the server"
        ),
        pytest.param(lambda r: TOO_LONG, id="does not fit"),
        pytest.param(lambda r: Reply('{"chunks": [', finish_reason="length"), id="cut off"),
        pytest.param(lambda r: "the the " * 60_000, id="without end"),
    ],
)
@pytest.mark.parametrize("everywhere", [False, True], ids=["one text", "every text"])
def test_an_answer_that_cannot_be_used_is_paid_for_in_one_run(
    opened, openai_server: OpenAIServer, bad: Answer, everywhere: bool
) -> None:
    def answer(request: Request) -> Reply | str:
        named = everywhere or "Mara Quill wrote" in request.question
        return bad(request) if named else read_like_a_model(request)

    openai_server.answer_with(reading(answer))
    with opened() as engine:
        first = add(engine)
        assert first.pending
        assert all(one.unreadable for one in first.pending), first.pending[0]
        before = len(openai_server.requests)
        second = add(engine)
        assert len(openai_server.requests) == before
        assert second.pending == first.pending


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(Reply("down", status=500), id="500"),
        pytest.param(Reply("slow down", status=429), id="429"),
        pytest.param(Reply("bad key", status=401), id="key refused"),
        pytest.param(Reply("Your credit balance is too low", status=400), id="no credit"),
        pytest.param(Reply(raw=b"<html>log in</html>"), id="no reply of the protocol"),
        pytest.param(Reply(cut=True), id="cut connection"),
    ],
)
def test_a_fault_that_another_hour_may_mend_is_asked_about_again(
    opened, openai_server: OpenAIServer, bad: Reply
) -> None:
    def answer(request: Request) -> Reply | str:
        return bad if "Mara Quill wrote" in request.question else read_like_a_model(request)

    openai_server.answer_with(reading(answer))
    with opened() as engine:
        report = add(engine)
        assert [(one.document_id, one.unreadable) for one in report.pending] == [("d2", False)]
        openai_server.answer_with(read_like_a_model)
        assert add(engine).pending == ()


def test_a_correction_that_nobody_answered_leaves_the_text_to_the_next_run(
    opened, openai_server: OpenAIServer
) -> None:
    replies = iter([Reply("Certainly!"), Reply("down", status=500)] * 2)
    openai_server.answer_with(reading(lambda request: next(replies)))
    with opened() as engine:
        (pending,) = add(engine, {"d2": TEXTS["d2"]}).pending
        assert not pending.unreadable
        openai_server.answer_with(read_like_a_model)
        assert add(engine, {"d2": TEXTS["d2"]}).pending == ()


def test_reports_that_cannot_be_written_are_asked_for_in_one_run(
    opened, openai_server: OpenAIServer
) -> None:
    def answer(request: Request) -> str:
        return "no" if "<quoted " in request.question else read_like_a_model(request)

    openai_server.answer_with(answer)
    with opened(reports="eager", report_min_entities=2, judged_pairs=0) as engine:
        first = add(engine)
        assert any("report(s) stay as they are" in note for note in first.notes)
        assert add(engine).usage.calls == 0
        openai_server.answer_with(read_like_a_model)
        engine.retry_unanswered()
        add(engine)
        assert engine.stats()["written_reports"] > 0
