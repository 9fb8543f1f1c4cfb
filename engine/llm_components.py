"""Build the components that call a language model, stage by stage.

Each is None, or goes without, where there is no model. Nothing is asked while they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .answering.global_search.context import BatchLLM, Reply
from .concurrency import parallel_map
from .config import GraphSettings, RerankSettings, RetrieveSettings, Settings
from .cost_estimate import EXTRACTION, REPORTS
from .cost_estimate import Model as ForecastModel
from .enrichment.entities import NAMES, SUMMARIES, EntityRefiner
from .enrichment.extraction import LLMExtractionRunner
from .enrichment.reports import ReportWriter
from .errors import GraphStageError, ModelError, SettingsError
from .llm.budget import Price
from .llm.client import LLMClient
from .providers.llm_clients import Models
from .retrieval.query_expansion import Expander, expand_query
from .retrieval.rerank import PassageReranker
from .retrieval.rerank_models import build_reranker
from .storage.graph_api import ExtractionSchema, LanguageExtractor, Prompt, graph_errors
from .storage.library import Library


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionComponents:
    """Extraction components: rule-based extractor, LLM runner, report writers.

    `enrichment` is None where no model reads, `second_look` where none looks at names and
    descriptions. `eager` and `lazy` make a writer for a library, one
    for when documents come and one for when a question needs a report; at most one is not None.
    """

    language: LanguageExtractor
    schema: ExtractionSchema
    enrichment: LLMExtractionRunner | None
    second_look: EntityRefiner | None
    eager: Callable[[Library], ReportWriter] | None
    lazy: Callable[[Library], ReportWriter] | None


def build_extraction(
    library: Library, settings: Settings, *, models: Models, count: Callable[[str], int]
) -> ExtractionComponents:
    """Build extraction as configured.

    Raises:
        SettingsError: a model is to read and none is set, or a schema that cannot be.
    """
    graph = settings.graph
    language = LanguageExtractor(spacy_model=graph.spacy_model, concepts=graph.concepts)
    schema = _schema(graph)
    writer = build_report_writer(settings, models=models, count=count)
    return ExtractionComponents(
        language=language,
        schema=schema,
        enrichment=_enrichment(
            library, settings, models=models, schema=schema, language=language, count=count
        ),
        second_look=_second_look(library, graph, gateway=models.extraction),
        eager=writer if graph.reports == "eager" else None,
        lazy=writer if graph.reports == "lazy" else None,
    )


def asks_a_model(settings: Settings) -> bool:
    """Check whether adding documents calls a language model."""
    return settings.graph.extractor != "language" or settings.graph.reports == "eager"


def _schema(settings: GraphSettings) -> ExtractionSchema:
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


def _enrichment(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    schema: ExtractionSchema,
    language: LanguageExtractor,
    count: Callable[[str], int],
) -> LLMExtractionRunner | None:
    gateway = models.extraction
    if settings.graph.extractor == "language":
        return None
    if gateway is None:
        raise SettingsError(
            f"graph.extractor: {settings.graph.extractor!r} needs a language model: set llm.kind"
        )
    return LLMExtractionRunner(
        library,
        client=gateway,
        schema=schema,
        beside=language if settings.graph.extractor == "both" else None,
        fill=language if settings.graph.fill == "language" else None,
        pack_tokens=settings.graph.pack_tokens,
        count=count,
    )


def _second_look(
    library: Library, settings: GraphSettings, *, gateway: LLMClient | None
) -> EntityRefiner | None:
    wanted = settings.judged_pairs or settings.summarise
    if gateway is None or settings.extractor == "language" or not wanted:
        return None
    return EntityRefiner(
        library, client=gateway, pairs=settings.judged_pairs, summarise=settings.summarise
    )


def build_report_writer(
    settings: Settings, *, models: Models, count: Callable[[str], int]
) -> Callable[[Library], ReportWriter] | None:
    """Return a factory of report writers; None where reports stay extractive."""
    gateway = models.reports
    if settings.graph.reports == "extractive" or gateway is None:
        return None
    return lambda library: ReportWriter(
        library, client=gateway, min_entities=settings.graph.report_min_entities, count=count
    )


def estimate_models(models: Models) -> dict[str, ForecastModel]:
    """Return the models of a cost estimate, with their token prices."""
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
    complete = text_completion(models.answers, stage="expand", keep=True)
    return lambda question, first: expand_query(
        question, kinds=settings.expand, complete=complete, first_passages=first, idf=idf()
    )


def build_passage_reranker(settings: RerankSettings, *, models: Models) -> PassageReranker | None:
    """Build the passage reranker; None disables it."""
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
