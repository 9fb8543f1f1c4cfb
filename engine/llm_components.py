"""Build the components that call a language model, stage by stage.

Each is None, or goes without, where there is no model. Nothing is asked while they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .answering.global_search.context import BatchLLM, Reply
from .concurrency import parallel_map
from .config import GraphSettings, RerankSettings, RetrieveSettings, Settings
from .errors import GraphStageError, ModelError, SettingsError
from .providers.llm_clients import Models
from .retrieval.rerank import PassageReranker
from .storage.graph_api import Prompt, graph_errors
from .storage.library import Library

if TYPE_CHECKING:
    from .enrichment.cost_estimate import Model as ForecastModel
    from .enrichment.entities import EntityRefiner
    from .enrichment.extraction import LLMExtractionRunner
    from .enrichment.reports import ReportWriter
    from .llm.budget import Price
    from .llm.client import LLMClient
    from .retrieval.query_expansion import Expander
    from .storage.graph_api import ExtractionSchema, LanguageExtractor


def asks_a_model(settings: Settings) -> bool:
    """Check whether adding documents calls a language model."""
    return settings.graph.extractor != "language" or settings.graph.reports == "eager"


def extraction_schema(settings: GraphSettings) -> ExtractionSchema:
    """Return the schema of extraction by a language model; raises `SettingsError`."""
    from .storage.graph_api import ExtractionSchema

    try:
        with graph_errors():
            return ExtractionSchema.of(
                settings.entity_types,
                settings.relation_types,
                strict=settings.strict,
                claims=settings.claims,
                inferred=settings.inferred,
                examples=_text_of(settings.examples),
                gleanings=settings.gleanings,
            )
    except GraphStageError as error:
        raise SettingsError(f"graph: {error}") from error


def _text_of(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"graph.examples: cannot read {path!r}: {error}") from error


def build_extraction_runner(
    library: Library,
    settings: GraphSettings,
    *,
    models: Models,
    schema: ExtractionSchema,
    rules: LanguageExtractor,
    count: Callable[[str], int],
) -> LLMExtractionRunner | None:
    """Build extraction by a language model; None where rules read alone.

    Raises:
        SettingsError: a model is to read and none is set.
    """
    client = models.extraction
    if settings.extractor == "language":
        return None
    if client is None:
        raise SettingsError(
            f"graph.extractor: {settings.extractor!r} needs a language model: set llm.kind"
        )
    from .enrichment.extraction import LLMExtractionRunner

    return LLMExtractionRunner(
        library,
        client=client,
        schema=schema,
        beside=rules if settings.extractor == "both" else None,
        fill=rules if settings.fill == "language" else None,
        pack_tokens=settings.pack_tokens,
        count=count,
    )


def build_refiner(
    library: Library, settings: GraphSettings, *, client: LLMClient | None
) -> EntityRefiner | None:
    """Build the judge of names and writer of descriptions; None where no model does either."""
    wanted = settings.judged_pairs or settings.summarise
    if client is None or settings.extractor == "language" or not wanted:
        return None
    from .enrichment.entities import EntityRefiner

    return EntityRefiner(
        library, client=client, pairs=settings.judged_pairs, summarise=settings.summarise
    )


def build_report_writer(
    library: Library, settings: GraphSettings, *, models: Models, count: Callable[[str], int]
) -> ReportWriter | None:
    """Build the writer of reports; None where reports stay extractive."""
    client = models.reports
    if settings.reports == "extractive" or client is None:
        return None
    from .enrichment.reports import ReportWriter

    return ReportWriter(
        library,
        client=client,
        min_entities=settings.report_min_entities,
        budget_tokens=settings.report_budget_tokens,
        count=count,
    )


def estimate_models(models: Models) -> dict[str, ForecastModel]:
    """Return the models of a cost estimate, with their token prices."""
    from .enrichment.cost_estimate import EXTRACTION, REPORTS
    from .enrichment.cost_estimate import Model as ForecastModel
    from .enrichment.entities import NAMES, SUMMARIES

    reader = models.extraction
    named = {EXTRACTION: reader, NAMES: reader, SUMMARIES: reader, REPORTS: models.reports}
    return {
        stage: ForecastModel(
            name=gateway.model,
            sends_schema=gateway.sends_schema,
            cost=_cost(gateway.price),
            currency=models.currency,
        )
        for stage, gateway in named.items()
        if gateway is not None
    }


def _cost(price: Price | None) -> Callable[[int, int], float | None]:
    return price.of if price is not None else lambda _prompt, _completion: None


def build_expander(
    settings: RetrieveSettings,
    *,
    models: Models,
    idf: Callable[[], Callable[[str], float]],
) -> Expander | None:
    """Build query expansion (HyDE, multi-query) as configured; None where it is off."""
    if not settings.expand:
        return None
    from .retrieval.query_expansion import expand_query

    complete = text_completion(models.answers, stage="expand", keep=True)
    return lambda question, first: expand_query(
        question, kinds=settings.expand, complete=complete, first_passages=first, idf=idf()
    )


def build_passage_reranker(settings: RerankSettings, *, models: Models) -> PassageReranker | None:
    """Build the passage reranker; None disables it."""
    if settings.kind == "none":
        return None
    from .retrieval.rerank_models import build_reranker

    complete = text_completion(models.answers, stage="rerank", keep=True)
    reranker = build_reranker(settings, complete=complete)
    if reranker is None:
        return None
    return PassageReranker(
        reranker=reranker, candidates=settings.candidates, weight=settings.weight
    )


def build_router_llm(models: Models) -> Callable[[Prompt], str] | None:
    """Return the router's LLM call; None without a model."""
    gateway = models.answers
    if gateway is None:
        return None
    return lambda prompt: gateway.ask(prompt, stage="route", keep=True).text


def build_batch_llm(models: Models) -> BatchLLM | None:
    """Asks several things at once, each stage its own model; None where there is none."""
    if models.map is None or models.answers is None:
        return None
    gateways = {"map": models.map, "answers": models.answers}

    def ask_many(
        stage: str, prompts: Sequence[Prompt], *, on_event: Callable[[str], None] | None = None
    ) -> list[Reply | ModelError]:
        gateway = gateways[stage]
        told = on_event if len(prompts) == 1 else None

        def ask(item: tuple[int, Prompt]) -> tuple[int, Reply | ModelError]:
            try:
                return item[0], gateway.ask(item[1], stage=stage, keep=True, on_event=told)
            except ModelError as error:
                return item[0], error

        found = dict(parallel_map(enumerate(prompts), ask, workers=gateway.concurrency))
        return [found[place] for place in range(len(prompts))]

    return ask_many


def text_completion(
    gateway: LLMClient | None, *, stage: str, keep: bool = False
) -> Callable[[str], str] | None:
    """Return a plain text-completion call to a language model; None without one."""
    if gateway is None:
        return None

    def complete(prompt: str) -> str:
        from llama_index.core.base.llms.types import ChatMessage

        return gateway.chat([ChatMessage(content=prompt)], stage=stage, keep=keep).text

    return complete
