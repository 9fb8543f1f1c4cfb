"""Circuit breaker for LLM calls of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..errors import BudgetExceeded, ModelError, ModelUnavailable

Item = TypeVar("Item")

FAILURE_THRESHOLD = 3
"""Consecutive unanswered calls that open the circuit."""


class CircuitBreaker:
    """Of one run, shared by its threads: over with the budget, or in an outage.

    `over` says why no further call is made, once that is so; `heard` that the model has answered.
    """

    def __init__(self) -> None:
        self.over = ""
        self.heard = False
        self._unanswered = 0

    def guard(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items while the circuit is closed."""
        for item in items:
            if self.over:
                return
            yield item

    def answered(self) -> None:
        """The model answered, whatever it said."""
        self.heard = True
        self._unanswered = 0

    def failed(self, error: ModelError) -> None:
        """Record a failed call."""
        if isinstance(error, ModelUnavailable):
            self._unanswered += 1
        elif not isinstance(error, BudgetExceeded):
            self._unanswered = 0
        if isinstance(error, BudgetExceeded) or self._unanswered >= FAILURE_THRESHOLD:
            self.over = str(error)
