"""Documents into the library: cut, embed and extract outside, then one commit a document.

Both LlamaIndex indexes are filled from the same chunks; what is slow happens before a transaction
opens. Knows nothing of files: a document arrives as text, with its id.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from llama_index.core.schema import BaseNode, TextNode

from ..types import SourceText
from .before import before
from .door import (
    Derived,
    KnowledgeGraphIndex,
    graph_errors,
    is_fresh,
)
from .keyword import KeywordRetriever
from .library import Library
from .vector import CHUNK_KEY, WindowedVectorIndex

BATCH_CHUNKS = 64
"""How many chunks are embedded and extracted together; a batch ends with the document it is in."""

Progress = Callable[[str, int, int], None]
Chunker = Callable[[SourceText], list[TextNode]]


@dataclass(frozen=True, slots=True)
class _Prepared:
    source: SourceText
    nodes: list[BaseNode]
    windows: list[BaseNode]


@dataclass(slots=True)
class Work:
    """What was really done: texts embedded, chunks extracted and stored, seconds by stage."""

    chunks: int = 0
    embedded: int = 0
    extracted: int = 0
    seconds: Counter[str] = field(default_factory=Counter)


class Indexer:
    """Writes documents through the indexes of one library.

    Args:
        library: where everything is committed.
        chunker: a document's text to nodes with exact spans.
        graph: the knowledge-graph index.
        keyword: the BM25 retriever.
        vectors: the vector index, or None where embedding is switched off.
        recipe: everything that decides how a document is cut, embedded and extracted; a document
            stored under another recipe counts as changed.
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
    ) -> None:
        self._library = library
        self._chunker = chunker
        self._graph = graph
        self._keyword = keyword
        self._vectors = vectors
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
            return Derived()
        with _timed(work, "derive"), self._library.write(), graph_errors():
            derived = self._graph.refresh(progress=progress)
        self._keyword.forget_files()
        return derived

    def _put_batch(
        self,
        batch: Sequence[SourceText],
        nodes: Sequence[list[BaseNode]],
        work: Work,
        progress: Progress,
    ) -> Iterator[str]:
        flat = [node for some in nodes for node in some]
        windows = self._embed(flat, work, progress)
        extracted = iter(self._extract(flat, work, progress))
        for source, some in zip(batch, nodes, strict=True):
            mine = [next(extracted) for _ in some]
            inside = [window for node in some for window in windows.get(node.node_id, [])]
            with _timed(work, "store"):
                self._commit(_Prepared(source, mine, inside))
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

    def _extract(self, nodes: Sequence[BaseNode], work: Work, progress: Progress) -> list[BaseNode]:
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
            self._graph.insert_nodes(prepared.nodes)
            if self._vectors is not None and prepared.windows:
                self._vectors.insert_nodes(prepared.windows)
            self._keyword.index_nodes(
                [
                    (node.node_id, title, f"{context}\n{node.get_content()}".lstrip("\n"))
                    for node in prepared.nodes
                    for title, context in [before(node.metadata)]
                ]
            )


class _timed:  # noqa: N801 - reads as a statement
    def __init__(self, work: Work, stage: str) -> None:
        self._work = work
        self._stage = stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_error: object) -> None:
        self._work.seconds[self._stage] += time.perf_counter() - self._start  # type: ignore[assignment]
