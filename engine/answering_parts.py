"""Build the answering components: local, global and the router between them."""

from __future__ import annotations

from dataclasses import dataclass

from .answer.checks.stage import CitationVerifier
from .answer.correct import CorrectiveRetriever
from .answer.local_answers import LocalAnswerer
from .answer.overviews.global_answers import GlobalAnswerer
from .answer.parts import AnswerDependencies, embedder
from .answer.rounds import SelfRag
from .answer.routing.router import QueryRouter, build_router
from .answer.routing.selector import QuerySelector
from .finding_parts import RetrievalComponents
from .index.library import Library
from .model_parts import ExtractionComponents, build_batch_llm, build_judge_llm, build_router_llm
from .models.naming import identity_of
from .models.stages import Models
from .models.tokeniser import Tokeniser
from .retrieve.corrective import WebSearch
from .settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerComponents:
    """Local and global answerers with their router; `brief` is the low-effort overview."""

    local: LocalAnswerer
    overview: GlobalAnswerer
    brief: GlobalAnswerer
    router: QueryRouter


def build_answering(
    library: Library,
    settings: Settings,
    *,
    finding: RetrievalComponents,
    reading: ExtractionComponents,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> AnswerComponents:
    """Build the answerers and the router over the retrieval components."""
    parts = _answer_parts(
        library,
        settings,
        finding=finding,
        models=models,
        tokeniser=tokeniser,
        web_search=web_search,
    )
    retriever = finding.retriever
    local = LocalAnswerer(parts)
    overview = GlobalAnswerer(
        library,
        parts,
        ask_many=build_batch_llm(models),
        selection=settings.overview.selection,
        effort=settings.overview.effort,
        reports_for=reading.lazy(library).now if reading.lazy is not None else None,
    )
    brief = overview.with_effort("low")
    selector = QuerySelector(
        finding.meaning,
        readable=finding.readable,
        identity=identity_of(finding.meaning) if finding.meaning is not None else "",
        known_names=lambda question, within: len(
            {place.label for place in retriever.find_entities(question, within)}
        ),
        ask=build_router_llm(models) if settings.route.by_model else None,
        sure=settings.route.sure,
        both=settings.route.both,
    )
    router = build_router(
        selector, local=local.answer, overview=overview.answer, brief=brief.answer
    )
    return AnswerComponents(local=local, overview=overview, brief=brief, router=router)


def _answer_parts(
    library: Library,
    settings: Settings,
    *,
    finding: RetrievalComponents,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> AnswerDependencies:
    """Build the dependencies shared by local and global answers."""
    retriever = finding.retriever
    consult = build_judge_llm(models)
    return AnswerDependencies(
        retriever=retriever,
        idf=retriever.idf,
        settings=settings.answer,
        models=models,
        checks=CitationVerifier(
            settings.check,
            idf=retriever.idf,
            embed=embedder(finding.meaning),
            consult=consult,
        ),
        correction=CorrectiveRetriever(
            settings.check,
            retriever=retriever,
            idf=retriever.idf,
            consult=consult,
            web=web_search,
        )
        if settings.check.corrective
        else None,
        reflection=SelfRag(max_rounds=settings.check.max_rounds, idf=retriever.idf, consult=consult)
        if settings.check.self_rag
        else None,
        embed=embedder(finding.meaning),
        tokeniser=tokeniser,
        page_starts=library.page_starts,
        packing=settings.pack,
        text_at=library.text_at,
        dates=library.dates,
    )
