"""Indexer: the steps that write documents through the indexes of one library.

`engine.pipeline` runs them in order: chunk, embed, extract, commit for each batch, then enrich,
derive, refine, write_reports. Both LlamaIndex indexes are filled from the same chunks; what is
slow happens before a transaction opens.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

from ..errors import EngineError, LibraryBusy, LibraryUnusable
from ..events import Progress, no_progress
from ..types import PendingChunk, SourceFailure, SourceText
from .bm25_index import KeywordIndex, context_prefix, nearest_heading
from .files import delete_kept_rows
from .graph_api import (
    EXTRACT,
    FAILED,
    Derived,
    Extraction,
    Fault,
    chunks_gone_since,
    derived_generation,
    graph_errors,
    is_fresh,
    isolation,
    put_faults,
    text_sha,
)
from .library import Library
from .namespace_library import delete_changed_copies
from .preparation import (
    BATCH_CHUNKS,
    CHUNK,
    EMBED,
    KEYWORDS,
    STORE,
    Chunker,
    Done,
    Prepared,
    chunk_document,
    embed_chunks,
    extract_chunks,
    nodes_without_vectors,
)
from .usage_log import drop_stale_replies
from .vectors.cache import delete_blocks, removed_rows, scrub_vectors
from .vectors.external import ExternalDense
from .vectors.spaces import VectorSpace

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

    from ..enrichment.entities import EntityRefiner, RefineResult
    from ..enrichment.extraction import LLMExtractionRunner
    from ..enrichment.reports import ReportWriter
    from .extraction_process import ExtractionProcess
    from .graph_api import KnowledgeGraphIndex

_log = logging.getLogger("loregraph")
T = TypeVar("T")


NOT_AGAIN = "this model is not asked again (`loregraph add --retry` asks)"


@dataclass(slots=True)
class IndexRun:
    """One run of the indexer: its progress listener, and what was really done.

    Texts embedded, chunks extracted and stored, seconds by stage. `failed` are documents that could
    not be stored at all. `pending` are chunks still waiting for a language model, `postponed`
    counts its other unfinished tasks by kind; `notes` say why, and what of its replies could not be
    used.
    """

    progress: Progress = no_progress
    chunks: int = 0
    embedded: int = 0
    extracted: int = 0
    failed: list[SourceFailure] = field(default_factory=list)
    pending: list[PendingChunk] = field(default_factory=list)
    postponed: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - begin

    def fail(self, source: SourceText, fault: Fault) -> None:
        """Log and note a document that cannot be stored."""
        fault.log(source.id)
        reason = f"cannot be stored: {fault.reason}"
        self.failed.append(SourceFailure(source=source.id, reason=reason))


class Indexer:
    """Writes documents through the indexes of one library.

    Args:
        library: where everything is committed.
        chunker: a document's text to nodes with exact spans.
        plain_chunkers: cut in its place what it cannot, one after the other.
        graph: the knowledge-graph index.
        keyword: the BM25 index.
        spaces: the vector spaces, none where embedding is switched off.
        recipe: everything that decides how a document is cut and extracted; a document stored
            under another recipe counts as changed. What a language model reads and what an
            embedding model makes is no part of it: both are made anew without cutting anew.
        english_share: how much of a text an English model reads, 0–1.
        enrichment: reads chunks with a language model once they are stored; None for none.
        refiner: asks a model about names and descriptions once all is derived; None for none.
        reports: writes reports with a language model as documents come; None for none.
        extraction: the graph's extractor, where it can work in a process of its own.
    """

    def __init__(
        self,
        library: Library,
        *,
        chunker: Chunker,
        graph: KnowledgeGraphIndex,
        keyword: KeywordIndex,
        spaces: Sequence[VectorSpace],
        recipe: Sequence[str],
        english_share: Callable[[str], float] = lambda _text: 1.0,
        enrichment: LLMExtractionRunner | None = None,
        refiner: EntityRefiner | None = None,
        reports: ReportWriter | None = None,
        plain_chunkers: Sequence[Chunker] = (),
        extraction: ExtractionProcess | None = None,
    ) -> None:
        self._library = library
        self._chunkers = (chunker, *plain_chunkers)
        self._graph = graph
        self._keyword = keyword
        self._spaces = tuple(spaces)
        self._english_share = english_share
        self._enrichment = enrichment
        self._refiner = refiner
        self._reports = reports
        self._extraction = extraction
        parts = [*recipe, graph.extractor]
        self.recipe = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    def chunk(self, sources: Iterable[SourceText], run: IndexRun) -> Iterator[list[Prepared]]:
        """Yield batches of chunked documents; sources are read as batches are asked for.

        A document that no chunker can take is in `run.failed`.
        """
        batch: list[Prepared] = []
        for source in sources:
            with run.timed("chunk"):
                nodes, fault = chunk_document(source, self._chunkers)
            if fault is not None and not nodes:
                run.fail(source, fault)
                continue
            faults = {CHUNK: {node.node_id: fault for node in nodes[:1]}} if fault else {}
            batch.append(Prepared(source, nodes, faults=faults))
            if sum(len(each.nodes) for each in batch) >= BATCH_CHUNKS:
                yield batch
                batch = []
        if batch:
            yield batch

    def embed(self, batch: Sequence[Prepared], run: IndexRun) -> list[Prepared]:
        """Return the batch with embedded windows of its chunks, in every space that reads them."""
        nodes = _nodes_of(batch)
        shares = self._shares(nodes)
        windows: dict[str, Mapping[str, list[BaseNode]]] = {}
        faults = dict[str, Fault]()
        run.progress("embed", run.chunks, run.chunks + len(nodes))
        with run.timed("embed"):
            for space in self._spaces:
                read = [node for node in nodes if space.reads(shares[node.node_id])]
                done = embed_chunks(read, space.index)
                run.embedded += done.count
                windows[space.identity] = done.windows
                faults |= done.faults
        return [
            replace(
                each,
                windows={model: _some(made, each.node_ids) for model, made in windows.items()},
            ).with_faults(EMBED, faults)
            for each in batch
        ]

    def embed_and_extract(
        self, batches: Iterable[Sequence[Prepared]], run: IndexRun, *, workers: int
    ) -> Generator[list[Prepared], None, None]:
        """Yield embedded and extracted batches in order.

        With several workers and more than a small batch, texts are embedded by threads, whose
        encoders compute outside the interpreter's lock, while a process extracts; both are a batch
        ahead of what is stored.
        """
        later = iter(batches)
        first = list(islice(later, 1 if workers < 2 else 2))
        ordered = chain(first, later)
        if self._extraction is None or not (len(first) > 1 or _is_large(first)):
            yield from (self.extract(self.embed(batch, run), run) for batch in ordered)
            return
        with self._extraction.open():
            yield from self._side_by_side(ordered, run, self._extraction)

    def _side_by_side(
        self, batches: Iterable[Sequence[Prepared]], run: IndexRun, extraction: ExtractionProcess
    ) -> Iterator[list[Prepared]]:
        pools = [ThreadPoolExecutor(1, f"loregraph-{stage}") for stage in ("embed", "extract")]
        ahead: list[Future[list[Prepared]]] = []
        try:
            for batch in batches:
                following = [
                    pool.submit(copy_context().run, work, batch, run)
                    for pool, work in zip(pools, (self.embed, self.extract), strict=True)
                ]
                if ahead:
                    yield _joined(*(future.result() for future in ahead))
                ahead = following
            yield _joined(*(future.result() for future in ahead))
        finally:
            extraction.stop()
            for pool in pools:
                pool.shutdown(cancel_futures=True)

    def embed_missing(self, run: IndexRun, only: Collection[str] | None = None) -> int:
        """Embed stored chunks that a space reads and has no vectors of; return how many texts.

        Of the documents `only`, or of all; their vectors of other models are removed at the end.
        Each batch is committed, so that a run which is stopped is carried on by the next.
        """
        before = run.embedded
        if only is not None and not only:
            return 0
        for space in self._spaces:
            with run.timed("embed"):
                for nodes in nodes_without_vectors(self._library, space, only=only):
                    run.progress("embed", run.embedded - before, run.embedded - before + len(nodes))
                    done = embed_chunks(nodes, space.index)
                    run.embedded += done.count
                    with self._library.write() as connection:
                        space.index.insert_nodes([w for ws in done.windows.values() for w in ws])
                        reasons = {key: fault.reason for key, fault in done.faults.items()}
                        put_faults(connection, reasons, stage=EMBED)
        if self._spaces:
            models = [space.identity for space in self._spaces]
            self._library.drop_other_vectors(models, only=only)
        return run.embedded - before

    def reembed(self, run: IndexRun) -> int:
        """Bring the vectors of all documents up to the present models; return how many texts."""
        self.embed_missing(run)
        self.derive(run)
        return run.embedded

    def _shares(self, nodes: Sequence[BaseNode]) -> dict[str, float]:
        """Return the English share of each chunk's text, by id."""
        if not any(space.english_only for space in self._spaces):
            return {node.node_id: 1.0 for node in nodes}
        return {node.node_id: self._english_share(_body_of(node)) for node in nodes}

    def extract(self, batch: Sequence[Prepared], run: IndexRun) -> list[Prepared]:
        """Return the batch with names and relations by rules, and earlier readings by the model.

        Where the model alone reads, it does so in `enrich`, once the chunks are stored.
        """
        nodes = _nodes_of(batch)
        known = self._earlier_extractions(nodes)
        done = self._extract_by_rules(nodes, run)
        read = iter(done.nodes)
        return [
            replace(
                each,
                nodes=[next(read) for _ in each.nodes],
                known=_some(known, each.node_ids),
            ).with_faults(EXTRACT, done.faults)
            for each in batch
        ]

    def commit(self, batch: Sequence[Prepared], run: IndexRun) -> set[str]:
        """Store a batch in one transaction; return the ids of the documents stored.

        Where it cannot be stored as one, each document has a transaction of its own; one that
        cannot be stored even without names and vectors is in `run.failed`.
        """
        stored = set[str]()
        with run.timed("store"):
            for each, fault in self._store_all(batch):
                if fault is not None:
                    run.fail(each.source, fault)
                    continue
                run.chunks += len(each.nodes)
                stored.add(each.source.id)
        return stored

    def remove(self, *document_ids: str) -> None:
        """Delete documents from every table in one transaction; unknown ids are ignored."""
        with self._library.write(), graph_errors():
            for document_id in document_ids:
                for space in self._spaces:
                    space.index.delete_ref_doc(document_id)
            self._graph.graph_store.delete_llama_nodes(ref_doc_ids=[*document_ids])
            for document_id in document_ids:
                self._library.delete_document_row(document_id)

    def is_fresh(self) -> bool:
        """Check whether all derived rows are current."""
        return is_fresh(self._library.database)

    def derive(self, run: IndexRun) -> Derived:
        """Bring entities, communities and reports up to the documents; free when they are."""
        if is_fresh(self._library.database):
            self._update_vector_store(run)
            return Derived()
        with run.timed("derive"), self._library.write() as connection, graph_errors():
            before = derived_generation(connection)
            derived = self._graph.refresh(progress=run.progress)
            drop_stale_replies(connection)  # answers quote what may be gone
        self._forget_removed(before)
        delete_changed_copies(self._library)
        self._update_vector_store(run)
        return derived

    def _forget_removed(self, before: int) -> None:
        """Take what was removed since a generation out of the files in `derived/`."""
        folder = self._library.path / "derived"
        with self._library.read() as connection:
            gone = chunks_gone_since(connection, before)
            if gone is None or gone:
                delete_kept_rows(folder)
            if gone is None:
                delete_blocks(folder)
            elif gone:
                scrub_vectors(folder, removed_rows(connection, gone))

    def _update_vector_store(self, run: IndexRun) -> None:
        """Make a vector store outside equal to the library, which is whole without it."""
        outside = [each.dense for each in self._spaces if isinstance(each.dense, ExternalDense)]
        try:
            with run.timed("vector store"):
                for dense in outside:
                    dense.ensure_current()
        except EngineError as error:
            run.notes.append(f"the next question tries again: {error}")

    def derived(self) -> Derived:
        """Derive as a run of its own."""
        with self._library.writer():
            return self.derive(IndexRun())

    def ensure_current(self) -> None:
        """Resume a derivation that a killed run left undone.

        Where another process writes (it will derive when it is done) or the disk refuses, nothing
        happens: what is dirty is not read.
        """
        if self.is_fresh():
            return
        try:
            with self._library.writer(timeout_seconds=0):
                self.derive(IndexRun())
        except LibraryBusy:
            _log.info("index not updated: another process is writing; answered from the last state")
        except LibraryUnusable as error:
            _log.warning("index not updated: %s; answered from the last state", error)

    def enrich(self, run: IndexRun) -> None:
        """Let the language model read every pending chunk."""
        if self._enrichment is None:
            return
        with run.timed("read with the model"), graph_errors():
            done = self._enrichment.run(progress=run.progress)
        run.extracted += done.read
        run.pending += done.pending
        if done.dropped:
            parts = [f"{count} {what}" for what, count in sorted(done.dropped.items())]
            run.notes.append(f"of the model's answers was left out: {', '.join(parts)}")

    def refine(self, run: IndexRun) -> None:
        """Let the language model judge names and summarise descriptions, then derive.

        Nothing without one. To be called when everything is derived.
        """
        if self._refiner is None:
            return
        with run.timed("names"), graph_errors():
            names = self._refiner.judge_names(progress=run.progress)
        with run.timed("summaries"), graph_errors():
            summaries = self._refiner.summarise(progress=run.progress)
        run.postponed.update(names=names.failed.total(), descriptions=summaries.failed.total())
        run.notes += _refine_notes(names, summaries)
        if not is_fresh(self._library.database):
            self.derive(run)

    def write_reports(self, run: IndexRun) -> None:
        """Let the language model write missing reports, where configured."""
        if self._reports is None:
            return
        with run.timed("reports"), graph_errors():
            written = self._reports.write(progress=run.progress)
        run.postponed["reports"] += len(written.failed) + len(written.given_up)
        for reason, count in sorted(Counter(written.failed.values()).items()):
            run.notes.append(
                f"{count} report(s) stay as they are, and the next run tries again: {reason}"
            )
        for reason, count in sorted(Counter(written.given_up.values()).items()):
            run.notes.append(f"{count} report(s) stay as they are, and {NOT_AGAIN}: {reason}")

    def _earlier_extractions(self, nodes: Sequence[BaseNode]) -> dict[str, Extraction]:
        """Return stored LLM extractions of the same texts, by node."""
        if self._enrichment is None:
            return {}
        from llama_index.core.schema import MetadataMode

        shas = {node.node_id: text_sha(node.get_content(MetadataMode.NONE)) for node in nodes}
        known = self._enrichment.known(shas.values())
        return {node_id: known[sha] for node_id, sha in shas.items() if sha in known}

    def _extract_by_rules(self, nodes: Sequence[BaseNode], run: IndexRun) -> Done:
        if self._enrichment is not None and not self._enrichment.keeps_rule_based:
            return Done(nodes=list(nodes))  # the model reads them when they are stored
        run.progress("extract", run.chunks, run.chunks + len(nodes))
        with run.timed("extract"):
            done = extract_chunks(nodes, self._graph)
        run.extracted += done.count
        return done

    def _store_all(self, batch: Sequence[Prepared]) -> Iterator[tuple[Prepared, Fault | None]]:
        """Commit documents, together where possible; yield each with why it cannot be stored."""
        if len({each.source.id for each in batch}) == len(batch):
            with isolation(STORE) as together:
                self._replace(batch)
            if together.fault is None:
                yield from ((each, None) for each in batch)
                return
        for each in batch:
            yield each, self._store(each)

    def _store(self, prepared: Prepared) -> Fault | None:
        """Commit a document, if need be without names, or without vectors either.

        Why none of that can be done, if so.
        """
        with isolation(STORE) as whole:
            self._replace([prepared])
        if whole.fault is None:
            return None
        with isolation(STORE) as plain:
            self._replace([prepared.without_facts(whole.fault)])
        if plain.fault is None:
            return None
        with isolation(STORE) as bare:
            self._replace([prepared.bare(plain.fault)])
        return bare.fault

    def _replace(self, batch: Sequence[Prepared]) -> None:
        """Commit documents atomically, replacing their previous versions."""
        nodes = _nodes_of(batch)
        with self._library.write() as connection, graph_errors():
            self.remove(*sorted(self._library.held_among(each.source.id for each in batch)))
            self._library.put_documents([each.source for each in batch], recipe=self.recipe)
            self._insert(batch)
            for space in self._spaces:
                made = [each.windows.get(space.identity, {}) for each in batch]
                if windows := [w for some in made for of_chunk in some.values() for w in of_chunk]:
                    space.index.insert_nodes(windows)
            plain = self._keyword.index_nodes(
                [
                    (
                        node.node_id,
                        context_prefix(node.metadata)[0],
                        nearest_heading(node.metadata.get("headings") or ()),
                        _body_of(node),
                    )
                    for node in nodes
                ]
            )
            faults = {**_faults_of(batch), KEYWORDS: plain}
            for stage, found in faults.items():
                reasons = {chunk_id: fault.reason for chunk_id, fault in found.items()}
                put_faults(connection, reasons, stage=stage)
        for each in batch:
            ids = set(each.node_ids)
            _log_once(
                each.source.id,
                [one for found in faults.values() for key, one in found.items() if key in ids],
            )

    def _insert(self, batch: Sequence[Prepared]) -> None:
        enrichment, store = self._enrichment, self._graph.graph_store
        nodes, unread = _nodes_of(batch), _faults_of(batch).get(EXTRACT, {})
        store.upsert_llama_nodes([node for node in nodes if node.node_id in unread])
        read = [node for node in nodes if node.node_id not in unread]
        if enrichment is None or enrichment.keeps_rule_based:
            self._graph.insert_nodes(read)
            nothing = {chunk_id: Extraction() for chunk_id in unread}
            store.put_extractions(nothing, extractor=f"{FAILED}{self._graph.extractor}")
        else:
            store.upsert_llama_nodes(read)
        known = {key: found for each in batch for key, found in each.known.items()}
        if enrichment is not None:
            store.put_extractions(known, extractor=enrichment.identity)


