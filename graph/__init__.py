"""Knowledge graph over chunks: extraction, resolution, communities, reports, search.

A library of its own: models, stores and settings come in by argument, and it never imports
`engine`. Public names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .llamaindex.index import KnowledgeGraphIndex
    from .llamaindex.store import SqlGraphStore
    from .model import Community, Entity, Evidence, Relation, Report

__all__ = [
    "Community",
    "Entity",
    "Evidence",
    "KnowledgeGraphIndex",
    "Relation",
    "Report",
    "SqlGraphStore",
]

_HOMES = {"KnowledgeGraphIndex": "llamaindex.index", "SqlGraphStore": "llamaindex.store"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES.get(name, 'model')}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
