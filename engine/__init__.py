"""loregraph: documents in, cited answers out. Public names load on first use.

`graph` is a name that anybody could have: a user's own `graph.py` beside a script would be taken
silently, so it is checked here to be the package that this one was installed with.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import graph as _graph

if Path(_graph.__file__ or "") != Path(__file__).parents[1] / "graph" / "__init__.py":
    raise ImportError(
        f"loregraph found another module named 'graph' at {_graph.__file__!r}: "
        "rename it, or run from another folder"
    )

if TYPE_CHECKING:
    from .agent.web import WebResult
    from .config import Settings
    from .engine import KnowledgeEngine
    from .errors import EngineError
    from .memory.records import Memory
    from .types import Answer, Citation, IngestReport, Passage, Turn

__all__ = [
    "Answer",
    "Citation",
    "EngineError",
    "IngestReport",
    "KnowledgeEngine",
    "Memory",
    "Passage",
    "Settings",
    "Turn",
    "WebResult",
]

_HOMES = {
    "Answer": "types",
    "Citation": "types",
    "EngineError": "errors",
    "IngestReport": "types",
    "KnowledgeEngine": "engine",
    "Memory": "memory.records",
    "Passage": "types",
    "Settings": "config",
    "Turn": "types",
    "WebResult": "agent.web",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
