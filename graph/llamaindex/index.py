"""`KnowledgeGraphIndex`: LlamaIndex's property graph index without its gaps.

LlamaIndex's own class drops the second document's evidence for an entity it knows, takes the name
for the id, turns to an OpenAI extractor when given none, calls `asyncio.run` inside running loops,
and cannot delete a document. Inserting, deleting and listing documents are therefore implemented
here. `GraphRetriever` finds chunks over the graph alone, by the names in a question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine.types import BaseChatEngine, ChatMode
from llama_index.core.data_structs import IndexLPG
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY
from llama_index.core.indices.property_graph import BasePGRetriever, PropertyGraphIndex
from llama_index.core.ingestion.pipeline import arun_transformations, run_transformations
from llama_index.core.llms import LLM
from llama_index.core.llms.utils import LLMType
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TransformComponent,
)
from llama_index.core.storage.docstore.types import RefDocInfo
from llama_index.core.storage.storage_context import StorageContext
from sqlalchemy import select

from ..errors import GraphInputError
from ..extraction.llamaindex import ExtractionTransform, attach_extraction, extraction_of
from ..extraction.rule_based import LanguageExtractor
from ..linking import Progress
from ..model import Chunk, Community, Entity, GraphExport, Merge, Relation, Report
from ..naming import export_in
from ..pipeline import Derived, DeriveOptions, derive_graph
from ..search.snapshot import WalkSnapshot, read_view
from ..storage.database import (
    Database,
    read_chunks,
    read_communities,
    read_entities,
    read_export,
    read_merges,
    read_relations,
    read_reports,
)
from ..storage.facts import chunk_of_row, extractions_by_text, text_sha
from ..storage.schema import chunks
from .store import SqlGraphStore, chunk_of_node, document_splitter, node_of_chunk


class GraphRetriever(BaseRetriever):
    """Retriever walking from names in the question; at most `top_k` chunks, best first.

    Raises:
        GraphInputError: a `top_k` below 1.
    """

    def __init__(self, store: SqlGraphStore, *, top_k: int = 10) -> None:
        if top_k < 1:
            raise GraphInputError(f"top_k: {top_k} is too small; give 1 or more")
        self._store = store
        self._top_k = top_k
        super().__init__(callback_manager=CallbackManager([]))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with self._store.reading() as connection:
            view = read_view(connection)
            labels = view.names_in(connection, query_bundle.query_str).labels
            ranked = view.from_labels(labels)[: self._top_k]
            held = read_chunks(connection, [chunk_id for chunk_id, _ in ranked])
        return [
            NodeWithScore(node=node_of_chunk(held[chunk_id]), score=score)
            for chunk_id, score in ranked
        ]


class KnowledgeGraphIndex(PropertyGraphIndex):
    """An entity graph over chunks that can forget, with communities and reports.

    Args:
        nodes: chunks to insert at once.
        graph_store: where everything is kept; an in-memory SQLite database if not given (or the
            property graph store of `storage_context`).
        kg_extractors: LlamaIndex extractors, ours by default (`LanguageExtractor`: no LLM).
        options: clustering parameters.
        llm: answers for `as_query_engine`; nothing else here calls it.
        transformations: how whole documents are cut when they are inserted; into sentences by
            default, with ids made from the document's id and text.
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
        storage_context: StorageContext | None = None,
        show_progress: bool = False,
        **kwargs: Any,
    ) -> None:
        store = graph_store or _store_in(storage_context)
        store = store or SqlGraphStore(Database("sqlite://"), options=options)
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
            transformations=list(transformations or [document_splitter()]),
            show_progress=show_progress,
            **kwargs,
        )

    @classmethod
    def from_documents(cls, documents: Sequence[Document], **kwargs: Any) -> Self:  # type: ignore[override]
        """Build an index of these documents; `kwargs` as for the class."""
        index = cls(**kwargs)
        for document in documents:
            index.insert(document)
        return index

    @classmethod
    def from_existing(cls, property_graph_store: SqlGraphStore, **kwargs: Any) -> Self:  # type: ignore[override]
        """Open an index over an existing store; `kwargs` as for the class."""
        return cls(graph_store=property_graph_store, **kwargs)

    @property
    def graph_store(self) -> SqlGraphStore:
        """Return the graph store."""
        return self._store

    @cached_property
    def extractor(self) -> str:
        """Identity of the extractor, stored with every chunk."""
        return " + ".join(
            part.identity if isinstance(part, ExtractionTransform) else part.class_name()
            for part in self._kg_extractors
        )

    # --- documents in and out ---------------------------------------------------------------

    def extract(self, nodes: Sequence[BaseNode]) -> tuple[list[BaseNode], int]:
        """Return nodes with extractions attached, in order, and how many were fresh.

        What the same extractors read from the same text before is taken from the store.
        """
        fresh = self._not_yet_read(nodes)
        done = self._run(fresh, self._kg_extractors)
        return _in_order(nodes, done), len(fresh)

    async def aextract(self, nodes: Sequence[BaseNode]) -> tuple[list[BaseNode], int]:
        """Extract like `extract`, without blocking the loop on model calls."""
        fresh = self._not_yet_read(nodes)
        done = await arun_transformations(
            fresh, self._kg_extractors, show_progress=self._show_progress
        )
        return _in_order(nodes, done), len(fresh)

    def _run(
        self, nodes: Sequence[BaseNode], parts: Sequence[TransformComponent]
    ) -> Sequence[BaseNode]:
        """Run LlamaIndex components outside a running loop, as many call `asyncio.run`."""
        run = partial(run_transformations, nodes, parts, show_progress=self._show_progress)
        if not _in_event_loop():
            return run()
        with ThreadPoolExecutor(max_workers=1) as aside:
            return aside.submit(run).result()

    def _not_yet_read(self, nodes: Sequence[BaseNode]) -> list[BaseNode]:
        """Attach what the store knows already; the nodes that must really be read."""
        waiting = [node for node in nodes if KG_NODES_KEY not in node.metadata]
        if not waiting:
            return []
        shas = {node.node_id: text_sha(node.get_content(MetadataMode.NONE)) for node in waiting}
        with self._store.database.read() as connection:
            known = extractions_by_text(connection, shas.values(), extractor=self.extractor)
        for node in waiting:
            if shas[node.node_id] in known:
                attach_extraction(node, known[shas[node.node_id]])
        return [node for node in waiting if shas[node.node_id] not in known]

    def _keep(self, extracted: Sequence[BaseNode], *, replacing: str | None = None) -> None:
        """Store nodes with their extractions, replacing a document, in one transaction."""
        found = {node.node_id: extraction_of(node) for node in extracted}
        with self._store.database.write():
            if replacing is not None:
                self._store.delete_llama_nodes(ref_doc_ids=[replacing])
            if extracted:
                self._store.upsert_llama_nodes(extracted)
                self._store.put_extractions(found, extractor=self.extractor)
        for node in extracted:
            node.metadata.pop(KG_NODES_KEY, None)
            node.metadata.pop(KG_RELATIONS_KEY, None)

    def build_index_from_nodes(self, nodes: Sequence[BaseNode], **_build_kwargs: Any) -> IndexLPG:
        """Insert the first chunks."""
        self.insert_nodes(nodes)
        return IndexLPG()

    def insert_nodes(self, nodes: Sequence[BaseNode], **_insert_kwargs: Any) -> None:
        """Insert chunks; no second copy stays in memory, as LlamaIndex would keep it."""
        self._keep(self.extract(nodes)[0])  # reading, the slow part, before the transaction opens

    async def ainsert_nodes(self, nodes: Sequence[BaseNode], **_insert_kwargs: Any) -> None:
        """Insert like `insert_nodes`."""
        self._keep((await self.aextract(nodes))[0])

    def insert(self, document: Document, **_insert_kwargs: Any) -> None:
        """Split a document and insert its chunks, replacing its earlier version."""
        nodes = self._run([document], self._transformations)
        self._keep(self.extract(nodes)[0], replacing=document.node_id)

    async def ainsert(self, document: Document, **_insert_kwargs: Any) -> None:
        """Insert like `insert`."""
        nodes = await arun_transformations([document], self._transformations)
        self._keep((await self.aextract(nodes))[0], replacing=document.node_id)

    def refresh_ref_docs(self, documents: Sequence[Document], **_update_kwargs: Any) -> list[bool]:
        """Insert new and changed documents; return which ones were."""
        changed = [self._differs(document) for document in documents]
        for document, differs in zip(documents, changed, strict=True):
            if differs:
                self.insert(document)
        return changed

    async def arefresh_ref_docs(
        self, documents: Sequence[Document], **_update_kwargs: Any
    ) -> list[bool]:
        """Refresh like `refresh_ref_docs`."""
        changed = [self._differs(document) for document in documents]
        for document, differs in zip(documents, changed, strict=True):
            if differs:
                await self.ainsert(document)
        return changed

    def _differs(self, document: Document) -> bool:
        nodes = self._run([document], self._transformations)
        wanted = [chunk_of_node(node) for node in nodes]
        inside = select(chunks).where(chunks.c.document_id == document.node_id)
        with self._store.database.read() as connection:
            held = [chunk_of_row(row) for row in connection.execute(inside)]
        return _without_ids(wanted) != _without_ids(held)

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
        """Delete like `delete_ref_doc`."""
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
        return derive_graph(self._store.database, options=self._store.options, progress=progress)

    def entities(self) -> list[Entity]:
        """Every entity, sorted by id."""
        with self._store.reading() as connection:
            return read_entities(connection)

    def relations(self) -> list[Relation]:
        """Every relation with its evidences, sorted by id."""
        with self._store.reading() as connection:
            return read_relations(connection)

    def merges(self) -> list[Merge]:
        """Return the entity of each name, and the reason; sorted by name."""
        with self._store.reading() as connection:
            return read_merges(connection)

    def communities(self) -> list[Community]:
        """Every community, sorted by level (0 is the coarsest) and id."""
        with self._store.reading() as connection:
            return read_communities(connection)

    def reports(self) -> list[Report]:
        """Return the report of every reported community, by level and id."""
        with self._store.reading() as connection:
            return read_reports(connection)

    def export(self) -> GraphExport:
        """Return the whole graph as values, every collection sorted, names in one language."""
        with self._store.reading() as connection:
            return export_in(read_export(connection))

    def view(self) -> WalkSnapshot:
        """Return the walk snapshot; dirty rows are omitted, nothing is derived."""
        with self._store.database.read() as connection:
            return read_view(connection)

    # --- faces for LlamaIndex ---------------------------------------------------------------

    def as_retriever(  # type: ignore[override]
        self,
        sub_retrievers: list[BasePGRetriever] | None = None,
        *,
        top_k: int = 10,
        **kwargs: Any,
    ) -> BaseRetriever:
        """Return a retriever that walks from names in the question, best first.

        With `sub_retrievers`, LlamaIndex's own property graph retriever over these.
        """
        if sub_retrievers is not None:
            return super().as_retriever(sub_retrievers, **kwargs)
        return GraphRetriever(self._store, top_k=top_k)

    def as_query_engine(self, llm: LLMType | None = None, **kwargs: Any) -> BaseQueryEngine:
        """LlamaIndex's query engine over `as_retriever`.

        Raises:
            GraphInputError: no language model, neither here nor in the constructor.
        """
        return super().as_query_engine(llm=self._speaker(llm), **kwargs)

    def as_chat_engine(
        self, chat_mode: ChatMode = ChatMode.BEST, llm: LLMType | None = None, **kwargs: Any
    ) -> BaseChatEngine:
        """LlamaIndex's chat engine over `as_retriever`; raises as `as_query_engine`."""
        return super().as_chat_engine(chat_mode, llm=self._speaker(llm), **kwargs)

    def _speaker(self, llm: LLMType | None) -> LLMType:
        speaker = llm or self._llm
        if speaker is None:
            raise GraphInputError("this index has no language model: give one with llm=…")
        return speaker


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _store_in(context: StorageContext | None) -> SqlGraphStore | None:
    store = context.property_graph_store if context is not None else None
    if store is None or isinstance(store, SqlGraphStore):
        return store
    raise GraphInputError(
        f"a KnowledgeGraphIndex keeps its graph in a SqlGraphStore, not in {type(store).__name__}"
    )


def _in_order(nodes: Sequence[BaseNode], done: Sequence[BaseNode]) -> list[BaseNode]:
    by_id = {node.node_id: node for node in done}
    return [by_id.get(node.node_id, node) for node in nodes]


def _without_ids(values: Iterable[Chunk]) -> list[Chunk]:
    return [replace(v, id="") for v in sorted(values, key=lambda v: (v.position, v.start, v.id))]
