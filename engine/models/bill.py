"""What one model's calls cost: counted, held back before the call, and booked after it.

Token counts are the server's where it gives them, else our tokeniser's (an estimate: every model
has its own). Knows nothing of prompts, or of how a call is made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ..errors import ModelError
from ..types import Usage
from .budget import Budget, Reservation, utc_day
from .learned import Learned
from .prices import Price
from .response import Reported
from .retrying import nature_of
from .spending import note

if TYPE_CHECKING:
    from ..index.ledger import Ledger


class Counter(Protocol):
    """Counts tokens; `Tokeniser` is one."""

    def count(self, text: str) -> int:
        """How many tokens `text` has."""
        ...


class Bill:
    """Of one model. Safe to share by threads.

    Args:
        model: the name that calls are booked under.
        budget: what everything may cost together.
        ledger: where calls are booked; None books none.
        tokeniser: counts where the server does not; None is the one that all sizes are counted by.
        price: None is not known, and costs are then nil.
        learned: what is known of how the server counts.
        whole: another bill that everything counts for too.
    """

    def __init__(
        self,
        model: str,
        *,
        budget: Budget,
        ledger: Ledger | None,
        tokeniser: Counter | None,
        price: Price | None,
        learned: Learned,
        whole: Bill | None = None,
    ) -> None:
        budget.check(price, model=model)
        self._model = model
        self._budget = budget
        self._ledger = ledger
        self._tokeniser = tokeniser
        self._price = price
        self._learned = learned
        self._whole = whole
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """All calls so far; those that were refused cost nothing and are left out."""
        return self._total

    def apart(self) -> Bill:
        """A bill with a total of its own, which counts for this one too."""
        return Bill(
            self._model,
            budget=self._budget,
            ledger=self._ledger,
            tokeniser=self._tokeniser,
            price=self._price,
            learned=self._learned,
            whole=self,
        )

    def count(self, text: str) -> int:
        """How many tokens a text has, by our own count."""
        if self._tokeniser is None:
            from .tokeniser import load_tokeniser

            self._tokeniser = load_tokeniser()
        return self._tokeniser.count(text)

    def reserve(self, counted: int, *, max_output_tokens: int, waits: bool) -> Reservation:
        """Hold back what a call costs at most.

        Args:
            counted: our count of the prompt.
            max_output_tokens: the longest answer.
            waits: as `Budget.reserve`.

        Raises:
            BudgetExceeded: the call could lead beyond a limit.
        """
        return self._budget.reserve(
            prompt_tokens=self._learned.tokens(counted),
            max_completion=max_output_tokens,
            price=self._price,
            waits=waits,
        )

    @contextmanager
    def worst_on_failure(
        self, reservation: Reservation, *, stage: str, counted: int, max_output_tokens: int
    ) -> Iterator[None]:
        """A call inside that fails, and may have reached the model, is booked at its worst.

        So is one that is interrupted, or fails in a way that is not known here.
        """
        try:
            yield
        except BaseException as error:
            if not isinstance(error, ModelError) or nature_of(error).may_cost:
                usage = self.usage(self._learned.tokens(counted), max_output_tokens)
                self.settle(reservation, usage, stage=stage, failed=1)
            raise

    def usage(
        self, prompt_tokens: int, completion_tokens: int, *, cached: int = 0, written: int = 0
    ) -> Usage:
        """One call, with its cost; `cached` and `written` are among the prompt's tokens."""
        price = self._price or Price()
        return Usage(
            calls=1,
            prompt_tokens=prompt_tokens,
            cached_tokens=cached,
            completion_tokens=completion_tokens,
            cost=price.of(prompt_tokens, completion_tokens, cached=cached, written=written),
            currency=price.currency,
        )

    def usage_of_answer(self, text: str, *, counted: int, reported: Reported | None) -> Usage:
        """What a call cost that was answered by this text, in the server's count if there is one.

        The model learns nothing of this, but the next reservation does.
        """
        if reported is None:
            return self.usage(counted, self.count(text))
        self._learned.reported(reported.prompt_tokens, counted=counted)
        return self.usage(
            reported.prompt_tokens,
            reported.completion_tokens,
            cached=reported.cached,
            written=reported.written,
        )

    def settle(
        self, reservation: Reservation, usage: Usage, *, stage: str, failed: int = 0
    ) -> None:
        """The call is over: count and book it."""
        reservation.settle(usage)
        self.add(usage)
        self.book(stage, usage, failed=failed)

    def add(self, usage: Usage) -> None:
        """Count this, without booking it."""
        with self._lock:
            self._total = self._total + usage
        if self._whole is not None:
            self._whole.add(usage)
        else:
            note(usage)

    def book(self, stage: str, usage: Usage, *, failed: int = 0) -> None:
        """Write it down for good."""
        if self._ledger is not None:
            self._ledger.add(
                day=utc_day(), stage=stage, model=self._model, usage=usage, failed=failed
            )
