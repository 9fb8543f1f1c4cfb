"""Indexer: chunk, embed and extract outside, then one commit for each document.

Both LlamaIndex indexes are filled from the same chunks; what is slow happens before a transaction
opens.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from llama_index.core.schema import BaseNode, MetadataMode

from ..errors import EngineError, LibraryBusy, LibraryUnusable
from ..events import Progress, no_progress
from ..types import PendingChunk, SourceFailure, SourceText
from .bm25_index import KeywordRetriever, context_prefix
from .external_index import ExternalDense
from .files import invalidate_snapshots
from .graph_api import (
    EXTRACT,
    FAILED,
    Derived,
    Extraction,
    Fault,
    KnowledgeGraphIndex,
    graph_errors,
    is_fresh,
    isolated,
    put_faults,
    text_sha,
)
from .library import Library
from .preparation import (
    CHUNK,
    EMBED,
    KEYWORDS,
    STORE,
    Chunker,
    Done,
    Prepared,
    chunked,
    embedded,
    extracted,
)
from .usage_log import drop_stale_replies
from .vector_index import WindowedVectorIndex

if TYPE_CHECKING:
    from ..enrichment.entities import EntityRefiner
    from ..enrichment.extraction import LLMExtractionRunner
    from ..enrichment.reports import ReportWriter

BATCH_CHUNKS = 64
"""Chunks embedded and extracted together; a batch ends at a document's end."""

_log = logging.getLogger("loregraph")
T = TypeVar("T")


NOT_AGAIN = "this model is not asked again (`loregraph add --retry` asks)"


