"""Composition root: settings to components; models are loaded on first use.

`build_components` makes the parts of one library: retrieval (vector index, BM25, hybrid retriever),
the graph index, the indexer, the local and global answerers, and the router between them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .answering.answerer import ContextPacker, LocalAnswerer
from .answering.corrective import CorrectiveRetriever, WebSearch
from .answering.global_search.search import GlobalAnswerer
from .answering.self_rag import SelfRag
from .chunking import chunk
from .chunking.strategy import CHUNKS_VERSION, ChunkOptions
from .config import (
    ChunkSettings,
    GraphSettings,
    RetrieveSettings,
    RouteSettings,
    Settings,
    VectorSettings,
)
from .conversation import QueryRewriter
from .cost_estimate import CostEstimator
from .embeddings.local import TfidfEmbedding
from .embeddings.tokenizer import Tokeniser, load_tokeniser, split_windows, windows_and_sentences
from .embeddings.wrappers import tokeniser_coverage, unwrap_embedding
from .llm.response import identity_of
from .llm_components import (
    ExtractionComponents,
    build_batch_llm,
    build_expander,
    build_extraction,
    build_passage_reranker,
    build_router_llm,
    estimate_models,
    text_completion,
)
from .providers.llm_clients import Models
from .retrieval.passages import embedder
from .retrieval.retriever import LocalRetriever
from .routing.router import QueryRouter, QuerySelector, build_router
from .storage.bm25_index import KeywordRetriever
from .storage.external_index import ExternalDense
from .storage.graph_api import (
    DeriveOptions,
    ExtractionTransform,
    KnowledgeGraphIndex,
    LanguageExtractor,
    SqlGraphStore,
    sentence_spans,
)
from .storage.indexer import Indexer
from .storage.library import Library
from .storage.preparation import Chunker, chunk_document
from .storage.tokenization import TOKENS_VERSION, dictionary_words, tokens_with
from .storage.vector_index import WindowedVectorIndex
from .storage.vector_stores import open_store
from .types import StageUsage
from .verification.pipeline import CitationVerifier

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    from .answering.global_search.context import Effort


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalComponents:
    """Retrieval components; `meaning` is the model for sentence similarity, or None.

    `readable` says how much of a text the embedding model reads.
    """

    vectors: WindowedVectorIndex | None
    keyword: KeywordRetriever
    retriever: LocalRetriever
    meaning: BaseEmbedding | None
    readable: Callable[[str], float]


def build_retrieval(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
    tokeniser: Tokeniser,
) -> RetrievalComponents:
    """Build retrieval of a library; without `embed_model` BM25 and the walk alone."""
    vectors = _vectors(library, settings, embed_model=embed_model, tokeniser=tokeniser)
    readable = tokeniser_coverage(embed_model, tokeniser=tokeniser)
    words = tokens_with(chinese_dictionary(settings.retrieve))
    keyword = KeywordRetriever(library, tokens=words, readable=readable)
    # What compares sentences and kinds of questions wants meanings; hashed words have none.
    meaning = embed_model
    if embed_model is not None and isinstance(
        inner := unwrap_embedding(embed_model), TfidfEmbedding
    ):
        inner.weigh_by(keyword.idf)
        meaning = None
    retriever = LocalRetriever(
        library,
        keyword=keyword,
        dense=vectors.store.dense if vectors is not None else None,
        embed_model=embed_model,
        readable=readable,
        settings=settings.retrieve,
        expander=build_expander(settings.retrieve, models=models, idf=keyword.idf),
        judge=build_passage_reranker(settings.rerank, models=models),
    )
    return RetrievalComponents(
        vectors=vectors, keyword=keyword, retriever=retriever, meaning=meaning, readable=readable
    )


def chinese_dictionary(settings: RetrieveSettings) -> list[str]:
    """Return the user's word list for Chinese segmentation, if one is configured."""
    return dictionary_words(Path(settings.dictionary)) if settings.dictionary else []


def _vectors(
    library: Library,
    settings: Settings,
    *,
    embed_model: BaseEmbedding | None,
    tokeniser: Tokeniser,
) -> WindowedVectorIndex | None:
    if embed_model is None:
        return None
    limit: int = getattr(embed_model, "window_tokens", settings.chunk.size_tokens)
    cut = split_windows
    if settings.embedding.sentences:
        cut = partial(windows_and_sentences, sentence_spans=sentence_spans)
    return WindowedVectorIndex(
        library,
        embed_model=embed_model,
        model=identity_of(embed_model),
        dense=_external(library, settings.vectors, model=identity_of(embed_model)),
        windows=partial(cut, limit=limit, tokeniser=tokeniser),
    )


