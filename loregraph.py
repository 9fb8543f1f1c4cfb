"""loregraph: documents in, cited answers out. The public API; names load on first use.

    from loregraph import KnowledgeEngine

    with KnowledgeEngine.open("library") as engine:
        engine.add("docs/")
        print(engine.ask("Who founded the station?").text)

In the repository this module stands beside the packages `engine` and `graph`. In the wheel it is
the package `loregraph`, which holds both, so that a script's own `engine.py` or `graph.py` never
takes their place.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import (
        Answer,
        Citation,
        IngestReport,
        KnowledgeEngine,
        Memory,
        Passage,
        Settings,
        Turn,
        WebResult,
    )
    from engine.agent.state import AskClarification, DirectAnswer, SearchKnowledge
    from engine.agent.workflow import SearchWorkflow
    from engine.chunking.code import CodeNodeParser
    from engine.chunking.dialogue import FaqNodeParser, GlossaryNodeParser, TranscriptNodeParser
    from engine.chunking.legal import LegalNodeParser
    from engine.chunking.llm import AgenticNodeParser, ContextNodeParser
    from engine.chunking.recursive import (
        FixedNodeParser,
        MarkdownNodeParser,
        PageNodeParser,
        ParentChildNodeParser,
        RecursiveNodeParser,
        SentenceNodeParser,
        SentenceWindowNodeParser,
    )
    from engine.chunking.semantic import SemanticNodeParser
    from engine.chunking.span_parser import SpanNodeParser
    from engine.errors import (
        BudgetExceeded,
        EngineError,
        GraphStageError,
        LibraryBusy,
        LibraryError,
        LibraryNotFound,
        LibraryUnusable,
        MissingExtra,
        ModelError,
        ModelInputTooLong,
        ModelOutputError,
        ModelUnavailable,
        NotAllowed,
        QuestionError,
        SettingsError,
        SourceError,
        TooManyRemovals,
        UnknownName,
        VectorStoreUnavailable,
    )
    from engine.memory.llamaindex import LoregraphMemory, LoregraphMemoryBlock
    from engine.retrieval.llamaindex import LocalRetriever
    from engine.retrieval.rerank_postprocessor import RerankPostprocessor
    from graph import (
        Community,
        Entity,
        Evidence,
        KnowledgeGraphIndex,
        Relation,
        Report,
        SqlGraphStore,
    )
    from graph.extraction.llamaindex import ExtractionTransform
    from graph.extraction.rule_based import LanguageExtractor

__all__ = [
    "AgenticNodeParser",
    "Answer",
    "AskClarification",
    "BudgetExceeded",
    "Citation",
    "CodeNodeParser",
    "Community",
    "ContextNodeParser",
    "DirectAnswer",
    "EngineError",
    "Entity",
    "Evidence",
    "ExtractionTransform",
    "FaqNodeParser",
    "FixedNodeParser",
    "GlossaryNodeParser",
    "GraphStageError",
    "IngestReport",
    "KnowledgeEngine",
    "KnowledgeGraphIndex",
    "LanguageExtractor",
    "LegalNodeParser",
    "LibraryBusy",
    "LibraryError",
    "LibraryNotFound",
    "LibraryUnusable",
    "LocalRetriever",
    "LoregraphMemory",
    "LoregraphMemoryBlock",
    "MarkdownNodeParser",
    "Memory",
    "MissingExtra",
    "ModelError",
    "ModelInputTooLong",
    "ModelOutputError",
    "ModelUnavailable",
    "NotAllowed",
    "PageNodeParser",
    "ParentChildNodeParser",
    "Passage",
    "QuestionError",
    "RecursiveNodeParser",
    "Relation",
    "Report",
    "RerankPostprocessor",
    "SearchKnowledge",
    "SearchWorkflow",
    "SemanticNodeParser",
    "SentenceNodeParser",
    "SentenceWindowNodeParser",
    "Settings",
    "SettingsError",
    "SourceError",
    "SpanNodeParser",
    "SqlGraphStore",
    "TooManyRemovals",
    "TranscriptNodeParser",
    "Turn",
    "UnknownName",
    "VectorStoreUnavailable",
    "WebResult",
]

_PUBLIC_NAMES = {
    "engine": "Answer Citation IngestReport KnowledgeEngine Memory Passage Settings Turn WebResult",
    "engine.agent.state": "AskClarification DirectAnswer SearchKnowledge",
    "engine.agent.workflow": "SearchWorkflow",
    "engine.chunking.code": "CodeNodeParser",
    "engine.chunking.dialogue": "FaqNodeParser GlossaryNodeParser TranscriptNodeParser",
    "engine.chunking.legal": "LegalNodeParser",
    "engine.chunking.llm": "AgenticNodeParser ContextNodeParser",
    "engine.chunking.recursive": (
        "FixedNodeParser MarkdownNodeParser PageNodeParser ParentChildNodeParser"
        " RecursiveNodeParser SentenceNodeParser SentenceWindowNodeParser"
    ),
    "engine.chunking.semantic": "SemanticNodeParser",
    "engine.chunking.span_parser": "SpanNodeParser",
    "engine.errors": (
        "BudgetExceeded EngineError GraphStageError LibraryBusy LibraryError LibraryNotFound"
        " LibraryUnusable MissingExtra ModelError ModelInputTooLong ModelOutputError"
        " ModelUnavailable NotAllowed QuestionError SettingsError SourceError TooManyRemovals"
        " UnknownName VectorStoreUnavailable"
    ),
    "engine.memory.llamaindex": "LoregraphMemory LoregraphMemoryBlock",
    "engine.retrieval.rerank_postprocessor": "RerankPostprocessor",
    "engine.retrieval.llamaindex": "LocalRetriever",
    "graph": "Community Entity Evidence KnowledgeGraphIndex Relation Report SqlGraphStore",
    "graph.extraction.llamaindex": "ExtractionTransform",
    "graph.extraction.rule_based": "LanguageExtractor",
}
_MODULE_OF = {name: module for module, names in _PUBLIC_NAMES.items() for name in names.split()}
_PARENT = f"{__package__}." if __package__ else ""


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PARENT + _MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def main() -> None:
    """Run the command line; a server that has the library open answers what it can."""
    code = import_module(f"{_PARENT}engine.cli.served").answer_elsewhere(sys.argv[1:])
    if code is None:
        import_module(f"{_PARENT}engine.cli.main").main()
    else:
        sys.exit(code)


if __name__ == "__main__":
    main()
