"""API of `graph` for the engine, with its errors mapped to the engine's.

No other module of the engine imports `graph`, but for `graph.text.cjk` and `graph.text.patterns`.
Names load on first use: a question needs no extraction, a statistic no search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from graph.errors import GraphError, NameUnknown
from graph.isolation import Isolation

from ..errors import EngineError, GraphStageError, UnknownName

if TYPE_CHECKING:
    from graph.communities.descriptions import (
        Described,
        Summaries,
        batch_descriptions,
        pending_descriptions,
        save_summaries,
        summarise_descriptions,
        summary_prompt,
    )
    from graph.communities.leiden import CommunityTree
    from graph.communities.llm_reports import (
        ReportBasis,
        ReportMaterial,
        ReportQueue,
        ReportQuote,
        WrittenReport,
        evidences_of,
        put_written,
        read_written,
        report_material,
        report_prompt,
        unwritten_among,
    )
    from graph.errors import GraphError, NameUnknown
    from graph.explore.communities import SeenCommunities, community_detail, read_seen_communities
    from graph.explore.explorer import Explorer, NamingChunk
    from graph.explore.results import (
        CommunityDetail,
        CommunityList,
        CommunityName,
        EntityDetail,
        EntityList,
        EntityPath,
        EntityView,
        Neighbourhood,
        RelationView,
        SeenCommunity,
        SourceQuote,
    )
    from graph.explore.visible_graph import VisibleGraph, read_seen
    from graph.export.html import drawing_scripts, to_html
    from graph.export.image import draw_picture, to_png, to_svg
    from graph.export.subgraph import (
        Quote,
        Subgraph,
        neighbourhood_subgraph,
        part_of_answer,
        part_of_community,
        seen_export,
        to_graphml,
        to_json,
    )
    from graph.extraction.chinese_aliases import name_introductions
    from graph.extraction.chinese_kin import APPOINTED, KIN
    from graph.extraction.class_nouns import type_of_phrase
    from graph.extraction.llamaindex import ExtractionTransform
    from graph.extraction.llm.extractor import PackResult, extract_pack
    from graph.extraction.llm.json_repair import find_json
    from graph.extraction.llm.parsing import CUT_OFF
    from graph.extraction.llm.prompts import (
        Correction,
        ExtractionSchema,
        Pack,
        chunk_context,
        pack_chunks,
        prompt_of,
    )
    from graph.extraction.protocol import Extractor
    from graph.extraction.rule_based import LanguageExtractor, find_english_model
    from graph.isolation import Fault, Isolation, product_version
    from graph.llamaindex.index import KnowledgeGraphIndex
    from graph.llamaindex.store import (
        SqlGraphStore,
        chunk_of_node,
        document_splitter,
        node_of_chunk,
    )
    from graph.llm import Ask, Prompt, load_prompt
    from graph.model import (
        OCCURS_WITH,
        Chunk,
        Claim,
        Community,
        Description,
        Entity,
        Evidence,
        Extraction,
        Finding,
        GraphExport,
        Mention,
        Report,
        Statement,
        merge_extractions,
        shift_extraction,
    )
    from graph.naming import export_in
    from graph.pipeline import Derived, DeriveOptions, derive_graph, forget_derived, gc_paused
    from graph.resolution.llm_judge import (
        PairQuestion,
        PairVerdicts,
        batch_questions,
        judge_pairs,
        judge_prompt,
    )
    from graph.resolution.name_parsing import SURNAMES, given_name, han_surname, initials_match
    from graph.resolution.resolver import RENAME, delete_curation, put_curation
    from graph.resolution.review import (
        NamedEntity,
        OverrideEffect,
        OverrideState,
        find_entities,
        plan_decision,
        plan_undo,
        save_verdicts,
        standing_decisions,
        uncertain_pairs,
    )
    from graph.search.global_search import (
        Point,
        Selection,
        content_terms,
        content_words,
        informativeness,
        report_match,
        report_text,
        select_reports,
    )
    from graph.search.global_strategies import (
        SelectionLimits,
        passage_report,
        select_dynamic,
    )
    from graph.search.packed_rows import Splice
    from graph.search.snapshot import NamedPlace, QuestionNames, WalkSnapshot, read_view
    from graph.search.view_changes import (
        chunks_gone_since,
        documents_changed_since,
        follow_changes,
    )
    from graph.search.walk import WalkGraph
    from graph.storage.database import (
        Database,
        derived_reports,
        is_fresh,
        read_chunks,
        read_communities,
        read_export,
        read_reports,
    )
    from graph.storage.facts import (
        DERIVE,
        EXTRACT,
        FAILED,
        HAND_MADE,
        LINK,
        UnreadChunk,
        content_digest,
        delete_chunks,
        derived_generation,
        derived_stamp,
        extractions_by_text,
        facts_generation,
        forget_faults,
        in_batches,
        lineage,
        put_chunks,
        put_extractions,
        put_faults,
        put_pending,
        raise_generation,
        read_extractions,
        read_mentions,
        read_state,
        reports_stamp,
        rows_in,
        text_sha,
        unread_chunks,
        write_state,
    )
    from graph.storage.packed_arrays import (
        added_since_saved,
        follow_saved,
        load_array,
        load_view,
        save_state,
        save_view,
        view_stamp,
    )
    from graph.storage.schema import chunks as chunk_table
    from graph.storage.schema import faults, metadata
    from graph.text.names import bare_heading, capitalised_names, without_title_dots
    from graph.text.sentences import Segment, sentence_spans

__all__ = [
    "APPOINTED",
    "CUT_OFF",
    "DERIVE",
    "EXTRACT",
    "FAILED",
    "HAND_MADE",
    "KIN",
    "LINK",
    "OCCURS_WITH",
    "RENAME",
    "SURNAMES",
    "Ask",
    "Chunk",
    "Claim",
    "Community",
    "CommunityDetail",
    "CommunityList",
    "CommunityName",
    "CommunityTree",
    "Correction",
    "Database",
    "DeriveOptions",
    "Derived",
    "Described",
    "Description",
    "Entity",
    "EntityDetail",
    "EntityList",
    "EntityPath",
    "EntityView",
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
    "KnowledgeGraphIndex",
    "LanguageExtractor",
    "Mention",
    "NameUnknown",
    "NamedEntity",
    "NamedPlace",
    "NamingChunk",
    "Neighbourhood",
    "OverrideEffect",
    "OverrideState",
    "Pack",
    "PackResult",
    "PairQuestion",
    "PairVerdicts",
    "Point",
    "Prompt",
    "QuestionNames",
    "Quote",
    "RelationView",
    "Report",
    "ReportBasis",
    "ReportMaterial",
    "ReportQueue",
    "ReportQuote",
    "SeenCommunities",
    "SeenCommunity",
    "Segment",
    "Selection",
    "SelectionLimits",
    "SourceQuote",
    "Splice",
    "SqlGraphStore",
    "Statement",
    "Subgraph",
    "Summaries",
    "UnreadChunk",
    "VisibleGraph",
    "WalkGraph",
    "WalkSnapshot",
    "WrittenReport",
    "added_since_saved",
    "bare_heading",
    "batch_descriptions",
    "batch_questions",
    "capitalised_names",
    "chunk_context",
    "chunk_of_node",
    "chunk_table",
    "chunks_gone_since",
    "community_detail",
    "content_digest",
    "content_terms",
    "content_words",
    "delete_chunks",
    "delete_curation",
    "derive_graph",
    "derived_generation",
    "derived_reports",
    "derived_stamp",
    "document_splitter",
    "documents_changed_since",
    "draw_picture",
    "drawing_scripts",
    "evidences_of",
    "export_in",
    "extract_pack",
    "extractions_by_text",
    "facts_generation",
    "faults",
    "find_english_model",
    "find_entities",
    "find_json",
    "follow_changes",
    "follow_saved",
    "forget_derived",
    "forget_faults",
    "gc_paused",
    "given_name",
    "graph_errors",
    "han_surname",
    "in_batches",
    "informativeness",
    "initials_match",
    "is_fresh",
    "isolation",
    "judge_pairs",
    "judge_prompt",
    "lineage",
    "load_array",
    "load_prompt",
    "load_view",
    "merge_extractions",
    "metadata",
    "name_introductions",
    "neighbourhood_subgraph",
    "node_of_chunk",
    "pack_chunks",
    "part_of_answer",
    "part_of_community",
    "passage_report",
    "pending_descriptions",
    "plan_decision",
    "plan_undo",
    "product_version",
    "prompt_of",
    "put_chunks",
    "put_curation",
    "put_extractions",
    "put_faults",
    "put_pending",
    "put_written",
    "raise_generation",
    "read_chunks",
    "read_communities",
    "read_export",
    "read_extractions",
    "read_mentions",
    "read_reports",
    "read_seen",
    "read_seen_communities",
    "read_state",
    "read_view",
    "read_written",
    "report_match",
    "report_material",
    "report_prompt",
    "report_text",
    "reports_stamp",
    "rows_in",
    "save_state",
    "save_summaries",
    "save_verdicts",
    "save_view",
    "seen_export",
    "select_dynamic",
    "select_reports",
    "sentence_spans",
    "shift_extraction",
    "standing_decisions",
    "summarise_descriptions",
    "summary_prompt",
    "text_sha",
    "to_graphml",
    "to_html",
    "to_json",
    "to_png",
    "to_svg",
    "type_of_phrase",
    "uncertain_pairs",
    "unread_chunks",
    "unwritten_among",
    "view_stamp",
    "without_title_dots",
    "write_state",
]

_HOMES = {
    "communities.descriptions": (
        "Described Summaries batch_descriptions pending_descriptions save_summaries "
        "summarise_descriptions summary_prompt"
    ),
    "communities.leiden": "CommunityTree",
    "communities.llm_reports": (
        "ReportBasis ReportMaterial ReportQueue ReportQuote WrittenReport evidences_of "
        "put_written read_written report_material report_prompt unwritten_among"
    ),
    "explore.communities": "SeenCommunities community_detail read_seen_communities",
    "explore.explorer": "Explorer NamingChunk",
    "explore.results": (
        "CommunityDetail CommunityList CommunityName EntityDetail EntityList EntityPath "
        "EntityView Neighbourhood RelationView SeenCommunity SourceQuote"
    ),
    "explore.visible_graph": "VisibleGraph read_seen",
    "export.html": "drawing_scripts to_html",
    "export.image": "draw_picture to_png to_svg",
    "export.subgraph": (
        "Quote Subgraph neighbourhood_subgraph part_of_answer part_of_community seen_export "
        "to_graphml to_json"
    ),
    "extraction.chinese_aliases": "name_introductions",
    "extraction.chinese_kin": "APPOINTED KIN",
    "extraction.class_nouns": "type_of_phrase",
    "extraction.llamaindex": "ExtractionTransform",
    "extraction.llm.extractor": "PackResult extract_pack",
    "extraction.llm.json_repair": "find_json",
    "extraction.llm.parsing": "CUT_OFF",
    "extraction.llm.prompts": (
        "Correction ExtractionSchema Pack chunk_context pack_chunks prompt_of"
    ),
    "extraction.protocol": "Extractor",
    "extraction.rule_based": "LanguageExtractor find_english_model",
    "isolation": "Fault product_version",
    "llamaindex.index": "KnowledgeGraphIndex",
    "llamaindex.store": "SqlGraphStore chunk_of_node document_splitter node_of_chunk",
    "llm": "Ask Prompt load_prompt",
    "model": (
        "OCCURS_WITH Chunk Claim Community Description Entity Evidence Extraction Finding "
        "GraphExport Mention Report Statement merge_extractions shift_extraction"
    ),
    "naming": "export_in",
    "pipeline": "Derived DeriveOptions derive_graph forget_derived gc_paused",
    "resolution.llm_judge": "PairQuestion PairVerdicts batch_questions judge_pairs judge_prompt",
    "resolution.name_parsing": "SURNAMES given_name han_surname initials_match",
    "resolution.resolver": "RENAME delete_curation put_curation",
    "resolution.review": (
        "NamedEntity OverrideEffect OverrideState find_entities plan_decision plan_undo "
        "save_verdicts standing_decisions uncertain_pairs"
    ),
    "search.global_search": (
        "Point Selection content_terms content_words informativeness report_match report_text "
        "select_reports"
    ),
    "search.global_strategies": "SelectionLimits passage_report select_dynamic",
    "search.snapshot": "NamedPlace QuestionNames WalkSnapshot read_view",
    "search.packed_rows": "Splice",
    "search.view_changes": "chunks_gone_since documents_changed_since follow_changes",
    "search.walk": "WalkGraph",
    "storage.database": (
        "Database derived_reports is_fresh read_chunks read_communities read_export read_reports"
    ),
    "storage.facts": (
        "DERIVE EXTRACT FAILED HAND_MADE LINK UnreadChunk content_digest delete_chunks "
        "derived_generation derived_stamp extractions_by_text facts_generation forget_faults "
        "in_batches lineage put_chunks put_extractions put_faults put_pending raise_generation "
        "read_extractions read_mentions read_state reports_stamp rows_in text_sha unread_chunks "
        "write_state"
    ),
    "storage.packed_arrays": (
        "added_since_saved follow_saved load_array load_view save_state save_view view_stamp"
    ),
    "storage.schema": "faults metadata",
    "text.names": "bare_heading capitalised_names without_title_dots",
    "text.sentences": "Segment sentence_spans",
}
"""Modules of `graph` and the names taken from each."""
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_PACKAGE = GraphError.__module__.removesuffix(".errors")  # `loregraph.graph` once installed


def __getattr__(name: str) -> object:
    if name == "chunk_table":
        return import_module(f"{_PACKAGE}.storage.schema").chunks
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{_PACKAGE}.{_MODULE_OF[name]}"), name)


def isolation(stage: str) -> Isolation:
    """Return the context manager that isolates a document's work; engine errors pass through."""
    return Isolation(stage, passing=(EngineError,))


@contextmanager
def graph_errors() -> Iterator[None]:
    """Errors of the graph package come out as `GraphStageError`, message unchanged."""
    try:
        yield
    except NameUnknown as error:
        raise UnknownName(str(error)) from error
    except GraphError as error:
        raise GraphStageError(str(error)) from error
