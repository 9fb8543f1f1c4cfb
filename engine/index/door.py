"""The only import of `graph`: what the engine uses of it, and its errors mapped once.

`graph` is a name anybody could have: a user's own `graph.py` beside a script would be taken
silently, so the door checks that what it found is the package it was installed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import graph as _graph

from ..errors import GraphStageError

if Path(_graph.__file__ or "").parent.parent != Path(__file__).parents[2]:
    raise ImportError(
        f"loregraph found another module named 'graph' at {_graph.__file__!r}: "
        "rename it, or run from another folder"
    )

from graph.database import Database  # noqa: E402 - after the check above
from graph.derive import DeriveOptions, Derived, is_fresh  # noqa: E402
from graph.errors import GraphError  # noqa: E402
from graph.extract.language import LanguageExtractor  # noqa: E402
from graph.extract.llama import ExtractionTransform  # noqa: E402
from graph.facts import derived_stamp, generation, put_chunks  # noqa: E402
from graph.index import KnowledgeGraphIndex  # noqa: E402
from graph.model import Chunk, Extraction, GraphExport, Report  # noqa: E402
from graph.nodes import chunk_of_node, node_of_chunk  # noqa: E402
from graph.read import read_chunks, read_reports  # noqa: E402
from graph.schema import chunks as chunk_table  # noqa: E402
from graph.schema import metadata  # noqa: E402
from graph.search_view import GraphView, read_view  # noqa: E402
from graph.sentences import sentence_spans  # noqa: E402
from graph.store import SqlGraphStore  # noqa: E402

__all__ = [
    "Chunk",
    "Database",
    "DeriveOptions",
    "Derived",
    "Extraction",
    "ExtractionTransform",
    "GraphError",
    "GraphExport",
    "GraphView",
    "KnowledgeGraphIndex",
    "LanguageExtractor",
    "Report",
    "SqlGraphStore",
    "chunk_of_node",
    "chunk_table",
    "derived_stamp",
    "generation",
    "graph_errors",
    "is_fresh",
    "metadata",
    "node_of_chunk",
    "put_chunks",
    "read_chunks",
    "read_reports",
    "read_view",
    "sentence_spans",
]


@contextmanager
def graph_errors() -> Iterator[None]:
    """Errors of the graph package come out as `GraphStageError`, message unchanged."""
    try:
        yield
    except GraphError as error:
        raise GraphStageError(str(error)) from error
