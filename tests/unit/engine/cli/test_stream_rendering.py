"""An answer is shown on a terminal while it is written, and nothing of it is left behind."""

from __future__ import annotations

import io
from collections.abc import Generator

import pytest
from rich.console import Console

from engine.cli.rendering import LINES, render_stream
from engine.errors import ModelUnavailable
from engine.events import AnswerEvent, Event, PassagesEvent, RouteEvent, StepEvent, TokensEvent
from engine.types import Answer, Route, TraceStep

ANSWER = Answer(question="Who?", text="Ada. [1]", mode="local")


def seen(*events: Event) -> tuple[Answer, str]:
    """The answer, and all that was drawn: each event is drawn at once."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=40, height=20)

    def stream() -> Generator[Event]:
        yield from events
        yield AnswerEvent(answer=ANSWER)

    return render_stream(stream(), console), file.getvalue()


def test_what_is_done_and_said_is_shown_and_the_answer_given_back() -> None:
    answer, drawn = seen(
        RouteEvent(route=Route(mode="local", reason="asks who", confidence=0.9)),
        StepEvent(step=TraceStep(stage="walk", detail="titles and names", seconds=0.1)),
        PassagesEvent(passages=()),
        TokensEvent(text="Ada "),
        TokensEvent(text="Brine."),
    )
    assert answer is ANSWER
    assert "Ada Brine." in drawn
    assert drawn.endswith("\x1b[2K") or "\x1b[1A" in drawn  # taken away again


def test_only_the_last_lines_of_a_long_answer_are_shown() -> None:
    _, drawn = seen(TokensEvent(text="\n".join(f"line {n}." for n in range(200))))
    assert "line 199." in drawn
    assert f"line {199 - LINES}." not in drawn


def test_no_control_character_of_an_answer_reaches_the_terminal() -> None:
    _, drawn = seen(TokensEvent(text="red \x1b[31m and a bell \x07"))
    assert "\x1b[31m" not in drawn
    assert "\x07" not in drawn


def test_the_work_behind_the_stream_has_ended_before_the_answer_is_given_back() -> None:
    ended: list[bool] = []

    def stream() -> Generator[Event]:
        yield AnswerEvent(answer=ANSWER)
        ended.append(True)

    assert render_stream(stream(), Console(file=io.StringIO())) is ANSWER
    assert ended == [True]


@pytest.mark.parametrize("error", [ModelUnavailable("it is away"), KeyboardInterrupt()])
def test_what_ends_the_stream_comes_out_and_the_work_is_given_up(error: BaseException) -> None:
    given_up: list[bool] = []

    def stream() -> Generator[Event]:
        try:
            yield TokensEvent(text="Ada")
            raise error
        finally:
            given_up.append(True)

    with pytest.raises(type(error)):
        render_stream(stream(), Console(file=io.StringIO(), force_terminal=True))
    assert given_up == [True]
