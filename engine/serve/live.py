"""An answer while it is written, on a terminal; gone again when the answer is there.

Knows nothing of who asks: events come in, and what is shown is a picture of them.
"""

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
"""So many of the last lines are shown."""
_PER_SECOND = 12


def errors_are_seen() -> bool:
    """Whether what goes to standard error is shown on a terminal."""
    return Console(stderr=True).is_terminal


def answer_seen(events: Generator[Event], console: Console | None = None) -> Answer:
    """The answer at the end of a stream, which is shown as it comes.

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
        """The end of what was said, or what is done meanwhile."""
        if not self._said:
            doing = textwrap.shorten(safe_text(self._doing), self._width, placeholder="…")
            return Text(doing, style="dim", no_wrap=True)
        lines = [
            line
            for whole in safe_text(self._said[-LINES * self._width :], lines=True).split("\n")
            for line in textwrap.wrap(whole, self._width) or [""]
        ]
        return Text("\n".join(lines[-LINES:]))
