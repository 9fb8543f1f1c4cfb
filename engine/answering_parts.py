"""Settings to what answers: the two ways to an answer, and what chooses between them."""

from __future__ import annotations

from dataclasses import dataclass

from .answer.checks.stage import Checks
from .answer.correct import Correction
from .answer.local_answers import LocalAnswers
from .answer.overviews.global_answers import GlobalAnswers
from .answer.parts import AnswerParts, embedder
from .answer.rounds import Reflection
from .answer.routing.router import ScopeRouter, build_router
from .answer.routing.selector import ScopeSelector
from .finding_parts import Finding
from .index.library import Library
from .model_parts import ModelReading, build_ask_many, build_consult, build_route_asking
from .models.naming import identity_of
from .models.stages import Models
from .models.tokeniser import Tokeniser
from .retrieve.corrective import WebSearch
from .settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The two ways to an answer, and what chooses; `brief` is the overview beside the other."""

    local: LocalAnswers
    overview: GlobalAnswers
    brief: GlobalAnswers
    router: ScopeRouter


def build_answering(
    library: Library,
    settings: Settings,
    *,
    finding: Finding,
    reading: ModelReading,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> Answering:
    """What answers questions to a library, from what `finding` finds."""
    parts = _answer_parts(
        library,
        settings,
        finding=finding,
        models=models,
        tokeniser=tokeniser,
        web_search=web_search,
    )
    retriever = finding.retriever
    local = LocalAnswers(parts)
    overview = GlobalAnswers(
        library,
        parts,
        ask_many=build_ask_many(models),
        selection=settings.overview.selection,
        effort=settings.overview.effort,
        reports_for=reading.lazy(library).now if reading.lazy is not None else None,
    )
    brief = overview.with_effort("low")
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
    return Answering(local=local, overview=overview, brief=brief, router=router)


def _answer_parts(
    library: Library,
    settings: Settings,
    *,
    finding: Finding,
    models: Models,
    tokeniser: Tokeniser,
    web_search: WebSearch | None,
) -> AnswerParts:
    """What both ways to an answer work with."""
    retriever = finding.retriever
    consult = build_consult(models)
    return AnswerParts(
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
