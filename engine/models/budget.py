"""Budget of LLM calls, in tokens or money, for each run or day.

Every call in flight holds its worst case back: what the prompt costs and the longest answer that it
may get. So no order in which answers arrive can lead beyond the limit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal

from ..errors import BudgetExceeded, SettingsError
from ..types import Usage
from .prices import Price

_ROUNDING = 1e-9


def utc_day() -> str:
    """Today in ISO 8601, UTC."""
    return datetime.now(UTC).date().isoformat()


class _Run:
    """Settled cost of one run."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.settled = Usage()


_current: ContextVar[_Run | None] = ContextVar("loregraph_budget_run", default=None)


class Reservation:
    """Worst-case cost of one call, reserved until its true cost is known."""

    def __init__(self, budget: Budget, run: _Run, *, tokens: int, cost: float, waits: bool) -> None:
        self._budget = budget
        self.run = run
        self.tokens = tokens
        self.cost = cost
        self.waits = waits
        self._open = True

    def settle(self, actual: Usage) -> None:
        """Settle a finished call; a second call changes nothing."""
        if self._open:
            self._open = False
            self._budget._settle(self, actual)

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.settle(Usage())


class Budget:
    """LLM budget shared by an engine; thread-safe.

    Args:
        max_tokens: of prompts and answers together; None is no limit.
        max_cost: in the currency of the prices; None is no limit.
        per: what the limits are for: a run, which begins at `start_run` and is whatever is done in
            its context (`contextvars`), so that several may go on at a time; or a UTC day.
        spent_by_others: what was spent on a day beside all that was settled here: before, or
            meanwhile by another process. It is asked before each call; of what others have in
            flight it knows nothing.
        today: the day it is, in ISO 8601.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        per: Literal["run", "day"] = "run",
        spent_by_others: Callable[[str], Usage] | None = None,
        today: Callable[[], str] = utc_day,
    ) -> None:
        self.max_tokens = max_tokens
        self.max_cost = max_cost
        self.per = per
        self._spent_by_others = spent_by_others
        self._today = today
        self._changed = threading.Condition()
        self._day = ""
        self._run = _Run(self)  # of a day, or the one begun last
        self._others = Usage()
        self._held: set[Reservation] = set()

    @property
    def is_limited(self) -> bool:
        """Check whether any limit is set."""
        return self.max_tokens is not None or self.max_cost is not None

    @property
    def spent(self) -> Usage:
        """Return what was settled in this run or on this day."""
        with self._changed:
            self._look_up()
            return self._spent_in(self._here)

    def check(self, price: Price | None, *, model: str) -> None:
        """Check whether the cost of this model can be limited at all.

        Raises:
            SettingsError: `max_cost` is set and the model's price is not known.
        """
        if self.max_cost is not None and price is None:
            raise SettingsError(
                f"budget.max_cost: the price of model {model!r} is not known; write it into a file"
                f" such as `models: {{{model}: {{prompt: 1.0, completion: 4.0}}}}` (a million"
                " tokens) and name that in budget.prices, or limit budget.max_tokens instead"
            )

    def start_run(self) -> None:
        """Start a new run; limits per run count from here."""
        with self._changed:
            if self.per == "run":
                self._run = _Run(self)
                _current.set(self._run)

    def reserve(
        self,
        *,
        prompt_tokens: int,
        max_completion: int,
        price: Price | None,
        waits: bool = True,
    ) -> Reservation:
        """Hold back what a call costs at most; to be used in a `with` block.

        Where the limit would only be reached if all calls in flight cost their worst, this waits
        until they are over. `waits=False` is for calls that go on as long as somebody reads them:
        nobody waits for these.

        Raises:
            BudgetExceeded: the call could lead beyond a limit.
        """
        tokens = prompt_tokens + max_completion
        cost = price.at_most(prompt_tokens, max_completion) if price is not None else 0.0
        with self._changed:
            asked = Reservation(self, self._here, tokens=tokens, cost=cost, waits=waits)
            while True:
                self._look_up()
                held = {other for other in self._held if other.run is asked.run}
                if self._fits(asked, held):
                    self._held.add(asked)
                    return asked
                lasting = {other for other in held if not other.waits}
                if lasting == held or not self._fits(asked, lasting):
                    raise BudgetExceeded(self._refusal(asked))
                self._changed.wait()

    @property
    def _here(self) -> _Run:
        """The run of this context; where it has none, the one begun last."""
        run = _current.get()
        if self.per == "day" or run is None or run.budget is not self:
            return self._run
        return run

    def _spent_in(self, run: _Run) -> Usage:
        return self._others + run.settled

    def _look_up(self) -> None:
        """Begin a new day where it is one, and see what others have spent on it."""
        self._turn_day()
        if self.per == "day" and self.is_limited and self._spent_by_others is not None:
            self._others = self._spent_by_others(self._day)

    def _turn_day(self) -> None:
        if self.per == "day" and self._day != (today := self._today()):
            self._day = today
            self._run.settled = self._others = Usage()

    def _fits(self, asked: Reservation, held: set[Reservation]) -> bool:
        spent = self._spent_in(asked.run)
        tokens = _tokens(spent) + asked.tokens + sum(one.tokens for one in held)
        if self.max_tokens is not None and tokens > self.max_tokens:
            return False
        cost = spent.cost + asked.cost + sum(one.cost for one in held)
        return self.max_cost is None or cost <= self.max_cost + _ROUNDING

    def _settle(self, reservation: Reservation, actual: Usage) -> None:
        with self._changed:
            self._turn_day()
            self._held.discard(reservation)
            reservation.run.settled = reservation.run.settled + actual
            self._changed.notify_all()

    def _refusal(self, asked: Reservation) -> str:
        spent = self._spent_in(asked.run)
        per = "today" if self.per == "day" else "in this run"
        if self.max_tokens is not None and _tokens(spent) + asked.tokens > self.max_tokens:
            return (
                f"the budget is used up: {_tokens(spent):,} of {self.max_tokens:,} tokens"
                f" are spent {per} and the next call could take {asked.tokens:,};"
                " raise budget.max_tokens"
            )
        if self.max_cost is not None and spent.cost + asked.cost > self.max_cost:
            return (
                f"the budget is used up: {spent.cost:.4f} of {self.max_cost:.4f} are spent"
                f" {per} and the next call could cost {asked.cost:.4f}; raise budget.max_cost"
            )
        return (
            f"the budget could be exceeded: {_tokens(spent):,} tokens"
            f" ({spent.cost:.4f}) are spent {per}, and calls that go on may take the rest;"
            " wait for them, or raise budget.max_tokens or budget.max_cost"
        )


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens
