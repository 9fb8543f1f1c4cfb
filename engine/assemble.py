"""Settings to parts: what is handed to what. Building is cheap; models load when first used."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .answer.checks.stage import Checks
from .answer.correct import Correction
from .answer.local_answers import LocalAnswers
from .answer.overviews.global_answers import GlobalAnswers
from .answer.parts import AnswerParts, embedder
from .answer.rounds import Reflection
from .answer.routing.router import build_router
from .answer.routing.selector import ScopeSelector
from .answer.talk.following import FollowUps
from .chunk import chunk
from .chunk.choose import CHUNKS_VERSION, ChunkOptions
from .estimate import Forecasts
from .index.door import (
    DeriveOptions,
    ExtractionTransform,
    KnowledgeGraphIndex,
    LanguageExtractor,
    SqlGraphStore,
    sentence_spans,
)
from .index.indexer import Indexer
from .index.keyword import KeywordRetriever
from .index.library import Library
from .index.store_dense import ExternalDense
from .index.stores import open_store
from .index.vector import WindowedVectorIndex
from .model_parts import (
    ModelReading,
    build_ask_many,
    build_consult,
    build_expander,
    build_follow_ups,
    build_judge,
    build_reading,
    build_route_asking,
    completion,
    forecast_models,
)
from .models.build import identity_of
from .models.readability import readability
from .models.stages import Models
from .models.tfidf import TfidfEmbedding
from .models.tokeniser import Tokeniser, load_tokeniser
from .models.windows import windows, windows_and_sentences
from .models.wrapped_embedding import innermost
from .retrieve.corrective import WebSearch
from .retrieve.local import LocalRetriever
from .retrieve.tokens import TOKENS_VERSION, dictionary_words, tokens_with
from .settings import (
    ChunkSettings,
    GraphSettings,
    RetrieveSettings,
    Settings,
    VectorSettings,
)
from .types import StageUsage

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.query_engine import RouterQueryEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that works on one library."""

    graph: KnowledgeGraphIndex
    vectors: WindowedVectorIndex | None
    keyword: KeywordRetriever
    indexer: Indexer
    retriever: LocalRetriever
    forecasts: Forecasts
    follow_ups: FollowUps
    local: LocalAnswers
    overview: GlobalAnswers
    brief: GlobalAnswers
    router: RouterQueryEngine


