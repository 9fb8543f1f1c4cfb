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

if Path(_graph.__file__ or "") != Path(__file__).parents[2] / "graph" / "__init__.py":
    raise ImportError(
        f"loregraph found another module named 'graph' at {_graph.__file__!r}: "
        "rename it, or run from another folder"
    )

from graph.asking import Ask, Prompt
from graph.database import Database
from graph.derive import Derived, DeriveOptions, is_fresh
from graph.errors import GraphError
from graph.exports import to_graphml, to_json
from graph.extract.language import LanguageExtractor
from graph.extract.llama import ExtractionTransform
from graph.facts import (
    batches,
    delete_chunks,
    derived_stamp,
    generation,
    put_chunks,
    read_state,
    write_state,
)
from graph.global_match import chunk_match, content_terms
from graph.global_search import (
    Point,
    Selection,
    map_points,
    owners,
    reduce_points,
    select_reports,
    token_similarity,
)
from graph.han import simplified
from graph.index import KnowledgeGraphIndex
from graph.model import Chunk, Community, Evidence, GraphExport, Report
from graph.nodes import chunk_of_node, document_splitter, node_of_chunk
from graph.read import read_chunks, read_communities, read_reports
from graph.schema import chunks as chunk_table
from graph.schema import metadata
from graph.search_view import GraphView, QuestionNames, read_view
from graph.sentences import sentence_spans
from graph.store import SqlGraphStore
from graph.visualise import to_html

__all__ = [
    "Ask",
    "Chunk",
    "Community",
    "Database",
    "DeriveOptions",
    "Derived",
    "Evidence",
    "ExtractionTransform",
    "GraphError",
    "GraphExport",
    "GraphView",
    "KnowledgeGraphIndex",
    "LanguageExtractor",
    "Point",
    "Prompt",
    "QuestionNames",
    "Report",
    "Selection",
    "SqlGraphStore",
    "batches",
    "chunk_match",
    "chunk_of_node",
    "chunk_table",
    "content_terms",
    "delete_chunks",
    "derived_stamp",
    "document_splitter",
    "generation",
    "graph_errors",
    "is_fresh",
    "map_points",
    "metadata",
    "node_of_chunk",
    "owners",
    "put_chunks",
    "read_chunks",
    "read_communities",
    "read_reports",
    "read_state",
    "read_view",
    "reduce_points",
    "select_reports",
    "sentence_spans",
    "simplified",
    "to_graphml",
    "to_html",
    "to_json",
    "token_similarity",
    "write_state",
]


@contextmanager
def graph_errors() -> Iterator[None]:
    """Errors of the graph package come out as `GraphStageError`, message unchanged."""
    try:
        yield
    except GraphError as error:
        raise GraphStageError(str(error)) from error
