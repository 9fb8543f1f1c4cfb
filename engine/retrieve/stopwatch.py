"""A stage after another, with their times and costs, as steps of a trace."""

from __future__ import annotations

import time

from ..events import Listener, StepEvent, nobody
from ..models.spending import spent_so_far
from ..types import TraceStep

LONGEST_TEXT = 300
"""So many characters of what a stage took and gave are kept."""


class Stopwatch:
    """Collects a trace step for each stage: the time and cost since the one before. It tells, too.

    Args:
        tell: hears of each step as its stage ends.
    """

    def __init__(self, tell: Listener = nobody) -> None:
        self.steps: list[TraceStep] = []
        self._tell = tell
        self._last = time.perf_counter()
        self._spent = spent_so_far()

    def lap(
        self, stage: str, detail: str, gave: str = "", took: str = "", /, **figures: float
    ) -> None:
        """The stage that ends now; of what it `gave` and `took` only the beginnings are kept."""
        now, spent = time.perf_counter(), spent_so_far()
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
        """What was since the stage before has steps of its own."""
        self._last, self._spent = time.perf_counter(), spent_so_far()


def _beginning(text: str) -> str:
    """In one line, with a sign where it goes on."""
    line = " ".join(text[: 2 * LONGEST_TEXT].split())
    whole = len(line) <= LONGEST_TEXT and len(text) <= 2 * LONGEST_TEXT
    return line if whole else f"{line[: LONGEST_TEXT - 1]}…"