@dataclass(slots=True)
class RunStats:
    """Statistics of a run: texts embedded, chunks extracted and stored, seconds by stage.

    `failed` are documents that could not be stored at all. `pending` are the chunks that a language
    model was to read and has not, `postponed` how much else it was to do and has not, by what it
    is; `notes` say why, and what of a model's work could not be used.
    """

    chunks: int = 0
    embedded: int = 0
    extracted: int = 0
    failed: list[SourceFailure] = field(default_factory=list)
    pending: list[PendingChunk] = field(default_factory=list)
    postponed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Indexer:
    """Writes documents through the indexes of one library.

    Args:
        library: where everything is committed.
        chunker: a document's text to nodes with exact spans.
        plain_chunkers: cut in its place what it cannot, one after the other.
        graph: the knowledge-graph index.
        keyword: the BM25 retriever.
        vectors: the vector index, or None where embedding is switched off.
        recipe: everything that decides how a document is cut, embedded and extracted; a document
            stored under another recipe counts as changed. What a language model reads is no part
            of it: chunks are read anew without being cut anew.
        enrichment: reads chunks with a language model once they are stored; None for none.
        second_look: asks a model about names and descriptions once all is derived; None for none.
        reports: writes reports with a language model as documents come; None for none.
    """

    def __init__(
        self,
        library: Library,
        *,
        chunker: Chunker,
        graph: KnowledgeGraphIndex,
        keyword: KeywordRetriever,
        vectors: WindowedVectorIndex | None,
        recipe: Sequence[str],
        enrichment: LLMExtractionRunner | None = None,
        second_look: EntityRefiner | None = None,
        reports: ReportWriter | None = None,
        plain_chunkers: Sequence[Chunker] = (),
    ) -> None:
        self._library = library
        self._chunkers = (chunker, *plain_chunkers)
        self._graph = graph
        self._keyword = keyword
        self._vectors = vectors
        self._enrichment = enrichment
        self._second_look = second_look
        self._reports = reports
        parts = [*recipe, graph.extractor]
        self.recipe = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    def put(
        self, sources: Iterable[SourceText], *, work: RunStats, progress: Progress
    ) -> Iterator[str]:
        """Store documents, each in a transaction of its own; their ids as they are committed.

        What no stage can take is in `work.failed`.
        """
        batch: list[Prepared] = []
        for source in sources:
            with _timed(work, "chunk"):
                nodes, fault = chunked(source, self._chunkers)
            if fault is not None and not nodes:
                self._fail(source, fault, work)
                continue
            faults = {CHUNK: {node.node_id: fault for node in nodes[:1]}} if fault else {}
            batch.append(Prepared(source, nodes, faults=faults))
            if sum(len(each.nodes) for each in batch) >= BATCH_CHUNKS:
                yield from self._put_batch(batch, work, progress)
                batch = []
        if batch:
            yield from self._put_batch(batch, work, progress)

    def remove(self, document_id: str) -> None:
        """Delete a document from every table in one transaction; unknown ids are ignored."""
        with self._library.write(), graph_errors():
            if self._vectors is not None:
                self._vectors.delete_ref_doc(document_id)
            self._graph.delete_ref_doc(document_id)
            self._library.delete_document_row(document_id)

    def is_fresh(self) -> bool:
        """Check whether all derived rows are current."""
        return is_fresh(self._library.database)

    def derive(self, *, work: RunStats, progress: Progress) -> Derived:
        """Bring entities, communities and reports up to the documents; free when they are."""
        if is_fresh(self._library.database):
            self._bring_up_store(work)
            return Derived()
        with _timed(work, "derive"), self._library.write() as connection, graph_errors():
            derived = self._graph.refresh(progress=progress)
            drop_stale_replies(connection)  # answers quote what may be gone
        self._keyword.forget_files()
        invalidate_snapshots(self._library.path / "derived")
        self._bring_up_store(work)
        return derived

    def _bring_up_store(self, work: RunStats) -> None:
        """Make a vector store outside equal to the library, which is whole without it."""
        dense = self._vectors.store.dense if self._vectors is not None else None
        if not isinstance(dense, ExternalDense):
            return
        try:
            with _timed(work, "vector store"):
                dense.ensure_current()
        except EngineError as error:
            work.notes.append(f"the next question tries again: {error}")

    def derived(self) -> Derived:
        """Derive as a run of its own."""
        with self._library.writer():
            return self.derive(work=RunStats(), progress=no_progress)

    def ensure_current(self) -> None:
        """Resume a derivation that a killed run left undone.

        Where another process writes (it will derive when it is done) or the disk refuses, nothing
        happens: what is dirty is not read.
        """
        if self.is_fresh():
            return
        try:
            with self._library.writer(timeout_seconds=0):
                self.derive(work=RunStats(), progress=no_progress)
        except LibraryBusy:
            _log.info("another process is writing: answered from what is derived so far")
        except LibraryUnusable as error:
            _log.warning("answered from what is derived so far: %s", error)

    def enrich(self, *, work: RunStats, progress: Progress) -> None:
        """Let the language model read every pending chunk."""
        if self._enrichment is None:
            return
        with _timed(work, "read with the model"), graph_errors():
            done = self._enrichment.run(progress=progress)
        work.extracted += done.read
        work.pending += done.pending
        if done.dropped:
            parts = [f"{count} {what}" for what, count in sorted(done.dropped.items())]
            work.notes.append(f"of the model's answers was left out: {', '.join(parts)}")

    def second_look(self, *, work: RunStats, progress: Progress) -> None:
        """Let the language model judge names and summarise descriptions, then derive.

        Nothing without one. To be called when everything is derived.
        """
        if self._second_look is None:
            return
        with _timed(work, "names"), graph_errors():
            names = self._second_look.judge_names(progress=progress)
        with _timed(work, "summaries"), graph_errors():
            summaries = self._second_look.summarise(progress=progress)
        if names.done:
            work.notes.append(f"{_pairs(names.done)} judged to be one thing")
        work.postponed.update(names=names.failed.total(), descriptions=summaries.failed.total())
        for reason, count in sorted(names.failed.items()):
            work.notes.append(f"{_pairs(count)} not judged, and the next run asks again: {reason}")
        for reason, count in sorted(names.given_up.items()):
            work.notes.append(f"{_pairs(count)} not judged, and {NOT_AGAIN}: {reason}")
        for reason, count in sorted(summaries.failed.items()):
            work.notes.append(
                f"{count} long description(s) stay as they are, and the next run tries again: "
                f"{reason}"
            )
        for reason, count in sorted(summaries.given_up.items()):
            work.notes.append(
                f"{count} long description(s) stay as they are, and {NOT_AGAIN}: {reason}"
            )
        if not is_fresh(self._library.database):
            self.derive(work=work, progress=progress)

    def write_reports(self, *, work: RunStats, progress: Progress) -> None:
        """Let the language model write missing reports, where configured."""
        if self._reports is None:
            return
        with _timed(work, "reports"), graph_errors():
            written = self._reports.write(progress=progress)
        work.postponed["reports"] += len(written.failed)
        for reason, count in sorted(Counter(written.failed.values()).items()):
            work.notes.append(
                f"{count} report(s) stay as they are, and the next run tries again: {reason}"
            )
        for reason, count in sorted(Counter(written.given_up.values()).items()):
            work.notes.append(f"{count} report(s) stay as they are, and {NOT_AGAIN}: {reason}")

    def _put_batch(
        self, batch: Sequence[Prepared], work: RunStats, progress: Progress
    ) -> Iterator[str]:
        flat = [node for each in batch for node in each.nodes]
        vectors = self._embed(flat, work, progress)
        known = self._read_before(flat)
        read = self._extract(flat, work, progress)
        nodes = iter(read.nodes)
        for each in batch:
            ids = [node.node_id for node in each.nodes]
            ready = replace(
                each,
                nodes=[next(nodes) for _ in ids],
                windows=_some(vectors.windows, ids),
                known=_some(known, ids),
                faults={
                    **each.faults,
                    EMBED: _some(vectors.faults, ids),
                    EXTRACT: _some(read.faults, ids),
                },
            )
            with _timed(work, "store"):
                fault = self._store(ready)
            if fault is not None:
                self._fail(each.source, fault, work)
                continue
            work.chunks += len(ids)
            yield each.source.id

    def _embed(self, nodes: Sequence[BaseNode], work: RunStats, progress: Progress) -> Done:
        if self._vectors is None:
            return Done()
        progress("embed", work.chunks, work.chunks + len(nodes))
        with _timed(work, "embed"):
            done = embedded(nodes, self._vectors)
        work.embedded += done.count
        return done

    def _read_before(self, nodes: Sequence[BaseNode]) -> dict[str, Extraction]:
        """Return stored LLM extractions of the same texts, by node."""
        if self._enrichment is None:
            return {}
        shas = {node.node_id: text_sha(node.get_content(MetadataMode.NONE)) for node in nodes}
        known = self._enrichment.known(shas.values())
        return {node_id: known[sha] for node_id, sha in shas.items() if sha in known}

    def _extract(self, nodes: Sequence[BaseNode], work: RunStats, progress: Progress) -> Done:
        if self._enrichment is not None and not self._enrichment.keeps_rule_based:
            return Done(nodes=list(nodes))  # the model reads them when they are stored
        progress("extract", work.chunks, work.chunks + len(nodes))
        with _timed(work, "extract"):
            done = extracted(nodes, self._graph)
        work.extracted += done.count
        return done

    def _store(self, prepared: Prepared) -> Fault | None:
        """Commit a document, if need be without names, or without vectors either.

        Why none of that can be done, if so.
        """
        fault = isolated(lambda: self._commit(prepared), stage=STORE)
        if isinstance(fault, Fault):
            plain = prepared.without_facts(fault)
            again = isolated(lambda: self._commit(plain), stage=STORE)
            if isinstance(again, Fault):
                bare = prepared.bare(again)
                again = isolated(lambda: self._commit(bare), stage=STORE)
            return again
        return fault

    def _fail(self, source: SourceText, fault: Fault, work: RunStats) -> None:
        fault.log(source.id)
        reason = f"cannot be stored: {fault.reason}"
        work.failed.append(SourceFailure(source=source.id, reason=reason))

    def _commit(self, prepared: Prepared) -> None:
        """Commit one document atomically, replacing its previous version."""
        windows = [w for node in prepared.nodes for w in prepared.windows.get(node.node_id, [])]
        with self._library.write() as connection, graph_errors():
            if self._library.holds(prepared.source.id):
                self.remove(prepared.source.id)
            self._library.put_document(prepared.source, recipe=self.recipe)
            self._insert(prepared)
            if self._vectors is not None and windows:
                self._vectors.insert_nodes(windows)
            plain = self._keyword.index_nodes(
                [
                    (node.node_id, title, f"{context}\n{node.get_content()}".lstrip("\n"))
                    for node in prepared.nodes
                    for title, context in [context_prefix(node.metadata)]
                ]
            )
            faults = {**prepared.faults, KEYWORDS: plain}
            for stage, found in faults.items():
                reasons = {chunk_id: fault.reason for chunk_id, fault in found.items()}
                put_faults(connection, reasons, stage=stage)
        _log_once(prepared.source.id, [one for found in faults.values() for one in found.values()])

    def _insert(self, prepared: Prepared) -> None:
        enrichment, store = self._enrichment, self._graph.graph_store
        unread = prepared.faults.get(EXTRACT, {})
        store.upsert_llama_nodes([node for node in prepared.nodes if node.node_id in unread])
        read = [node for node in prepared.nodes if node.node_id not in unread]
        if enrichment is None or enrichment.keeps_rule_based:
            self._graph.insert_nodes(read)
            nothing = {chunk_id: Extraction() for chunk_id in unread}
            store.put_extractions(nothing, extractor=f"{FAILED}{self._graph.extractor}")
        else:
            store.upsert_llama_nodes(read)
        if enrichment is not None and prepared.known:
            store.put_extractions(dict(prepared.known), extractor=enrichment.identity)


def _log_once(document_id: str, faults: Iterable[Fault]) -> None:
    """Log each different reason of a document once."""
    for fault in {one.reason: one for one in faults}.values():
        fault.log(document_id)


def _some(values: Mapping[str, T], ids: Iterable[str]) -> dict[str, T]:
    return {key: values[key] for key in ids if key in values}


def _pairs(count: int) -> str:
    return f"{count} pair of names was" if count == 1 else f"{count} pairs of names were"


@contextmanager
def _timed(work: RunStats, stage: str) -> Iterator[None]:
    begin = time.perf_counter()
    try:
        yield
    finally:
        work.seconds[stage] += time.perf_counter() - begin
