"""Language models of an engine, one for each stage, under one budget.

Stages are `extraction`, `reports`, `map` and `answers`. For estimates and inspection placeholders
stand in: their names, windows and prices count, and no key is needed, since nothing is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import ValidationError

from ..config import BudgetSettings, LlmSettings, RerankSettings, Settings
from ..errors import SettingsError, field_problems
from ..llm.budget import Budget, Counter, PriceTable, load_prices, price_of, void_cap
from ..llm.client import LLMClient
from .factory import ANTHROPIC_KEY_VARIABLE, NO_KEY, build_llm

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from ..storage.usage_log import UsageLog

Stage = Literal["extraction", "reports", "map", "answers"]
STAGES: tuple[Stage, ...] = get_args(Stage)

_OF_A_KIND = ("kind", "model", "path", "base_url", "api_key_variable")
"""Settings that are not inherited by another kind of model."""

_OF_A_MODEL = (*_OF_A_KIND, "context_window_tokens", "max_output_tokens", "timeout_seconds")
"""Settings that make a model a different object."""


def stage_settings(settings: LlmSettings) -> dict[Stage, LlmSettings]:
    """Each stage's own settings: the common ones with what `stages` says is different.

    A stage that names another kind takes nothing over that only made sense for the first.

    Raises:
        SettingsError: an unknown key, or a value out of range; the message names it.
    """
    common = settings.model_dump(exclude={"stages"}, exclude_unset=True)
    own: dict[Stage, LlmSettings] = {}
    for stage in STAGES:
        changes = dict(settings.stages.get(stage, {}))
        same_kind = changes.get("kind", settings.kind) == settings.kind
        basis = {key: common[key] for key in common if same_kind or key not in _OF_A_KIND}
        if "stages" in changes:
            raise SettingsError(f"llm.stages.{stage}.stages: unknown key; remove it")
        try:
            own[stage] = LlmSettings.model_validate(basis | changes)
        except ValidationError as error:
            where, what = field_problems(error.errors())[0]
            raise SettingsError(f"llm.stages.{stage}.{where}: {what}") from error
    return own


def build_llms(
    settings: LlmSettings, environment: Mapping[str, str] | None = None
) -> dict[Stage, LLM]:
    """Build each stage's model; equal settings share one object.

    Raises:
        SettingsError: as `build_llm`, and where `stages` cannot be used.
        MissingExtra: as `build_llm`.
        ModelUnavailable: as `build_llm`.
    """
    built: dict[tuple[Any, ...], LLM | None] = {}
    llms: dict[Stage, LLM] = {}
    for stage, own in stage_settings(settings).items():
        key = tuple(getattr(own, name) for name in _OF_A_MODEL)
        if key not in built:
            built[key] = build_llm(own, environment)
        if (llm := built[key]) is not None:
            llms[stage] = llm
    return llms


def build_budget(settings: BudgetSettings, *, ledger: UsageLog | None) -> Budget:
    """Build the budget that all clients of an engine share."""
    return Budget(
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        per=settings.per,
        spent_by_others=ledger.spent_by_others if ledger is not None else None,
    )


def build_gateways(
    settings: LlmSettings,
    *,
    budget: Budget,
    prices: str = "",
    currency: str = "USD",
    llm: LLM | None = None,
    llms: Mapping[Stage, LLM] | None = None,
    ledger: UsageLog | None = None,
    tokeniser: Counter | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[Stage, LLMClient]:
    """Build each stage's client; equal settings share one object; None without a model.

    Args:
        settings: of the models, and of how they are asked.
        budget: shared by all of them.
        prices: a file of prices instead of the one that ships.
        currency: of these prices.
        llm: a model that serves all stages, whatever models the settings name.
        llms: what `build_llms` made of the settings, if that was done before.
        ledger: where calls are booked and answers kept.
        tokeniser: counts where a server does not.
        environment: where keys are looked up; None means this process's.

    Raises:
        SettingsError: settings that cannot be used, or a cost that is limited and not known.
        MissingExtra: as `build_llm`.
        ModelUnavailable: as `build_llm`.
    """
    table = load_prices(prices, currency=currency)
    if llm is not None:
        gateway = _gateway(
            llm,
            settings,
            table,
            budget=budget,
            ledger=ledger,
            tokeniser=tokeniser,
            timeout_seconds=_own_timeout(llm),
        )
        return dict.fromkeys(STAGES, gateway)
    own = stage_settings(settings)
    built: dict[str, LLMClient] = {}
    gateways: dict[Stage, LLMClient] = {}
    for stage, model in (build_llms(settings, environment) if llms is None else llms).items():
        key = own[stage].model_dump_json()
        if key not in built:
            built[key] = _gateway(
                model,
                own[stage],
                table,
                budget=budget,
                ledger=ledger,
                tokeniser=tokeniser,
                timeout_seconds=None if own[stage].kind == "gguf" else own[stage].timeout_seconds,
            )
        gateways[stage] = built[key]
    return gateways


def _gateway(
    llm: LLM,
    settings: LlmSettings,
    table: PriceTable,
    *,
    budget: Budget,
    ledger: UsageLog | None,
    tokeniser: Counter | None,
    timeout_seconds: float | None,
) -> LLMClient:
    return LLMClient(
        llm,
        budget=budget,
        ledger=ledger,
        tokeniser=tokeniser,
        price=price_of(llm, table),
        retries=settings.retries,
        concurrency=1 if settings.kind == "gguf" else settings.concurrency,
        requests_per_minute=settings.requests_per_minute,
        structured=settings.structured,
        max_output_tokens=settings.max_output_tokens,
        timeout_seconds=timeout_seconds,
    )


def _own_timeout(llm: LLM) -> float | None:
    """Return the timeout of a given model; None if unknown."""
    for name in ("timeout", "request_timeout"):
        seconds = getattr(llm, name, None)
        if isinstance(seconds, int | float) and seconds > 0:
            return float(seconds)
    return None


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


def with_placeholder_keys(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with placeholders for missing API keys.

    Raises:
        SettingsError: as `stage_settings`.
    """
    names = {ANTHROPIC_KEY_VARIABLE, settings.embedding.api_key_variable}
    names.update(one.api_key_variable for one in stage_settings(settings.llm).values())
    missing = [name for name in names if name and not environment.get(name, "").strip()]
    return {**environment, **dict.fromkeys(missing, NO_KEY)}


def without_reranker(settings: Settings) -> Settings:
    """Return the settings without a reranker, for engines that answer nothing."""
    return settings.model_copy(update={"rerank": RerankSettings()})
