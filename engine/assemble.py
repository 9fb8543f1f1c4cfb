"""Composition root: settings to components. Models are loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from .answer.local_answers import LocalAnswerer
from .answer.overviews.global_answers import GlobalAnswerer
from .answer.talk.following import QueryRewriter
from .answering_parts import build_answering
from .chunk import chunk
from .chunk.choose import CHUNKS_VERSION, ChunkOptions
from .estimate import CostEstimator
from .finding_parts import build_retrieval, dictionary
from .index.door import (
    DeriveOptions,
    ExtractionTransform,
    KnowledgeGraphIndex,
    LanguageExtractor,
    SqlGraphStore,
)
from .index.indexer import Indexer
from .index.keyword import KeywordRetriever
from .index.library import Library
from .index.preparing import Chunker, chunked
from .index.vector import WindowedVectorIndex
from .model_parts import (
    ExtractionComponents,
    build_extraction,
    build_query_rewriter,
    completion,
    estimate_models,
)
from .models.naming import identity_of
from .models.stages import Models
from .models.tokeniser import Tokeniser, load_tokeniser
from .retrieve.corrective import WebSearch
from .retrieve.local import LocalRetriever
from .retrieve.tokens import TOKENS_VERSION
from .settings import ChunkSettings, GraphSettings, Settings
from .types import SourceText, StageUsage

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    from .answer.overviews.plan import Effort
    from .answer.routing.router import QueryRouter


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Everything that works on one library."""

    graph: KnowledgeGraphIndex
    vectors: WindowedVectorIndex | None
    keyword: KeywordRetriever
    indexer: Indexer
    retriever: LocalRetriever
    forecasts: CostEstimator
    follow_ups: QueryRewriter
    local: LocalAnswerer
    overview: GlobalAnswerer
    brief: GlobalAnswerer
    router: QueryRouter

    def with_effort(self, effort: Effort) -> Components:
        """Return the same components with another effort for overviews."""
        overview = self.overview.with_effort(effort)
        router = self.router.between(local=self.local.answer, overview=overview.answer)
        return replace(self, overview=overview, brief=overview, router=router)


def build_components(
    library: Library,
    *,
    settings: Settings,
    models: Models,
    embed_model: BaseEmbedding | None,
    history: Callable[[], Sequence[StageUsage]],
    web_search: WebSearch | None = None,
) -> Components:
    """Build the components of a library; without `embed_model` there are no vectors.

    `history` tells what language models have cost in this library, for forecasts; `web_search` is
    asked where `check.corrective` finds too little.
    """
    tokeniser = load_tokeniser()
    reading = build_extraction(library, settings, models=models, count=tokeniser.count)
    options = _chunk_options(settings.chunk, models=models, embed_model=embed_model)
    graph = _graph(library, settings.graph, extractor=reading.language)
    finding = build_retrieval(
        library, settings, models=models, embed_model=embed_model, tokeniser=tokeniser
    )
    answering = build_answering(
        library,
        settings,
        finding=finding,
        reading=reading,
        models=models,
        tokeniser=tokeniser,
        web_search=web_search,
    )
    return Components(
        graph=graph,
        vectors=finding.vectors,
        keyword=finding.keyword,
        indexer=Indexer(
            library,
            chunker=lambda source: chunk(source, options=options, tokeniser=tokeniser),
            graph=graph,
            keyword=finding.keyword,
            vectors=finding.vectors,
            recipe=_recipe(settings, options=options, models=models, embed_model=embed_model),
            enrichment=reading.enrichment,
            second_look=reading.second_look,
            reports=reading.eager(library) if reading.eager is not None else None,
            plain_chunkers=_plain_chunkers(options, tokeniser=tokeniser),
        ),
        retriever=finding.retriever,
        forecasts=_forecasts(
            reading, options=options, models=models, tokeniser=tokeniser, history=history
        ),
        follow_ups=build_query_rewriter(
            settings.answer,
            models=models,
            count=tokeniser.count,
            names=finding.retriever.find_entities,
        ),
        local=answering.local,
        overview=answering.overview,
        brief=answering.brief,
        router=answering.router,
    )


