"""Price table: cost per million tokens, by model.

The table that ships is `configs/prices.yaml`; `budget.prices` names another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import SettingsError
from .endpoint import is_loopback_url
from .naming import model_name_of

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

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
    file = Path(path) if path else _shipped_file()
    try:
        table = _Table.model_validate(yaml.safe_load(file.read_text(encoding="utf8")) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        reason = " ".join(str(error).split())[:300]
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


def _shipped_file() -> Path:
    package = Path(__file__).parents[1]
    installed = package / "configs" / _SHIPPED
    return installed if installed.is_file() else package.parent / "configs" / _SHIPPED


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
