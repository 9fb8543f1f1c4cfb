"""The only import of `graph`: what the engine uses of it, and its errors mapped once.

`graph` is a name anybody could have: a user's own `graph.py` beside a script would be taken
silently, so the door checks that what it found is the package it was installed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import graph as _graph

from ..errors import EngineError, GraphStageError, UnknownName

if Path(_graph.__file__ or "") != Path(__file__).parents[2] / "graph" / "__init__.py":
    raise ImportError(
        f"loregraph found another module named 'graph' at {_graph.__file__!r}: "
        "rename it, or run from another folder"
    )

from graph.asking import Ask, Prompt
from graph.collector import without_collection
from graph.community_tree import CommunityTree
from graph.curation_store import delete_curation, put_curation
from graph.database import Database
from graph.decide import (
    Effect,
    NamedEntity,
    Standing,
    find_entities,
    plan_decision,
    plan_undo,
    standing_decisions,
)
from graph.derive import Derived, DeriveOptions, is_fresh
from graph.digests import pending_things, put_digests
from graph.doubtful_names import keep_judgements, pending_questions
from graph.errors import GraphError, NameUnknown
from graph.explore import Explorer
from graph.explore_communities import SeenCommunities, community_detail, read_seen_communities
from graph.explored import (
    CommunityDetail,
    CommunityList,
    CommunityName,
    EntityDetail,
    EntityList,
    EntityPath,
    NameReason,
    Neighbour,
    Neighbourhood,
    SeenCommunity,
    SeenEntity,
    SeenFinding,
    SeenRelation,
    SourceQuote,
)
from graph.exports import to_graphml, to_json
from graph.extract.joined import joined, shifted
from graph.extract.language import LanguageExtractor
from graph.extract.llama import ExtractionTransform
from graph.extract.model_extractor import PackResult, extract_pack
from graph.extract.model_json import find_json
from graph.extract.model_packs import Pack, packs
from graph.extract.model_prompt import Correction, prompt_of
from graph.extract.model_reply import CUT_OFF
from graph.extract.model_schema import ExtractionSchema
from graph.extract.protocol import Extractor
from graph.extract.segments import is_chinese
from graph.facts import (
    UnreadChunk,
    batches,
    delete_chunks,
    derived_stamp,
    extractions_by_text,
    generation,
    put_chunks,
    put_extractions,
    put_pending,
    raise_generation,
    read_extractions,
    read_state,
    text_sha,
    unread_chunks,
    write_state,
)
from graph.fault_store import DERIVE, EXTRACT, FAILED, LINK, forget_faults, put_faults
from graph.global_dynamic import Depth, descend
from graph.global_follow import leads, sheets
from graph.global_lazy import Allowance, by_home, relevant_chunks
from graph.global_match import chunk_match, content_terms, informativeness, report_match
from graph.global_search import (
    Point,
    Selection,
    map_points,
    owners,
    reduce_points,
    report_text,
    select_reports,
    token_similarity,
)
from graph.han import simplified
from graph.index import KnowledgeGraphIndex
from graph.isolation import Fault, narrowed, product_version
from graph.isolation import isolated as _isolated
from graph.judge_names import Judged, NameQuestion, judge, judge_prompt, packed
from graph.model import (
    OCCURS_WITH,
    Chunk,
    Community,
    Description,
    Evidence,
    Extraction,
    Finding,
    GraphExport,
    Mention,
    Report,
)
from graph.names import capitalised_names
from graph.nodes import chunk_of_node, document_splitter, node_of_chunk
from graph.picture import picture
from graph.picture_png import to_png
from graph.picture_svg import to_svg
from graph.read import (
    derived_reports,
    read_chunks,
    read_communities,
    read_export,
    read_reports,
)
from graph.report_prompt import Material, WrittenReport, material, read_written, report_prompt
from graph.report_store import ReportDesk, put_written, reports_stamp, unwritten_among
from graph.schema import chunks as chunk_table
from graph.schema import faults, metadata
from graph.search_view import GraphView, NamedPlace, QuestionNames, read_view
from graph.seen import SeenGraph, read_seen
from graph.seen_export import seen_export
from graph.sentences import sentence_spans
from graph.store import HAND_MADE, SqlGraphStore
from graph.subgraph import Part, Quote, part_around, part_of_answer, part_of_community
from graph.summarise_descriptions import (
    Described,
    Summaries,
    packed_things,
    summarise_descriptions,
    summary_prompt,
)
from graph.visualise import to_html
from graph.walk_file import load_view, save_view, view_stamp

__all__ = [
    "CUT_OFF",
    "DERIVE",
    "EXTRACT",
    "FAILED",
    "HAND_MADE",
    "LINK",
    "OCCURS_WITH",
    "Allowance",
    "Ask",
    "Chunk",
    "Community",
    "CommunityDetail",
    "CommunityList",
    "CommunityName",
    "CommunityTree",
    "Correction",
    "Database",
    "Depth",
    "DeriveOptions",
    "Derived",
    "Described",
    "Description",
    "Effect",
    "EntityDetail",
    "EntityList",
    "EntityPath",
    "Evidence",
    "Explorer",
    "Extraction",
    "ExtractionSchema",
    "ExtractionTransform",
    "Extractor",
    "Fault",
    "Finding",
    "GraphError",
    "GraphExport",
    "GraphView",
    "Judged",
    "KnowledgeGraphIndex",
    "LanguageExtractor",
    "Material",
    "Mention",
    "NameQuestion",
    "NameReason",
    "NamedEntity",
    "NamedPlace",
    "Neighbour",
    "Neighbourhood",
    "Pack",
    "PackResult",
    "Part",
    "Point",
    "Prompt",
    "QuestionNames",
    "Quote",
    "Report",
    "ReportDesk",
    "SeenCommunities",
    "SeenCommunity",
    "SeenEntity",
    "SeenFinding",
    "SeenGraph",
    "SeenRelation",
    "Selection",
    "SourceQuote",
    "SqlGraphStore",
    "Standing",
    "Summaries",
    "UnreadChunk",
    "WrittenReport",
    "batches",
    "by_home",
    "capitalised_names",
    "chunk_match",
    "chunk_of_node",
    "chunk_table",
    "community_detail",
    "content_terms",
    "delete_chunks",
    "delete_curation",
    "derived_reports",
    "derived_stamp",
    "descend",
    "document_splitter",
    "extract_pack",
    "extractions_by_text",
    "faults",
    "find_entities",
    "find_json",
    "forget_faults",
    "generation",
    "graph_errors",
    "informativeness",
    "is_chinese",
    "is_fresh",
    "isolated",
    "joined",
    "judge",
    "judge_prompt",
    "keep_judgements",
    "leads",
    "load_view",
    "map_points",
    "material",
    "metadata",
    "narrowed",
    "node_of_chunk",
    "owners",
    "packed",
    "packed_things",
    "packs",
    "part_around",
    "part_of_answer",
    "part_of_community",
    "pending_questions",
    "pending_things",
    "picture",
    "plan_decision",
    "plan_undo",
    "product_version",
    "prompt_of",
    "put_chunks",
    "put_curation",
    "put_digests",
    "put_extractions",
    "put_faults",
    "put_pending",
    "put_written",
    "raise_generation",
    "read_chunks",
    "read_communities",
    "read_export",
    "read_extractions",
    "read_reports",
    "read_seen",
    "read_seen_communities",
    "read_state",
    "read_view",
    "read_written",
    "reduce_points",
    "relevant_chunks",
    "report_match",
    "report_prompt",
    "report_text",
    "reports_stamp",
    "save_view",
    "seen_export",
    "select_reports",
    "sentence_spans",
    "sheets",
    "shifted",
    "simplified",
    "standing_decisions",
    "summarise_descriptions",
    "summary_prompt",
    "text_sha",
    "to_graphml",
    "to_html",
    "to_json",
    "to_png",
    "to_svg",
    "token_similarity",
    "unread_chunks",
    "unwritten_among",
    "view_stamp",
    "without_collection",
    "write_state",
]

isolated = partial(_isolated, passing=(EngineError,))
"""As in `graph`: errors of the engine's own tree are raised on purpose, too."""


@contextmanager
def graph_errors() -> Iterator[None]:
    """Errors of the graph package come out as `GraphStageError`, message unchanged."""
    try:
        yield
    except NameUnknown as error:
        raise UnknownName(str(error)) from error
    except GraphError as error:
        raise GraphStageError(str(error)) from error