def _external(library: Library, settings: VectorSettings, *, model: str) -> ExternalDense | None:
    """Return the external vector store, opened on first use; None without one."""
    kind = settings.store
    if kind == "library":
        return None
    key = os.environ.get(settings.api_key_variable, "") if settings.api_key_variable else ""
    return ExternalDense(
        library,
        lambda name, dimension: open_store(
            kind,
            name,
            dimension=dimension,
            url=settings.url,
            path=settings.path,
            api_key=key,
            timeout_seconds=settings.timeout_seconds,
        ),
        model=model,
        prefix=settings.collection,
    )


def build_answerers(
    library: Library,
    settings: Settings,
    *,
    finding: RetrievalComponents,
    reading: ExtractionComponents,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> tuple[LocalAnswerer, GlobalAnswerer]:
    """Build the local and the global answerer; the latter writes missing reports if lazy."""
    retriever, check = finding.retriever, settings.check
    client = models.answers
    embed = embedder(finding.meaning)
    checks = CitationVerifier(check, idf=retriever.idf, embed=embed, client=client)
    correction = reflection = None
    if check.corrective:
        correction = CorrectiveRetriever(check, retriever=retriever, client=client, web=web_search)
    if check.self_rag:
        reflection = SelfRag(max_rounds=check.max_rounds, retriever=retriever, client=client)
    local = LocalAnswerer(
        library,
        settings.answer,
        retriever=retriever,
        packer=ContextPacker(
            library,
            settings.answer,
            settings.pack,
            retriever=retriever,
            gateway=client,
            embed=embed,
            tokeniser=tokeniser,
        ),
        checks=checks,
        correction=correction,
        reflection=reflection,
    )
    overview = GlobalAnswerer(
        library,
        settings.answer,
        retriever=retriever,
        models=models,
        checks=checks,
        count=tokeniser.count,
        ask_many=build_batch_llm(models),
        selection=settings.overview.selection,
        effort=settings.overview.effort,
        reports_for=reading.lazy(library).now if reading.lazy is not None else None,
    )
    return local, overview


def build_selector(
    settings: RouteSettings, *, finding: RetrievalComponents, models: Models
) -> QuerySelector:
    """Build what decides between local and global answers."""
    retriever = finding.retriever
    return QuerySelector(
        finding.meaning,
        readable=finding.readable,
        identity=identity_of(finding.meaning) if finding.meaning is not None else "",
        known_names=lambda question, within: len(
            {place.label for place in retriever.find_entities(question, within)}
        ),
        ask=build_router_llm(models) if settings.by_model else None,
        sure=settings.sure,
        both=settings.both,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """Everything that works on one library; `brief` is the low-effort overview."""

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
    local, overview = build_answerers(
        library,
        settings,
        finding=finding,
        reading=reading,
        models=models,
        tokeniser=tokeniser,
        web_search=web_search,
    )
    brief = overview.with_effort("low")
    router = build_router(
        build_selector(settings.route, finding=finding, models=models),
        local=local.answer,
        overview=overview.answer,
        brief=brief.answer,
    )
    return Components(
        graph=graph,
        vectors=finding.vectors,
        keyword=finding.keyword,
        indexer=Indexer(
            library,
            chunker=partial(chunk, options=options, tokeniser=tokeniser),
            graph=graph,
            keyword=finding.keyword,
            vectors=finding.vectors,
            recipe=_recipe(settings, options=options, models=models, embed_model=embed_model),
            enrichment=reading.enrichment,
            refiner=reading.second_look,
            reports=reading.eager(library) if reading.eager is not None else None,
            plain_chunkers=_plain_chunkers(options, tokeniser=tokeniser),
        ),
        retriever=finding.retriever,
        forecasts=_forecasts(
            reading, options=options, models=models, tokeniser=tokeniser, history=history
        ),
        follow_ups=QueryRewriter(
            settings.answer,
            count=tokeniser.count,
            retriever=finding.retriever,
            client=models.answers,
        ),
        local=local,
        overview=overview,
        brief=brief,
        router=router,
    )


def _plain_chunkers(options: ChunkOptions, *, tokeniser: Tokeniser) -> list[Chunker]:
    """Ways to cut what the chosen strategy cannot: by paragraphs, else by tokens alone."""
    plain = replace(options, context_tokens=0, complete=None)
    ways = [replace(plain, strategy=way) for way in ("recursive", "fixed")]
    return [partial(chunk, options=way, tokeniser=tokeniser) for way in ways]


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
        partial(chunk, options=free, tokeniser=tokeniser),
        *_plain_chunkers(free, tokeniser=tokeniser),
    ]
    return CostEstimator(
        chunker=lambda source: chunk_document(source, ways)[0],
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
        " ".join(chinese_dictionary(settings.retrieve)),
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
        complete=text_completion(models.extraction, stage="chunk") if asks else None,
    )


def _listed_vectors(embed_model: BaseEmbedding) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: embed_model.get_text_embedding_batch(list(texts))
