"""Composition root: settings to components; models are loaded on first use.

`Components` builds the parts of one library, in the order in which they need each other: extraction
and graph index, retrieval, answerers, router, indexer and cost estimator.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from .agent.corrective import CorrectiveRetriever
from .agent.self_rag import SelfRag
from .agent.service import AgentSearch
from .agent.web import WebSearch
from .answering.answerer import ContextPacker, LocalAnswerer
from .answering.connections import ConnectionAnswerer
from .answering.extractive.likeness import LikenessReader, ReaderWithVectors
from .answering.global_search.search import GlobalAnswerer
from .answering.persons import PersonPlaces
from .config import (
    ChunkSettings,
    GraphSettings,
    RetrieveSettings,
    Settings,
    VectorSettings,
)
from .conversation import QueryRewriter
from .embeddings.choice import cosine_floor, is_bundled, reads_english_only
from .embeddings.multilingual import MultilingualEmbedding
from .embeddings.tfidf import TfidfEmbedding
from .embeddings.tokenizer import Tokeniser, load_tokeniser, split_windows, windows_and_sentences
from .embeddings.wrappers import WrappedEmbedding, unwrap_embedding
from .llm.response import identity_of
from .llm_components import (
    build_batch_llm,
    build_expander,
    build_extraction_runner,
    build_passage_reranker,
    build_refiner,
    build_report_writer,
    build_router_llm,
    estimate_models,
    extraction_schema,
    text_completion,
)
from .providers.llm_clients import Models
from .retrieval.passages import embedder
from .retrieval.retriever import HybridRetriever
from .routing.router import QueryRouter, QuerySelector
from .routing.scope import ScopeClassifier, shipped_weights
from .storage.bm25_index import KeywordIndex
from .storage.graph_api import graph_errors, is_fresh, sentence_spans
from .storage.graph_views import GraphViewCache
from .storage.library import Library
from .storage.tokenization import TOKENS_VERSION, dictionary_words, tokens_with
from .storage.vectors.external import ExternalDense
from .storage.vectors.index import DenseIndex
from .storage.vectors.spaces import TFIDF_WORTH, VectorSpace
from .storage.vectors.stores import open_store
from .types import SourceText, StageUsage
from .verification.pipeline import CitationVerifier

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

    from .answering.global_search.context import Effort
    from .chunking.strategy import ChunkOptions
    from .embeddings.cross_encoder import CrossEncoder
    from .embeddings.embedding_model import EmbeddingModel
    from .enrichment.cost_estimate import CostEstimator
    from .enrichment.entities import EntityRefiner
    from .enrichment.extraction import LLMExtractionRunner
    from .enrichment.reports import ReportWriter
    from .storage.extraction_process import ExtractionProcess
    from .storage.graph_api import (
        DeriveOptions,
        ExtractionSchema,
        Extractor,
        KnowledgeGraphIndex,
        LanguageExtractor,
    )
    from .storage.indexer import Indexer
    from .storage.llamaindex import WindowedVectorIndex
    from .storage.preparation import Chunker


def chinese_dictionary(settings: RetrieveSettings) -> list[str]:
    """Return the user's word list for Chinese segmentation, if one is configured."""
    return dictionary_words(Path(settings.dictionary)) if settings.dictionary else []


def separate_embedding(model: EmbeddingModel) -> EmbeddingModel:
    """Return the model for another library: hashed words are weighed by one library's rarity."""
    if not isinstance(unwrap_embedding(model), TfidfEmbedding):
        return model
    other = copy(model)
    if isinstance(other, WrappedEmbedding):
        other._inner = separate_embedding(other.inner)
    return other


def _sentence_model(
    embed_model: EmbeddingModel | None, *, keyword: KeywordIndex
) -> EmbeddingModel | None:
    """Return the model for comparing sentences and questions; hashed words have no meanings."""
    inner = unwrap_embedding(embed_model) if embed_model is not None else None
    if not isinstance(inner, TfidfEmbedding):
        return embed_model
    inner.weigh_by(keyword.idf)
    return None


