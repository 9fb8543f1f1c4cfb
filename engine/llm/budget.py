"""Budget, prices and usage of language models, in tokens or money, for a run or a day.

Before a call its worst case is reserved (the prompt and the longest answer allowed), so that no
order in which answers arrive can exceed the limit. Prices are those of `configs/prices.yaml` or
`budget.prices`. Token counts are the server's where it gives them, else our tokeniser's estimate.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import BudgetExceeded, ModelError, SettingsError, field_problems
from ..providers.factory import is_loopback_url
from ..shipped import shipped
from ..types import Usage
from .response import ProviderUsage, model_name_of
from .retry import classify_failure
from .structured_output import ServerCapabilities

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from ..storage.usage_log import UsageLog

_SHIPPED = "prices.yaml"
_LOCAL_CLASSES = frozenset({"Ollama", "LlamaCPP", "MockLLM", "GgufModel"})
_VERSION_MARKS = "-@:"
_VERSION_WORDS = ("latest", "preview", "exp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Cost per million tokens in `currency`; empty where it is free.

    `cached` is for those of a prompt that the provider had kept, `written` for those that it keeps
    from now on; None is the price of any other.
    """

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None
    written: float | None = None
    currency: str = ""

    def of(
        self, prompt_tokens: int, completion_tokens: int, *, cached: int = 0, written: int = 0
    ) -> float:
        """Return the cost of a call; `cached` and `written` are part of the prompt tokens."""
        at_cached = self.prompt if self.cached is None else self.cached
        at_written = self.prompt if self.written is None else self.written
        prompt = (prompt_tokens - cached - written) * self.prompt
        kept = cached * at_cached + written * at_written
        return (prompt + kept + completion_tokens * self.completion) / 1_000_000

    def at_most(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the worst-case cost, cache writes included."""
        written = prompt_tokens if self.written is not None and self.written > self.prompt else 0
        return self.of(prompt_tokens, completion_tokens, written=written)


FREE = Price()
"""Of a model on this machine, which is taken to cost nothing."""


def void_cap(max_cost: float | None, price: Price | None, *, model: str, currency: str) -> str:
    """Why a limit on cost does not hold for a model of this price; empty where it does.

    A remote model without a price is refused by the budget; one on this machine counts as free,
    though what answers there may pass calls on to one that is paid for.
    """
    if max_cost is None or (price is not None and price.currency):
        return ""
    return (
        f"budget.max_cost of {max_cost:g} {currency} cannot hold for model {model!r}, which has no "
        "price and counts as free on this machine: write its price into a file and name that in "
        "budget.prices, or limit budget.max_tokens"
    )


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    completion: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False)
    written: float | None = Field(None, ge=0, allow_inf_nan=False)


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str | None = None
    models: dict[str, _Row] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices by model name; a name that ends in `*` stands for all that begin so.

    `own` says that the user gave the table: it then counts for models on this machine too, which
    cost nothing otherwise.
    """

    prices: Mapping[str, Price]
    own: bool = False

    def of_name(self, model: str) -> Price | None:
        """Return the price of a model by name; None if unknown.

        A row is meant for its own name and for dated or numbered versions of it, but not for other
        members of the family, which may cost many times as much. A vendor before a slash does not
        count where the whole name is not in the table.
        """
        for name in (model.lower(), model.lower().rpartition("/")[2]):
            rows = [row for row in self.prices if _is_meant(row, name)]
            if rows:
                return self.prices[max(rows, key=lambda row: (len(row.rstrip("*")), row))]
        return None


def _is_meant(row: str, name: str) -> bool:
    if row.endswith("*"):
        return name.startswith(row[:-1].lower())
    rest = name.removeprefix(row.lower())
    if rest == name:
        return False
    after = rest[1:]
    return not rest or (
        rest[0] in _VERSION_MARKS and (after[:1].isdigit() or after.startswith(_VERSION_WORDS))
    )


def load_prices(path: str | Path = "", *, currency: str = "USD") -> PriceTable:
    """Load this price table, or the bundled one.

    Raises:
        SettingsError: no such file, not a table of prices, or in another currency than `currency`
            (a table that names none is taken to be in it).
    """
    file = Path(path) if path else shipped(f"configs/{_SHIPPED}")
    try:
        table = _parsed(file.read_text(encoding="utf8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        reason = " ".join(str(error).split())[:300]
        if isinstance(error, ValidationError):
            reason = "; ".join(f"{where}: {what}" for where, what in field_problems(error.errors()))
        raise SettingsError(
            f"budget.prices: {str(file)!r} is not a table of prices: {reason};"
            " expected `models: {name: {prompt: 0.15, completion: 0.6}}`"
        ) from error
    if table.currency not in (None, currency):
        raise SettingsError(
            f"budget.prices: {str(file)!r} is in {table.currency}, budget.currency is {currency};"
            f" set budget.currency to {table.currency}, or give a table of prices in {currency}"
        )
    prices = {
        name: Price(**row.model_dump(), currency=currency)
        for name, row in sorted(table.models.items())
    }
    return PriceTable(prices=prices, own=bool(path))


@lru_cache(maxsize=8)
def _parsed(text: str) -> _Table:
    """Return the table in a YAML text; parsing takes longer than all else in opening a library."""
    return _Table.model_validate(yaml.safe_load(text) or {})


def price_of(llm: LLM, table: PriceTable) -> Price | None:
    """Return the price of this model; None if unknown.

    Models that run on this machine cost nothing, unless a table of the user's own names them.
    """
    known = table.of_name(model_name_of(llm))
    if is_local(llm):
        return known if known is not None and table.own else FREE
    return known


def is_local(llm: LLM) -> bool:
    """Check whether the model runs on this machine: in process or on a loopback address."""
    if _LOCAL_CLASSES & {base.__name__ for base in type(llm).__mro__}:
        return True
    url: Any = getattr(llm, "api_base", None) or getattr(llm, "base_url", None)
    return isinstance(url, str) and is_loopback_url(url)


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
            flight it is unaware.
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
        until they are over. `waits=False` is for calls that go on as long as a client reads them:
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


class UsageScope:
    """Adds up; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = Usage()

    @property
    def total(self) -> Usage:
        """Usage so far."""
        return self._total

    def add(self, usage: Usage) -> None:
        """Something more was spent."""
        with self._lock:
            self._total = self._total + usage


_open: ContextVar[tuple[UsageScope, ...]] = ContextVar("loregraph_spending", default=())


@contextmanager
def track_usage() -> Iterator[UsageScope]:
    """Track usage recorded inside the block, in this thread and in those with its context."""
    mine = UsageScope()
    token = _open.set((*_open.get(), mine))
    try:
        yield mine
    finally:
        _open.reset(token)


def current_usage() -> Usage:
    """Return the usage of the innermost scope; zero without one."""
    counting = _open.get()
    return counting[-1].total if counting else Usage()


def record_usage(usage: Usage) -> None:
    """Record the usage of a call in the current scopes."""
    for one in _open.get():
        one.add(usage)


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
            from ..embeddings.tokenizer import load_tokeniser

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
