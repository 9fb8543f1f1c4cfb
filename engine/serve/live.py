"""Live display of a streamed answer on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Generator
from contextlib import closing

from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..events import AnswerEvent, Event, PassagesEvent, RouteEvent, StepEvent, TokensEvent
from ..types import Answer
from .safe_text import safe_text

LINES = 12
"""Number of trailing lines shown."""
_PER_SECOND = 12


def stderr_is_tty() -> bool:
    """Check whether stderr is a terminal."""
    return Console(stderr=True).is_terminal


def render_stream(events: Generator[Event], console: Console | None = None) -> Answer:
    """Return the final answer of a stream, displayed as it arrives.

    Where this is interrupted the work behind the stream is given up.
    """
    console = console or Console(stderr=True)
    picture = _Picture(console.width)
    with (
        closing(events),
        Live(console=console, transient=True, refresh_per_second=_PER_SECOND) as live,
    ):
        for event in events:
            if isinstance(event, AnswerEvent):
                return event.answer
            picture.note(event)
            live.update(picture.drawn())
    raise AssertionError("a stream ends in an answer or an error")


class _Picture:
    def __init__(self, width: int) -> None:
        self._width = max(20, width - 1)
        self._said = ""
        self._doing = "looking"

    def note(self, event: Event) -> None:
        match event:
            case RouteEvent(route=route):
                self._doing = f"{route.mode}: {route.reason}"
            case StepEvent(step=step):
                self._doing = f"{step.stage}: {step.detail}"
            case PassagesEvent(passages=passages):
                self._doing = f"reading {len(passages)} passages"
            case TokensEvent(text=text):
                self._said += text
            case _:
                pass

    def drawn(self) -> Text:
        """Return the lines to draw: the latest text, or the current stage."""
        if not self._said:
            doing = textwrap.shorten(safe_text(self._doing), self._width, placeholder="…")
            return Text(doing, style="dim", no_wrap=True)
        lines = [
            line
            for whole in safe_text(self._said[-LINES * self._width :], lines=True).split("\n")
            for line in textwrap.wrap(whole, self._width) or [""]
        ]
        return Text("\n".join(lines[-LINES:]))