def _scope_classifier(embed_models: Sequence[EmbeddingModel]) -> ScopeClassifier:
    """Return the router's classifier by these models.

    Where nothing is shipped for any of them, as for a server's, by the bundled multilingual one;
    hashed words want no model.
    """
    models = {identity_of(model): model for model in embed_models}
    is_known = any(shipped_weights(name, "en") is not None for name in models)
    is_hashed = any(isinstance(unwrap_embedding(one), TfidfEmbedding) for one in embed_models)
    if models and not is_known and not is_hashed:
        bundled = MultilingualEmbedding()
        models[bundled.identity] = bundled
    return ScopeClassifier({name: model.get_query_embedding for name, model in models.items()})


def _space(
    library: Library,
    settings: Settings,
    *,
    embed_model: EmbeddingModel,
    tokeniser: Tokeniser,
) -> VectorSpace:
    """Return the vector space of one embedding model."""
    limit: int = getattr(embed_model, "window_tokens", settings.chunk.size_tokens)
    cut = split_windows
    if settings.embedding.sentences:
        cut = partial(windows_and_sentences, sentence_spans=sentence_spans)
    identity = identity_of(embed_model)
    dense = _external(library, settings.vectors, model=identity)

    @cache
    def index() -> WindowedVectorIndex:
        from .storage.llamaindex import WindowedVectorIndex

        return WindowedVectorIndex(
            library,
            embed_model=embed_model,
            model=identity,
            dense=searched,
            windows=partial(cut, limit=limit, tokeniser=tokeniser),
        )

    searched = dense or DenseIndex(library, model=identity)
    hashed = isinstance(unwrap_embedding(embed_model), TfidfEmbedding)
    return VectorSpace(
        open_index=index,
        dense=searched,
        embed_model=embed_model,
        identity=identity,
        english_only=reads_english_only(embed_model),
        worth=TFIDF_WORTH if hashed else 1.0,
        floor=cosine_floor(embed_model),
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


class Components:
    """Everything that works on one library, built once by plain constructor calls.

    `brief` is the low-effort overview.

    Args:
        library: where everything is stored.
        settings: all sections.
        models: language models by stage.
        embed_models: in order, each for what those before cannot read; none for BM25 and the walk
            alone.
        history: costs of language models in this library, for forecasts.
        reader: the cross-encoder that chooses excerpts; None for none.
        likeness: the same for questions in Chinese.
        web_search: asked where `check.corrective` finds too little.
    """

    def __init__(
        self,
        library: Library,
        *,
        settings: Settings,
        models: Models,
        embed_models: Sequence[EmbeddingModel],
        history: Callable[[], Sequence[StageUsage]],
        reader: CrossEncoder | None = None,
        likeness: LikenessReader | None = None,
        web_search: WebSearch | None = None,
    ) -> None:
        self._reader = reader
        self._likeness = likeness
        self._library = library
        self._settings = settings
        self._models = models
        self._embed_models = embed_models = tuple(map(separate_embedding, embed_models))
        self._embed_model = embed_models[0] if embed_models else None
        self._multilingual_model = next(
            (
                model
                for model in embed_models
                if isinstance(unwrap_embedding(model), MultilingualEmbedding)
            ),
            None,
        )
        self._scope = _scope_classifier(embed_models)
        self._tokeniser = load_tokeniser()
        self.graph_views = GraphViewCache(library)
        self._history = history
        self._check_ingestion()
        self._build_retrieval(embed_models)
        self._build_answers(web_search)
        self._build_routing()

    def with_effort(self, effort: Effort) -> Components:
        """Return the same components with another effort for overviews."""
        other = copy(self)
        other.overview = other.brief = self.overview.with_effort(effort)
        overview = partial(other.overview.answer, otherwise=self.local.answer)
        other.router = replace(self.router, overview=overview, brief=other.brief.answer)
        return other

    def with_retriever(self, retriever: HybridRetriever) -> Components:
        """Return the same components that answer from what another retriever finds."""
        other = copy(self)
        other.retriever = retriever
        other.local = self.local.reading(retriever)
        other.router = QueryRouter(
            selector=self.router.selector,
            local=other.local.answer,
            overview=partial(self.overview.answer, otherwise=other.local.answer),
            brief=self.brief.answer,
            spares=self.router.spares,
        )
        return other

    def _build_retrieval(self, embed_models: Sequence[EmbeddingModel]) -> None:
        settings, models, readable = self._settings, self._models, self._tokeniser.readable
        words = tokens_with(chinese_dictionary(settings.retrieve))
        self.keyword = KeywordIndex(self._library, tokens=words, readable=readable)
        self._sentence_model = _sentence_model(self._embed_model, keyword=self.keyword)
        self.spaces = tuple(
            _space(self._library, settings, embed_model=model, tokeniser=self._tokeniser)
            for model in embed_models
        )
        self.retriever = HybridRetriever(
            self._library,
            keyword=self.keyword,
            spaces=self.spaces,
            readable=readable,
            settings=settings.retrieve,
            expander=build_expander(settings.retrieve, models=models, idf=self.keyword.idf),
            judge=build_passage_reranker(settings.rerank, models=models),
        )

    def _build_answers(self, web_search: WebSearch | None) -> None:
        settings, retriever, client = self._settings, self.retriever, self._models.answers
        check, count = settings.check, self._tokeniser.count
        embed = embedder(self._sentence_model)
        checks = CitationVerifier(
            check,
            idf=retriever.idf,
            embed=embed,
            embed_across=embedder(self._multilingual_model),
            other_names=retriever.other_names,
            client=client,
        )
        correction = reflection = None
        if check.corrective:
            correction = CorrectiveRetriever(
                check, retriever=retriever, client=client, web=web_search
            )
        if check.self_rag:
            reflection = SelfRag(max_rounds=check.max_rounds, retriever=retriever, client=client)
        packer = ContextPacker(
            self._library,
            settings.answer,
            settings.pack,
            retriever=retriever,
            gateway=client,
            embed=embed,
            tokeniser=self._tokeniser,
            fills="top_k" not in settings.retrieve.model_fields_set,
        )
        self.follow_ups = QueryRewriter(
            settings.answer, count=count, retriever=retriever, client=client
        )
        self.local = LocalAnswerer(
            self._library,
            settings.answer,
            retriever=retriever,
            packer=packer,
            checks=checks,
            correction=correction,
            reflection=reflection,
            connections=ConnectionAnswerer(self._library, self.graph_views, self._reader),
            places=PersonPlaces(self._library, self.graph_views),
            reader=self._with_vectors(self._reader),
            likeness=self._likeness,
        )
        self.agent = AgentSearch(
            settings.agent, local=self.local, retriever=retriever, client=client, web=web_search
        )
        self._build_overviews(checks)

    def _with_vectors(self, reader: CrossEncoder | None) -> CrossEncoder | ReaderWithVectors | None:
        """Return the reader, with vectors beside it where their model is at hand."""
        model = self._embed_model
        if reader is None or model is None or not is_bundled(model):
            return reader
        return ReaderWithVectors(reader, model)

    def _build_overviews(self, checks: CitationVerifier) -> None:
        settings = self._settings
        lazy_reports = self._reports_of("lazy")
        self.overview = GlobalAnswerer(
            self._library,
            settings.answer,
            retriever=self.retriever,
            views=self.graph_views,
            models=self._models,
            checks=checks,
            count=self._tokeniser.count,
            ask_many=build_batch_llm(self._models),
            selection=settings.overview.selection,
            effort=settings.overview.effort,
            reports_for=lazy_reports.now if lazy_reports is not None else None,
            reader=self._reader,
            likeness=self._likeness,
            about_whole=lambda question: self._scope(question).whole,
        )
        self.brief = self.overview.with_effort("low")

    def _build_routing(self) -> None:
        settings, retriever = self._settings.route, self.retriever
        selector = QuerySelector(
            self._scope,
            find=self.local.search,
            ask=build_router_llm(self._models) if settings.by_model else None,
            sure=settings.sure,
            both=settings.both,
            outlines=self._models.answers is None,
            titles=retriever.titles,
        )
        self.router = QueryRouter(
            selector=selector,
            local=self.local.answer,
            overview=partial(self.overview.answer, otherwise=self.local.answer),
            brief=self.brief.answer,
            from_found=self.local.from_found,
            spares=self._models.answers is None,
        )

    # --- ingestion, built when a document first comes: a question needs none of it ---------

    def _check_ingestion(self) -> None:
        """Raise `SettingsError` when a library is opened, not when the first document comes."""
        if self._settings.graph != GraphSettings():
            _ = self._schema, self._runner
        if _cuts_by_model(self._settings.chunk):
            _ = self._chunk_options

    def ensure_current(self) -> None:
        """Resume a derivation that a killed run left undone; see `Indexer.ensure_current`."""
        if not self.is_fresh():
            self.indexer.ensure_current()

    def is_fresh(self) -> bool:
        """Check whether all derived rows are current."""
        return is_fresh(self._library.database)

    @cached_property
    def graph(self) -> KnowledgeGraphIndex:
        """The knowledge-graph index."""
        return _graph(self._library, self._settings.graph, extractor=self._extraction)

    @cached_property
    def indexer(self) -> Indexer:
        """Writer of documents through all indexes."""
        from .chunking.strategy import chunk
        from .storage.indexer import Indexer

        settings, tokeniser, options = self._settings, self._tokeniser, self._chunk_options
        return Indexer(
            self._library,
            chunker=partial(chunk, options=options, tokeniser=tokeniser),
            graph=self.graph,
            keyword=self.keyword,
            spaces=self.spaces,
            english_share=tokeniser.readable,
            recipe=_recipe(
                settings, options=options, models=self._models, embed_model=self._embed_model
            ),
            enrichment=self._runner,
            refiner=self._refiner,
            reports=self._reports_of("eager"),
            plain_chunkers=_plain_chunkers(options, tokeniser=tokeniser),
            extraction=self._extraction,
        )

    @cached_property
    def forecasts(self) -> CostEstimator:
        """Estimator of what adding documents costs."""
        from .enrichment.cost_estimate import CostEstimator

        settings, tokeniser = self._settings.graph, self._tokeniser
        return CostEstimator(
            chunker=_free_chunker(self._chunk_options, tokeniser=tokeniser),
            count=tokeniser.count,
            billed=_billed,
            history=self._history,
            models=estimate_models(self._models),
            enrichment=self._runner,
            schema=self._schema,
            reports=self._reports_of("eager"),
            sampler=self._rules,
            second_look=self._refiner,
            report_budget_tokens=(
                settings.report_budget_tokens if self._reports_of("lazy") is not None else 0
            ),
        )

    @cached_property
    def _chunk_options(self) -> ChunkOptions:
        return _chunk_options(
            self._settings.chunk, models=self._models, embed_model=self._embed_model
        )

    @cached_property
    def _rules(self) -> LanguageExtractor:
        return _rules(self._settings.graph)

    @cached_property
    def _extraction(self) -> ExtractionProcess:
        from .storage.extraction_process import ExtractionProcess

        graph = self._settings.graph
        return ExtractionProcess(
            spacy_model=graph.spacy_model, concepts=graph.concepts, local=self._rules
        )

    @cached_property
    def _schema(self) -> ExtractionSchema:
        return extraction_schema(self._settings.graph)

    @cached_property
    def _runner(self) -> LLMExtractionRunner | None:
        return build_extraction_runner(
            self._library,
            self._settings.graph,
            models=self._models,
            schema=self._schema,
            rules=self._rules,
            count=self._tokeniser.count,
        )

    @cached_property
    def _refiner(self) -> EntityRefiner | None:
        return build_refiner(self._library, self._settings.graph, client=self._models.extraction)

    @cached_property
    def _reports(self) -> ReportWriter | None:
        return build_report_writer(
            self._library,
            self._settings.graph,
            models=self._models,
            count=self._tokeniser.count,
        )

    def _reports_of(self, kind: str) -> ReportWriter | None:
        return self._reports if self._settings.graph.reports == kind else None


def _plain_chunkers(options: ChunkOptions, *, tokeniser: Tokeniser) -> list[Chunker]:
    """Ways to cut what the chosen strategy cannot: by paragraphs, else by tokens alone."""
    from .chunking.strategy import chunk

    plain = replace(options, context_tokens=0, complete=None)
    ways = [replace(plain, strategy=way) for way in ("recursive", "fixed")]
    return [partial(chunk, options=way, tokeniser=tokeniser) for way in ways]


def _free_chunker(
    options: ChunkOptions, *, tokeniser: Tokeniser
) -> Callable[[SourceText], list[BaseNode]]:
    """Return a chunker for cost estimates, which calls no model."""
    from .chunking.strategy import chunk
    from .storage.preparation import chunk_document

    free = replace(options, complete=None, semantic_by_model=False)
    ways: list[Chunker] = [
        partial(chunk, options=free, tokeniser=tokeniser),
        *_plain_chunkers(free, tokeniser=tokeniser),
    ]
    return lambda source: chunk_document(source, ways)[0]


def _billed(text: str) -> int:
    """Tokens by the tokeniser that LlamaIndex bundles, which is that of OpenAI's models."""
    from llama_index.core.utils import get_tokenizer

    return len(get_tokenizer()(text))


def _recipe(
    settings: Settings,
    *,
    options: ChunkOptions,
    models: Models,
    embed_model: EmbeddingModel | None,
) -> list[str]:
    """List the settings and versions that decide reading, chunking and tokenisation."""
    from .chunking.strategy import CHUNKS_VERSION
    from .ingest.registry import READERS_VERSION

    further = ["sentences"] if settings.embedding.sentences else []
    cuts_by_model = settings.chunk.strategy == "semantic" and settings.chunk.semantic_by_model
    return [
        *further,
        settings.chunk.model_dump_json(),
        READERS_VERSION,
        CHUNKS_VERSION,
        TOKENS_VERSION,
        " ".join(chinese_dictionary(settings.retrieve)),
        models.extraction.identity if models.extraction and options.complete is not None else "",
        identity_of(embed_model) if cuts_by_model and embed_model is not None else "",
    ]


def settings_of_copy(settings: Settings) -> Settings:
    """Return the settings of a derived copy of some namespaces: its vectors lie in it."""
    inside = settings.vectors.model_copy(update={"store": "library"})
    return settings.model_copy(update={"vectors": inside})


def derive_copy(library: Library, settings: Settings) -> None:
    """Derive entities, communities and reports of a new copy; no model is asked."""
    from .storage.graph_api import derive_graph

    with library.writer(), graph_errors():
        derive_graph(library.database, options=_derive_options(settings.graph))


def _rules(settings: GraphSettings) -> LanguageExtractor:
    """Return the extractor without a language model."""
    from .storage.graph_api import LanguageExtractor

    return LanguageExtractor(spacy_model=settings.spacy_model, concepts=settings.concepts)


def _graph(
    library: Library, settings: GraphSettings, *, extractor: Extractor
) -> KnowledgeGraphIndex:
    from .storage.graph_api import ExtractionTransform, KnowledgeGraphIndex, SqlGraphStore

    store = SqlGraphStore(library.database, options=_derive_options(settings))
    transform = ExtractionTransform(extractor=extractor)
    return KnowledgeGraphIndex(graph_store=store, kg_extractors=[transform])


def _derive_options(settings: GraphSettings) -> DeriveOptions:
    from .storage.graph_api import DeriveOptions

    return DeriveOptions(
        communities=settings.communities,
        drift=settings.drift,
        max_community_size=settings.max_community_size,
        resolution=settings.resolution,
        seed=settings.seed,
    )


def _cuts_by_model(settings: ChunkSettings) -> bool:
    return settings.strategy == "agentic" or settings.context_by_model


def _chunk_options(
    settings: ChunkSettings,
    *,
    models: Models,
    embed_model: EmbeddingModel | None,
) -> ChunkOptions:
    """Build chunking options; a model is used only where the settings ask for it."""
    from .chunking.strategy import ChunkOptions

    asks = _cuts_by_model(settings)
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


def _listed_vectors(embed_model: EmbeddingModel) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: embed_model.get_text_embedding_batch(list(texts))