def _is_large(batches: Iterable[Sequence[Prepared]]) -> bool:
    """Check whether there is work enough to start a process for it."""
    return sum(len(_nodes_of(batch)) for batch in batches) >= 2 * BATCH_CHUNKS


def _joined(embedded: Iterable[Prepared], extracted: Iterable[Prepared]) -> list[Prepared]:
    """Join what two stages made of the same batch."""
    return [
        replace(each, windows=other.windows, faults={**other.faults, **each.faults})
        for each, other in zip(extracted, embedded, strict=True)
    ]


def _faults_of(batch: Iterable[Prepared]) -> dict[str, dict[str, Fault]]:
    """Return the faults of several documents by stage and chunk id."""
    merged: dict[str, dict[str, Fault]] = {}
    for each in batch:
        for stage, found in each.faults.items():
            merged.setdefault(stage, {}).update(found)
    return merged


def _log_once(document_id: str, faults: Iterable[Fault]) -> None:
    """Log each different reason of a document once."""
    for fault in {one.reason: one for one in faults}.values():
        fault.log(document_id)


def _some(values: Mapping[str, T], ids: Iterable[str]) -> dict[str, T]:
    return {key: values[key] for key in ids if key in values}


def _body_of(node: BaseNode) -> str:
    """Return the text of a chunk as it is indexed by words, what stands before it included."""
    context = context_prefix(node.metadata)[1]
    return f"{context}\n{node.get_content()}".lstrip("\n")


def _pairs(count: int) -> str:
    return f"{count} pair of names was" if count == 1 else f"{count} pairs of names were"


def _refine_notes(names: RefineResult, summaries: RefineResult) -> Iterator[str]:
    """Say what the model judged, what it could not, and whether the next run asks again."""
    if names.done:
        yield f"{_pairs(names.done)} judged to be one thing"
    for reason, count in sorted(names.failed.items()):
        yield f"{_pairs(count)} not judged, and the next run asks again: {reason}"
    for reason, count in sorted(names.given_up.items()):
        yield f"{_pairs(count)} not judged, and {NOT_AGAIN}: {reason}"
    stay = "long description(s) stay as they are, and"
    for reason, count in sorted(summaries.failed.items()):
        yield f"{count} {stay} the next run tries again: {reason}"
    for reason, count in sorted(summaries.given_up.items()):
        yield f"{count} {stay} {NOT_AGAIN}: {reason}"


def _nodes_of(batch: Iterable[Prepared]) -> list[BaseNode]:
    return [node for each in batch for node in each.nodes]