def _plain_chunkers(options: ChunkOptions, *, tokeniser: Tokeniser) -> list[Chunker]:
    """Ways to cut what the chosen strategy cannot: by paragraphs, else by tokens alone."""
    plain = replace(options, context_tokens=0, complete=None)
    ways = [replace(plain, strategy=way) for way in ("recursive", "fixed")]
    return [partial(_chunk_by, tokeniser=tokeniser, options=way) for way in ways]


def _chunk_by(source: SourceText, *, options: ChunkOptions, tokeniser: Tokeniser) -> list[TextNode]:
    return chunk(source, options=options, tokeniser=tokeniser)


def _forecasts(
    reading: ExtractionComponents,
    *,
    options: ChunkOptions,
    models: Models,
    tokeniser: Tokeniser,
    history: Callable[[], Sequence[StageUsage]],
) -> CostEstimator:
    """Build the cost estimator; it chunks documents without calling a model."""
    free = replace(options, complete=None, semantic_by_model=False)
    ways: list[Chunker] = [
        partial(_chunk_by, options=free, tokeniser=tokeniser),
        *_plain_chunkers(free, tokeniser=tokeniser),
    ]
    return CostEstimator(
        chunker=lambda source: chunked(source, ways)[0],
        count=tokeniser.count,
        billed=_billed,
        history=history,
        models=estimate_models(models),
        enrichment=reading.enrichment,
        schema=reading.schema,
        reports=reading.eager,
        sampler=reading.language,
        second_look=reading.second_look,
    )


def _billed(text: str) -> int:
    """Tokens by the tokeniser that LlamaIndex bundles, which is that of OpenAI's models."""
    from llama_index.core.utils import get_tokenizer

    return len(get_tokenizer()(text))


def _recipe(
    settings: Settings,
    *,
    options: ChunkOptions,
    models: Models,
    embed_model: BaseEmbedding | None,
) -> list[str]:
    """List the settings and versions that decide chunking, tokenisation and embedding."""
    further = ["sentences"] if settings.embedding.sentences else []
    return [
        *further,
        settings.chunk.model_dump_json(),
        CHUNKS_VERSION,
        TOKENS_VERSION,
        " ".join(dictionary(settings.retrieve)),
        models.extraction.identity if models.extraction and options.complete is not None else "",
        identity_of(embed_model) if embed_model is not None else "no embedding",
    ]


def _graph(
    library: Library, settings: GraphSettings, *, extractor: LanguageExtractor
) -> KnowledgeGraphIndex:
    options = DeriveOptions(
        communities=settings.communities,
        drift=settings.drift,
        max_community_size=settings.max_community_size,
        resolution=settings.resolution,
        seed=settings.seed,
    )
    return KnowledgeGraphIndex(
        graph_store=SqlGraphStore(library.database, options=options),
        kg_extractors=[ExtractionTransform(extractor=extractor)],
    )


def _chunk_options(
    settings: ChunkSettings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
) -> ChunkOptions:
    """Build chunking options; a model is used only where the settings ask for it."""
    asks = settings.strategy == "agentic" or settings.context_by_model
    return ChunkOptions(
        strategy=settings.strategy,
        size_tokens=settings.size_tokens,
        overlap_tokens=settings.overlap_tokens,
        child_tokens=settings.child_tokens,
        window_sentences=settings.window_sentences,
        context_tokens=settings.context_tokens,
        semantic_by_model=settings.semantic_by_model,
        embed=_listed_vectors(embed_model) if embed_model is not None else None,
        complete=completion(models.extraction, stage="chunk") if asks else None,
    )


def _listed_vectors(embed_model: BaseEmbedding) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: embed_model.get_text_embedding_batch(list(texts))
