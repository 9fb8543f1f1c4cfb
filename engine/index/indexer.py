"""Documents into the library: cut, embed and extract outside, then one commit a document.

Both LlamaIndex indexes are filled from the same chunks; what is slow happens before a transaction
opens. Knows nothing of files: a document arrives as text, with its id.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from llama_index.core.schema import BaseNode, MetadataMode, TextNode

from ..errors import EngineError, LibraryBusy, LibraryUnusable
from ..progress import Progress, silent
from ..types import PendingChunk, SourceText
from .before import before
from .door import (
    Derived,
    Extraction,
    KnowledgeGraphIndex,
    graph_errors,
    is_fresh,
    text_sha,
)
from .held_view import forget_views
from .keyword import KeywordRetriever
from .ledger import drop_stale_replies
from .library import Library
from .store_dense import ExternalDense
from .vector import CHUNK_KEY, WindowedVectorIndex

if TYPE_CHECKING:
    from .enrichment import Enrichment
    from .report_writer import ReportWriter
    from .second_look import SecondLook

BATCH_CHUNKS = 64
"""How many chunks are embedded and extracted together; a batch ends with the document it is in."""

Chunker = Callable[[SourceText], list[TextNode]]

_log = logging.getLogger("loregraph")


@dataclass(frozen=True, slots=True)
class _Prepared:
    source: SourceText
    nodes: list[BaseNode]
    windows: list[BaseNode]
    known: dict[str, Extraction]


@dataclass(slots=True)
class Work:
    """What was really done: texts embedded, chunks extracted and stored, seconds by stage.

    `pending` are the chunks that a language model was to read and has not; `notes` say what else
    of a model's work could not be used.
    """

    chunks: int = 0
    embedded: int = 0
    extracted: int = 0
    pending: list[PendingChunk] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Indexer:
    """Writes documents through the indexes of one library.

    Args:
        library: where everything is committed.
        chunker: a document's text to nodes with exact spans.
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
        enrichment: Enrichment | None = None,
        second_look: SecondLook | None = None,
        reports: ReportWriter | None = None,
    ) -> None:
        self._library = library
        self._chunker = chunker
        self._graph = graph
        self._keyword = keyword
        self._vectors = vectors
        self._enrichment = enrichment
        self._second_look = second_look
        self._reports = reports
        parts = [*recipe, graph.extractor]
        self.recipe = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]

    def put(
        self, sources: Iterable[SourceText], *, work: Work, progress: Progress
    ) -> Iterator[str]:
        """Store documents, each in a transaction of its own; their ids as they are committed."""
        batch: list[SourceText] = []
        nodes: list[list[BaseNode]] = []
        for source in sources:
            with _timed(work, "chunk"):
                nodes.append(list(self._chunker(source)))
            batch.append(source)
            if sum(map(len, nodes)) >= BATCH_CHUNKS:
                yield from self._put_batch(batch, nodes, work, progress)
                batch, nodes = [], []
        if batch:
            yield from self._put_batch(batch, nodes, work, progress)

    def remove(self, document_id: str) -> None:
        """Take a document out of every table in one transaction; an unknown id is no error."""
        with self._library.write(), graph_errors():
            if self._vectors is not None:
                self._vectors.delete_ref_doc(document_id)
            self._graph.delete_ref_doc(document_id)
            self._library.delete_document_row(document_id)

    def is_fresh(self) -> bool:
        """Whether everything derived rests on the documents as they are now."""
        return is_fresh(self._library.database)

    def derive(self, *, work: Work, progress: Progress) -> Derived:
        """Bring entities, communities and reports up to the documents; free when they are."""
        if is_fresh(self._library.database):
            self._bring_up_store(work)
            return Derived()
        with _timed(work, "derive"), self._library.write() as connection, graph_errors():
            derived = self._graph.refresh(progress=progress)
            drop_stale_replies(connection)  # answers quote what may be gone
        self._keyword.forget_files()
        forget_views(self._library.path / "derived")
        self._bring_up_store(work)
        return derived

    def _bring_up_store(self, work: Work) -> None:
        """Make a vector store outside equal to the library, which is whole without it."""
        dense = self._vectors.store.dense if self._vectors is not None else None
        if not isinstance(dense, ExternalDense):
            return
        try:
            with _timed(work, "vector store"):
                dense.catch_up()
        except EngineError as error:
            work.notes.append(f"the next question tries again: {error}")

    def derived(self) -> Derived:
        """As `derive`, as a run of its own."""
        with self._library.writer():
            return self.derive(work=Work(), progress=silent)

    def catch_up(self) -> None:
        """Resume a derivation that a killed run left undone.

        Where another process writes (it will derive when it is done) or the disk refuses, nothing
        happens: what is dirty is not read.
        """
        if self.is_fresh():
            return
        try:
            with self._library.writer(timeout_seconds=0):
                self.derive(work=Work(), progress=silent)
        except LibraryBusy:
            _log.info("another process is writing: answered from what is derived so far")
        except LibraryUnusable as error:
            _log.warning("answered from what is derived so far: %s", error)

    def enrich(self, *, work: Work, progress: Progress) -> None:
        """Let the language model read every chunk that it has not read; nothing without one."""
        if self._enrichment is None:
            return
        with _timed(work, "read with the model"), graph_errors():
            done = self._enrichment.run(progress=progress)
        work.extracted += done.read
        work.pending += done.pending
        if done.dropped:
            parts = [f"{count} {what}" for what, count in sorted(done.dropped.items())]
            work.notes.append(f"of the model's answers was left out: {', '.join(parts)}")

    def second_look(self, *, work: Work, progress: Progress) -> None:
        """Let the language model judge names and summarise descriptions; what changes is derived.

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
        for reason, count in sorted(names.failed.items()):
            work.notes.append(f"{_pairs(count)} not judged, and the next run asks again: {reason}")
        for reason, count in sorted(summaries.failed.items()):
            work.notes.append(
                f"{count} long description(s) stay as they are, and the next run tries again: "
                f"{reason}"
            )
        if not is_fresh(self._library.database):
            self.derive(work=work, progress=progress)

    def write_reports(self, *, work: Work, progress: Progress) -> None:
        """Let the language model write the reports that it has not written, where it is to."""
        if self._reports is None:
            return
        with _timed(work, "reports"), graph_errors():
            written = self._reports.write(progress=progress)
        for reason, count in sorted(Counter(written.failed.values()).items()):
            work.notes.append(
                f"{count} report(s) stay as they are, and the next run tries again: {reason}"
            )

    def _put_batch(
        self,
        batch: Sequence[SourceText],
        nodes: Sequence[list[BaseNode]],
        work: Work,
        progress: Progress,
    ) -> Iterator[str]:
        flat = [node for some in nodes for node in some]
        windows = self._embed(flat, work, progress)
        known = self._read_before(flat)
        extracted = iter(self._extract(flat, work, progress))
        for source, some in zip(batch, nodes, strict=True):
            mine = [next(extracted) for _ in some]
            inside = [window for node in some for window in windows.get(node.node_id, [])]
            before = {node.node_id: known[node.node_id] for node in some if node.node_id in known}
            with _timed(work, "store"):
                self._commit(_Prepared(source, mine, inside, before))
            work.chunks += len(mine)
            yield source.id

    def _embed(
        self, nodes: Sequence[BaseNode], work: Work, progress: Progress
    ) -> dict[str, list[BaseNode]]:
        if self._vectors is None:
            return {}
        progress("embed", work.chunks, work.chunks + len(nodes))
        with _timed(work, "embed"):
            windows = self._vectors.windows(nodes)
            work.embedded += self._vectors.embed(windows)
        by_chunk: dict[str, list[BaseNode]] = defaultdict(list)
        for window in windows:
            by_chunk[window.metadata[CHUNK_KEY]].append(window)
        return by_chunk

    def _read_before(self, nodes: Sequence[BaseNode]) -> dict[str, Extraction]:
        """What the language model read from the same texts before, by node: paid for once."""
        if self._enrichment is None:
            return {}
        shas = {node.node_id: text_sha(node.get_content(MetadataMode.NONE)) for node in nodes}
        known = self._enrichment.known(shas.values())
        return {node_id: known[sha] for node_id, sha in shas.items() if sha in known}

    def _extract(self, nodes: Sequence[BaseNode], work: Work, progress: Progress) -> list[BaseNode]:
        if self._enrichment is not None and not self._enrichment.reads_beside:
            return list(nodes)  # the model reads them when they are stored
        progress("extract", work.chunks, work.chunks + len(nodes))
        with _timed(work, "extract"), graph_errors():
            nodes, fresh = self._graph.extract(nodes)
            work.extracted += fresh
            return nodes

    def _commit(self, prepared: _Prepared) -> None:
        """One document, whole or not at all; what it was before goes in the same transaction."""
        with self._library.write(), graph_errors():
            if self._library.holds(prepared.source.id):
                self.remove(prepared.source.id)
            self._library.put_document(prepared.source, recipe=self.recipe)
            self._insert(prepared)
            if self._vectors is not None and prepared.windows:
                self._vectors.insert_nodes(prepared.windows)
            self._keyword.index_nodes(
                [
                    (node.node_id, title, f"{context}\n{node.get_content()}".lstrip("\n"))
                    for node in prepared.nodes
                    for title, context in [before(node.metadata)]
                ]
            )

    def _insert(self, prepared: _Prepared) -> None:
        enrichment = self._enrichment
        if enrichment is None or enrichment.reads_beside:
            self._graph.insert_nodes(prepared.nodes)
        else:
            self._graph.graph_store.upsert_llama_nodes(prepared.nodes)
        if enrichment is not None and prepared.known:
            self._graph.graph_store.put_extractions(prepared.known, extractor=enrichment.identity)


def _pairs(count: int) -> str:
    return f"{count} pair of names was" if count == 1 else f"{count} pairs of names were"


@contextmanager
def _timed(work: Work, stage: str) -> Iterator[None]:
    begin = time.perf_counter()
    try:
        yield
    finally:
        work.seconds[stage] += time.perf_counter() - begin
