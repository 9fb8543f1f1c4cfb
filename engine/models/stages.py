"""The language models of an engine by what they are asked for, under one budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..settings import Settings
from .budget import Budget
from .gateway import LLMClient
from .gateways import Stage, build_budget, build_gateways
from .prices import void_cap

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from ..index.ledger import UsageLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Each stage's gateway (see `gateways`); a stage without one goes without a model.

    `currency` is that of their prices.
    """

    budget: Budget
    gateways: Mapping[Stage, LLMClient] = field(default_factory=dict)
    currency: str = "USD"

    def void_caps(self) -> tuple[str, ...]:
        """For which models a limit on cost cannot hold, a line each."""
        lines = (
            void_cap(
                self.budget.max_cost, gateway.price, model=gateway.model, currency=self.currency
            )
            for gateway in self.gateways.values()
        )
        return tuple(dict.fromkeys(filter(None, lines)))

    @property
    def extraction(self) -> LLMClient | None:
        """Reads chunks."""
        return self.gateways.get("extraction")

    @property
    def reports(self) -> LLMClient | None:
        """Writes reports of communities."""
        return self.gateways.get("reports")

    @property
    def map(self) -> LLMClient | None:
        """Rates and maps reports for a question."""
        return self.gateways.get("map")

    @property
    def answers(self) -> LLMClient | None:
        """Writes answers."""
        return self.gateways.get("answers")


def build_models(
    settings: Settings,
    *,
    llm: LLM | None,
    llms: Mapping[Stage, LLM],
    ledger: UsageLog | None = None,
) -> Models:
    """Build LLM clients, one model for all stages or one each, with the usage log.

    Raises:
        SettingsError: a price table that cannot be used, or a cost that is limited and not known.
    """
    budget = build_budget(settings.budget, ledger=ledger)
    made = build_gateways(
        settings.llm,
        budget=budget,
        prices=settings.budget.prices,
        currency=settings.budget.currency,
        llm=llm,
        llms=llms,
        ledger=ledger,
    )
    return Models(budget=budget, gateways=made, currency=settings.budget.currency)