def assemble(
    library: Library,
    *,
    settings: Settings,
    models: Models,
    embed_model: BaseEmbedding | None,
    history: Callable[[], Sequence[StageUsage]],
    web_search: WebSearch | None = None,
) -> Parts:
    """The parts for a library; without `embed_model` there is no vector side.

    `history` tells what language models have cost in this library, for forecasts; `web_search` is
    asked where `check.corrective` finds too little.
    """
    tokeniser = load_tokeniser()
    reading = build_reading(library, settings, models=models, count=tokeniser.count)
    options = _chunk_options(settings.chunk, models=models, embed_model=embed_model)
    graph = _graph(library, settings.graph, extractor=reading.language)
    finding = _finding(
        library, settings, models=models, embed_model=embed_model, tokeniser=tokeniser
    )
    answering = _answering(
        library,
        settings,
        finding=finding,
        reading=reading,
        models=models,
        tokeniser=tokeniser,
        web_search=web_search,
    )
    return Parts(
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
        ),
        retriever=finding.retriever,
        forecasts=_forecasts(
            reading, options=options, models=models, tokeniser=tokeniser, history=history
        ),
        follow_ups=build_follow_ups(
            settings.answer,
            models=models,
            count=tokeniser.count,
            names=finding.retriever.places_of_names,
        ),
        local=answering.local,
        overview=answering.overview,
        brief=answering.brief,
        router=answering.router,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What finds passages; `meaning` compares sentences, and is None where no model does.

    `readable` says how much of a text the embedding model reads.
    """

    vectors: WindowedVectorIndex | None
    keyword: KeywordRetriever
    retriever: LocalRetriever
    meaning: BaseEmbedding | None
    readable: Callable[[str], float]


def _finding(
    library: Library,
    settings: Settings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
    tokeniser: Tokeniser,
) -> _Finding:
    vectors = _vectors(library, settings, embed_model=embed_model, tokeniser=tokeniser)
    readable = readability(embed_model, tokeniser=tokeniser)
    words = tokens_with(_dictionary(settings.retrieve))
    keyword = KeywordRetriever(library, tokens=words, readable=readable)
    # What compares sentences and kinds of questions wants meanings; hashed words have none.
    meaning = embed_model
    if embed_model is not None and isinstance(inner := innermost(embed_model), TfidfEmbedding):
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
        judge=build_judge(settings.rerank, models=models),
    )
    return _Finding(
        vectors=vectors, keyword=keyword, retriever=retriever, meaning=meaning, readable=readable
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answering:
    """The two ways to an answer, and what chooses; `brief` is the overview beside the other."""

    local: LocalAnswers
    overview: GlobalAnswers
    brief: GlobalAnswers
    router: RouterQueryEngine


def _answering(
    library: Library,
    settings: Settings,
    *,
    finding: _Finding,
    reading: ModelReading,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> _Answering:
    retriever = finding.retriever
    consult = build_consult(models)
    parts = AnswerParts(
        retriever=retriever,
        idf=retriever.idf,
        settings=settings.answer,
        models=models,
        checks=Checks(
            settings.check,
            idf=retriever.idf,
            embed=embedder(finding.meaning),
            consult=consult,
        ),
        correction=Correction(
            settings.check,
            retriever=retriever,
            idf=retriever.idf,
            consult=consult,
            web=web_search,
        )
        if settings.check.corrective
        else None,
        reflection=Reflection(
            max_rounds=settings.check.max_rounds, idf=retriever.idf, consult=consult
        )
        if settings.check.self_rag
        else None,
        embed=embedder(finding.meaning),
        tokeniser=tokeniser,
        page_starts=library.page_starts,
        packing=settings.pack,
        text_at=library.text_at,
        dates=library.dates,
    )
    local = LocalAnswers(parts)
    overview = GlobalAnswers(
        library,
        parts,
        ask_many=build_ask_many(models),
        selection=settings.overview.selection,
        effort=settings.overview.effort,
        reports_for=reading.lazy(library).now if reading.lazy is not None else None,
    )
    brief = overview.with_selection(settings.overview.selection, effort="low")
    selector = ScopeSelector(
        finding.meaning,
        readable=finding.readable,
        identity=identity_of(finding.meaning) if finding.meaning is not None else "",
        known_names=lambda question, within: len(
            {place.label for place in retriever.places_of_names(question, within)}
        ),
        ask=build_route_asking(models) if settings.route.by_model else None,
        sure=settings.route.sure,
        both=settings.route.both,
    )
    router = build_router(
        selector, local=local.answer, overview=overview.answer, brief=brief.answer
    )
    return _Answering(local=local, overview=overview, brief=brief, router=router)


def _forecasts(
    reading: ModelReading,
    *,
    options: ChunkOptions,
    models: Models,
    tokeniser: Tokeniser,
    history: Callable[[], Sequence[StageUsage]],
) -> Forecasts:
    """What says what adding would cost; it cuts documents without asking a model."""
    free = replace(options, complete=None)
    return Forecasts(
        chunker=lambda source: chunk(source, options=free, tokeniser=tokeniser),
        count=tokeniser.count,
        history=history,
        models=forecast_models(models),
        enrichment=reading.enrichment,
        schema=reading.schema,
        reports=reading.eager,
        sampler=reading.language,
        further=reading.second_look.may_ask if reading.second_look is not None else (),
    )


def _recipe(
    settings: Settings,
    *,
    options: ChunkOptions,
    models: Models,
    embed_model: BaseEmbedding | None,
) -> list[str]:
    """What decides how a document is cut, counted and embedded."""
    further = ["sentences"] if settings.embedding.sentences else []
    return [
        *further,
        settings.chunk.model_dump_json(),
        CHUNKS_VERSION,
        TOKENS_VERSION,
        " ".join(_dictionary(settings.retrieve)),
        models.extraction.identity if models.extraction and options.complete is not None else "",
        identity_of(embed_model) if embed_model is not None else "no embedding",
    ]


def _dictionary(settings: RetrieveSettings) -> list[str]:
    return dictionary_words(Path(settings.dictionary)) if settings.dictionary else []


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
    cut = windows
    if settings.embedding.sentences:
        cut = partial(windows_and_sentences, sentence_spans=sentence_spans)
    return WindowedVectorIndex(
        library,
        embed_model=embed_model,
        model=identity_of(embed_model),
        dense=_external(library, settings.vectors, model=identity_of(embed_model)),
        windows=lambda prefix, text: cut(text, prefix=prefix, limit=limit, tokeniser=tokeniser),
    )


def _external(library: Library, settings: VectorSettings, *, model: str) -> ExternalDense | None:
    """The store outside that settings name, opened when there is first something to find."""
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


def _chunk_options(
    settings: ChunkSettings,
    *,
    models: Models,
    embed_model: BaseEmbedding | None,
) -> ChunkOptions:
    """A model is asked only where the settings say so: each call costs."""
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
