"""How long a run goes on asking a language model that refuses, or that nobody answers for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..errors import BudgetExceeded, ModelError, ModelUnavailable

Item = TypeVar("Item")

OUTAGE = 3
"""After so many calls in a row to which nobody answered no further one is tried in this run."""


class Patience:
    """Of one run, shared by its threads: over with the budget, or in an outage.

    `over` says why no further call is made, once that is so; `heard` that the model has answered.
    """

    def __init__(self) -> None:
        self.over = ""
        self.heard = False
        self._unanswered = 0

    def while_it_lasts(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, as long as asking goes on."""
        for item in items:
            if self.over:
                return
            yield item

    def answered(self) -> None:
        """The model answered, whatever it said."""
        self.heard = True
        self._unanswered = 0

    def failed(self, error: ModelError) -> None:
        """A call came to nothing."""
        if isinstance(error, ModelUnavailable):
            self._unanswered += 1
        elif not isinstance(error, BudgetExceeded):
            self._unanswered = 0
        if isinstance(error, BudgetExceeded) or self._unanswered >= OUTAGE:
            self.over = str(error)
