"""Answers as streams of events, from a real server that speaks word by word."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Reply

from engine import KnowledgeEngine
from engine.concurrency import AHEAD
from engine.errors import ModelError, QuestionError
from engine.events import (
    AnswerEvent,
    CitationsEvent,
    Event,
    PassagesEvent,
    RouteEvent,
    StepEvent,
    TokensEvent,
    UsageEvent,
)
from engine.prompts import ABSTENTION
from engine.types import Answer, Usage

NOTES = {
    "lamp": "# The lamp\n\nAda Brine lit the lamp at Gull Quay in 1901. The lamp burned whale oil.",
    "storm": "# The storm\n\nThe storm of 1907 broke the lamp. "
    "Orrin Vale repaired it with Ada Brine.",
}
QUESTION = "Who lit the lamp at Gull Quay?"
WRITTEN = "The lamp was lit by Ada Brine in 1901. [1] It burned whale oil. [1]"


@pytest.fixture(scope="module")
def library(open_engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streaming") / "library"
    with open_engine(path) as engine:
        for name, text in NOTES.items():
            engine.add_text(text, document_id=name)
    return path


@pytest.fixture
def plain(open_engine, library: Path) -> Iterator[KnowledgeEngine]:
    with open_engine(library) as engine:
        yield engine


@pytest.fixture
def written(open_engine, library: Path, openai_server: OpenAIServer) -> Iterator[KnowledgeEngine]:
    """An engine whose model keeps nothing: each test asks its own question."""
    llm = openai_server.settings(retries=0)
    with open_engine(library, llm=llm) as engine:
        yield engine


def names(events: list[Event]) -> list[str]:
    """The kinds of events, runs of the same one told once; steps left out."""
    found = [event.name for event in events if not isinstance(event, StepEvent)]
    return [name for place, name in enumerate(found) if found[place - 1 : place] != [name]]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensEvent))


def answer_of(events: list[Event]) -> Answer:
    assert isinstance(events[-1], AnswerEvent)
    return events[-1].answer


def without_times(answer: Answer) -> tuple[object, ...]:
    steps = [(step.stage, step.detail, dict(step.figures)) for step in answer.trace]
    return answer.text, answer.citations, answer.passages, answer.abstained, answer.route, steps


def alive() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "question"]


def wait_until(true: object) -> None:
    end = time.monotonic() + 60
    while not true():  # type: ignore[operator]
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.005)


# --- order and sameness -------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["auto", "local", "global"])
def test_without_a_model_events_come_in_order_and_end_in_what_ask_gives(
    plain: KnowledgeEngine, mode: str
) -> None:
    events = list(plain.stream(QUESTION, mode=mode))
    answer = answer_of(events)
    route = ["route"] if mode == "auto" else []
    assert names(events) == [*route, "passages", "tokens", "citations", "usage", "answer"]
    assert without_times(answer) == without_times(plain.ask(QUESTION, mode=mode))
    assert text_of(events)


def test_the_steps_told_are_those_of_the_trace_and_are_logged_before_the_answer(
    plain: KnowledgeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    logged: list[int] = []
    events: list[Event] = []
    with caplog.at_level(logging.INFO, "loregraph"):
        for event in plain.stream(QUESTION, mode="local"):
            events.append(event)
            logged.append(len(caplog.messages))
    trace = answer_of(events).trace
    assert tuple(e.step for e in events if isinstance(e, StepEvent)) == trace
    assert logged[-1] >= len(trace), "whoever stops reading at the answer finds the log whole"


@pytest.mark.parametrize("mode", ["local", "agent"])
def test_marks_in_tokens_are_numbers_of_the_passages_shown(
    plain: KnowledgeEngine, mode: str
) -> None:
    events = list(plain.stream("Who repaired the lamp?", mode=mode))
    shown = [e.passages for e in events if isinstance(e, PassagesEvent)][-1]
    answer = answer_of(events)
    assert answer.citations
    for citation in answer.citations:
        home = [n for n, p in enumerate(shown, 1) if p.chunk_id == citation.chunk_id]
        quote = " ".join(citation.quote.split())
        assert f"{quote} [{home[0]}]" in text_of(events)


def test_a_route_is_told_first_and_stands_in_the_answer(plain: KnowledgeEngine) -> None:
    first, *rest = plain.stream(QUESTION)
    assert isinstance(first, RouteEvent)
    assert first.route.mode == "local"
    assert answer_of(rest).route == first.route


# --- with a model -------------------------------------------------------------------------------


def test_a_model_is_heard_word_by_word(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply(WRITTEN))
    events = list(written.stream("Who lit the lamp, word by word?", mode="local"))
    answer = answer_of(events)
    assert text_of(events) == WRITTEN
    assert sum(isinstance(event, TokensEvent) for event in events) > 5
    assert openai_server.requests[0].body["stream"] is True
    assert answer.usage.calls == 1
    assert answer.citations
    (usage,) = [event.usage for event in events if isinstance(event, UsageEvent)]
    assert usage == answer.usage


def test_a_kept_reply_comes_as_one_piece_whoever_asked_for_it_first(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply(WRITTEN))
    question = "Who lit the lamp that is kept?"
    first = list(written.stream(question, mode="local"))
    again = list(written.stream(question, mode="local"))
    asked = written.ask(question, mode="local")
    assert len(openai_server.requests) == 1
    assert [e.text for e in again if isinstance(e, TokensEvent)] == [WRITTEN]
    for answer in (answer_of(again), asked):
        assert without_times(answer) == without_times(answer_of(first))
        assert answer.usage == Usage(cached_calls=1)


def test_what_is_asked_whole_is_kept_for_the_stream(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply(WRITTEN))
    question = "Who lit the lamp, asked whole?"
    asked = written.ask(question, mode="local")
    events = list(written.stream(question, mode="local"))
    assert not openai_server.requests[0].body["stream"]
    assert without_times(answer_of(events)) == without_times(asked)
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize("thought", ["<think>Ada? Orrin?</think>\n\n", ""])
@pytest.mark.parametrize("sentence", list(ABSTENTION.values()), ids=list(ABSTENTION))
def test_an_abstention_is_told_as_one_and_never_as_an_answer(
    written: KnowledgeEngine, openai_server: OpenAIServer, sentence: str, thought: str
) -> None:
    openai_server.script(Reply(f"{thought}{sentence} [1]"))
    events = list(written.stream(f"Who sank the {sentence[:4]}{len(thought)}?", mode="local"))
    assert [e.text for e in events if isinstance(e, TokensEvent)] == [ABSTENTION["en"]]
    (checked,) = [event for event in events if isinstance(event, CitationsEvent)]
    assert checked.abstained
    assert checked.citations == ()


def test_an_answer_that_begins_like_an_abstention_is_told_whole(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    said = "The library does not hold the lamp; Gull Quay does. [1]"
    openai_server.script(Reply(said))
    events = list(written.stream("Where is the lamp held?", mode="local"))
    assert text_of(events) == said
    assert not answer_of(events).abstained


def test_a_global_answer_is_heard_too_with_marks_of_what_was_shown(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    def reply(request) -> str:
        return "The lamp runs through the notes. [1] So do storms. [99]"

    openai_server.answer_with(reply)
    events = list(written.stream("What are the main themes?", mode="global"))
    answer = answer_of(events)
    assert names(events) == ["passages", "tokens", "citations", "usage", "answer"]
    assert sum(isinstance(event, TokensEvent) for event in events) > 3
    assert text_of(events).startswith("The lamp runs through the notes. [1]")
    assert "[99]" not in text_of(events)
    (shown,) = [event.passages for event in events if isinstance(event, PassagesEvent)]
    for passage in shown:
        assert written.document_text(passage.document_id)[passage.start : passage.end]
    assert answer.citations
    assert answer.usage.calls == 1


# --- errors -------------------------------------------------------------------------------------


def test_what_ask_raises_comes_out_of_the_stream(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    with pytest.raises(QuestionError, match="empty"):
        list(written.stream("  "))
    with pytest.raises(QuestionError, match="unknown mode"):
        list(written.stream("Who?", mode="sideways"))
    openai_server.answer_with(lambda request: Reply(status=401))
    question = "Who lit the lamp, refused?"
    with pytest.raises(ModelError) as asked:
        written.ask(question, mode="local")
    with pytest.raises(ModelError) as streamed:
        list(written.stream(question, mode="local"))
    assert type(streamed.value) is type(asked.value)
    assert str(streamed.value) == str(asked.value)


def test_an_error_in_the_middle_comes_after_what_was_said(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply("Ada Brine lit it in the", finished=False))
    events: list[Event] = []
    with pytest.raises(ModelError, match=r"ended its (reply|answer) early"):
        events.extend(written.stream("Who lit the lamp, cut off?", mode="local"))
    assert text_of(events) == "Ada Brine lit it in the"


# --- readers that go away -----------------------------------------------------------------------


def test_a_reader_that_goes_away_frees_worker_and_model(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply("word " * 2_000, drip_seconds=0.01))
    stream = written.stream("Who lit the dripping lamp?", mode="local")
    for event in stream:
        if isinstance(event, TokensEvent):
            break
    assert alive()
    stream.close()
    wait_until(lambda: not alive())
    wait_until(lambda: openai_server.at_once == 0)  # it was hung up on in the middle
    assert written.usage()[-1].calls >= 1


def test_a_cancelled_task_frees_worker_and_model(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply("word " * 2_000, drip_seconds=0.01))
    heard = asyncio.Event()

    async def read() -> None:
        async for event in written.astream("Who lit the cancelled lamp?", mode="local"):
            if isinstance(event, TokensEvent):
                heard.set()

    async def main() -> None:
        task = asyncio.create_task(read())
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    wait_until(lambda: not alive())
    wait_until(lambda: openai_server.at_once == 0)


def test_a_model_that_says_nothing_holds_no_worker_of_a_reader_that_left(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    openai_server.script(Reply(stall=True))
    stream = written.stream("Who lit the silent lamp?", mode="local")
    for event in stream:
        if isinstance(event, PassagesEvent):
            break
    wait_until(lambda: openai_server.at_once == 1)
    stream.close()
    wait_until(lambda: not alive())


def test_a_reader_that_is_slow_holds_the_work_back_and_loses_nothing(
    written: KnowledgeEngine, openai_server: OpenAIServer
) -> None:
    said = "Lamps: " + " ".join(str(n) for n in range(AHEAD + 500))
    openai_server.script(Reply(said))
    events = []
    for event in written.stream("Who counts the lamps?", mode="local"):
        if len(events) == 20:
            time.sleep(0.5)  # more is said meanwhile than may wait
        events.append(event)
    assert text_of(events) == said


# --- event loops --------------------------------------------------------------------------------


def test_the_event_loop_goes_on_while_several_are_answered(plain: KnowledgeEngine) -> None:
    async def main() -> None:
        async def last(question: str) -> Answer:
            return answer_of([event async for event in plain.astream(question)])

        asked, found, *answers = await asyncio.gather(
            plain.aask(QUESTION),
            plain.aretrieve(QUESTION, top_k=1),
            *(last(QUESTION + "?" * n) for n in range(4)),
        )
        assert without_times(asked) == without_times(plain.ask(QUESTION))
        assert found == plain.retrieve(QUESTION, top_k=1)
        assert all(answer.citations for answer in answers)

    asyncio.run(main())


def test_errors_come_out_of_what_is_awaited(plain: KnowledgeEngine) -> None:
    async def main() -> None:
        with pytest.raises(QuestionError):
            await plain.aask("")
        with pytest.raises(QuestionError):
            await plain.aretrieve(QUESTION, top_k=0)
        with pytest.raises(QuestionError):
            async for _ in plain.astream(QUESTION, mode="sideways"):
                pass

    asyncio.run(main())
