"""`KnowledgeGraphIndex`: LlamaIndex's property graph index, with the gaps closed.

LlamaIndex's own class drops the second document's evidence for an entity it knows, takes the name
for the id, turns to an OpenAI extractor when given none, calls `asyncio.run` inside running
loops, and cannot delete a document. What this class inherits is the face; inserting, deleting and
listing documents are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY
from llama_index.core.indices.property_graph import PropertyGraphIndex
from llama_index.core.ingestion.pipeline import run_transformations
from llama_index.core.llms import LLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import (
    BaseNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TransformComponent,
)
from llama_index.core.storage.docstore.types import RefDocInfo
from llama_index.core.storage.storage_context import StorageContext
from sqlalchemy import select

from .database import Database
from .derive import Derived, DeriveOptions, Progress
from .extract.language import LanguageExtractor
from .extract.llama import ExtractionTransform, attach, extraction_of
from .facts import extractions_by_text, text_sha
from .model import Community, Entity, GraphExport, Merge, Relation, Report
from .nodes import node_of_chunk
from .read import (
    read_chunks,
    read_communities,
    read_entities,
    read_export,
    read_merges,
    read_relations,
    read_reports,
)
from .schema import chunks
from .search_view import GraphView, read_view
from .store import SqlGraphStore


class KnowledgeGraphIndex(PropertyGraphIndex):
    """An entity graph over chunks that can forget, with communities and reports.

    Args:
        nodes: chunks to insert at once.
        graph_store: where everything is kept; an in-memory SQLite database if not given.
        kg_extractors: LlamaIndex extractors, ours by default (`LanguageExtractor`: no LLM).
        options: clustering parameters.
        llm: kept for LlamaIndex parts that ask for it; nothing here calls it.
        transformations: how documents are cut when whole documents are inserted.
        show_progress: LlamaIndex's progress bars while extracting.
    """

    def __init__(
        self,
        nodes: Sequence[BaseNode] | None = None,
        *,
        graph_store: SqlGraphStore | None = None,
        kg_extractors: Sequence[TransformComponent] | None = None,
        options: DeriveOptions | None = None,
        llm: LLM | None = None,
        transformations: Sequence[TransformComponent] | None = None,
        show_progress: bool = False,
        **kwargs: Any,
    ) -> None:
        store = graph_store or SqlGraphStore(Database("sqlite://"), options=options)
        self._store = store
        extractors = list(kg_extractors or [ExtractionTransform(extractor=LanguageExtractor())])
        super().__init__(
            nodes=list(nodes or []),
            llm=llm,
            kg_extractors=extractors,
            property_graph_store=store,
            storage_context=StorageContext.from_defaults(property_graph_store=store),
            use_async=False,
            embed_kg_nodes=False,
            callback_manager=CallbackManager([]),
            # An empty list would make LlamaIndex read its global settings.
            transformations=list(transformations or [SentenceSplitter()]),
            show_progress=show_progress,
            **kwargs,
        )

    @property
    def graph_store(self) -> SqlGraphStore:
        """Where the graph is kept."""
        return self._store

    @property
    def extractor(self) -> str:
        """Who extracts: part of every chunk's row, so that a change of extractor shows."""
        return " + ".join(
            part.identity if isinstance(part, ExtractionTransform) else part.class_name()
            for part in self._kg_extractors
        )

    # --- documents in and out ---------------------------------------------------------------

    def extract(self, nodes: Sequence[BaseNode]) -> tuple[list[BaseNode], int]:
        """Nodes with what stands in them attached, in their order, and how many were really read.

        What the same extractors read from the same text before is taken from the store.
        """
        waiting = [node for node in nodes if KG_NODES_KEY not in node.metadata]
        shas = {node.node_id: text_sha(node.get_content(MetadataMode.NONE)) for node in waiting}
        with self._store.database.read() as connection:
            known = extractions_by_text(connection, shas.values(), extractor=self.extractor)
        for node in waiting:
            if shas[node.node_id] in known:
                attach(node, known[shas[node.node_id]])
        fresh = [node for node in waiting if shas[node.node_id] not in known]
        done = run_transformations(fresh, self._kg_extractors, show_progress=self._show_progress)
        by_id = {node.node_id: node for node in done}
        return [by_id.get(node.node_id, node) for node in nodes], len(fresh)

    def _insert_nodes(self, nodes: Sequence[BaseNode]) -> Sequence[BaseNode]:
        if not nodes:
            return nodes
        extracted, _ = self.extract(nodes)  # before the transaction opens: the slow part
        found = {node.node_id: extraction_of(node) for node in extracted}
        with self._store.database.write():
            self._store.upsert_llama_nodes(extracted)
            self._store.put_extractions(found, extractor=self.extractor)
        for node in extracted:
            node.metadata.pop(KG_NODES_KEY, None)
            node.metadata.pop(KG_RELATIONS_KEY, None)
        return extracted

    async def _ainsert_nodes(self, nodes: Sequence[BaseNode]) -> Sequence[BaseNode]:
        return self._insert_nodes(nodes)

    def _delete_node(self, node_id: str, **_delete_kwargs: Any) -> None:
        self._store.delete_llama_nodes(node_ids=[node_id])

    def delete_nodes(
        self, node_ids: list[str], delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Forget these chunks and all that only they said."""
        self._store.delete_llama_nodes(node_ids=node_ids)

    def delete_ref_doc(
        self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """Forget a document and all that only it said; an unknown id is no error."""
        self._store.delete_llama_nodes(ref_doc_ids=[ref_doc_id])

    async def adelete_ref_doc(
        self, ref_doc_id: str, delete_from_docstore: bool = False, **delete_kwargs: Any
    ) -> None:
        """As `delete_ref_doc`."""
        self.delete_ref_doc(ref_doc_id)

    @property
    def ref_doc_info(self) -> dict[str, RefDocInfo]:
        """The chunks of every document, by document id."""
        query = select(chunks.c.document_id, chunks.c.id, chunks.c.title)
        found: dict[str, RefDocInfo] = {}
        with self._store.database.read() as connection:
            for row in connection.execute(query.order_by(chunks.c.document_id, chunks.c.position)):
                info = found.setdefault(row.document_id, RefDocInfo(metadata={"title": row.title}))
                info.node_ids.append(row.id)
        return found

    # --- what follows from the documents ----------------------------------------------------

    def refresh(self, *, progress: Progress | None = None) -> Derived:  # type: ignore[override]
        """Bring all that is derived up to the documents; free when nothing changed."""
        return self._store.refresh(progress=progress)

    def entities(self) -> list[Entity]:
        """Every entity, sorted by id."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_entities(connection)

    def relations(self) -> list[Relation]:
        """Every relation with its evidences, sorted by id."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_relations(connection)

    def merges(self) -> list[Merge]:
        """Which entity each name means, and why; sorted by name."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_merges(connection)

    def communities(self) -> list[Community]:
        """Every community, sorted by level (0 is the coarsest) and id."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_communities(connection)

    def reports(self) -> list[Report]:
        """The report of every community that has one, sorted by level and community."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_reports(connection)

    def export(self) -> GraphExport:
        """The whole graph as values, every collection sorted."""
        self.refresh()
        with self._store.database.read() as connection:
            return read_export(connection)

    def view(self) -> GraphView:
        """What a search walks over, as it is now; what is dirty is left out, nothing derived."""
        with self._store.database.read() as connection:
            return read_view(connection)

    def as_retriever(self, *, top_k: int = 10, **_kwargs: Any) -> BaseRetriever:  # type: ignore[override]
        """Chunks reached from the names in a question by a walk over the graph, best first."""
        return GraphRetriever(self, top_k=top_k)


class GraphRetriever(BaseRetriever):
    """The walk alone, seeded by the names that stand in the question."""

    def __init__(self, index: KnowledgeGraphIndex, *, top_k: int) -> None:
        self._index = index
        self._top_k = top_k
        super().__init__(callback_manager=CallbackManager([]))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self._index.refresh()
        with self._index.graph_store.database.read() as connection:
            view = read_view(connection)
            labels = view.labels_in(connection, query_bundle.query_str)
            ranked = view.from_labels(labels)[: self._top_k]
            held = read_chunks(connection, [chunk_id for chunk_id, _ in ranked])
        return [
            NodeWithScore(node=node_of_chunk(held[chunk_id]), score=score)
            for chunk_id, score in ranked
        ]
