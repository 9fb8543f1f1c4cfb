"""Cost accounting of one model: count, reserve before the call, book after it.

Token counts are the server's where it gives them, else our tokeniser's (an estimate: every model
has its own).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ..errors import ModelError
from ..types import Usage
from .budget import Budget, Reservation, utc_day
from .learned import ServerCapabilities
from .prices import Price
from .response import ProviderUsage
from .retrying import classify_failure
from .spending import record_usage

if TYPE_CHECKING:
    from ..index.ledger import UsageLog


class Counter(Protocol):
    """Counts tokens; `Tokeniser` is one."""

    def count(self, text: str) -> int:
        """Return the number of tokens of `text`."""
        ...


class CostAccount:
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
        ledger: UsageLog | None,
        tokeniser: Counter | None,
        price: Price | None,
        learned: ServerCapabilities,
        whole: CostAccount | None = None,
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

    def apart(self) -> CostAccount:
        """Return a scoped account with a total of its own that also counts here."""
        return CostAccount(
            self._model,
            budget=self._budget,
            ledger=self._ledger,
            tokeniser=self._tokeniser,
            price=self._price,
            learned=self._learned,
            whole=self,
        )

    def count(self, text: str) -> int:
        """Return the number of tokens of a text by our own tokeniser."""
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
        """Book the worst case if a call fails that may have reached the model.

        So is one that is interrupted, or fails in a way that is not known here.
        """
        try:
            yield
        except BaseException as error:
            if not isinstance(error, ModelError) or classify_failure(error).may_cost:
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

    def usage_of_answer(self, text: str, *, counted: int, reported: ProviderUsage | None) -> Usage:
        """Return the usage of an answered call, by the server's count if available.

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
        """Count and book a finished call."""
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
            record_usage(usage)

    def book(self, stage: str, usage: Usage, *, failed: int = 0) -> None:
        """Write it down for good."""
        if self._ledger is not None:
            self._ledger.add(
                day=utc_day(), stage=stage, model=self._model, usage=usage, failed=failed
            )
