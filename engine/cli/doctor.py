"""Diagnostics: what is installed or missing, and whether a library is sound."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..config import EmbeddingSettings, Settings
from ..errors import EngineError, LibraryNotFound
from ..types import StageUsage
from .rendering import UNREADABLE, Finding, by_reason, counted

ANSWER_TOKENS = 256
"""For one word, and for what a model thinks before it."""

PARTIAL_SHOWN = 20
"""Maximum number of partial documents that are named."""


def examine(library: Path, settings: Settings) -> list[Finding]:
    """Return the findings of `loregraph doctor`, the machine first, then the library."""
    findings = [_python(), *_models(settings), *_extras()]
    try:
        findings += _library(library, settings)
    except LibraryNotFound as error:
        findings.append(Finding(text=str(error), is_lack=True))
    except EngineError as error:
        findings.append(Finding(text=str(error), is_problem=True))
    return findings


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(text=f"Python {version}")


def _models(settings: Settings) -> list[Finding]:
    from ..embeddings.model_files import MODELS, model_fault
    from ..llm.response import identity_of
    from ..providers.factory import build_embedding
    from ..storage.graph_api import LanguageExtractor

    findings = []
    try:
        embedding = build_embedding(settings.embedding)
        if embedding is None:
            findings.append(Finding(text="embedding: none (keyword and graph only)", is_lack=True))
        else:
            embedding.get_text_embedding("ready")
            findings.append(Finding(text=f"embedding: {identity_of(embedding)}"))
    except EngineError as error:
        findings.append(Finding(text=f"embedding: {error}", is_problem=True))
    findings += [
        Finding(text=f"model {model.name} {fault}; run `loregraph models fetch`", is_lack=True)
        for model in MODELS
        if (fault := model_fault(model))
    ]
    extractor = LanguageExtractor(
        spacy_model=settings.graph.spacy_model, concepts=settings.graph.concepts
    )
    findings += [Finding(text=f"extraction: {line}", is_lack=True) for line in extractor.missing]
    findings.append(Finding(text=f"extraction: {extractor.identity}"))
    return [*findings, *examine_models(settings)]


def examine_models(settings: Settings) -> list[Finding]:
    """Test each configured model with a one-word request, which shows bad keys and names."""
    from ..llm.budget import void_cap
    from ..providers.llm_clients import build_budget, build_gateways
    from ..storage.graph_api import Prompt

    once = settings.llm.model_copy(update={"retries": 0})
    try:
        budget = build_budget(settings.budget, ledger=None)
        gateways = build_gateways(
            once, budget=budget, prices=settings.budget.prices, currency=settings.budget.currency
        )
    except EngineError as error:
        return [Finding(text=f"language model: {error}", is_problem=True)]
    if not gateways:
        if settings.graph.extractor == "language":
            return [Finding(text="language model: none (answers are extractive)")]
        lack = f"none, but graph.extractor is {settings.graph.extractor!r}: set llm.kind"
        return [Finding(text=f"language model: {lack}", is_problem=True)]
    prompt = Prompt(system="", user="Say: ready", max_output_tokens=ANSWER_TOKENS)
    findings = []
    for gateway in dict.fromkeys(gateways.values()):
        stages = ", ".join(stage for stage, one in gateways.items() if one is gateway)
        limits = settings.budget
        if void := void_cap(
            limits.max_cost, gateway.price, model=gateway.model, currency=limits.currency
        ):
            findings.append(Finding(text=void, is_lack=True))
        try:
            gateway.ask(prompt, stage="doctor")
            findings.append(Finding(text=f"language model for {stages}: {gateway.model} answers"))
        except EngineError as error:
            findings.append(Finding(text=f"{stages}: {error}", is_problem=True))
    return findings


_EXTRAS = (
    ("rerank", "FlagEmbedding", "reranking by a cross-encoder"),
    ("ocr", "rapidocr", "text in pictures and scanned pages"),
    ("audio", "faster_whisper", "speech"),
    ("postgres", "psycopg", "reading PostgreSQL databases"),
    ("mysql", "pymysql", "reading MySQL databases"),
)


def _extras() -> list[Finding]:
    there = [extra for extra, module, _ in _EXTRAS if find_spec(module) is not None]
    findings = [Finding(text=f"extras: {', '.join(there) or 'none'}")]
    return findings + [
        Finding(text=f"{what}: off (pip install 'loregraph[{extra}]')")
        for extra, _, what in _EXTRAS
        if extra not in there
    ]


def _spending(settings: Settings, booked: Sequence[StageUsage]) -> list[Finding]:
    """Report cost limits and today's cost; empty without either."""
    from ..llm.budget import utc_day

    today = [row for row in booked if row.day == utc_day()]
    if settings.llm.kind == "none" and not today:
        return []
    budget, per = settings.budget, "a day" if settings.budget.per == "day" else "a run"
    limits = [
        *([f"{budget.max_tokens:,} tokens"] if budget.max_tokens is not None else []),
        *([f"{budget.max_cost:g} {budget.currency}"] if budget.max_cost is not None else []),
    ]
    allowed = f"{' and '.join(limits)} {per}" if limits else "no limit"
    tokens = sum(row.prompt_tokens + row.completion_tokens for row in today)
    calls, cost = sum(row.calls for row in today), sum(row.cost or 0.0 for row in today)
    spent = f"{calls:,} calls, {tokens:,} tokens{f', {cost:.4f} {budget.currency}' if cost else ''}"
    return [Finding(text=f"budget: {allowed}; spent today: {spent}")]


def _library(path: Path, asked: Settings) -> list[Finding]:
    from ..engine import KnowledgeEngine

    # Models have been looked at: a library is sound or not without them.
    settings = Settings(embedding=EmbeddingSettings(kind="none"))
    with KnowledgeEngine.open(path, settings=settings, create=False) as engine:
        findings = [Finding(text=problem, is_problem=True) for problem in engine.problems()]
        counts = engine.stats()
        findings += _spending(asked, engine.usage())
        pending, partial = engine.pending(), engine.partial()
    for reason, count in by_reason([each for each in pending if each.unreadable]):
        chunks = "1 chunk is" if count == 1 else f"{count} chunks are"
        text = f"{chunks} {UNREADABLE} (`loregraph add --retry` asks): {reason}"
        findings.append(Finding(text=text, is_lack=True))
    for reason, count in by_reason([each for each in pending if not each.unreadable]):
        waiting = "1 chunk waits" if count == 1 else f"{count} chunks wait"
        text = f"{waiting} for the next add to be read by the model: {reason}"
        findings.append(Finding(text=text, is_lack=True))
    findings += [
        Finding(text=f"partial {one.source}: {one.reason}", is_lack=True)
        for one in partial[:PARTIAL_SHOWN]
    ]
    if len(partial) > PARTIAL_SHOWN:
        text = f"partial: {len(partial) - PARTIAL_SHOWN} documents more"
        findings.append(Finding(text=text, is_lack=True))
    if not counts["up_to_date"]:
        text = "entities and communities are not up to date: the next add or question sees to it"
        findings.append(Finding(text=text, is_lack=True))
    held = ", ".join(counted(int(counts[f"{word}s"]), word) for word in ("document", "chunk"))
    summary = f"library {str(path)!r}: {held}"
    return [*findings, Finding(text=summary)]
