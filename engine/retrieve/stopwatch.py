"""A stage after another, with their times and costs, as steps of a trace."""

from __future__ import annotations

import time

from ..events import Listener, StepEvent, null_listener
from ..models.spending import current_usage
from ..types import TraceStep

LONGEST_TEXT = 300
"""Maximum characters of a stage's input and output in the trace."""


class Tracer:
    """Trace recorder: a step for each stage with its time and cost; also emits events.

    Args:
        on_event: hears of each step as its stage ends.
    """

    def __init__(self, on_event: Listener = null_listener) -> None:
        self.steps: list[TraceStep] = []
        self._tell = on_event
        self._last = time.perf_counter()
        self._spent = current_usage()

    def record(
        self, stage: str, detail: str, gave: str = "", took: str = "", /, **figures: float
    ) -> None:
        """Record the stage that ends now.

        Only the beginnings of `gave` and `took` are stored.
        """
        now, spent = time.perf_counter(), current_usage()
        step = TraceStep(
            stage=stage,
            detail=detail,
            seconds=now - self._last,
            figures=figures,
            input=_beginning(took),
            output=_beginning(gave),
            usage=spent.since(self._spent),
        )
        self._last, self._spent = now, spent
        self.steps.append(step)
        self._tell(StepEvent(step=step))

    def skip(self) -> None:
        """Skip the time since the last stage, which has steps of its own."""
        self._last, self._spent = time.perf_counter(), current_usage()


def _beginning(text: str) -> str:
    """In one line, with a sign where it goes on."""
    line = " ".join(text[: 2 * LONGEST_TEXT].split())
    whole = len(line) <= LONGEST_TEXT and len(text) <= 2 * LONGEST_TEXT
    return line if whole else f"{line[: LONGEST_TEXT - 1]}…"
