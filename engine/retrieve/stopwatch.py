"""A search's stages and their times, as steps of a trace."""

from __future__ import annotations

import time

from ..types import TraceStep


class Stopwatch:
    """Collects a trace step for each stage, with the time since the one before."""

    def __init__(self) -> None:
        self.steps: list[TraceStep] = []
        self._last = time.perf_counter()

    def lap(self, stage: str, detail: str, **figures: float) -> None:
        """The stage that ends now."""
        now = time.perf_counter()
        self.steps.append(
            TraceStep(stage=stage, detail=detail, seconds=now - self._last, figures=figures)
        )
        self._last = now
