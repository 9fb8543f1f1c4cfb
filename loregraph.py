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

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import (
        Answer,
        Citation,
        IngestReport,
        KnowledgeEngine,
        Passage,
        Settings,
        Turn,
        WebResult,
    )
    from engine.chunk.agentic import AgenticNodeParser
    from engine.chunk.code import CodeNodeParser
    from engine.chunk.entries import GlossaryNodeParser
    from engine.chunk.faq import FaqNodeParser
    from engine.chunk.fixed import FixedNodeParser
    from engine.chunk.in_context import ContextNodeParser
    from engine.chunk.legal import LegalNodeParser
    from engine.chunk.markdown import MarkdownNodeParser
    from engine.chunk.page import PageNodeParser
    from engine.chunk.parent_child import ParentChildNodeParser
    from engine.chunk.parser import SpanNodeParser
    from engine.chunk.recursive import RecursiveNodeParser
    from engine.chunk.semantic import SemanticNodeParser
    from engine.chunk.sentence import SentenceNodeParser
    from engine.chunk.sentence_window import SentenceWindowNodeParser
    from engine.chunk.transcript import TranscriptNodeParser
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
        UnknownName,
        VectorStoreUnavailable,
    )
    from graph import (
        Community,
        Entity,
        Evidence,
        KnowledgeGraphIndex,
        Relation,
        Report,
        SqlGraphStore,
    )

__all__ = [
    "AgenticNodeParser",
    "Answer",
    "BudgetExceeded",
    "Citation",
    "CodeNodeParser",
    "Community",
    "ContextNodeParser",
    "EngineError",
    "Entity",
    "Evidence",
    "FaqNodeParser",
    "FixedNodeParser",
    "GlossaryNodeParser",
    "GraphStageError",
    "IngestReport",
    "KnowledgeEngine",
    "KnowledgeGraphIndex",
    "LegalNodeParser",
    "LibraryBusy",
    "LibraryError",
    "LibraryNotFound",
    "LibraryUnusable",
    "MarkdownNodeParser",
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
    "SemanticNodeParser",
    "SentenceNodeParser",
    "SentenceWindowNodeParser",
    "Settings",
    "SettingsError",
    "SourceError",
    "SpanNodeParser",
    "SqlGraphStore",
    "TranscriptNodeParser",
    "Turn",
    "UnknownName",
    "VectorStoreUnavailable",
    "WebResult",
]

_PUBLIC_NAMES = {
    "engine": "Answer Citation IngestReport KnowledgeEngine Passage Settings Turn WebResult",
    "engine.chunk.agentic": "AgenticNodeParser",
    "engine.chunk.code": "CodeNodeParser",
    "engine.chunk.entries": "GlossaryNodeParser",
    "engine.chunk.faq": "FaqNodeParser",
    "engine.chunk.fixed": "FixedNodeParser",
    "engine.chunk.in_context": "ContextNodeParser",
    "engine.chunk.legal": "LegalNodeParser",
    "engine.chunk.markdown": "MarkdownNodeParser",
    "engine.chunk.page": "PageNodeParser",
    "engine.chunk.parent_child": "ParentChildNodeParser",
    "engine.chunk.parser": "SpanNodeParser",
    "engine.chunk.recursive": "RecursiveNodeParser",
    "engine.chunk.semantic": "SemanticNodeParser",
    "engine.chunk.sentence": "SentenceNodeParser",
    "engine.chunk.sentence_window": "SentenceWindowNodeParser",
    "engine.chunk.transcript": "TranscriptNodeParser",
    "engine.errors": (
        "BudgetExceeded EngineError GraphStageError LibraryBusy LibraryError LibraryNotFound"
        " LibraryUnusable MissingExtra ModelError ModelInputTooLong ModelOutputError"
        " ModelUnavailable NotAllowed QuestionError SettingsError SourceError UnknownName"
        " VectorStoreUnavailable"
    ),
    "graph": "Community Entity Evidence KnowledgeGraphIndex Relation Report SqlGraphStore",
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
    """Run the command line."""
    import_module(f"{_PARENT}engine.serve.cli").main()


if __name__ == "__main__":
    main()
