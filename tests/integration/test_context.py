"""What a language model is shown: what its window holds, neighbours as one, key sentences."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from openai_server import Reply

from engine.embeddings.tokenizer import load_tokeniser

PARAGRAPHS = [
    f"In the year {1900 + number} the keeper of Gull Quay wrote report {number} on the lamp. "
    f"The oil of barrel {number} came from Stannow. Gulls nested on roof {number}. "
    + " ".join(f"Nothing else of note happened on day {number}-{day}." for day in range(6))
    for number in range(60)
]
TEXT = "\n\n".join(PARAGRAPHS)
QUESTION = "Which barrel had the oil of the lamp of Gull Quay?"


@pytest.fixture(scope="module")
def library(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("context") / "library"
    with open_engine(folder, chunk={"size_tokens": 64, "overlap_tokens": 16}) as engine:
        engine.add_text(TEXT, document_id="log", title="The log", metadata={"date": "1960-01-02"})
    return folder


def test_without_a_model_an_answer_is_looked_for_in_all_long_passages_that_are_found(
    open_engine, tmp_path: Path
) -> None:
    with open_engine(tmp_path / "library") as engine:
        for first in range(0, 60, 5):
            text = "\n\n".join(PARAGRAPHS[first : first + 5])
            engine.add_text(text, document_id=f"log {first}")
        answer = engine.ask(QUESTION, mode="local")

    count = load_tokeniser().count
    assert len(answer.passages) == 10
    assert sum(count(each.text) for each in answer.passages) > 3_500


@pytest.fixture
def shown(open_engine, openai_server, library: Path, tmp_path: Path):
    """Asks with settings; the answer, and the last request's system and user messages."""
    own = shutil.copytree(library, tmp_path / "library")  # a library keeps its model's replies

    def ask(llm: dict | None = None, **sections):
        settings = {
            "llm": {
                "kind": "openai_like",
                "base_url": openai_server.base_url,
                "model": "m",
                "retries": 0,
                **(llm or {}),
            },
            "chunk": {"size_tokens": 64, "overlap_tokens": 16},
            "cache": {"answers": "none"},
            **sections,
        }
        with open_engine(own, **settings) as engine:
            answer = engine.ask(QUESTION, mode="local")
            for each in answer.citations:
                assert TEXT[each.start : each.end] == each.quote
            for each in answer.passages:
                assert TEXT[each.start : each.end] == each.text
        system, user = (str(m["content"]) for m in openai_server.requests[-1].body["messages"])
        return answer, system, user

    return ask


def test_a_context_keeps_within_the_window_whatever_the_budget_says(shown, openai_server) -> None:
    openai_server.answer_with(lambda request: Reply("Barrel 3. [1]"))
    llm = {"context_window_tokens": 1_500, "max_output_tokens": 200}
    _, system, user = shown(llm, answer={"budget_tokens": 100_000})
    count = load_tokeniser().count

    assert 256 < count(user) < count(system) + count(user) + 200 <= 1_500


def test_long_context_looks_for_more_and_fills_the_window(shown, openai_server) -> None:
    openai_server.answer_with(lambda request: Reply("Barrel 3. [1]"))
    usual, _, _ = shown({"context_window_tokens": 30_000}, retrieve={"top_k": 10})
    long, _, user = shown({"context_window_tokens": 30_000}, pack={"long_context": True})
    count = load_tokeniser().count

    def read(answer) -> int:
        return len({place for one in answer.passages for place in range(one.start, one.end)})

    assert read(long) > 2 * read(usual)
    assert count(user) > 3_000


@pytest.mark.parametrize(
    ("window", "given", "least", "most"),
    [(16_000, {}, 4_000, 6_000), (128_000, {}, 5_000, 8_000), (16_000, {"top_k": 5}, 100, 600)],
)
def test_the_budget_follows_the_window_and_is_filled_unless_a_number_is_set(
    shown, openai_server, window: int, given: dict[str, int], least: int, most: int
) -> None:
    openai_server.answer_with(lambda request: Reply("Barrel 3. [1]"))
    answer, _, _ = shown(
        {"context_window_tokens": window}, **({"retrieve": given} if given else {})
    )
    (step,) = [step for step in answer.trace if step.stage == "pack"]

    assert least <= step.figures["tokens"] <= most


def test_neighbours_are_shown_as_one_passage_with_title_and_date(shown, openai_server) -> None:
    openai_server.answer_with(lambda request: Reply("Barrel 3. [1]"))
    llm, much = {"context_window_tokens": 40_000}, {"budget_tokens": 30_000}
    joined, _, user = shown(llm, retrieve={"top_k": 300}, answer=much)
    apart, _, _ = shown(llm, retrieve={"top_k": 300}, answer=much, pack={"merge": False})

    assert re.search(r"^\[1\] The log \(1960-01-02\)$", user, re.MULTILINE)
    assert max(len(one.text) for one in joined.passages) > max(
        len(one.text) for one in apart.passages
    )
    (step,) = [step for step in joined.trace if step.stage == "pack"]
    assert step.figures["joined"] > 0


@pytest.mark.parametrize("order", ["edges_first", "document_order"])
def test_the_order_moves_passages_and_marks_follow(shown, openai_server, order: str) -> None:
    def second(request) -> str:
        shown_second = request.question.split("\n[2] ")[1]
        return f"{re.search('The oil of barrel [0-9]+ came from Stannow', shown_second)[0]} [2]."

    openai_server.answer_with(second)
    few = {"top_k": 10}
    by_rank, _, _ = shown(retrieve=few, pack={"merge": False})
    moved, _, _ = shown(retrieve=few, pack={"merge": False, "order": order})

    assert {one.chunk_id for one in moved.passages} == {one.chunk_id for one in by_rank.passages}
    (cited,) = moved.citations
    assert moved.passages[1].start <= cited.start < cited.end <= moved.passages[1].end


def test_key_sentences_leave_room_and_citations_stand_in_the_source(shown, openai_server) -> None:
    openai_server.answer_with(lambda request: Reply("The oil came from Stannow. [1]"))
    _, _, whole = shown()
    answer, _, user = shown(pack={"compress": "sentences"})

    assert len(user) < 0.8 * len(whole)
    assert "…" in user
    assert "Stannow" in answer.citations[0].quote


def test_a_model_chooses_the_sentences_and_one_that_cannot_leaves_that_to_words(
    shown, openai_server
) -> None:
    def reply(request) -> str:
        if "You choose which sentences" in str(request.body["messages"][0]["content"]):
            return chosen[0]
        return "The oil came from Stannow. [1]"

    chosen = [json.dumps({"keep": [2]})]
    openai_server.answer_with(reply)
    by_model, _, user = shown(pack={"compress": "llm"})
    chosen[0] = "No."
    by_words, _, other = shown(pack={"compress": "llm"}, retrieve={"top_k": 9})

    assert by_model.usage.calls == 2
    details = [
        step.detail
        for one in (by_model, by_words)
        for step in one.trace
        if step.stage == "compress"
    ]
    assert details[0].endswith("sentences, by the model")
    assert details[1].endswith("the model selected no sentence")
    assert "…" in user
    assert "…" in other
