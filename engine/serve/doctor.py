"""What is installed, what is missing and what is lost by it, and whether a library is sound."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import EngineError, LibraryNotFound
from ..settings import EmbeddingSettings, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line. `is_lack`: it works with less; `is_problem`: something must be done."""

    text: str
    is_lack: bool = False
    is_problem: bool = False


def examine(library: Path, settings: Settings) -> list[Finding]:
    """Everything worth knowing, the machine first, then the library."""
    findings = [_python(), *_models(settings), *_extras()]
    try:
        findings += _library(library)
    except LibraryNotFound as error:
        findings.append(Finding(text=str(error), is_lack=True))
    except EngineError as error:
        findings.append(Finding(text=str(error), is_problem=True))
    return findings


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding(text=f"Python {version}")


def _models(settings: Settings) -> list[Finding]:
    from ..index.door import LanguageExtractor
    from ..models.build import build_embedding, build_llm, identity_of

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
    extractor = LanguageExtractor(
        spacy_model=settings.graph.spacy_model, concepts=settings.graph.concepts
    )
    findings += [Finding(text=f"extraction: {line}", is_lack=True) for line in extractor.missing]
    findings.append(Finding(text=f"extraction: {extractor.identity}"))
    try:
        llm = build_llm(settings.llm)
    except EngineError as error:
        return [*findings, Finding(text=f"language model: {error}", is_problem=True)]
    text = "none (answers are extractive)" if llm is None else str(llm.metadata.model_name)
    return [*findings, Finding(text=f"language model: {text}")]


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


def _library(path: Path) -> list[Finding]:
    from ..facade import KnowledgeEngine

    # Models have been looked at: a library is sound or not without them.
    settings = Settings(embedding=EmbeddingSettings(kind="none"))
    with KnowledgeEngine.open(path, settings=settings, create=False) as engine:
        findings = [Finding(text=problem, is_problem=True) for problem in engine.problems()]
        counts = engine.stats()
    if not counts["up_to_date"]:
        text = "entities and communities are not up to date: the next add or question sees to it"
        findings.append(Finding(text=text, is_lack=True))
    summary = f"library {str(path)!r}: {counts['documents']} documents, {counts['chunks']} chunks"
    return [*findings, Finding(text=summary)]
